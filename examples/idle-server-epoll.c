/* SPDX-License-Identifier: MIT */
/* The event loop of idle-server.c: epoll. */
#define _GNU_SOURCE
#include "idle-server.h"

#include <pawl/epoll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BATCH 64

struct events {
	struct pawl_loop *timers;
	int epoll;
	bool stop;
};

struct watch {
	readable_fn *readable;
	void *arg;
	int epoll, fd;
};

struct events *events_open(struct pawl_loop **timers, const struct pawl_loop_options *options)
{
	static struct events events;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}; /* NULL: the timers */

	events.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (events.epoll < 0 || pawl_epoll_open(&events.timers, options) != 0)
		return NULL;
	*timers = events.timers;
	epoll_ctl(events.epoll, EPOLL_CTL_ADD, pawl_epoll_fd(events.timers), &event);
	return &events;
}

struct watch *events_watch(struct events *events, int fd, readable_fn *readable, void *arg)
{
	struct watch *watch = malloc(sizeof(*watch));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	if (!watch)
		return NULL;
	*watch = (struct watch){readable, arg, events->epoll, fd};
	epoll_ctl(events->epoll, EPOLL_CTL_ADD, fd, &event);
	return watch;
}

void events_unwatch(struct watch *watch)
{
	epoll_ctl(watch->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	free(watch);
}

/* Timers come after sockets: an expiry may free a connection that a later event of this round points to. */
void events_run(struct events *events)
{
	struct epoll_event ready[BATCH];

	while (!events->stop) {
		int count = epoll_wait(events->epoll, ready, BATCH, -1);
		bool timers_due = false;

		for (int i = 0; i < count; i++) {
			const struct watch *watch = ready[i].data.ptr;

			if (watch)
				watch->readable(watch->arg);
			else
				timers_due = true;
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
	close(events->epoll);
}
