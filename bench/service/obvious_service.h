/* SPDX-License-Identifier: MIT */
/*
 * obvious_service.h: timers for many threads, the obvious way.
 *
 * A binary heap under one mutex, and one thread that sleeps on a condition variable until the first deadline. This
 * design is implemented as well as possible: each task knows its index in the heap, so cancelling needs no search;
 * arming allocates nothing; the thread is signalled only if it would sleep too long, and after the mutex is released;
 * tasks run without the mutex; the clock is read once for all tasks that are due.
 */
#ifndef PAWL_BENCH_OBVIOUS_SERVICE_H
#define PAWL_BENCH_OBVIOUS_SERVICE_H

#include "../support/heap.h"

struct obvious_task;
struct obvious_service;

typedef void obvious_task_fn(struct obvious_task *task);

struct obvious_task {
	struct heap_timer timer;
	obvious_task_fn *run;
};

/* Room for `capacity` tasks; no thread of its own if it is polled. NULL: no memory or thread. */
struct obvious_service *obvious_service_open(size_t capacity, bool polled);
void obvious_service_close(struct obvious_service *service);

void obvious_task_init(struct obvious_task *task, obvious_task_fn *run);

/* Run it once, after the delay or at that time, never early. A pending task gets the new time. */
void obvious_service_arm(struct obvious_service *service, struct obvious_task *task,
                         uint64_t delay_ns);
void obvious_service_arm_at(struct obvious_service *service, struct obvious_task *task,
                            uint64_t deadline_ns);

/* True if it was pending: then it does not run. */
bool obvious_service_cancel(struct obvious_service *service, struct obvious_task *task);

/* Its clock is CLOCK_MONOTONIC. From now on it is ahead of that by so much. */
void obvious_service_skip(struct obvious_service *service, uint64_t ns);

/* Polled: run the due tasks on this thread. Returns how many. */
size_t obvious_service_poll(struct obvious_service *service);

/* For a task that is pending. */
size_t obvious_task_bytes(void);

#endif
