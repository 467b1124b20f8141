/* SPDX-License-Identifier: MIT */
/*
 * Shared by the scenarios: their list, threads by the handful, and a service whose time stands still until it is moved.
 */
#ifndef PAWL_SCHEDULES_SCENARIO_H
#define PAWL_SCHEDULES_SCENARIO_H

#include <errno.h>
#include <pawl/pawl.h>
#include <pthread.h>
#include <stdlib.h>

#include "../explorer/explore.h"

#define MS UINT64_C(1000000) /* a tick */

static struct explore_scenario scenarios[256]; /* of this program, in the order of its source */
static size_t scenario_count;

/* The head of a scenario's function, which adds it to the list. Members of struct explore_scenario may follow. */
#define SCENARIO(function, ...)                                           \
	static void function(void);                                       \
	__attribute__((constructor)) static void add_##function(void)     \
	{                                                                 \
		scenarios[scenario_count++] = (struct explore_scenario){  \
		        .name = #function, .run = function, __VA_ARGS__}; \
	}                                                                 \
	static void function(void)

/* For long ones: a few thousand executions are enough to find their bugs. */
#define FEWER .depth_first = 1000, .priorities = 1500, .random = 500

/* A scenario, and a thread's function, of one line. */
#define SCENARIO_OF(name, ...) \
	SCENARIO(name)         \
	{                      \
		__VA_ARGS__;   \
	}
#define THREAD(name, ...)               \
	static void *name(void *unused) \
	{                               \
		__VA_ARGS__;            \
		return unused;          \
	}

static pthread_t threads[8];
static unsigned thread_count;

static inline void start(void *(*run)(void *), void *arg)
{
	EXPLORE_EXPECT_EQ(pthread_create(&threads[thread_count++], NULL, run, arg), 0);
}

static inline void join_all(void)
{
	while (thread_count > 0)
		pthread_join(threads[--thread_count], NULL);
}

static struct pawl_clock_manual clock_by_hand;
static struct pawl_service *service;

/* A small wheel, so that there is little to set up and slots open often. */
static inline void open_service_with(struct pawl_service_options options)
{
	options.wheel_size = 4;
	options.clock = &clock_by_hand.clock;
	pawl_clock_manual_init(&clock_by_hand);
	EXPLORE_EXPECT_EQ(pawl_service_open(&service, &options), 0);
}

static inline void open_service(unsigned workers, unsigned shards)
{
	open_service_with((struct pawl_service_options){.workers = workers, .shards = shards});
}

static inline void advance_clock(uint64_t ns)
{
	pawl_clock_manual_advance(&clock_by_hand, ns);
}

/* A number that threads add to and wait for. */
static inline void add(int *number)
{
	__atomic_add_fetch(number, 1, __ATOMIC_SEQ_CST);
}

static inline int get(int *number)
{
	return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}

/* If that never comes, the explorer says deadlock. */
static inline void await(int *number, int least)
{
	while (get(number) < least)
		;
}

#endif
