/* SPDX-License-Identifier: MIT */
/* A loop of our own, as a user of pawl would write it: epoll, timers, and the clock is read once a pass. */
#define _GNU_SOURCE
#include "../peers/peer.h"
#include "../support/machine.h"
#include "connections.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 256, TIMER_SIZE = 64, LONGEST_WAIT_MS = 1000000 };

struct connection {
	_Alignas(64) unsigned char timer[TIMER_SIZE];
	uint32_t number;
};

struct self {
	const struct peer *timers;
	void *structure;
	struct connections *connections;
	int epoll;
	uint64_t opened_ns;
	uint64_t now; /* ms since then, as the timers know it */
	struct connection connection[];
};

static uint64_t deadline(const struct self *self)
{
	return self->now + self->connections->timeout_ms;
}

static bool add(void *self, uint32_t i)
{
	struct self *opened = self;
	struct connection *connection = &opened->connection[i];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

	connection->number = i;
	opened->timers->arm(opened->structure, connection->timer, deadline(opened));
	return epoll_ctl(opened->epoll, EPOLL_CTL_ADD, opened->connections->fds[i], &event) == 0;
}

static void close_loop(void *self)
{
	struct self *opened = self;

	opened->timers->close(opened->structure);
	close(opened->epoll);
	free(opened);
}

static struct self *allocate(uint32_t count)
{
	size_t bytes = sizeof(struct self) + count * sizeof(struct connection);
	struct self *self = aligned_alloc(_Alignof(struct self),
	                                  (bytes + _Alignof(struct self) - 1) /
	                                          _Alignof(struct self) * _Alignof(struct self));

	if (self)
		*self = (struct self){0};
	for (uint32_t i = 0; self && i < count; i++)
		self->connection[i] = (struct connection){0};
	return self;
}

static void *open_loop(const struct loop_peer *peer, struct connections *connections)
{
	struct self *self = allocate(connections->count);

	if (!self)
		return NULL;
	self->timers = peer->timers;
	self->structure = peer->timers->open(peer->timers, connections->count);
	self->connections = connections;
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	self->opened_ns = clock_ns();
	return self;
}

/* Never too short, since `now` is rounded down: the loop does not wake just before the time, only to wait again. */
static int wait_ms(struct self *self)
{
	uint64_t next = self->timers->next(self->structure);

	if (next == PEER_NEVER)
		return -1;
	next = next > self->now ? next - self->now : 0;
	return next < LONGEST_WAIT_MS ? (int)next : LONGEST_WAIT_MS;
}

static void expire(struct self *self)
{
	unsigned char *timer;

	self->timers->advance(self->structure, self->now);
	while ((timer = self->timers->pop(self->structure)) != NULL)
		connection_expired(self->connections, ((struct connection *)(void *)timer)->number);
}

static void handle(struct self *self, struct connection *connection)
{
	bool armed = self->connections->armed[connection->number];

	connection_read(self->connections, connection->number);
	if (armed)
		self->timers->refresh(self->structure, connection->timer, deadline(self));
	else
		self->timers->arm(self->structure, connection->timer, deadline(self));
}

static void run(void *self)
{
	struct self *opened = self;
	struct epoll_event events[EVENTS];

	while (!opened->connections->done) {
		int count = epoll_wait(opened->epoll, events, EVENTS, wait_ms(opened));

		opened->now = (clock_ns() - opened->opened_ns) / 1000000;
		expire(opened);
		for (int i = 0; i < count; i++)
			handle(opened, events[i].data.ptr);
	}
}

extern const struct peer peer_pawl_1, peer_heap_4, peer_null;

/* The time is rounded down to a millisecond, as in libuv. */
#define EPOLL_LOOP \
	.resolution_ns = 1000000, .open = open_loop, .add = add, .run = run, .close = close_loop

const struct loop_peer loop_epoll_pawl = {
        .name = "epoll+pawl",
        .about = "a loop of forty lines around epoll, with pawl's wheel",
        .timers = &peer_pawl_1,
        EPOLL_LOOP,
};

const struct loop_peer loop_epoll_heap = {
        .name = "epoll+heap-4",
        .about = "the same with a 4-ary heap",
        .timers = &peer_heap_4,
        EPOLL_LOOP,
};

const struct loop_peer loop_epoll_none = {
        .name = "epoll",
        .about = "the same without any timeouts: what the messages cost by themselves",
        .timers = &peer_null,
        .untimed = true,
        EPOLL_LOOP,
};
