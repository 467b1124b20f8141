/* SPDX-License-Identifier: MIT */
/*
 * The kernel: a timerfd for each timer, all in one epoll. The descriptors are made at open, so that making them is not
 * measured. A timer gets one of them when it is first armed.
 */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SPARE = 64 /* descriptors, for other uses */, EVENTS = 64 };

struct timer {
	struct kernel_timer *kernel; /* NULL: none yet */
};

struct kernel_timer {
	int fd;
	struct timer *timer;
};

struct self {
	int epoll;
	uint64_t opened_ns;
	size_t count, used; /* of the kernel's */
	struct kernel_timer timers[];
};

static size_t limit(void)
{
	size_t limit = raise_limit(RLIMIT_NOFILE);

	return limit > SPARE ? limit - SPARE : 0;
}

static void close_all(void *self)
{
	struct self *opened = self;

	for (size_t i = 0; i < opened->count; i++)
		close(opened->timers[i].fd);
	close(opened->epoll);
	free(opened);
}

static bool make(struct self *self, struct kernel_timer *timer)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = timer};

	timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer->fd < 0)
		return false;
	if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, timer->fd, &event) == 0)
		return true;
	close(timer->fd);
	return false;
}

static void *open_all(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self) + capacity * sizeof(struct kernel_timer));

	(void)peer;
	if (!self)
		return NULL;
	self->opened_ns = clock_ns();
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (; self->count < capacity; self->count++) {
		if (!make(self, &self->timers[self->count])) {
			close_all(self);
			return NULL;
		}
	}
	return self;
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	struct timer *mine = timer;
	struct itimerspec time = {.it_value =
	                                  timespec_of(opened->opened_ns + deadline * MILLISECOND)};

	if (!mine->kernel) {
		mine->kernel = &opened->timers[opened->used++];
		mine->kernel->timer = mine;
	}
	timerfd_settime(mine->kernel->fd, TFD_TIMER_ABSTIME, &time, NULL);
}

static void cancel(void *self, void *timer)
{
	static const struct itimerspec never;

	(void)self;
	timerfd_settime(((struct timer *)timer)->kernel->fd, 0, &never, NULL);
}

static void pass(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;
	struct epoll_event events[EVENTS];
	int count = epoll_wait(opened->epoll, events, EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct kernel_timer *kernel = events[i].data.ptr;
		uint64_t expirations;

		if (read(kernel->fd, &expirations, sizeof(expirations)) > 0)
			fired(kernel->timer, arg);
	}
}

const struct peer peer_timerfd = {
        .name = "timerfd",
        .about = "the kernel: timerfd_settime, a descriptor each timer",
        .timer_size = sizeof(struct timer),
        .in_kernel = true,
        .limit = limit,
        .open = open_all,
        .close = close_all,
        .arm = arm,
        .cancel = cancel,
        .refresh = arm,
        .pass = pass,
};
