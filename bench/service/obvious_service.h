/* SPDX-License-Identifier: MIT */
/*
 * obvious_service.h: timers for many threads, the obvious way.
 *
 * A binary heap under one mutex, and one thread that sleeps on a condition variable until the first
 * deadline. It is done as well as it can be done without another design: each task knows its place in
 * the heap, so cancelling needs no search; arming allocates nothing; the thread is signalled only if it
 * would sleep too long, and after the mutex was released; tasks run without the mutex; the clock is read
 * once for all that it finds due.
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

/* Room for `capacity` tasks; without a thread of its own if it is polled. NULL: no memory or thread. */
struct obvious_service *obvious_service_open(size_t capacity, bool polled);
void obvious_service_close(struct obvious_service *service);

void obvious_task_init(struct obvious_task *task, obvious_task_fn *run);

/* Run it once, so long from now or at that time; moved if it is pending. Never early. */
void obvious_service_arm(struct obvious_service *service, struct obvious_task *task,
                         uint64_t delay_ns);
void obvious_service_arm_at(struct obvious_service *service, struct obvious_task *task,
                            uint64_t deadline_ns);

/* Whether it was pending: then it does not run. */
bool obvious_service_cancel(struct obvious_service *service, struct obvious_task *task);

/* Its clock is CLOCK_MONOTONIC; let it go ahead of that by so much. */
void obvious_service_skip(struct obvious_service *service, uint64_t ns);

/* Polled: run on this thread what is due. Returns how many. */
size_t obvious_service_poll(struct obvious_service *service);

/* For a task that is pending. */
size_t obvious_task_bytes(void);

#endif
