/* SPDX-License-Identifier: MIT */
/*
 * Timers for many threads, the obvious way: a binary heap under one mutex, and one thread that sleeps on a condition
 * variable until the first deadline. This design is implemented as well as possible: each task knows its index in the
 * heap, so cancelling needs no search; arming allocates nothing; the thread is signalled only if it would sleep too
 * long, and after the mutex is released; tasks run without the mutex; the clock is read once for all tasks that are due.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <pthread.h>
#include <stdlib.h>

struct service {
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

static uint64_t now_of(const struct service *service)
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
static size_t run_due(struct service *service)
{
	uint64_t now = now_of(service);
	size_t ran = 0;

	for (; !service->stop && heap_next(&service->heap) <= now; ran++) {
		struct obvious_task *task = pop(&service->heap);
		void (*run)(struct obvious_task *) = task->run;

		pthread_mutex_unlock(&service->mutex);
		run(task);
		pthread_mutex_lock(&service->mutex);
	}
	return ran;
}

/* Under the mutex. May return early: then nothing is due, and it sleeps again. */
static void sleep_until_first(struct service *service)
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
	struct service *service = arg;

	pthread_mutex_lock(&service->mutex);
	while (!service->stop)
		if (run_due(service) == 0)
			sleep_until_first(service);
	pthread_mutex_unlock(&service->mutex);
	return NULL;
}

static void init_locks(struct service *service)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&service->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&service->mutex, NULL);
}

static void free_service(struct service *service)
{
	pthread_cond_destroy(&service->changed);
	pthread_mutex_destroy(&service->mutex);
	heap_free(&service->heap);
	free(service);
}

static void *open_obvious(const struct service_peer *peer, const struct service_setup *setup)
{
	struct service *service = calloc(1, sizeof(*service));

	(void)peer;
	if (!service)
		return NULL;
	init_locks(service);
	service->threaded = !setup->polled;
	if (heap2_init(&service->heap, setup->capacity) &&
	    (setup->polled || pthread_create(&service->thread, NULL, serve, service) == 0))
		return service;
	free_service(service);
	return NULL;
}

static void close_obvious(void *self)
{
	struct service *service = self;

	pthread_mutex_lock(&service->mutex);
	service->stop = true;
	pthread_mutex_unlock(&service->mutex);
	pthread_cond_signal(&service->changed);
	if (service->threaded)
		pthread_join(service->thread, NULL);
	free_service(service);
}

static void count(struct obvious_task *task)
{
	object_count((struct object *)task);
}

static void stamp(struct obvious_task *task)
{
	object_stamp((struct object *)task);
}

static void init(struct object *object, enum behaviour behaviour)
{
	object->task.obvious = (struct obvious_task){.run = behaviour == COUNT ? count : stamp};
}

static void arm_at(void *self, struct object *object, uint64_t deadline_ns)
{
	struct service *service = self;
	bool too_long;

	pthread_mutex_lock(&service->mutex);
	heap2_arm(&service->heap, &object->task.obvious.timer, deadline_ns);
	too_long = deadline_ns < service->sleeps_until;
	if (too_long)
		service->sleeps_until = deadline_ns; /* it will: signal it once */
	pthread_mutex_unlock(&service->mutex);
	if (too_long)
		pthread_cond_signal(&service->changed);
}

static void arm(void *self, struct object *object, uint64_t delay_ns)
{
	arm_at(self, object, now_of(self) + delay_ns);
}

static enum pawl_service_found cancel(void *self, struct object *object)
{
	struct service *service = self;
	struct heap_timer *timer = &object->task.obvious.timer;
	bool pending;

	pthread_mutex_lock(&service->mutex);
	pending = timer->index != 0;
	heap2_cancel(&service->heap, timer);
	pthread_mutex_unlock(&service->mutex);
	return pending ? PAWL_SERVICE_CANCELLED : PAWL_SERVICE_IDLE;
}

static void skip(void *self, uint64_t ns)
{
	struct service *service = self;

	pthread_mutex_lock(&service->mutex);
	__atomic_fetch_add(&service->skipped, ns, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&service->mutex);
	pthread_cond_signal(&service->changed);
}

static size_t poll_due(void *self)
{
	struct service *service = self;
	size_t ran;

	pthread_mutex_lock(&service->mutex);
	ran = run_due(service);
	pthread_mutex_unlock(&service->mutex);
	return ran;
}

/* Without the heap timer's links, which this service does not need, and with its entry in the array. */
static size_t pending_bytes(void)
{
	return sizeof(struct obvious_task) - 2 * sizeof(struct heap_timer *) +
	       sizeof(struct heap_entry);
}

const struct service_peer service_peer_obvious = {
        .name = "heap",
        .about = "a binary heap under one mutex, a condition variable and a thread",
        .pending_bytes = pending_bytes,
        .open = open_obvious,
        .close = close_obvious,
        .init = init,
        .arm = arm,
        .arm_at = arm_at,
        .cancel = cancel,
        .skip = skip,
        .poll = poll_due,
};
