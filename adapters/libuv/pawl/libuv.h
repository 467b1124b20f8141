/* SPDX-License-Identifier: MIT */
/*
 * pawl/libuv.h: a wheel behind one timer of a libuv loop.
 *
 *	#include <pawl/libuv.h>
 *	#include <stdio.h>
 *
 *	static void expire(struct pawl_timer *timer, void *arg) { (void)timer; (void)arg; puts("time is up"); }
 *
 *	int main(void)
 *	{
 *		struct pawl_timer timer = PAWL_TIMER_INIT;
 *		uv_loop_t *loop = uv_default_loop();
 *		struct pawl_libuv *timers;
 *
 *		if (pawl_libuv_open(&timers, loop, expire, NULL, NULL) != 0)
 *			return 1;
 *		pawl_libuv_arm(timers, &timer, 20 * PAWL_MS);
 *		uv_run(loop, UV_RUN_DEFAULT);                  // calls `expire`
 *		pawl_libuv_close(timers, NULL);
 *		uv_run(loop, UV_RUN_DEFAULT);                  // frees the adapter
 *		uv_loop_close(loop);
 *	}
 *
 * While anything is armed, the loop is kept alive, as by an active uv_timer_t.
 *
 * A timer is due when uv_now() has passed its deadline, and uv_now() is never ahead of the clock: so nothing
 * is early by either. (A uv_timer_t, whose delay counts from uv_now(), may be early by as much as that is
 * behind.) See pawl/loop.h for what all adapters promise.
 */
#ifndef PAWL_LIBUV_H
#define PAWL_LIBUV_H

#include <pawl/loop.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_libuv;

/*
 * Open an adapter on `loop`, which calls `due` with `arg`.
 *
 * 0         *adapter is yours, to be closed with pawl_libuv_close.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -ENOMEM   no memory. Nothing is left behind.
 */
PAWL_API int pawl_libuv_open(struct pawl_libuv **adapter, uv_loop_t *loop, pawl_due_fn *due,
                             void *arg, const struct pawl_loop_options *options);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the adapter's clock, see pawl_libuv_now. If it is
 * armed, it is moved; if it was periodic, it is no more. What is due already is called in the next turn. Never fails.
 */
PAWL_API void pawl_libuv_arm(struct pawl_libuv *adapter, struct pawl_timer *timer,
                             uint64_t delay_ns);
PAWL_API void pawl_libuv_arm_at(struct pawl_libuv *adapter, struct pawl_timer *timer,
                                uint64_t deadline_ns);

/*
 * Arm the timer for every `period_ns`, for the first time a period from now, until it is cancelled or armed otherwise. It
 * does not drift, and periods that were missed are left out. When its function is called it is armed for the next time
 * already: cancel it before you free it. touch moves its grid. Only with pawl_loop_due as open's `due`.
 *
 * 0         it is armed.
 * -EINVAL   the period is 0, or the adapter was opened with another function. Nothing has changed.
 */
PAWL_API int pawl_libuv_arm_every(struct pawl_libuv *adapter, struct pawl_loop_timer *timer,
                                  uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, for little more than a store; else, and if idle, as arm. */
PAWL_API void pawl_libuv_touch(struct pawl_libuv *adapter, struct pawl_timer *timer,
                               uint64_t delay_ns);

/* true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_libuv_cancel(struct pawl_libuv *adapter, struct pawl_timer *timer);

/*
 * The present time of the adapter's clock, in which deadlines are: see "The clock" in pawl/loop.h. By default it is
 * uv_hrtime(), so (uv_now(loop) + 40) * PAWL_MS is a deadline in the loop's own time.
 */
PAWL_API uint64_t pawl_libuv_now(const struct pawl_libuv *adapter);

/* To look at: count, place, each, check. Arm and cancel through the adapter. */
PAWL_API struct pawl_wheel *pawl_libuv_wheel(struct pawl_libuv *adapter);

/*
 * Hand each timer that is still armed to `dropped`, which may free it and cancel others but arm none, and
 * close the adapter. The loop frees it, as all that uv_close closes, when it next runs. `dropped`
 * may be NULL: then they are forgotten, in whatever memory they were, and to be zeroed before they are used
 * again. Also from inside the function, which then is not called any more. NULL is allowed as adapter.
 */
PAWL_API void pawl_libuv_close(struct pawl_libuv *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
