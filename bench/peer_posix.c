/* SPDX-License-Identifier: MIT */
/*
 * The kernel: a POSIX timer each, which sends a signal that is waited for. The timers are made at open,
 * and one of the harness's takes one of them when it is first armed: making them is not measured.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "peer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { SPARE_SIGNALS = 64 };

struct timer {
	struct kernel_timer *kernel; /* NULL: none yet */
};

struct kernel_timer {
	timer_t id;
	uint64_t deadline_ns; /* PEER_NEVER: idle */
	struct timer *timer;
};

struct self {
	uint64_t opened_ns;
	size_t count, taken; /* of the kernel's */
	struct kernel_timer timers[];
};

/* A timer keeps a signal in reserve. */
static size_t limit(void)
{
	size_t signals = raise_limit(RLIMIT_SIGPENDING);

	return signals > SPARE_SIGNALS ? signals - SPARE_SIGNALS : 0;
}

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGRTMIN);
}

static void close_all(void *self)
{
	struct self *opened = self;

	for (size_t i = 0; i < opened->count; i++)
		timer_delete(opened->timers[i].id);
	free(opened);
}

static bool make_timer(struct self *self)
{
	struct kernel_timer *made = &self->timers[self->count];
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};

	event.sigev_value.sival_ptr = made;
	if (timer_create(CLOCK_MONOTONIC, &event, &made->id) != 0)
		return false;
	self->count++;
	return true;
}

static void *open_all(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self) + capacity * sizeof(struct kernel_timer));
	sigset_t signals;

	(void)peer;
	if (!self)
		return NULL;
	wanted_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	self->opened_ns = clock_ns();
	while (self->count < capacity) {
		if (!make_timer(self)) {
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
	uint64_t deadline_ns = opened->opened_ns + deadline * 1000000;
	struct itimerspec time = {.it_value = timespec_of(deadline_ns)};

	if (!mine->kernel) {
		mine->kernel = &opened->timers[opened->taken++];
		mine->kernel->timer = mine;
	}
	mine->kernel->deadline_ns = deadline_ns;
	timer_settime(mine->kernel->id, TIMER_ABSTIME, &time, NULL);
}

static void cancel(void *self, void *timer)
{
	static const struct itimerspec never;
	struct kernel_timer *kernel = ((struct timer *)timer)->kernel;

	(void)self;
	kernel->deadline_ns = PEER_NEVER;
	timer_settime(kernel->id, 0, &never, NULL);
}

/* Before Linux 6.13 a signal that was on its way arrives though its timer was set anew meanwhile. */
static void handle(struct kernel_timer *kernel, peer_fired_fn *fired, void *arg)
{
	if (kernel->deadline_ns > clock_ns())
		return;
	kernel->deadline_ns = PEER_NEVER;
	fired(kernel->timer, arg);
}

static void turn(void *self, peer_fired_fn *fired, void *arg)
{
	static const struct timespec at_once;
	sigset_t signals;
	siginfo_t info;

	(void)self;
	wanted_signals(&signals);
	while (sigtimedwait(&signals, &info, &at_once) > 0)
		handle(info.si_value.sival_ptr, fired, arg);
}

const struct peer peer_posix = {
        .name = "timer_create",
        .about = "the kernel: timer_settime, a POSIX timer and its signal each timer",
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
