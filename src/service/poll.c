/* SPDX-License-Identifier: MIT */
/* Driving a service by hand, and waiting for it to come to rest. */
#define _GNU_SOURCE
#include "placing.h"

static bool advance_all(struct pawl_service *service, uint64_t tick, enum advance_to end)
{
	struct wakes wakes = {false, false};
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++)
		moved |= pawl__shard_advance(service, &service->shards[i], tick, end, &wakes);
	wake(service, &wakes);
	return moved;
}

static void end_poll(struct pawl_service *service)
{
	__atomic_store_n(&service->polling, false, __ATOMIC_SEQ_CST);
	pawl__service_changed(service);
}

/* Stop says that it stops, and looks then whether somebody polls: so here it is the other way round. */
static bool begin_poll(struct pawl_service *service)
{
	if (!service->manual || __atomic_exchange_n(&service->polling, true, __ATOMIC_SEQ_CST))
		return false;
	if (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST))
		return true;
	end_poll(service);
	return false;
}

static size_t pending(struct pawl_service *service, bool internal)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		lock_take(&shard->lock);
		all += counts_pending(&shard->counts[0]);
		if (internal)
			all += counts_pending(&shard->counts[1]);
		lock_give(&shard->lock);
	}
	return (size_t)all;
}

/*
 * At most as many tasks as are pending when it begins: one that arms itself with delay 0 comes again in
 * this poll at the worst so often, and not for ever. (To count those that are due would take a walk.)
 */
size_t pawl_service_poll(struct pawl_service *service, size_t max)
{
	size_t most, ran = 0;
	uint64_t tick;
	bool more;

	if (!begin_poll(service))
		return 0;
	most = pending(service, true);
	most = max && max < most ? max : most;
	tick = ticks_down(&service->ticks, clock_now(service));
	do {
		size_t before = ran;

		more = advance_all(service, tick, FIRST_DUE);
		ran += pawl__service_run_due(service, service->workers, most - ran);
		more |= ran > before;
	} while (more && ran < most);
	end_poll(service);
	return ran;
}

uint64_t pawl_service_next(struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];
		uint64_t next;

		lock_take(&shard->lock);
		next = pawl_wheel_next(shard->wheel);
		lock_give(&shard->lock);
		first = next < first ? next : first;
	}
	return first == PAWL_NEVER ? PAWL_NEVER : ns_of_tick(&service->ticks, first);
}

size_t pawl_service_pending(struct pawl_service *service)
{
	return pending(service, false);
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

		advance_all(service, tick, TICK);
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
