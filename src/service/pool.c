/* SPDX-License-Identifier: MIT */
/*
 * A pool of user threads runs the tasks: options.dispatch.
 *
 * The service has one thread, which keeps the time: it is always the leader of sleep.c. When a task is due and a worker
 * is free, it calls `dispatch`. A user's thread answers the call by a poll. The poll takes a free worker, runs
 * tasks as any worker does, and gives the worker back instead of sleeping. So a worker here is not a thread, but the
 * permission to run tasks, and the memory that a run needs.
 *
 * There is one call at a time:
 *
 *	NO_CALL ---------> CALLED ---------> ANSWERED ---------> NO_CALL
 *	         the leader        a poll              it has started a task,
 *	         calls             begins              or found no task
 *
 * Until then it is not known whether the call was enough. The pool is `full` meanwhile, and while no worker is free.
 * The leader calls when the pool is not full and a task is due. A thread that makes one of these true, and finds the
 * other true, wakes it:
 *
 *	makes a task due: mark_ready(), wake()         the leader: sleep_until_visit()
 *	--------------------------------------         -------------------------------
 *	write ready = true                             write sleeps_until
 *	read  sleeps_until and full:                   read  ready and full:
 *	  asleep, and not full: wake it                  due, and not full: do not sleep, but call
 *
 *	ends a call or a poll: call_for_more()
 *	--------------------------------------
 *	write full = false
 *	read  ready and sleeps_until:
 *	  due, and asleep: wake it
 */
#define _GNU_SOURCE
#include "shard.h"

/* Under the mutex. */
static void set_full(struct pawl_service *service)
{
	const struct pool *pool = &service->pool;

	mutex_assert_held(&service->mutex);
	__atomic_store_n(&service->pool.full, pool->call != NO_CALL || !pool->free,
	                 __ATOMIC_SEQ_CST);
}

void pawl__pool_open(struct pawl_service *service)
{
	for (unsigned i = service->worker_count; i-- > 0;) {
		service->workers[i].next_free = service->pool.free;
		service->pool.free = &service->workers[i];
	}
}

/* Only the leader calls, so the pool does not become full meanwhile. */
static bool begin_call(struct pawl_service *service)
{
	if (!pawl__sleep_anything_ready(service) || pool_full(service))
		return false;
	mutex_lock(&service->mutex);
	ASSERT(service->pool.call == NO_CALL && service->pool.free);
	service->pool.call = CALLED;
	set_full(service);
	mutex_unlock(&service->mutex);
	return true;
}

/* The leader uses only the thread of the first worker. So `dispatch` is never called inside an arming. */
void pawl__pool_thread(void *worker)
{
	struct pawl_service *service = ((struct worker *)worker)->service;

	pawl__worker_begin_thread(worker);
	while (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST)) {
		uint64_t tick = ticks_down(&service->ticks, clock_now(service));

		pawl__service_visit_shards(service, tick);
		if (begin_call(service)) {
			assert_nothing_held();
			service->pool.dispatch(service, service->pool.arg);
		} else if (!pawl__service_move_ahead(service, 0)) {
			pawl__sleep_lead(service, tick);
		}
	}
}

/* A poll begins. Returns its worker; NULL: there is no call. */
static struct worker *answer_call(struct pawl_service *service)
{
	struct pool *pool = &service->pool;
	struct worker *worker = NULL;

	mutex_lock(&service->mutex);
	if (pool->call == CALLED) {
		worker = pool->free;
		ASSERT(worker);
		pool->free = worker->next_free;
		pool->call = ANSWERED;
		pool->polls++;
		pool->task_polled |= pawl__service_is_here(service);
		worker->answers = true;
	}
	mutex_unlock(&service->mutex);
	return worker;
}

/* Under the mutex. */
static void end_call(struct pawl_service *service, struct worker *worker)
{
	mutex_assert_held(&service->mutex);
	if (worker->answers)
		service->pool.call = NO_CALL;
	worker->answers = false;
	set_full(service);
}

static void call_for_more(struct pawl_service *service)
{
	if (pawl__sleep_anything_ready(service))
		pawl__sleep_wake_worker(service);
}

void pawl__pool_started(struct worker *worker)
{
	struct pawl_service *service = worker->service;

	mutex_lock(&service->mutex);
	end_call(service, worker);
	mutex_unlock(&service->mutex);
	call_for_more(service);
}

/* The poll ends. A stop waits for the last step, and then close may free all. */
static void leave(struct pawl_service *service, struct worker *worker)
{
	mutex_lock(&service->mutex);
	worker->next_free = service->pool.free;
	service->pool.free = worker;
	end_call(service, worker);
	mutex_unlock(&service->mutex);
	call_for_more(service);
	mutex_lock(&service->mutex);
	ASSERT(service->pool.polls > 0);
	service->pool.polls--;
	if (service->state != OPEN)
		condition_broadcast(&service->changed);
	mutex_unlock(&service->mutex);
}

/* Visits the shards even if nothing is pending: after a cancel `ready` would stay set, and call the pool again. */
size_t pawl__pool_poll(struct pawl_service *service, size_t max)
{
	struct worker *worker = answer_call(service);
	size_t most, ran = 0, before;

	if (!worker)
		return 0;
	most = pawl__service_poll_bound(service, max);
	most = most ? most : 1;
	do {
		before = ran;
		ran += pawl__worker_run_due(worker, most - ran);
	} while (ran > before && ran < most);
	leave(service, worker);
	return ran;
}

/* The leader has ended, so there is no new call. Wait for the polls. */
void pawl__pool_stop(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	while (service->pool.call == CALLED || service->pool.polls)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}
