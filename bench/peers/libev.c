/* SPDX-License-Identifier: MIT */
/* libev: a 4-ary heap with the times next to the pointers; seconds in floating point. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <ev.h>
#include <stdlib.h>

struct self {
	struct ev_loop *loop;
	uint64_t opened_ns;
	uint64_t now_ns; /* when the last pass began; the loop reads its clock after that */
	peer_fired_fn *fired;
	void *arg;
};

static void *open_loop(const struct peer *peer, size_t capacity)
{
	struct self *self = malloc(sizeof(*self));
	uint64_t now_ns = clock_ns();

	(void)peer;
	(void)capacity;
	if (!self)
		return NULL;
	self->loop = ev_loop_new(EVFLAG_AUTO);
	if (!self->loop) {
		free(self);
		return NULL;
	}
	ev_set_userdata(self->loop, self);
	self->opened_ns = self->now_ns = now_ns;
	return self;
}

static void close_loop(void *self)
{
	struct self *opened = self;

	ev_loop_destroy(opened->loop);
	free(opened);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct self *self = ev_userdata(loop);

	(void)events;
	ev_timer_stop(loop, timer); /* ev_timer_again makes it repeat */
	self->fired(timer, self->arg);
}

static double seconds_left(const struct self *self, uint64_t deadline)
{
	uint64_t due_ns = self->opened_ns + deadline * MILLISECOND;

	return due_ns > self->now_ns ? (double)(due_ns - self->now_ns) * 1e-9 : 0;
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	ev_timer *watcher = timer;

	ev_timer_init(watcher, on_timer, seconds_left(opened, deadline), 0.);
	ev_timer_start(opened->loop, watcher);
}

static void cancel(void *self, void *timer)
{
	struct self *opened = self;

	ev_timer_stop(opened->loop, timer);
}

/* As its manual recommends for idle timeouts: set `repeat` and call ev_timer_again. */
static void refresh(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	ev_timer *watcher = timer;
	double left = seconds_left(opened, deadline);

	watcher->repeat = left > 0 ? left : 1e-6; /* 0 would stop it */
	ev_timer_again(opened->loop, watcher);
}

static void pass(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;

	opened->fired = fired;
	opened->arg = arg;
	opened->now_ns = clock_ns();
	ev_run(opened->loop, EVRUN_NOWAIT);
}

const struct peer peer_libev = {
        .name = "libev",
        .about = "libev: ev_timer_start, ev_timer_stop, ev_timer_again; a 4-ary heap",
        .timer_size = sizeof(ev_timer),
        .resolution_ns = 1000, /* its times are floating-point numbers */
        .open = open_loop,
        .close = close_loop,
        .arm = arm,
        .cancel = cancel,
        .refresh = refresh,
        .pass = pass,
};
