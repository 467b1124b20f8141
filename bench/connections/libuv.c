/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "connections.h"

#include <stdlib.h>
#include <uv.h>

struct connection {
	uv_poll_t poll;
	uv_timer_t timer;
	uint32_t number;
};

struct self {
	uv_loop_t loop;
	struct connections *connections;
	struct connection connection[];
};

static void leave_if_done(struct self *self)
{
	if (self->connections->done)
		uv_stop(&self->loop);
}

static void on_timer(uv_timer_t *timer)
{
	struct self *self = timer->loop->data;
	struct connection *connection = timer->data;

	connection_expired(self->connections, connection->number);
	leave_if_done(self);
}

static void refresh(struct self *self, struct connection *connection)
{
	uv_timer_start(&connection->timer, on_timer, self->connections->timeout_ms, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct self *self = poll->loop->data;
	struct connection *connection = poll->data;

	(void)status;
	(void)events;
	connection_read(self->connections, connection->number);
	refresh(self, connection);
	leave_if_done(self);
}

static void *open_loop(const struct loop_peer *peer, struct connections *connections)
{
	struct self *self =
	        calloc(1, sizeof(*self) + connections->count * sizeof(struct connection));

	(void)peer;
	if (!self || uv_loop_init(&self->loop) != 0)
		return NULL;
	self->loop.data = self;
	self->connections = connections;
	return self;
}

static bool add(void *self, uint32_t i)
{
	struct self *opened = self;
	struct connection *connection = &opened->connection[i];

	connection->number = i;
	if (uv_poll_init(&opened->loop, &connection->poll, opened->connections->fds[i]) != 0)
		return false;
	uv_timer_init(&opened->loop, &connection->timer);
	connection->poll.data = connection->timer.data = connection;
	refresh(opened, connection);
	return uv_poll_start(&connection->poll, UV_READABLE, on_readable) == 0;
}

static void run(void *self)
{
	struct self *opened = self;

	uv_run(&opened->loop, UV_RUN_DEFAULT);
}

static void close_loop(void *self)
{
	struct self *opened = self;

	for (uint32_t i = 0; i < opened->connections->count; i++) {
		uv_close((uv_handle_t *)&opened->connection[i].poll, NULL);
		uv_close((uv_handle_t *)&opened->connection[i].timer, NULL);
	}
	uv_run(&opened->loop, UV_RUN_DEFAULT);
	uv_loop_close(&opened->loop);
	free(opened);
}

const struct loop_peer loop_libuv = {
        .name = "libuv",
        .about = "libuv: uv_poll_t, and uv_timer_start at each message",
        .clock = libuv_clock_ns,
        .resolution_ns = 1000000,
        .open = open_loop,
        .add = add,
        .run = run,
        .close = close_loop,
};
