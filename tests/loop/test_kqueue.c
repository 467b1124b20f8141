/* SPDX-License-Identifier: MIT */
/* The kqueue adapter: on Linux with the fake kqueue in fake/, elsewhere with the kernel's. */
#define _GNU_SOURCE /* for Linux, where the tests are; a BSD hides nothing */
#include <pawl/kqueue.h>
#include <sys/types.h>

#include <poll.h>
#include <sys/event.h>

#include "../suite.h"

struct loop {
	int kqueue, socket;
	socket_fn *fn;
	void *arg;
	struct pawl_kqueue *adapter;
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

static void *loop_open(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	loop->kqueue = kqueue();
	return loop;
}

static void loop_close(void *arg)
{
	struct loop *loop = arg;

	close(loop->kqueue);
	free(loop);
}

static void change(const struct loop *loop, int fd, unsigned short flags)
{
	struct kevent event;

	EV_SET(&event, (uintptr_t)fd, EVFILT_READ, flags, 0, 0, NULL);
	EXPECT_EQ(kevent(loop->kqueue, &event, 1, NULL, 0, NULL), 0);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct loop *loop = arg;

	loop->socket = fd;
	loop->fn = fn;
	loop->arg = fn_arg;
	change(loop, fd, EV_ADD);
}

static void remove_socket(void *arg)
{
	struct loop *loop = arg;

	change(loop, loop->socket, EV_DELETE);
	loop->fn = NULL;
}

static int open_adapter(void **adapter, void *arg, pawl_due_fn *due, void *due_arg,
                        const struct pawl_loop_options *options)
{
	struct loop *loop = arg;
	struct pawl_kqueue *made = NULL;
	int error = pawl_kqueue_open(&made, loop->kqueue, due, due_arg, options);

	if (error)
		return error;
	loop->adapter = made;
	*adapter = made;
	return 0;
}

static void loop_once(void *arg)
{
	struct loop *loop = arg;
	struct kevent events[2];
	int count = kevent(loop->kqueue, NULL, 0, events, 2, NULL);

	for (int i = 0; i < count; i++)
		if (events[i].filter == EVFILT_READ)
			loop->fn(loop->arg);
		else if (events[i].udata == loop->adapter)
			pawl_kqueue_turn(loop->adapter);
}

static unsigned timers_of_loop(void *loop, void *adapter)
{
	(void)loop;
	(void)adapter;
	return timer_set;
}

static size_t turn(void *adapter)
{
	return pawl_kqueue_turn(adapter);
}

ADAPTER_CALLS(kqueue)

static const struct adapter_calls kqueue_calls = {
        .passes_between_polls = 1, THE_CALLS, .turn = turn, .settings = &changes_made};

/* Kernels refuse longer times, each with a limit of its own. */
static void no_timer_is_set_for_more_than_a_day(void)
{
	struct pawl_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	longest_data = 0;
	calls->arm_at(rig.adapter, &timer, PAWL_NEVER - 1);
	EXPECT_EQ(changes_made > 0, true);
#ifdef NOTE_NSECONDS
	EXPECT_EQ(longest_data, 24 * HOUR);
#else
	EXPECT_EQ(longest_data, 24 * HOUR / MS);
#endif
	EXPECT_EQ(pawl_kqueue_turn(rig.adapter), 0);
	expect_timers_of_loop(&rig, 1);
	rig_close(&rig);
}

/* A kqueue is a descriptor, for loops that poll descriptors. */
static void poll_takes_a_kqueue_too(void)
{
	struct pawl_timer timer = {0};
	struct pollfd polled = {.events = POLLIN};
	struct rig rig;

	rig_open(&rig, NULL);
	polled.fd = ((struct loop *)rig.loop)->kqueue;
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	calls->arm(rig.adapter, &timer, 3 * MS);
	EXPECT_EQ(poll(&polled, 1, -1), 1);
	run_until_called(&rig, 1);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	rig_close(&rig);
}

static void two_adapters_share_a_kqueue(void)
{
	struct pawl_timer first = {0}, second = {0};
	struct pawl_kqueue *other;
	struct kevent event;
	struct rig rig;

	rig_open(&rig, NULL);
	EXPECT_EQ(pawl_kqueue_open(&other, ((struct loop *)rig.loop)->kqueue, on_due, &rig, NULL),
	          0);
	pawl_kqueue_arm(other, &second, 2 * MS);
	calls->arm(rig.adapter, &first, HOUR);
	EXPECT_EQ(kevent(((struct loop *)rig.loop)->kqueue, NULL, 0, &event, 1, NULL), 1);
	EXPECT(event.udata == other);
	while (rig.called == 0)
		pawl_kqueue_turn(other);
	EXPECT(pawl_timer_armed(&first));
	pawl_kqueue_close(other, NULL);
	rig_close(&rig);
}

/* The kqueue outlives the adapter, and keeps no event of it. */
static void close_leaves_no_timer_in_the_kqueue(void)
{
	const struct timespec at_once = {0};
	struct pawl_timer timer = {0};
	struct kevent event;
	struct rig rig;

	rig_open(&rig, NULL);
	calls->arm_at(rig.adapter, &timer, 1);
	calls->close(rig.adapter, NULL);
	rig.adapter = NULL;
	stay_until(clock_ns() + 2 * MS);
	EXPECT_EQ(kevent(((struct loop *)rig.loop)->kqueue, NULL, 0, &event, 1, &at_once), 0);
	rig_close(&rig);
}

static void what_is_not_a_kqueue_is_refused(void)
{
	struct pawl_kqueue *adapter = NULL;

	EXPECT_EQ(pawl_kqueue_open(&adapter, -1, on_due, NULL, NULL), -EBADF);
	EXPECT(adapter == NULL);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(arming_for_later_is_no_system_call),
	        TEST(arming_what_is_due_is_one_system_call),
	        TEST(a_pass_is_one_system_call_whatever_it_arms),
	        TEST(no_timer_is_set_for_more_than_a_day),
	        TEST(poll_takes_a_kqueue_too),
	        TEST(two_adapters_share_a_kqueue),
	        TEST(a_pass_too_early_does_no_harm),
	        TEST(a_pass_inside_a_pass_does_nothing),
	        TEST(close_leaves_no_timer_in_the_kqueue),
	        TEST(what_is_not_a_kqueue_is_refused),
	};

	return suite_run(&kqueue_calls, own, sizeof(own) / sizeof(own[0]));
}
