/* SPDX-License-Identifier: MIT */
/* The event loop of idle-server.c: libevent. */
#define _GNU_SOURCE
#include "idle-server.h"

#include <pawl/libevent.h>
#include <stdlib.h>

struct events {
	struct event_base *base;
};

struct watch {
	struct event *event;
	readable_fn *readable;
	void *arg;
};

struct events *events_open(struct pawl_loop **timers, const struct pawl_loop_options *options)
{
	static struct events events;

	events.base = event_base_new();
	if (!events.base || pawl_libevent_open(timers, events.base, options) != 0)
		return NULL;
	return &events;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *watch = arg;

	(void)fd;
	(void)what;
	watch->readable(watch->arg);
}

struct watch *events_watch(struct events *events, int fd, readable_fn *readable, void *arg)
{
	struct watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return NULL;
	watch->readable = readable;
	watch->arg = arg;
	watch->event = event_new(events->base, fd, EV_READ | EV_PERSIST, on_event, watch);
	event_add(watch->event, NULL);
	return watch;
}

void events_unwatch(struct watch *watch)
{
	event_free(watch->event);
	free(watch);
}

void events_run(struct events *events)
{
	event_base_dispatch(events->base);
}

void events_stop(struct events *events)
{
	event_base_loopbreak(events->base);
}

void events_close(struct events *events)
{
	event_base_free(events->base);
}
