/* SPDX-License-Identifier: MIT */
/*
 * pawl/libuv.h: a struct pawl_loop behind one timer of a libuv loop. pawl/loop.h has all other calls.
 *
 * While anything is armed, the uv_loop_t is kept alive, as by an active uv_timer_t. The handles are closed when it next
 * runs after pawl_loop_close(), as with uv_close().
 *
 * The clock is uv_hrtime(), or CLOCK_BOOTTIME with count_sleep; (uv_now(loop) + 40) * PAWL_MS is a deadline in the time
 * of the uv_loop_t. A timer is due when uv_now() has passed its deadline. uv_now() is never ahead of the clock, so a
 * timer is not early by either. (A uv_timer_t, or a pass of your own, may be early by as much as uv_now() is behind.)
 */
#ifndef PAWL_LIBUV_H
#define PAWL_LIBUV_H

#include <pawl/loop.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 0         *loop is yours, to be closed with pawl_loop_close().
 * -EINVAL   options or options.due is NULL, a reserved field is not 0, or an option is out of its range.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API PAWL_MUST_USE int pawl_libuv_open(struct pawl_loop **loop, uv_loop_t *uv_loop,
                                           const struct pawl_loop_options *options);

#ifdef __cplusplus
}
#endif

#endif
