/* SPDX-License-Identifier: MIT */
/*
 * pawl/libevent.h: a wheel behind one event of a libevent base.
 *
 *	#include <pawl/libevent.h>
 *	#include <stdio.h>
 *
 *	static void expire(struct pawl_timer *timer, void *arg) { (void)timer; (void)arg; puts("time is up"); }
 *
 *	int main(void)
 *	{
 *		struct pawl_timer timer = PAWL_TIMER_INIT;
 *		struct event_base *base = event_base_new();
 *		struct pawl_libevent *timers;
 *
 *		if (pawl_libevent_open(&timers, base, expire, NULL, NULL) != 0)
 *			return 1;
 *		pawl_libevent_arm(timers, &timer, 20 * PAWL_MS);
 *		event_base_dispatch(base);                     // calls `expire`
 *		pawl_libevent_close(timers, NULL);
 *		event_base_free(base);
 *	}
 *
 * While anything is armed, the base has a pending event.
 *
 * How late a timer is is up to the base's clock, which unless it has EVENT_BASE_FLAG_PRECISE_TIMER goes in
 * steps of some milliseconds. See pawl/loop.h for what all adapters promise.
 */
#ifndef PAWL_LIBEVENT_H
#define PAWL_LIBEVENT_H

#include <event2/event.h>
#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_libevent;

/*
 * Open an adapter on `base`, which calls `due` with `arg`.
 *
 * 0         *adapter is yours, to be closed with pawl_libevent_close, before the base is freed.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -ENOMEM   no memory. Nothing is left behind.
 */
PAWL_API int pawl_libevent_open(struct pawl_libevent **adapter, struct event_base *base,
                                pawl_due_fn *due, void *arg,
                                const struct pawl_loop_options *options);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the adapter's clock, see pawl_libevent_now. If it is
 * armed, it is moved; if it was periodic, it is no more. What is due already is called in the next turn. Never fails.
 */
PAWL_API void pawl_libevent_arm(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                uint64_t delay_ns);
PAWL_API void pawl_libevent_arm_at(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                   uint64_t deadline_ns);

/*
 * Arm the timer for every `period_ns`, for the first time a period from now, until it is cancelled or armed otherwise. It
 * does not drift, and periods that were missed are left out. When its function is called it is armed for the next time
 * already: cancel it before you free it. touch moves its grid. Only with pawl_loop_due as open's `due`.
 *
 * 0         it is armed.
 * -EINVAL   the period is 0, or the adapter was opened with another function. Nothing has changed.
 */
PAWL_API int pawl_libevent_arm_every(struct pawl_libevent *adapter, struct pawl_loop_timer *timer,
                                     uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, for little more than a store; else, and if idle, as arm. */
PAWL_API void pawl_libevent_touch(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                  uint64_t delay_ns);

/* true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_libevent_cancel(struct pawl_libevent *adapter, struct pawl_timer *timer);

/* The present time of the adapter's clock, in which deadlines are: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_libevent_now(const struct pawl_libevent *adapter);

/* To look at: count, place, each, check. Arm and cancel through the adapter. */
PAWL_API struct pawl_wheel *pawl_libevent_wheel(struct pawl_libevent *adapter);

/*
 * Hand each timer that is still armed to `dropped`, which may free it and cancel others but arm none, and
 * close and free the adapter; inside the function, when the turn has ended. `dropped`
 * may be NULL: then they are forgotten, in whatever memory they were, and to be zeroed before they are used
 * again. Also from inside the function, which then is not called any more. NULL is allowed as adapter.
 */
PAWL_API void pawl_libevent_close(struct pawl_libevent *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
