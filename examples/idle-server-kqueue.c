/* SPDX-License-Identifier: MIT */
/* The event loop of idle-server.c: a kqueue. */
#define _GNU_SOURCE /* for libkqueue on Linux; a BSD hides nothing */
#include "idle-server.h"

#include <pawl/kqueue.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <sys/event.h>

#define BATCH 64

struct events {
	struct pawl_loop *timers;
	int kqueue;
	bool stop;
};

struct watch {
	readable_fn *readable;
	void *arg;
	int kqueue, fd;
};

struct events *events_open(struct pawl_loop **timers, const struct pawl_loop_options *options)
{
	static struct events events;

	events.kqueue = kqueue();
	if (events.kqueue < 0 || pawl_kqueue_open(&events.timers, events.kqueue, options) != 0)
		return NULL;
	*timers = events.timers;
	return &events;
}

static void change(struct watch *watch, unsigned short flags)
{
	struct kevent event;

	EV_SET(&event, (uintptr_t)watch->fd, EVFILT_READ, flags, 0, 0, watch);
	kevent(watch->kqueue, &event, 1, NULL, 0, NULL);
}

struct watch *events_watch(struct events *events, int fd, readable_fn *readable, void *arg)
{
	struct watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return NULL;
	*watch = (struct watch){readable, arg, events->kqueue, fd};
	change(watch, EV_ADD);
	return watch;
}

void events_unwatch(struct watch *watch)
{
	change(watch, EV_DELETE);
	free(watch);
}

/* Timers come after sockets: an expiry may free a connection that a later event of this round points to. */
void events_run(struct events *events)
{
	struct kevent ready[BATCH];

	while (!events->stop) {
		int count = kevent(events->kqueue, NULL, 0, ready, BATCH, NULL);
		bool timers_due = false;

		for (int i = 0; i < count; i++) {
			const struct watch *watch = (void *)ready[i].udata;

			if (ready[i].filter == EVFILT_TIMER)
				timers_due = true;
			else
				watch->readable(watch->arg);
		}
		if (timers_due)
			pawl_loop_pass(events->timers);
	}
}

void events_stop(struct events *events)
{
	events->stop = true;
}

void events_close(struct events *events)
{
	close(events->kqueue);
}
