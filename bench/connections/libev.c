/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "connections.h"

#include <ev.h>
#include <stdlib.h>

struct connection {
	ev_io io;
	ev_timer timer;
	uint32_t number;
};

struct self {
	struct ev_loop *loop;
	struct connections *connections;
	struct connection connection[];
};

static void leave_if_done(struct self *self)
{
	if (self->connections->done)
		ev_break(self->loop, EVBREAK_ALL);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct self *self = ev_userdata(loop);
	struct connection *connection = timer->data;

	(void)events;
	ev_timer_stop(loop, timer); /* ev_timer_again makes it repeat */
	connection_expired(self->connections, connection->number);
	leave_if_done(self);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct self *self = ev_userdata(loop);
	struct connection *connection = io->data;

	(void)events;
	connection_read(self->connections, connection->number);
	ev_timer_again(loop, &connection->timer);
	leave_if_done(self);
}

static bool add(void *self, uint32_t i)
{
	struct self *opened = self;
	struct connection *connection = &opened->connection[i];

	connection->number = i;
	ev_io_init(&connection->io, on_readable, opened->connections->fds[i], EV_READ);
	ev_timer_init(&connection->timer, on_timer, 0.,
	              (double)opened->connections->timeout_ms * 1e-3);
	connection->io.data = connection->timer.data = connection;
	ev_io_start(opened->loop, &connection->io);
	ev_timer_again(opened->loop, &connection->timer);
	return true;
}

static void *open_loop(const struct loop_peer *peer, struct connections *connections)
{
	struct self *self =
	        calloc(1, sizeof(*self) + connections->count * sizeof(struct connection));

	(void)peer;
	if (!self)
		return NULL;
	self->loop = ev_loop_new(EVBACKEND_EPOLL);
	if (!self->loop)
		return NULL;
	ev_set_userdata(self->loop, self);
	self->connections = connections;
	return self;
}

static void run(void *self)
{
	struct self *opened = self;

	ev_run(opened->loop, 0);
}

static void close_loop(void *self)
{
	struct self *opened = self;

	ev_loop_destroy(opened->loop);
	free(opened);
}

const struct loop_peer loop_libev = {
        .name = "libev",
        .about = "libev: ev_io, and ev_timer_again at each message",
        .resolution_ns = 1000, /* its times are floating-point numbers */
        .open = open_loop,
        .add = add,
        .run = run,
        .close = close_loop,
};
