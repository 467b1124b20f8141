/* SPDX-License-Identifier: MIT */
/*
 * A uv_timer_t that is set to the time of the next turn, and a uv_idle_t that is active only while there is more
 * to do than one turn may: it keeps the loop from sleeping, and comes once each time round. (A
 * uv_timer_t with no time to wait will not do: libuv 1.44, which Debian 12 has, runs it again at once, and
 * the sockets starve.)
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/libuv.h>

#include "../turn.h"

struct pawl_libuv {
	struct turns turns; /* first: see set_handles */
	uv_timer_t timer;
	uv_idle_t more;
	unsigned open_handles;
};

/*
 * The loop's time is a number of whole milliseconds of uv_hrtime(), rounded down: so never ahead of the clock. Time asleep
 * is not in it.
 */
static uint64_t loop_ns(const struct pawl_libuv *adapter)
{
	if (adapter->turns.count_sleep)
		return adapter->turns.now();
	return uv_now(adapter->timer.loop) * PAWL_MS;
}

static void turn(struct pawl_libuv *adapter)
{
	turns_run(&adapter->turns, loop_ns(adapter));
}

static void on_timer(uv_timer_t *timer)
{
	turn(timer->data);
}

static void on_more(uv_idle_t *more)
{
	turn(more->data);
}

static void set_handles(struct turns *turns)
{
	struct pawl_libuv *adapter = (struct pawl_libuv *)turns;
	uint64_t now = loop_ns(adapter);

	uv_idle_stop(&adapter->more);
	uv_timer_stop(&adapter->timer);
	if (turns->wake == PAWL_NEVER)
		return;
	if (turns->wake <= now)
		uv_idle_start(&adapter->more, on_more);
	else
		uv_timer_start(&adapter->timer, on_timer,
		               (turns_sleep_ns(turns, now) - 1) / PAWL_MS + 1, 0);
}

static void open_handles(struct pawl_libuv *adapter, uv_loop_t *loop)
{
	uv_timer_init(loop, &adapter->timer);
	uv_idle_init(loop, &adapter->more);
	adapter->timer.data = adapter;
	adapter->more.data = adapter;
	adapter->open_handles = 2;
}

int pawl_libuv_open(struct pawl_libuv **adapter, uv_loop_t *loop, pawl_due_fn *due, void *arg,
                    const struct pawl_loop_options *options)
{
	struct pawl_libuv *made = malloc(sizeof(*made));
	int error = made ? turns_init(&made->turns, uv_hrtime, set_handles, due, arg, options)
	                 : -ENOMEM;

	if (error) {
		free(made);
		return error;
	}
	open_handles(made, loop);
	*adapter = made;
	return 0;
}

void pawl_libuv_arm(struct pawl_libuv *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_arm(&adapter->turns, timer, delay_ns);
}

void pawl_libuv_arm_at(struct pawl_libuv *adapter, struct pawl_timer *timer, uint64_t deadline_ns)
{
	turns_arm_at(&adapter->turns, timer, deadline_ns);
}

int pawl_libuv_arm_every(struct pawl_libuv *adapter, struct pawl_loop_timer *timer,
                         uint64_t period_ns)
{
	return turns_arm_every(&adapter->turns, timer, period_ns);
}

void pawl_libuv_touch(struct pawl_libuv *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_touch(&adapter->turns, timer, delay_ns);
}

bool pawl_libuv_cancel(struct pawl_libuv *adapter, struct pawl_timer *timer)
{
	return turns_cancel(&adapter->turns, timer);
}

uint64_t pawl_libuv_now(const struct pawl_libuv *adapter)
{
	return adapter->turns.now();
}

struct pawl_wheel *pawl_libuv_wheel(struct pawl_libuv *adapter)
{
	return adapter->turns.wheel;
}

static void on_closed(uv_handle_t *handle)
{
	struct pawl_libuv *adapter = handle->data;

	if (--adapter->open_handles > 0)
		return;
	free(adapter->turns.wheel);
	free(adapter);
}

/* The loop calls on_closed when the turn, if one is under way, has long ended. */
void pawl_libuv_close(struct pawl_libuv *adapter, pawl_due_fn *dropped)
{
	if (!adapter)
		return;
	turns_close(&adapter->turns, dropped);
	uv_close((uv_handle_t *)&adapter->timer, on_closed);
	uv_close((uv_handle_t *)&adapter->more, on_closed);
}
