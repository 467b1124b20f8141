/* SPDX-License-Identifier: MIT */
/* The kqueue adapter: with the kernel's kqueue; on Linux with that of libkqueue. */
#define _GNU_SOURCE /* for libkqueue on Linux; a BSD hides nothing */
#include <pawl/kqueue.h>
#include <sys/types.h>

#include <poll.h>
#include <sys/event.h>

#include "suite.h"

struct events {
	int kqueue, socket;
	socket_fn *fn;
	void *arg;
	struct pawl_loop *loop;
};

static unsigned changes_made; /* of a timer, by system calls of the adapter */
static bool timer_set;
static uint64_t longest_data;

int __real_kevent(int kqueue, const struct kevent *changes, int change_count, struct kevent *events,
                  int event_count, const struct timespec *timeout);
int __wrap_kevent(int kqueue, const struct kevent *changes, int change_count, struct kevent *events,
                  int event_count, const struct timespec *timeout);

int __wrap_kevent(int kqueue, const struct kevent *changes, int change_count, struct kevent *events,
                  int event_count, const struct timespec *timeout)
{
	int count;

	for (int i = 0; i < change_count; i++)
		if (changes[i].filter == EVFILT_TIMER) {
			changes_made++;
			timer_set = changes[i].flags & EV_ADD;
			if ((uint64_t)changes[i].data > longest_data)
				longest_data = (uint64_t)changes[i].data;
		}
	count = __real_kevent(kqueue, changes, change_count, events, event_count, timeout);
	for (int i = 0; i < count; i++)
		if (events[i].filter == EVFILT_TIMER)
			timer_set = false;
	return count;
}

static void *open_events(void)
{
	struct events *events = calloc(1, sizeof(*events));

	events->kqueue = kqueue();
	return events;
}

static void close_events(void *arg)
{
	struct events *events = arg;

	close(events->kqueue);
	free(events);
}

static void change(const struct events *events, int fd, unsigned short flags)
{
	struct kevent event;

	EV_SET(&event, (uintptr_t)fd, EVFILT_READ, flags, 0, 0, NULL);
	EXPECT_EQ(kevent(events->kqueue, &event, 1, NULL, 0, NULL), 0);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct events *events = arg;

	events->socket = fd;
	events->fn = fn;
	events->arg = fn_arg;
	change(events, fd, EV_ADD);
}

static void remove_socket(void *arg)
{
	struct events *events = arg;

	change(events, events->socket, EV_DELETE);
	events->fn = NULL;
}

static int open_loop(struct pawl_loop **loop, void *arg, const struct pawl_loop_options *options)
{
	struct events *events = arg;
	int error = pawl_kqueue_open(loop, events->kqueue, options);

	if (!error)
		events->loop = *loop;
	return error;
}

static void run_once(void *arg)
{
	struct events *events = arg;
	struct kevent ready[2];
	int count = kevent(events->kqueue, NULL, 0, ready, 2, NULL);

	for (int i = 0; i < count; i++)
		if (ready[i].filter == EVFILT_READ)
			events->fn(events->arg);
		else if (ready[i].udata == events->loop)
			pawl_loop_pass(events->loop);
}

static unsigned timers_set(void *events, struct pawl_loop *loop)
{
	(void)events;
	(void)loop;
	return timer_set;
}

static const struct loop_calls kqueue_calls = {
        .passes_between_polls = 1, THE_CALLS, .settings = &changes_made};

/* Kernels refuse longer times, each with a limit of its own. */
static void no_timer_is_set_for_more_than_a_day(void)
{
	struct pawl_loop_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	longest_data = 0;
	pawl_loop_arm_at(rig.loop, &timer, PAWL_NEVER - 1);
	EXPECT_EQ(changes_made > 0, true);
#if defined(NOTE_NSECONDS) && !defined(PAWL_KQUEUE_MS)
	EXPECT_EQ(longest_data, 24 * HOUR);
#else
	EXPECT_EQ(longest_data, 24 * HOUR / MS);
#endif
	EXPECT_EQ(pawl_loop_pass(rig.loop), 0);
	expect_timers_set(&rig, 1);
	rig_close(&rig);
}

/*
 * A kqueue is a descriptor, for loops that poll descriptors. Not that of libkqueue: it returns the writing end of a
 * pipe, by which it notices close(), so on Linux this cannot be tried.
 */
#ifndef __linux__
static void poll_also_takes_a_kqueue(void)
{
	struct pawl_loop_timer timer = {0};
	struct pollfd polled = {.events = POLLIN};
	struct rig rig;

	rig_open(&rig, NULL);
	polled.fd = ((struct events *)rig.events)->kqueue;
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	pawl_loop_arm(rig.loop, &timer, 3 * MS);
	EXPECT_EQ(poll(&polled, 1, -1), 1);
	run_until_called(&rig, 1);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	rig_close(&rig);
}
#endif

static void two_loops_share_a_kqueue(void)
{
	struct pawl_loop_timer first = {0}, second = {0};
	struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *other;
	struct kevent event;
	struct rig rig;

	rig_open(&rig, NULL);
	options.arg = &rig;
	EXPECT_EQ(pawl_kqueue_open(&other, ((struct events *)rig.events)->kqueue, &options), 0);
	pawl_loop_arm(other, &second, 2 * MS);
	pawl_loop_arm(rig.loop, &first, HOUR);
	EXPECT_EQ(kevent(((struct events *)rig.events)->kqueue, NULL, 0, &event, 1, NULL), 1);
	EXPECT(event.udata == other);
	while (rig.called == 0)
		pawl_loop_pass(other);
	EXPECT(is_armed(&first));
	pawl_loop_close(other, NULL);
	rig_close(&rig);
}

/* The kqueue outlives the loop, and keeps no event of it. */
static void close_leaves_no_timer_in_the_kqueue(void)
{
	const struct timespec at_once = {0};
	struct pawl_loop_timer timer = {0};
	struct kevent event;
	struct rig rig;

	rig_open(&rig, NULL);
	pawl_loop_arm_at(rig.loop, &timer, 1);
	pawl_loop_close(rig.loop, NULL);
	rig.loop = NULL;
	stay_until(clock_ns() + 2 * MS);
	EXPECT_EQ(kevent(((struct events *)rig.events)->kqueue, NULL, 0, &event, 1, &at_once), 0);
	rig_close(&rig);
}

#ifdef __linux__
#define NOT_A_KQUEUE ENOENT /* by libkqueue */
#else
#define NOT_A_KQUEUE EBADF
#endif

static void a_descriptor_that_is_not_a_kqueue_is_refused(void)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *loop = NULL;

	EXPECT_EQ(pawl_kqueue_open(&loop, -1, &options), -NOT_A_KQUEUE);
	EXPECT(loop == NULL);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(arming_for_later_is_no_system_call),
	        TEST(arming_a_due_timer_is_one_system_call),
	        TEST(a_pass_is_one_system_call_whatever_it_arms),
	        TEST(no_timer_is_set_for_more_than_a_day),
#ifndef __linux__
	        TEST(poll_also_takes_a_kqueue),
#endif
	        TEST(two_loops_share_a_kqueue),
	        TEST(close_leaves_no_timer_in_the_kqueue),
	        TEST(a_descriptor_that_is_not_a_kqueue_is_refused),
	};

	return suite_run(&kqueue_calls, own, sizeof(own) / sizeof(own[0]));
}
