/* SPDX-License-Identifier: MIT */
/* Threads of the user's that wait: for the end of one run (cancel_wait), and for all that is due (settle). */
#define _GNU_SOURCE
#include "shard.h"

void pawl__service_changed(struct pawl_service *service)
{
	pthread_mutex_lock(&service->mutex);
	service->changes++;
	pthread_mutex_unlock(&service->mutex);
	pthread_cond_broadcast(&service->changed);
}

/* The worker takes the mutex after it has counted the run: so either that is seen, or the call is. */
void pawl__service_await_run(struct pawl_service *service, struct worker *worker, uint64_t run)
{
	pthread_mutex_lock(&service->mutex);
	while (__atomic_load_n(&worker->runs, __ATOMIC_SEQ_CST) == run)
		pthread_cond_wait(&service->changed, &service->mutex);
	pthread_mutex_unlock(&service->mutex);
}

static bool nothing_due(struct pawl_service *service, uint64_t tick)
{
	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];
		uint64_t next;

		lock_take(&shard->lock);
		next = shard->closed ? PAWL_NEVER : pawl_wheel_next(shard->wheel);
		lock_give(&shard->lock);
		if (next <= tick && next != PAWL_NEVER)
			return false;
	}
	return true;
}

static uint64_t runs_ended(const struct pawl_service *service)
{
	uint64_t runs = 0;

	for (unsigned i = 0; i < service->worker_count; i++)
		runs += __atomic_load_n(&service->workers[i].runs, __ATOMIC_SEQ_CST);
	return runs;
}

static bool nobody_runs(const struct pawl_service *service)
{
	for (unsigned i = 0; i < service->worker_count; i++)
		if (__atomic_load_n(&service->workers[i].current, __ATOMIC_SEQ_CST))
			return false;
	return true;
}

/*
 * A task that is due is on a wheel or runs. It may pass from one to the other while we look; but not
 * without a run that ends: so count those before the first look and after the last one.
 */
static bool at_rest(struct pawl_service *service, uint64_t tick)
{
	uint64_t runs = runs_ended(service);

	return nobody_runs(service) && nothing_due(service, tick) && nobody_runs(service) &&
	       runs_ended(service) == runs;
}

static uint64_t changes_so_far(struct pawl_service *service)
{
	uint64_t changes;

	pthread_mutex_lock(&service->mutex);
	changes = service->changes;
	pthread_mutex_unlock(&service->mutex);
	return changes;
}

static void await_change(struct pawl_service *service, uint64_t changes)
{
	pthread_mutex_lock(&service->mutex);
	while (service->changes == changes)
		pthread_cond_wait(&service->changed, &service->mutex);
	pthread_mutex_unlock(&service->mutex);
}

/* Slots that only move tasks down are nobody's business yet: so open them here. */
static void settle_threads(struct pawl_service *service)
{
	__atomic_add_fetch(&service->settling, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		uint64_t changes = changes_so_far(service);
		uint64_t tick = ticks_down(&service->ticks, clock_now(service));

		pawl__service_advance(service, tick, TICK);
		if (at_rest(service, tick))
			break;
		await_change(service, changes);
	}
	__atomic_sub_fetch(&service->settling, 1, __ATOMIC_SEQ_CST);
}

void pawl_service_settle(struct pawl_service *service)
{
	pawl__service_refuse_inside_task(service, "pawl_service_settle");
	if (!service->manual)
		settle_threads(service);
	else
		while (pawl_service_poll(service, 0) > 0)
			;
}
