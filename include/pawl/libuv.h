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
 * A timer is due when uv_now() has passed its deadline. uv_now() is never ahead of the clock, so a timer is early by
 * neither. (The delay of a uv_timer_t counts from uv_now(): it may be early by as much as uv_now() is behind.) See
 * pawl/loop.h for what all adapters promise; their headers are parallel, so that each can be read alone.
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
 * Open an adapter on `loop` that calls `due` with `arg` for each timer that is due. `options` may be NULL.
 *
 * 0         *adapter is yours, to be closed with pawl_libuv_close().
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API int pawl_libuv_open(struct pawl_libuv **adapter, uv_loop_t *loop, pawl_due_fn *due,
                             void *arg, const struct pawl_loop_options *options);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the clock of pawl_libuv_now(). An armed timer is
 * re-armed. A timer that is due already is called in the next pass. A periodic timer is periodic no more. Never fails.
 */
PAWL_API void pawl_libuv_arm(struct pawl_libuv *adapter, struct pawl_timer *timer,
                             uint64_t delay_ns);
PAWL_API void pawl_libuv_arm_at(struct pawl_libuv *adapter, struct pawl_timer *timer,
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
PAWL_API int pawl_libuv_arm_every(struct pawl_libuv *adapter, struct pawl_loop_timer *timer,
                                  uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, mostly by one store. An idle timer, or an earlier time: as arm. */
PAWL_API void pawl_libuv_touch(struct pawl_libuv *adapter, struct pawl_timer *timer,
                               uint64_t delay_ns);

/* Cancel the timer. true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_libuv_cancel(struct pawl_libuv *adapter, struct pawl_timer *timer);

/*
 * The present time of the clock of deadlines: see "The clock" in pawl/loop.h. By default it is uv_hrtime(), so
 * (uv_now(loop) + 40) * PAWL_MS is a deadline in the loop's own time.
 */
PAWL_API uint64_t pawl_libuv_now(const struct pawl_libuv *adapter);

/* The wheel, for count, place, each and check. Arm and cancel only through the adapter. */
PAWL_API struct pawl_wheel *pawl_libuv_wheel(struct pawl_libuv *adapter);

/*
 * Close the adapter, and pass each timer that is still armed to `dropped`, which may free it and cancel others, but arm
 * none. The loop frees the adapter when it next runs, as with uv_close().
 *
 * If `dropped` is NULL, the timers are not accessed, and must be zeroed before they are used again. The function itself
 * may close the adapter: it is then not called any more. `adapter` may be NULL.
 */
PAWL_API void pawl_libuv_close(struct pawl_libuv *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
