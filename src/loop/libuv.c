/* SPDX-License-Identifier: MIT */
/*
 * The loop's timer is a uv_timer_t. While one pass is not enough, a uv_idle_t is active in its place: it keeps the loop
 * from sleeping, and is called once in each round of the loop. (A uv_timer_t with a timeout of 0 does not do: libuv
 * 1.44, which Debian 12 has, runs it again at once, and the sockets starve.)
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/libuv.h>

#include "../pass.h"

struct pawl_libuv {
	struct adapter base;
	uv_timer_t timer;
	uv_idle_t more;
	unsigned open_handles;
};

/*
 * The loop's time is uv_hrtime() rounded down to whole milliseconds, so it is never ahead of the clock. Time in a
 * suspension does not count in it.
 */
static uint64_t loop_ns(const struct pawl_libuv *adapter)
{
	if (adapter->base.count_sleep)
		return adapter->base.now();
	return uv_now(adapter->timer.loop) * PAWL_MS;
}

static void pass(struct pawl_libuv *adapter)
{
	adapter_pass(&adapter->base, loop_ns(adapter));
}

static void on_timer(uv_timer_t *timer)
{
	pass(timer->data);
}

static void on_more(uv_idle_t *more)
{
	pass(more->data);
}

static void set_handles(struct adapter *base)
{
	struct pawl_libuv *adapter = (struct pawl_libuv *)base;
	uint64_t now = loop_ns(adapter);

	uv_idle_stop(&adapter->more);
	uv_timer_stop(&adapter->timer);
	if (base->wake == PAWL_NEVER)
		return;
	if (base->wake <= now)
		uv_idle_start(&adapter->more, on_more);
	else
		uv_timer_start(&adapter->timer, on_timer,
		               (adapter_sleep_ns(base, now) - 1) / PAWL_MS + 1, 0);
}

static void open_handles(struct pawl_libuv *adapter, uv_loop_t *loop)
{
	uv_timer_init(loop, &adapter->timer);
	uv_idle_init(loop, &adapter->more);
	adapter->timer.data = adapter;
	adapter->more.data = adapter;
	adapter->open_handles = 2;
}

static void on_closed(uv_handle_t *handle)
{
	struct pawl_libuv *adapter = handle->data;

	if (--adapter->open_handles == 0)
		adapter_free(&adapter->base);
}

/* The loop calls on_closed later, in uv_run(). */
static void close_handles(struct adapter *base)
{
	struct pawl_libuv *adapter = (struct pawl_libuv *)base;

	uv_close((uv_handle_t *)&adapter->timer, on_closed);
	uv_close((uv_handle_t *)&adapter->more, on_closed);
}

int pawl_libuv_open(struct pawl_libuv **adapter, uv_loop_t *loop, pawl_due_fn *due, void *arg,
                    const struct pawl_loop_options *options)
{
	static const struct adapter_loop handles = {uv_hrtime, set_handles, close_handles};
	int error;
	struct pawl_libuv *made = adapter_new(sizeof(*made), &handles, due, arg, options, &error);

	if (!made)
		return error;
	open_handles(made, loop);
	*adapter = made;
	return 0;
}

ADAPTER_FUNCTIONS(libuv)
