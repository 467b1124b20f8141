/* SPDX-License-Identifier: MIT */
/*
 * pawl/epoll.h: a struct pawl_loop behind a file descriptor, for epoll and any other loop that polls descriptors.
 * pawl/loop.h has all other calls. On systems other than Linux, open returns -ENOTSUP.
 *
 * The descriptor is a timerfd, level-triggered or edge-triggered. When it is readable, make a pass; that resets it. Do
 * not read it, set it or close it. With count_sleep it follows CLOCK_BOOTTIME, otherwise CLOCK_MONOTONIC.
 */
#ifndef PAWL_EPOLL_H
#define PAWL_EPOLL_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 0                  *loop is yours, to be closed with pawl_loop_close().
 * -EINVAL            options or options.due is NULL, a reserved field is not 0, or an option is out of its range.
 * -ENOMEM            there is no memory.
 * -EMFILE, -ENFILE   there are no more descriptors.
 * -ENOTSUP           the system has no timerfd.
 *
 * After an error nothing is left behind.
 */
PAWL_API PAWL_MUST_USE int pawl_epoll_open(struct pawl_loop **loop,
                                           const struct pawl_loop_options *options);

/* The descriptor to poll, the same until the loop is closed; it is close-on-exec. -EINVAL: another adapter's loop. */
PAWL_API int pawl_epoll_fd(const struct pawl_loop *loop);

#ifdef __cplusplus
}
#endif

#endif
