/* SPDX-License-Identifier: MIT */
/*
 * The event loop's timer is a uv_timer_t. While one pass is not enough, a uv_idle_t is active in its place: it keeps
 * the uv_loop_t from sleeping, and is called once in each round. (A uv_timer_t with a timeout of 0 does not do: libuv
 * 1.44, which Debian 12 has, runs it again at once, and the sockets starve.)
 */
#define _GNU_SOURCE
#include "sleep.h"

#include <errno.h>
#include <pawl/libuv.h>
#include <stdlib.h>

struct libuv_timer {
	struct pawl_loop *loop;
	uv_timer_t timer;
	uv_idle_t more;
	unsigned open_handles;
	bool count_sleep;
	uint64_t longest;
};

static uint64_t libuv_now(void *self)
{
	return ((struct libuv_timer *)self)->count_sleep ? system_now(BOOTTIME) : uv_hrtime();
}

/*
 * The uv_loop_t's time is uv_hrtime() rounded down to whole milliseconds, so it is never ahead of the clock. Time in a
 * suspension does not count in it.
 */
static uint64_t time_of_pass(const struct libuv_timer *self)
{
	return self->count_sleep ? system_now(BOOTTIME) : uv_now(self->timer.loop) * PAWL_MS;
}

static void pass(struct libuv_timer *self)
{
	pawl_loop_pass_at(self->loop, time_of_pass(self));
}

static void on_timer(uv_timer_t *timer)
{
	pass(timer->data);
}

static void on_more(uv_idle_t *more)
{
	pass(more->data);
}

static void set_handles(void *arg, uint64_t at_ns)
{
	struct libuv_timer *self = arg;
	uint64_t now = time_of_pass(self);

	uv_idle_stop(&self->more);
	uv_timer_stop(&self->timer);
	if (at_ns == PAWL_NEVER)
		return;
	if (at_ns <= now)
		uv_idle_start(&self->more, on_more);
	else
		uv_timer_start(&self->timer, on_timer,
		               (delay_until(at_ns, now, self->longest) - 1) / PAWL_MS + 1, 0);
}

static void open_handles(struct libuv_timer *self, uv_loop_t *uv_loop)
{
	uv_timer_init(uv_loop, &self->timer);
	uv_idle_init(uv_loop, &self->more);
	self->timer.data = self;
	self->more.data = self;
	self->open_handles = 2;
}

static void on_closed(uv_handle_t *handle)
{
	struct libuv_timer *self = handle->data;

	if (--self->open_handles == 0)
		free(self);
}

/* uv_run() calls on_closed later. */
static void close_handles(void *arg)
{
	struct libuv_timer *self = arg;

	uv_close((uv_handle_t *)&self->timer, on_closed);
	uv_close((uv_handle_t *)&self->more, on_closed);
}

int pawl_libuv_open(struct pawl_loop **loop, uv_loop_t *uv_loop,
                    const struct pawl_loop_options *options)
{
	static const struct pawl_loop_adapter adapter = {
	        libuv_now, set_handles, close_handles, {0}};
	struct libuv_timer *made = malloc(sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->count_sleep = counts_sleep(options);
	made->longest = longest_delay(options);
	error = pawl_loop_open(&made->loop, &adapter, made, options);
	if (error) {
		free(made);
		return error;
	}
	open_handles(made, uv_loop);
	*loop = made->loop;
	return 0;
}
