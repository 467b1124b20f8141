/* SPDX-License-Identifier: MIT */
/* The loop's timer is a timer of the caller's kqueue. */
#define _GNU_SOURCE /* for Linux, where the tests are; a BSD hides nothing */
#include <pawl/kqueue.h>
#include <sys/types.h>

#include <sys/event.h>

#include "../pass.h"

/* Where a kernel has only milliseconds, the delay is rounded up: a pass too early would be in vain. */
#ifdef NOTE_NSECONDS
#define UNIT    NOTE_NSECONDS
#define UNIT_NS 1u
#else
#define UNIT    0u
#define UNIT_NS 1000000u
#endif

struct pawl_kqueue {
	struct adapter base;
	int kqueue;
};

/* 0 or -errno. */
static int change(struct pawl_kqueue *adapter, unsigned short flags, uint64_t units)
{
	struct kevent event = {0};

	EV_SET(&event, (uintptr_t)adapter, EVFILT_TIMER, flags, UNIT, (int64_t)units, adapter);
	return kevent(adapter->kqueue, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

/* Adding a timer that exists starts it again, and clears its expiry. */
static int start(struct pawl_kqueue *adapter, uint64_t delay_ns)
{
	uint64_t delay = at_most_a_day(delay_ns);

	return change(adapter, EV_ADD | EV_ONESHOT,
	              delay > 0 ? (delay + UNIT_NS - 1) / UNIT_NS : 1);
}

/* A timer whose event was delivered no longer exists: then this fails, which does no harm. */
static void stop(struct pawl_kqueue *adapter)
{
	change(adapter, EV_DELETE, 0);
}

/*
 * The delay counts from now: where kernels take absolute times, these are of the wall clock. If the kernel's timer is a
 * little early, the pass finds nothing due and sets it again.
 */
static void set_kqueue(struct adapter *base)
{
	struct pawl_kqueue *adapter = (struct pawl_kqueue *)base;

	if (base->wake == PAWL_NEVER)
		stop(adapter);
	else
		start(adapter, adapter_sleep_ns(base, base->now()));
}

static void leave_kqueue(struct adapter *base)
{
	stop((struct pawl_kqueue *)base);
	adapter_free(base);
}

/* Starting a timer and stopping it checks that the descriptor is a kqueue and that the kernel has memory. */
int pawl_kqueue_open(struct pawl_kqueue **adapter, int kqueue, pawl_due_fn *due, void *arg,
                     const struct pawl_loop_options *options)
{
	static const struct adapter_loop loop = {monotonic_ns, set_kqueue, leave_kqueue};
	int error;
	struct pawl_kqueue *made = adapter_new(sizeof(*made), &loop, due, arg, options, &error);

	if (!made)
		return error;
	made->kqueue = kqueue;
	error = start(made, NS_PER_DAY);
	if (error) {
		adapter_free(&made->base);
		return error;
	}
	stop(made);
	*adapter = made;
	return 0;
}

size_t pawl_kqueue_turn(struct pawl_kqueue *adapter)
{
	return adapter_pass(&adapter->base, adapter->base.now());
}

ADAPTER_FUNCTIONS(kqueue)
