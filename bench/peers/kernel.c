/* SPDX-License-Identifier: MIT */
/*
 * The kernel, in two ways: a timerfd for each timer, all in one epoll; and a POSIX timer for each, which sends a signal
 * that is waited for. The kernel's timers are made at open, so that making them is not measured. A timer of the harness
 * gets one of them when it is first armed.
 */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SPARE = 64 /* descriptors or signals, for other uses */, EVENTS = 64 };

struct timer {
	struct kernel_timer *kernel; /* NULL: none yet */
};

struct kernel_timer {
	int fd;               /* of a timerfd */
	timer_t id;           /* of a POSIX timer */
	uint64_t deadline_ns; /* PEER_NEVER: idle; only a POSIX timer is ever set to that */
	struct timer *timer;
};

struct self {
	const struct way *way;
	int epoll; /* of timerfds */
	uint64_t opened_ns;
	size_t count, used; /* of the kernel's */
	struct kernel_timer timers[];
};

/* The differences of the two at open and close. */
struct way {
	bool (*make)(struct self *self, struct kernel_timer *timer);
	void (*unmake)(struct kernel_timer *timer);
};

static size_t limit_of(int resource)
{
	size_t limit = raise_limit(resource);

	return limit > SPARE ? limit - SPARE : 0;
}

static void close_all(void *self)
{
	struct self *opened = self;

	for (size_t i = 0; i < opened->count; i++)
		opened->way->unmake(&opened->timers[i]);
	close(opened->epoll);
	free(opened);
}

static void *open_all(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self) + capacity * sizeof(struct kernel_timer));

	if (!self)
		return NULL;
	self->way = peer->variant;
	self->opened_ns = clock_ns();
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (; self->count < capacity; self->count++) {
		if (!self->way->make(self, &self->timers[self->count])) {
			close_all(self);
			return NULL;
		}
	}
	return self;
}

/* The kernel's timer of this one, with the deadline to which to set it. */
static struct kernel_timer *kernel_timer(struct self *self, struct timer *timer, uint64_t deadline)
{
	if (!timer->kernel) {
		timer->kernel = &self->timers[self->used++];
		timer->kernel->timer = timer;
	}
	timer->kernel->deadline_ns = self->opened_ns + deadline * 1000000;
	return timer->kernel;
}

static const struct itimerspec never;

static size_t descriptor_limit(void)
{
	return limit_of(RLIMIT_NOFILE);
}

static bool make_descriptor(struct self *self, struct kernel_timer *timer)
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

static void close_descriptor(struct kernel_timer *timer)
{
	close(timer->fd);
}

static void arm_descriptor(void *self, void *timer, uint64_t deadline)
{
	const struct kernel_timer *kernel = kernel_timer(self, timer, deadline);
	struct itimerspec time = {.it_value = timespec_of(kernel->deadline_ns)};

	timerfd_settime(kernel->fd, TFD_TIMER_ABSTIME, &time, NULL);
}

static void cancel_descriptor(void *self, void *timer)
{
	(void)self;
	timerfd_settime(((struct timer *)timer)->kernel->fd, 0, &never, NULL);
}

static void pass_descriptors(void *self, peer_fired_fn *fired, void *arg)
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

/* A POSIX timer keeps a signal in reserve. */
static size_t signal_limit(void)
{
	return limit_of(RLIMIT_SIGPENDING);
}

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGRTMIN);
}

static bool make_posix(struct self *self, struct kernel_timer *timer)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	sigset_t signals;

	if (self->count == 0) {
		wanted_signals(&signals);
		sigprocmask(SIG_BLOCK, &signals, NULL);
	}
	event.sigev_value.sival_ptr = timer;
	return timer_create(CLOCK_MONOTONIC, &event, &timer->id) == 0;
}

static void delete_posix(struct kernel_timer *timer)
{
	timer_delete(timer->id);
}

static void arm_posix(void *self, void *timer, uint64_t deadline)
{
	const struct kernel_timer *kernel = kernel_timer(self, timer, deadline);
	struct itimerspec time = {.it_value = timespec_of(kernel->deadline_ns)};

	timer_settime(kernel->id, TIMER_ABSTIME, &time, NULL);
}

static void cancel_posix(void *self, void *timer)
{
	struct kernel_timer *kernel = ((struct timer *)timer)->kernel;

	(void)self;
	kernel->deadline_ns = PEER_NEVER;
	timer_settime(kernel->id, 0, &never, NULL);
}

/* Before Linux 6.13 a signal may arrive although its timer has been set to another time since. */
static void handle(struct kernel_timer *kernel, peer_fired_fn *fired, void *arg)
{
	if (kernel->deadline_ns > clock_ns())
		return;
	kernel->deadline_ns = PEER_NEVER;
	fired(kernel->timer, arg);
}

static void pass_posix(void *self, peer_fired_fn *fired, void *arg)
{
	static const struct timespec at_once;
	sigset_t signals;
	siginfo_t info;

	(void)self;
	wanted_signals(&signals);
	while (sigtimedwait(&signals, &info, &at_once) > 0)
		handle(info.si_value.sival_ptr, fired, arg);
}

static const struct way by_descriptors = {make_descriptor, close_descriptor};
static const struct way by_signals = {make_posix, delete_posix};

#define KERNEL_PEER \
	.timer_size = sizeof(struct timer), .in_kernel = true, .open = open_all, .close = close_all

const struct peer peer_timerfd = {
        .name = "timerfd",
        .about = "the kernel: timerfd_settime, a descriptor each timer",
        KERNEL_PEER,
        .variant = &by_descriptors,
        .limit = descriptor_limit,
        .arm = arm_descriptor,
        .cancel = cancel_descriptor,
        .refresh = arm_descriptor,
        .pass = pass_descriptors,
};

const struct peer peer_posix = {
        .name = "timer_create",
        .about = "the kernel: timer_settime, a POSIX timer and its signal each timer",
        KERNEL_PEER,
        .variant = &by_signals,
        .limit = signal_limit,
        .arm = arm_posix,
        .cancel = cancel_posix,
        .refresh = arm_posix,
        .pass = pass_posix,
};
