/* SPDX-License-Identifier: MIT */
/*
 * pawl/libevent.h: a struct pawl_loop behind one event of a libevent base. pawl/loop.h has all other calls.
 *
 * While anything is armed, the base has a pending event. The lateness of a timer depends on the base's clock: it moves
 * in steps of a few milliseconds, unless the base has EVENT_BASE_FLAG_PRECISE_TIMER. The clock of deadlines is
 * CLOCK_MONOTONIC, or CLOCK_BOOTTIME with count_sleep.
 */
#ifndef PAWL_LIBEVENT_H
#define PAWL_LIBEVENT_H

#include <event2/event.h>
#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 0         *loop is yours, to be closed with pawl_loop_close() before the base is freed.
 * -EINVAL   options or options.due is NULL, a reserved field is not 0, or an option is out of its range.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API PAWL_MUST_USE int pawl_libevent_open(struct pawl_loop **loop, struct event_base *base,
                                              const struct pawl_loop_options *options);

#ifdef __cplusplus
}
#endif

#endif
