/* SPDX-License-Identifier: MIT */
/* The event loop's timer is a timer of the caller's kqueue. */
#define _GNU_SOURCE /* for libkqueue on Linux; a BSD hides nothing */
#include "sleep.h"

#include <errno.h>
#include <pawl/kqueue.h>
#include <stdlib.h>
#include <sys/types.h>

#include <sys/event.h>

/*
 * Where a kernel has only milliseconds, the delay is rounded up: a pass too early would be in vain. The tests define
 * PAWL_KQUEUE_MS, to try that on a kernel that has more.
 */
#if defined(NOTE_NSECONDS) && !defined(PAWL_KQUEUE_MS)
#define UNIT    NOTE_NSECONDS
#define UNIT_NS 1u
#else
#define UNIT    0u
#define UNIT_NS 1000000u
#endif

struct kqueue_timer {
	struct pawl_loop *loop;
	int kqueue, clock;
	uint64_t longest;
};

static uint64_t kqueue_now(void *self)
{
	return system_now(((struct kqueue_timer *)self)->clock);
}

/* 0 or -errno. */
static int change(struct kqueue_timer *timer, unsigned short flags, uint64_t units)
{
	struct kevent event = {0};

	EV_SET(&event, (uintptr_t)timer, EVFILT_TIMER, flags, UNIT, (int64_t)units, timer->loop);
	return kevent(timer->kqueue, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

/* Adding a timer that exists starts it again, and clears its expiry. */
static int start(struct kqueue_timer *timer, uint64_t delay_ns)
{
	return change(timer, EV_ADD | EV_ONESHOT,
	              delay_ns > 0 ? (delay_ns + UNIT_NS - 1) / UNIT_NS : 1);
}

/* A timer whose event was delivered no longer exists: then this fails, which does no harm. */
static void stop(struct kqueue_timer *timer)
{
	change(timer, EV_DELETE, 0);
}

/*
 * The delay counts from now: where kernels take absolute times, these are of the wall clock. If the kernel's timer is a
 * little early, the pass finds nothing due and sets it again.
 */
static void set_kqueue(void *self, uint64_t at_ns)
{
	struct kqueue_timer *timer = self;

	if (at_ns == PAWL_NEVER)
		stop(timer);
	else
		start(timer, delay_until(at_ns, kqueue_now(self), timer->longest));
}

static void leave_kqueue(void *self)
{
	stop(self);
	free(self);
}

/* Starting a timer and stopping it checks that the descriptor is a kqueue and that the kernel has memory. */
static int try_kqueue(struct kqueue_timer *timer)
{
	int error = start(timer, timer->longest);

	if (!error)
		stop(timer);
	return error;
}

int pawl_kqueue_open(struct pawl_loop **loop, int kqueue, const struct pawl_loop_options *options)
{
	static const struct pawl_loop_adapter adapter = {kqueue_now, set_kqueue, leave_kqueue, {0}};
	struct kqueue_timer *made = malloc(sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	*made = (struct kqueue_timer){NULL, kqueue, loop_clock(options), longest_delay(options)};
	error = try_kqueue(made);
	if (!error)
		error = pawl_loop_open(&made->loop, &adapter, made, options);
	if (error)
		free(made);
	else
		*loop = made->loop;
	return error;
}
