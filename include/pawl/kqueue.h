/* SPDX-License-Identifier: MIT */
/*
 * pawl/kqueue.h: a struct pawl_loop behind one timer of a kqueue, for macOS and the BSDs. pawl/loop.h has all other
 * calls; make a pass when the timer's event comes. That event has the filter EVFILT_TIMER, and the struct pawl_loop as
 * its udata. For a loop that polls descriptors, make a kqueue for the timers alone: it is readable when a pass is
 * needed, and kevent() must read the event before that pass. The clock is that of pawl_clock_monotonic_init().
 *
 * It has not been run on macOS or a BSD. Its tests pass on Linux on libkqueue, except the one that polls a kqueue,
 * which libkqueue does not support. So a second implementation of kqueue(2) accepts its calls; the behaviour of a
 * kernel's timers, above all while the machine sleeps, is not tested. docs/platforms.md has more.
 */
#ifndef PAWL_KQUEUE_H
#define PAWL_KQUEUE_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open a loop on the descriptor `kqueue`.
 *
 * 0         *loop is yours, to be closed with pawl_loop_close() before the kqueue.
 * -EINVAL   options or options.due is NULL, a reserved field is not 0, or an option is out of its range.
 * -EBADF    `kqueue` is not a kqueue's descriptor (libkqueue: -ENOENT).
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API PAWL_MUST_USE int pawl_kqueue_open(struct pawl_loop **loop, int kqueue,
                                            const struct pawl_loop_options *options);

#ifdef __cplusplus
}
#endif

#endif
