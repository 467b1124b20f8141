/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "obvious_service.h"

#include "../support/machine.h"

#include <pthread.h>
#include <stdlib.h>

struct obvious_service {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* an earlier deadline, another time, or the end */

	/* Under the mutex. */
	struct heap heap;
	uint64_t sleeps_until; /* the thread's; 0 while it is awake */
	bool stop;

	uint64_t skipped; /* atomic */
	bool threaded;
	pthread_t thread;
};

static uint64_t now_of(const struct obvious_service *service)
{
	return clock_ns() + __atomic_load_n(&service->skipped, __ATOMIC_RELAXED);
}

static struct obvious_task *pop(struct heap *heap)
{
	struct heap_timer *timer = heap->entries[heap->root].timer;

	heap2_cancel(heap, timer);
	return (struct obvious_task *)timer; /* its first member */
}

/* Under the mutex, which is released while a task runs. */
static size_t run_due(struct obvious_service *service)
{
	uint64_t now = now_of(service);
	size_t ran = 0;

	for (; !service->stop && heap_next(&service->heap) <= now; ran++) {
		struct obvious_task *task = pop(&service->heap);
		obvious_task_fn *run = task->run;

		pthread_mutex_unlock(&service->mutex);
		run(task);
		pthread_mutex_lock(&service->mutex);
	}
	return ran;
}

/* Under the mutex. May return early: then nothing is due, and it sleeps again. */
static void sleep_until_first(struct obvious_service *service)
{
	uint64_t until = heap_next(&service->heap);
	uint64_t skipped = __atomic_load_n(&service->skipped, __ATOMIC_RELAXED);
	uint64_t real = until > skipped ? until - skipped : 0;
	struct timespec time = timespec_of(real);

	service->sleeps_until = until;
	if (until == UINT64_MAX)
		pthread_cond_wait(&service->changed, &service->mutex);
	else
		pthread_cond_timedwait(&service->changed, &service->mutex, &time);
	service->sleeps_until = 0;
}

static void *serve(void *arg)
{
	struct obvious_service *service = arg;

	pthread_mutex_lock(&service->mutex);
	while (!service->stop)
		if (run_due(service) == 0)
			sleep_until_first(service);
	pthread_mutex_unlock(&service->mutex);
	return NULL;
}

static void init_locks(struct obvious_service *service)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&service->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&service->mutex, NULL);
}

static void free_service(struct obvious_service *service)
{
	pthread_cond_destroy(&service->changed);
	pthread_mutex_destroy(&service->mutex);
	heap_free(&service->heap);
	free(service);
}

struct obvious_service *obvious_service_open(size_t capacity, bool polled)
{
	struct obvious_service *service = calloc(1, sizeof(*service));

	if (!service)
		return NULL;
	init_locks(service);
	service->threaded = !polled;
	if (heap2_init(&service->heap, capacity) &&
	    (polled || pthread_create(&service->thread, NULL, serve, service) == 0))
		return service;
	free_service(service);
	return NULL;
}

void obvious_service_close(struct obvious_service *service)
{
	pthread_mutex_lock(&service->mutex);
	service->stop = true;
	pthread_mutex_unlock(&service->mutex);
	pthread_cond_signal(&service->changed);
	if (service->threaded)
		pthread_join(service->thread, NULL);
	free_service(service);
}

void obvious_task_init(struct obvious_task *task, obvious_task_fn *run)
{
	*task = (struct obvious_task){.run = run};
}

void obvious_service_arm_at(struct obvious_service *service, struct obvious_task *task,
                            uint64_t deadline_ns)
{
	bool too_long;

	pthread_mutex_lock(&service->mutex);
	heap2_arm(&service->heap, &task->timer, deadline_ns);
	too_long = deadline_ns < service->sleeps_until;
	if (too_long)
		service->sleeps_until = deadline_ns; /* it will: signal it once */
	pthread_mutex_unlock(&service->mutex);
	if (too_long)
		pthread_cond_signal(&service->changed);
}

void obvious_service_arm(struct obvious_service *service, struct obvious_task *task,
                         uint64_t delay_ns)
{
	obvious_service_arm_at(service, task, now_of(service) + delay_ns);
}

bool obvious_service_cancel(struct obvious_service *service, struct obvious_task *task)
{
	bool pending;

	pthread_mutex_lock(&service->mutex);
	pending = task->timer.index != 0;
	heap2_cancel(&service->heap, &task->timer);
	pthread_mutex_unlock(&service->mutex);
	return pending;
}

void obvious_service_skip(struct obvious_service *service, uint64_t ns)
{
	pthread_mutex_lock(&service->mutex);
	__atomic_fetch_add(&service->skipped, ns, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&service->mutex);
	pthread_cond_signal(&service->changed);
}

size_t obvious_service_poll(struct obvious_service *service)
{
	size_t ran;

	pthread_mutex_lock(&service->mutex);
	ran = run_due(service);
	pthread_mutex_unlock(&service->mutex);
	return ran;
}

/* Without the heap timer's links, which this service does not need, and with its entry in the array. */
size_t obvious_task_bytes(void)
{
	return sizeof(struct obvious_task) - 2 * sizeof(struct heap_timer *) +
	       sizeof(struct heap_entry);
}
