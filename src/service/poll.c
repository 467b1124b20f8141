/* SPDX-License-Identifier: MIT */
/* Driving a service by hand: manual mode. */
#define _GNU_SOURCE
#include "shard.h"

/* Also the shards in which nothing opens: what next says depends on how far the wheel is. */
static bool advance_all(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {0}; /* there is nobody to wake */
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		lock_take(&shard->lock);
		moved |= pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
		lock_give(&shard->lock);
	}
	return moved;
}

static void end_poll(struct pawl_service *service)
{
	__atomic_store_n(&service->polling, 0, __ATOMIC_SEQ_CST);
	pawl__service_changed(service);
}

/*
 * A poll against stop: each writes and then reads what the other one writes, so one of them sees the other.
 *
 *	begin_poll                              pawl__service_stop_polling
 *	----------                              --------------------------
 *	write polling = true                    write stopping = true
 *	read  stopping: do not poll             read  polling: wait until it is false
 */
static bool begin_poll(struct pawl_service *service)
{
	if (!service->manual || __atomic_exchange_n(&service->polling, 1, __ATOMIC_SEQ_CST))
		return false;
	if (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST))
		return true;
	end_poll(service);
	return false;
}

/* The poll takes no further task, since the shards are closed. Wait for its last one. */
void pawl__service_stop_polling(struct pawl_service *service)
{
	__atomic_store_n(&service->stopping, true, __ATOMIC_SEQ_CST);
	mutex_lock(&service->mutex);
	while (__atomic_load_n(&service->polling, __ATOMIC_SEQ_CST))
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
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
	most = pawl__service_pending(service, true);
	most = max && max < most ? max : most;
	tick = ticks_down(&service->ticks, clock_now(service));
	do {
		size_t before = ran;

		more = advance_all(service, tick);
		ran += pawl__worker_run_due(service->workers, most - ran);
		more |= ran > before;
	} while (more && ran < most);
	pawl__service_open_ahead(service, service->workers->shard);
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
		next = anything_due(shard) ? pawl_wheel_next(shard->wheel) : next_visit(shard);
		lock_give(&shard->lock);
		first = next < first ? next : first;
	}
	return first == PAWL_NEVER ? PAWL_NEVER : ns_of_tick(&service->ticks, first);
}
