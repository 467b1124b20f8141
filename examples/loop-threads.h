/* SPDX-License-Identifier: MIT */
/*
 * What the examples loop-epoll, loop-libuv and loop-libevent share: a service without threads, and threads that arm its
 * tasks from outside while the loop sleeps. Each task runs on the loop's thread, and the last one ends the loop.
 */
#ifndef LOOP_THREADS_H
#define LOOP_THREADS_H

#include <pawl/pawl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define TASKS   4 /* of each thread */

static struct pawl_service *service;
static struct pawl_task tasks[THREADS][TASKS], far_away;
static pthread_t threads[THREADS], loop_thread;
static unsigned ran, elsewhere;

static void task_is_due(struct pawl_task *task)
{
	(void)task;
	ran++; /* no lock: tasks run on the loop's thread */
	elsewhere += !pthread_equal(pthread_self(), loop_thread);
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
		pawl_service_arm(service, &task[i], i * 20 * PAWL_MS);
	}
	return NULL;
}

/* The loop would sleep for an hour, but for those threads. */
static inline void open_service(void)
{
	const struct pawl_service_options options = {.name = "loop",
	                                             .workers = PAWL_SERVICE_MANUAL};

	if (pawl_service_open(&service, &options) != 0)
		exit(1);
	loop_thread = pthread_self();
	pawl_task_init(&far_away, task_is_due);
	pawl_service_arm(service, &far_away, PAWL_HOUR);
}

static inline void start_threads(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, arm_from_outside, tasks[i]) != 0)
			exit(1);
}

static inline void close_service(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u tasks from %u threads ran, %u of them outside the loop\n", ran, THREADS,
	       elsewhere);
	pawl_service_close(service, NULL);
}

#endif
