/* SPDX-License-Identifier: MIT */
/*
 * libevent: a binary heap of pointers; and a queue for timeouts of the same length ("common timeouts"). It is measured
 * from within its loop, where it does not read the clock for each event that is added.
 */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

struct self {
	struct event_base *base;
	const struct timeval *common; /* NULL: none */
	uint64_t opened_ns;
	uint64_t now; /* ms from open to the last pass */
	peer_fired_fn *fired;
	void *arg;
	void (*within)(void *arg);
};

struct timer {
	struct event event;
	struct self *self; /* NULL: the event is not assigned yet */
};

static struct timeval timeval_of(uint64_t ms)
{
	return (struct timeval){.tv_sec = (time_t)(ms / 1000),
	                        .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

static const struct timeval *make_common(struct event_base *base, uint64_t delay)
{
	const struct timeval duration = timeval_of(delay);

	return delay ? event_base_init_common_timeout(base, &duration) : NULL;
}

static void *open_base(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self));

	(void)capacity;
	if (!self)
		return NULL;
	self->base = event_base_new();
	if (!self->base) {
		free(self);
		return NULL;
	}
	self->common = make_common(self->base, peer->common_delay);
	self->opened_ns = coarse_clock_ns();
	return self;
}

static void close_base(void *self)
{
	struct self *opened = self;

	event_base_free(opened->base);
	free(opened);
}

static void on_timer(evutil_socket_t fd, short what, void *timer)
{
	struct self *self = ((struct timer *)timer)->self;

	(void)fd;
	(void)what;
	self->fired(timer, self->arg);
}

static void assign(struct self *self, struct timer *timer)
{
	timer->self = self;
	evtimer_assign(&timer->event, self->base, on_timer, timer);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	struct timer *mine = timer;
	struct timeval delay = timeval_of(deadline > opened->now ? deadline - opened->now : 0);

	if (!mine->self)
		assign(opened, mine);
	event_add(&mine->event, &delay);
}

static void arm_common(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	struct timer *mine = timer;

	(void)deadline;
	if (!mine->self)
		assign(opened, mine);
	event_add(&mine->event, opened->common);
}

static void cancel(void *self, void *timer)
{
	(void)self;
	event_del(&((struct timer *)timer)->event);
}

static void pass(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;

	opened->fired = fired;
	opened->arg = arg;
	event_base_loop(opened->base, EVLOOP_NONBLOCK);
	opened->now = (coarse_clock_ns() - opened->opened_ns) / 1000000;
}

static void call_within(evutil_socket_t fd, short what, void *self)
{
	struct self *opened = self;

	(void)fd;
	(void)what;
	opened->within(opened->arg);
	event_base_loopbreak(opened->base);
}

static void within(void *self, void (*fn)(void *arg), void *arg)
{
	struct self *opened = self;
	struct timeval at_once = {0, 0};

	opened->within = fn;
	opened->arg = arg;
	event_base_once(opened->base, -1, EV_TIMEOUT, call_within, opened, &at_once);
	event_base_loop(opened->base, EVLOOP_ONCE);
}

#define LIBEVENT_PEER                                                                        \
	.timer_size = sizeof(struct timer), .clock = coarse_clock_ns, .resolution_ns = 1000, \
	.open = open_base, .close = close_base, .cancel = cancel, .pass = pass, .within = within

const struct peer peer_libevent = {
        .name = "libevent",
        .about = "libevent: event_add, event_del; a binary heap of pointers",
        LIBEVENT_PEER,
        .arm = arm,
        .refresh = arm, /* it moves a pending event */
};

const struct peer peer_libevent_common = {
        .name = "libevent-common",
        .about = "libevent with a common timeout: a queue; refresh only, all delays being equal",
        LIBEVENT_PEER,
        .common_delay = 30000,
        .arm = arm_common,
        .refresh = arm_common,
};
