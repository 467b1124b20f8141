/* SPDX-License-Identifier: MIT */
/*
 * The kernel: a timerfd each timer, all of them watched by one epoll. The descriptors are made at open,
 * and a timer takes one of them when it is first armed: making them is not measured.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "peer.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SPARE_DESCRIPTORS = 64, EVENTS = 64 };

struct timer {
	struct descriptor *descriptor; /* NULL: none yet */
};

struct descriptor {
	int fd;
	struct timer *timer;
};

struct self {
	int epoll;
	uint64_t opened_ns;
	size_t count, taken; /* of the descriptors */
	struct descriptor descriptors[];
};

static size_t limit(void)
{
	size_t descriptors = raise_limit(RLIMIT_NOFILE);

	return descriptors > SPARE_DESCRIPTORS ? descriptors - SPARE_DESCRIPTORS : 0;
}

static void close_all(void *self)
{
	struct self *opened = self;

	for (size_t i = 0; i < opened->count; i++)
		close(opened->descriptors[i].fd);
	close(opened->epoll);
	free(opened);
}

static bool make_descriptor(struct self *self)
{
	struct descriptor *made = &self->descriptors[self->count];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = made};

	made->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (made->fd < 0)
		return false;
	self->count++;
	return epoll_ctl(self->epoll, EPOLL_CTL_ADD, made->fd, &event) == 0;
}

static void *open_all(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self) + capacity * sizeof(struct descriptor));

	(void)peer;
	if (!self)
		return NULL;
	self->opened_ns = clock_ns();
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	while (self->count < capacity) {
		if (!make_descriptor(self)) {
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
	struct itimerspec time = {.it_value = timespec_of(opened->opened_ns + deadline * 1000000)};

	if (!mine->descriptor) {
		mine->descriptor = &opened->descriptors[opened->taken++];
		mine->descriptor->timer = mine;
	}
	timerfd_settime(mine->descriptor->fd, TFD_TIMER_ABSTIME, &time, NULL);
}

static void cancel(void *self, void *timer)
{
	static const struct itimerspec never;

	(void)self;
	timerfd_settime(((struct timer *)timer)->descriptor->fd, 0, &never, NULL);
}

static void turn(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;
	struct epoll_event events[EVENTS];
	int count = epoll_wait(opened->epoll, events, EVENTS, 0);

	for (int i = 0; i < count; i++) {
		struct descriptor *descriptor = events[i].data.ptr;
		uint64_t expirations;

		if (read(descriptor->fd, &expirations, sizeof(expirations)) > 0)
			fired(descriptor->timer, arg);
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
        .turn = turn,
};
