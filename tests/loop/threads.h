/* SPDX-License-Identifier: MIT */
/*
 * A service without threads in a real event loop, by its descriptor, and threads that arm its tasks from outside while
 * the loop sleeps. Each task must run on the loop's thread; the last one ends the loop.
 */
#ifndef PAWL_TESTS_LOOP_THREADS_H
#define PAWL_TESTS_LOOP_THREADS_H

#include <errno.h>
#include <pawl/service.h>
#include <pthread.h>

#include "../support/test.h"

#define THREADS 3
#define TASKS   4 /* of each thread */

static struct pawl_service *service;
static struct pawl_task tasks[THREADS][TASKS], far_away;
static pthread_t threads[THREADS], loop_thread;
static unsigned ran;

static void task_is_due(struct pawl_task *task)
{
	(void)task;
	EXPECT(pthread_equal(pthread_self(), loop_thread));
	ran++;
}

static inline bool all_ran(void)
{
	return ran == THREADS * TASKS;
}

static void *arm_from_outside(void *first)
{
	struct pawl_task *task = first;

	for (unsigned i = 0; i < TASKS; i++) {
		pawl_task_init(&task[i], task_is_due);
		EXPECT_EQ(pawl_service_arm(service, &task[i], i * 20 * PAWL_MS), 0);
	}
	return NULL;
}

static inline void start_threads(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, arm_from_outside, tasks[i]), 0);
}

/*
 * `run` starts the threads, and runs an event loop with the service's descriptor until all_ran(). The loop would sleep
 * for an hour, but for those threads.
 */
static inline void with_service(void (*run)(int fd))
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL};
	int fd;

	EXPECT_EQ(pawl_service_open(&service, &options), 0);
	loop_thread = pthread_self();
	pawl_task_init(&far_away, task_is_due);
	EXPECT_EQ(pawl_service_arm(service, &far_away, PAWL_HOUR), 0);
	fd = pawl_service_fd(service);
	if (fd != -ENOTSUP) { /* as on Linux: see tests/service/test_loop.c */
		EXPECT(fd >= 0);
		run(fd);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		EXPECT(all_ran());
		EXPECT_EQ(pawl_service_pending(service), 1);
	}
	pawl_service_close(service, NULL);
}

#endif
