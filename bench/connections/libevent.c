/* SPDX-License-Identifier: MIT */
/* libevent: one event for both; the library itself restarts its timeout whenever the connection is readable. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "connections.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

struct connection {
	struct event event;
	struct self *self;
	uint32_t number;
};

struct self {
	struct event_base *base;
	struct timeval timeout;
	const struct timeval *delay; /* the same, or its common form */
	struct connections *connections;
	struct connection connection[];
};

/* From now on without a timeout, because libevent would restart it. */
static void expire(struct connection *connection)
{
	event_del(&connection->event);
	event_add(&connection->event, NULL);
	connection_expired(connection->self->connections, connection->number);
}

static void receive(struct connection *connection)
{
	struct self *self = connection->self;

	if (!self->connections->armed[connection->number])
		event_add(&connection->event, self->delay);
	connection_read(self->connections, connection->number);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;

	(void)fd;
	if (what & EV_TIMEOUT)
		expire(connection);
	if (what & EV_READ)
		receive(connection);
	if (connection->self->connections->done)
		event_base_loopbreak(connection->self->base);
}

static bool add(void *self, uint32_t i)
{
	struct self *opened = self;
	struct connection *connection = &opened->connection[i];

	connection->self = opened;
	connection->number = i;
	event_assign(&connection->event, opened->base, opened->connections->fds[i],
	             EV_READ | EV_PERSIST, on_event, connection);
	return event_add(&connection->event, opened->delay) == 0;
}

static void *open_loop(const struct loop_peer *peer, struct connections *connections)
{
	struct self *self =
	        calloc(1, sizeof(*self) + connections->count * sizeof(struct connection));

	if (!self)
		return NULL;
	self->base = event_base_new();
	if (!self->base)
		return NULL;
	self->timeout.tv_sec = (time_t)(connections->timeout_ms / 1000);
	self->timeout.tv_usec = (suseconds_t)(connections->timeout_ms % 1000 * 1000);
	self->delay = peer->common ? event_base_init_common_timeout(self->base, &self->timeout)
	                           : &self->timeout;
	self->connections = connections;
	return self;
}

static void run(void *self)
{
	struct self *opened = self;

	event_base_dispatch(opened->base);
}

static void close_loop(void *self)
{
	struct self *opened = self;

	for (uint32_t i = 0; i < opened->connections->count; i++)
		event_del(&opened->connection[i].event);
	event_base_free(opened->base);
	free(opened);
}

#define LIBEVENT_LOOP                                                                   \
	.clock = coarse_clock_ns, .resolution_ns = 1000, .open = open_loop, .add = add, \
	.run = run, .close = close_loop

const struct loop_peer loop_libevent = {
        .name = "libevent",
        .about = "libevent: an event that persists, with a timeout of its own",
        LIBEVENT_LOOP,
};

const struct loop_peer loop_libevent_common = {
        .name = "libevent-common",
        .about = "the same with a common timeout",
        .common = true,
        LIBEVENT_LOOP,
};
