/* SPDX-License-Identifier: MIT */
/* libuv: a binary heap of pointers, milliseconds. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <stdlib.h>
#include <uv.h>

struct self {
	uv_loop_t loop;
	uint64_t opened; /* by the loop's clock */
	peer_fired_fn *fired;
	void *arg;
};

static void *open_loop(const struct peer *peer, size_t capacity)
{
	struct self *self = malloc(sizeof(*self));

	(void)peer;
	(void)capacity;
	if (self && uv_loop_init(&self->loop) != 0) {
		free(self);
		return NULL;
	}
	if (self) {
		self->loop.data = self;
		self->opened = uv_now(&self->loop);
	}
	return self;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void close_loop(void *self)
{
	struct self *opened = self;

	uv_walk(&opened->loop, close_handle, NULL);
	uv_run(&opened->loop, UV_RUN_DEFAULT);
	uv_loop_close(&opened->loop);
	free(opened);
}

static void on_timer(uv_timer_t *timer)
{
	struct self *self = timer->loop->data;

	self->fired(timer, self->arg);
}

/* A timer of zeroes is not initialized yet. */
static void arm(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	uv_timer_t *handle = timer;
	uint64_t now = uv_now(&opened->loop), due = opened->opened + deadline;

	if (!handle->loop)
		uv_timer_init(&opened->loop, handle);
	uv_timer_start(handle, on_timer, due > now ? due - now : 0, 0);
}

static void cancel(void *self, void *timer)
{
	(void)self;
	uv_timer_stop(timer);
}

static void pass(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;

	opened->fired = fired;
	opened->arg = arg;
	uv_run(&opened->loop, UV_RUN_NOWAIT);
}

const struct peer peer_libuv = {
        .name = "libuv",
        .about = "libuv: uv_timer_start, uv_timer_stop; a binary heap of pointers",
        .timer_size = sizeof(uv_timer_t),
        .clock = libuv_clock_ns,
        .resolution_ns = 1000000,
        .open = open_loop,
        .close = close_loop,
        .arm = arm,
        .cancel = cancel,
        .refresh = arm, /* it stops an active timer */
        .pass = pass,
};
