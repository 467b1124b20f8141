/* SPDX-License-Identifier: MIT */
/* The libevent adapter in a base of the real libevent. */
#define _GNU_SOURCE
#include <pawl/libevent.h>

#include "suite.h"
#include "threads.h"

struct events {
	struct event_base *base;
	struct event *event;
	socket_fn *fn;
	void *arg;
};

static int base_flags;
static time_t longest_seconds; /* of a timeout */

int __real_event_add(struct event *event, const struct timeval *timeout);
int __wrap_event_add(struct event *event, const struct timeval *timeout);

int __wrap_event_add(struct event *event, const struct timeval *timeout)
{
	if (timeout && timeout->tv_sec > longest_seconds)
		longest_seconds = timeout->tv_sec;
	return __real_event_add(event, timeout);
}

static void *open_events(void)
{
	struct events *events = calloc(1, sizeof(*events));
	struct event_config *config = event_config_new();

	event_config_set_flag(config, base_flags);
	events->base = event_base_new_with_config(config);
	event_config_free(config);
	return events;
}

static void close_events(void *arg)
{
	struct events *events = arg;

	EXPECT_EQ(event_base_get_num_events(events->base, EVENT_BASE_COUNT_ADDED), 0);
	event_base_free(events->base);
	free(events);
}

static void run_once(void *arg)
{
	struct events *events = arg;

	event_base_loop(events->base, EVLOOP_ONCE);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct events *events = arg;

	(void)fd;
	EXPECT_EQ(what, EV_READ);
	events->fn(events->arg);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct events *events = arg;

	events->fn = fn;
	events->arg = fn_arg;
	events->event = event_new(events->base, fd, EV_READ | EV_PERSIST, on_readable, events);
	EXPECT_EQ(event_add(events->event, NULL), 0);
}

static void remove_socket(void *arg)
{
	struct events *events = arg;

	event_free(events->event);
}

static int open_loop(struct pawl_loop **loop, void *arg, const struct pawl_loop_options *options)
{
	struct events *events = arg;

	return pawl_libevent_open(loop, events->base, options);
}

static unsigned timers_set(void *arg, struct pawl_loop *loop)
{
	struct events *events = arg;

	(void)loop;
	return (unsigned)event_base_get_num_events(events->base, EVENT_BASE_COUNT_ADDED);
}

static const struct loop_calls libevent_calls = {.passes_between_polls = 1, THE_CALLS};

static void with_a_precise_base_it_is_as_good(void)
{
	base_flags = EVENT_BASE_FLAG_PRECISE_TIMER;
	each_timer_is_called_once_and_never_early();
	a_delay_counts_from_the_call_not_from_the_loops_cached_time();
	a_burst_does_not_starve_a_socket();
	base_flags = 0;
}

static void without_a_time_cache_it_is_as_good(void)
{
	base_flags = EVENT_BASE_FLAG_NO_CACHE_TIME;
	each_timer_is_called_once_and_never_early();
	a_burst_does_not_starve_a_socket();
	base_flags = 0;
}

static void dispatch_returns_when_nothing_is_armed(void)
{
	struct pawl_loop_timer timer = {0};
	struct events *events;
	struct rig rig;

	rig_open(&rig, NULL);
	events = rig.events;
	pawl_loop_arm(rig.loop, &timer, 2 * MS);
	EXPECT_EQ(event_base_dispatch(events->base), 1);
	EXPECT_EQ(rig.called, 1);
	rig_close(&rig);
}

/* A time_t of 32 bits cannot hold every timeout. Cut off, it may be negative, and the loop would not sleep. */
static void no_timeout_is_longer_than_a_day(void)
{
	struct pawl_loop_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	longest_seconds = 0;
	pawl_loop_arm(rig.loop, &timer, 3000000000 * SECOND);
	EXPECT_EQ(longest_seconds, 24 * HOUR / SECOND);
	expect_timers_set(&rig, 1);
	rig_close(&rig);
}

static void *no_memory(size_t size)
{
	(void)size;
	return NULL;
}

static void without_memory_for_its_event_open_leaves_nothing_behind(void)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *loop = NULL;
	struct rig rig;

	rig_open(&rig, NULL);
	event_set_mem_functions(no_memory, realloc, free);
	EXPECT_EQ(calls->open(&loop, rig.events, &options), -ENOMEM);
	event_set_mem_functions(malloc, realloc, free);
	EXPECT(loop == NULL);
	rig_close(&rig);
}

static void run_tasks(evutil_socket_t fd, short what, void *base)
{
	(void)fd;
	EXPECT_EQ(what, EV_READ);
	pawl_service_poll(service, 0);
	if (all_ran())
		event_base_loopbreak(base);
}

static void watch_service(int fd)
{
	struct event_base *base = event_base_new();
	struct event *watcher = event_new(base, fd, EV_READ | EV_PERSIST, run_tasks, base);

	EXPECT_EQ(event_add(watcher, NULL), 0);
	start_threads();
	event_base_dispatch(base);
	event_free(watcher);
	event_base_free(base);
}

static void tasks_that_threads_arm_run_in_the_loop(void)
{
	with_service(watch_service);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(with_a_precise_base_it_is_as_good),
	        TEST(without_a_time_cache_it_is_as_good),
	        TEST(dispatch_returns_when_nothing_is_armed),
	        TEST(no_timeout_is_longer_than_a_day),
	        TEST(without_memory_for_its_event_open_leaves_nothing_behind),
	        TEST(tasks_that_threads_arm_run_in_the_loop),
	};

	return suite_run(&libevent_calls, own, sizeof(own) / sizeof(own[0]));
}
