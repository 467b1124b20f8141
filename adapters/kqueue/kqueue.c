/* SPDX-License-Identifier: MIT */
/* A timer of the caller's kqueue that is set to the time of the next turn. */
#define _GNU_SOURCE /* for Linux, where the tests are; a BSD hides nothing */
#include <pawl/kqueue.h>
#include <sys/types.h>

#include <sys/event.h>

#include "../turn.h"

/*
 * A timer is set for at most a day: no kernel refuses that, and 64 bits of nanoseconds are more than some accept. The turn
 * that it then makes finds nothing due and sets it again.
 */
#define LONGEST_NS (UINT64_C(86400) * NS_PER_SECOND)

/* Where a kernel counts in milliseconds only, rounded up: a turn too early would be one in vain. */
#ifdef NOTE_NSECONDS
#define UNIT    NOTE_NSECONDS
#define UNIT_NS 1u
#else
#define UNIT    0u
#define UNIT_NS 1000000u
#endif

struct pawl_kqueue {
	struct turns turns; /* first: see set_kqueue */
	int kqueue;
};

/* 0 or -errno. */
static int change(struct pawl_kqueue *adapter, unsigned short flags, uint64_t units)
{
	struct kevent event = {0};

	EV_SET(&event, (uintptr_t)adapter, EVFILT_TIMER, flags, UNIT, (int64_t)units, adapter);
	return kevent(adapter->kqueue, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

/* To add a timer that is there starts it anew, and takes back that it has expired. */
static int start(struct pawl_kqueue *adapter, uint64_t delay_ns)
{
	uint64_t delay = delay_ns < LONGEST_NS ? delay_ns : LONGEST_NS;

	return change(adapter, EV_ADD | EV_ONESHOT,
	              delay > 0 ? (delay + UNIT_NS - 1) / UNIT_NS : 1);
}

/* One that has expired, and was taken out of the kqueue, is gone already: then this fails, which does no harm. */
static void stop(struct pawl_kqueue *adapter)
{
	change(adapter, EV_DELETE, 0);
}

/*
 * The delay counts from now: the absolute times that some kernels take are those of the wall clock. If the kernel's timer
 * is a little early, the turn finds nothing due and sets it again.
 */
static void set_kqueue(struct turns *turns)
{
	struct pawl_kqueue *adapter = (struct pawl_kqueue *)turns;

	if (turns->wake == PAWL_NEVER)
		stop(adapter);
	else
		start(adapter, turns_sleep_ns(turns, turns->now()));
}

/* To start a timer and stop it tells whether the kqueue is one, and has room. */
int pawl_kqueue_open(struct pawl_kqueue **adapter, int kqueue, pawl_due_fn *due, void *arg,
                     const struct pawl_loop_options *options)
{
	struct pawl_kqueue *made = malloc(sizeof(*made));
	int error = made ? turns_init(&made->turns, monotonic_ns, set_kqueue, due, arg, options)
	                 : -ENOMEM;

	if (error) {
		free(made);
		return error;
	}
	made->kqueue = kqueue;
	error = start(made, LONGEST_NS);
	if (error) {
		free(made->turns.wheel);
		free(made);
		return error;
	}
	stop(made);
	*adapter = made;
	return 0;
}

static void destroy(struct pawl_kqueue *adapter)
{
	stop(adapter);
	free(adapter->turns.wheel);
	free(adapter);
}

size_t pawl_kqueue_turn(struct pawl_kqueue *adapter)
{
	size_t calls;

	if (adapter->turns.running)
		return 0;
	calls = turns_run(&adapter->turns, adapter->turns.now());
	if (adapter->turns.closed)
		destroy(adapter);
	return calls;
}

void pawl_kqueue_arm(struct pawl_kqueue *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_arm(&adapter->turns, timer, delay_ns);
}

void pawl_kqueue_arm_at(struct pawl_kqueue *adapter, struct pawl_timer *timer, uint64_t deadline_ns)
{
	turns_arm_at(&adapter->turns, timer, deadline_ns);
}

int pawl_kqueue_arm_every(struct pawl_kqueue *adapter, struct pawl_loop_timer *timer,
                          uint64_t period_ns)
{
	return turns_arm_every(&adapter->turns, timer, period_ns);
}

void pawl_kqueue_touch(struct pawl_kqueue *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_touch(&adapter->turns, timer, delay_ns);
}

bool pawl_kqueue_cancel(struct pawl_kqueue *adapter, struct pawl_timer *timer)
{
	return turns_cancel(&adapter->turns, timer);
}

uint64_t pawl_kqueue_now(const struct pawl_kqueue *adapter)
{
	return adapter->turns.now();
}

struct pawl_wheel *pawl_kqueue_wheel(struct pawl_kqueue *adapter)
{
	return adapter->turns.wheel;
}

void pawl_kqueue_close(struct pawl_kqueue *adapter, pawl_due_fn *dropped)
{
	if (!adapter)
		return;
	turns_close(&adapter->turns, dropped);
	if (!adapter->turns.running)
		destroy(adapter);
}
