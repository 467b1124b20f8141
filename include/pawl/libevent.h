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
 * How late a timer is depends on the base's clock: it advances in steps of some milliseconds, unless the base has
 * EVENT_BASE_FLAG_PRECISE_TIMER. See pawl/loop.h for what all adapters promise; their headers are parallel, so that
 * each can be read alone.
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
 * Open an adapter on `base` that calls `due` with `arg` for each timer that is due. `options` may be NULL.
 *
 * 0         *adapter is yours, to be closed with pawl_libevent_close() before the base is freed.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API int pawl_libevent_open(struct pawl_libevent **adapter, struct event_base *base,
                                pawl_due_fn *due, void *arg,
                                const struct pawl_loop_options *options);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the clock of pawl_libevent_now(). An armed timer is
 * re-armed. A timer that is due already is called in the next pass. A periodic timer is periodic no more. Never fails.
 */
PAWL_API void pawl_libevent_arm(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                uint64_t delay_ns);
PAWL_API void pawl_libevent_arm_at(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                   uint64_t deadline_ns);

/*
 * Make the timer periodic: it is called every `period_ns`, first a period from now, until it is cancelled or armed.
 *
 * 0         the timer is armed.
 * -EINVAL   the period is 0, or open's `due` was not pawl_loop_due. Nothing has changed.
 *
 * It does not drift, and leaves out missed periods. When its function is called, it is already armed for the next
 * period: cancel it before you free it. touch also shifts all of its later calls.
 */
PAWL_API int pawl_libevent_arm_every(struct pawl_libevent *adapter, struct pawl_loop_timer *timer,
                                     uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, mostly by one store. An idle timer, or an earlier time: as arm. */
PAWL_API void pawl_libevent_touch(struct pawl_libevent *adapter, struct pawl_timer *timer,
                                  uint64_t delay_ns);

/* Cancel the timer. true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_libevent_cancel(struct pawl_libevent *adapter, struct pawl_timer *timer);

/* The present time of the clock of deadlines: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_libevent_now(const struct pawl_libevent *adapter);

/* The wheel, for count, place, each and check. Arm and cancel only through the adapter. */
PAWL_API struct pawl_wheel *pawl_libevent_wheel(struct pawl_libevent *adapter);

/*
 * Close and free the adapter, and pass each timer that is still armed to `dropped`, which may free it and cancel
 * others, but arm none.
 *
 * If `dropped` is NULL, the timers are not accessed, and must be zeroed before they are used again. The function itself
 * may close the adapter: it is then not called any more, and the adapter is freed at the end of the pass. `adapter` may
 * be NULL.
 */
PAWL_API void pawl_libevent_close(struct pawl_libevent *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
