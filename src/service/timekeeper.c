/* SPDX-License-Identifier: MIT */
/*
 * The service's own thread: it sleeps until the first slot of some wheel opens, opens it, and sleeps again.
 * Kafka's ExpiredOperationReaper, without its waking every 200 ms to see whether there is something.
 */
#define _GNU_SOURCE
#include "placing.h"

/* Others that wait for the lock have their chance between two batches. */
static void let_others_in(struct shard *shard)
{
	lock_give(&shard->lock);
	for (int i = 0; i < SPINS_BEFORE_YIELD / 2; i++)
		relax_cpu();
	lock_take(&shard->lock);
}

/* Advance the shard's wheel, a batch of moves at a time. True if anything moved or is due. */
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick)
{
	struct wakes wakes = {false, false};
	size_t moves, all = 0;

	lock_take(&shard->lock);
	for (;;) {
		moves = pawl_wheel_advance(shard->wheel, tick, BATCH);
		all += moves;
		if (moves && anything_due(shard))
			mark_ready(shard, &wakes);
		if (pawl_wheel_now(shard->wheel) >= tick)
			break;
		let_others_in(shard);
	}
	promise_anew(service, shard, pawl_wheel_next_opening(shard->wheel), &wakes);
	lock_give(&shard->lock);
	wake(service, &wakes);
	return all > 0;
}

static bool advance_promised(struct pawl_service *service, uint64_t tick)
{
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		if (__atomic_load_n(&shard->promised, __ATOMIC_SEQ_CST) <= tick)
			moved |= pawl__shard_advance(service, shard, tick);
	}
	return moved;
}

static uint64_t first_promise(const struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		uint64_t promised = __atomic_load_n(&service->shards[i].promised, __ATOMIC_SEQ_CST);

		first = promised < first ? promised : first;
	}
	return first;
}

/* What must be looked at before sleeping, after `sleeps_until` has been said. */
static bool must_stay_awake(const struct pawl_service *service, uint64_t until)
{
	return first_promise(service) < until ||
	       __atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST) ||
	       (!service->with_workers && pawl__service_anything_ready(service));
}

/* Sleep until the first promise; with a wake() at the latest. Returns whether it slept. */
static bool sleep_until_promise(struct pawl_service *service, uint64_t tick)
{
	uint64_t until = first_promise(service);
	bool sleeps = until > tick || until == PAWL_NEVER;

	if (!sleeps)
		return false;
	__atomic_store_n(&service->sleeps_until, until, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&service->settling, __ATOMIC_SEQ_CST))
		pawl__service_changed(service);
	sleeps = !must_stay_awake(service, until);
	if (sleeps)
		service->clock->wait(service->clock, ns_of_tick(service, until));
	__atomic_store_n(&service->sleeps_until, 0, __ATOMIC_SEQ_CST);
	return sleeps;
}

void *pawl__service_timekeeper(void *arg)
{
	struct pawl_service *service = arg;
	bool slept = false;

	while (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST)) {
		uint64_t tick = ticks_down(service, clock_now(service));
		bool due = first_promise(service) <= tick;
		bool moved = advance_promised(service, tick);

		if (!service->with_workers)
			moved |= pawl__service_run_due(service, service->workers, BATCH) > 0;
		if (slept) {
			__atomic_add_fetch(&service->wakeups, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&service->empty_wakeups, due && !moved,
			                   __ATOMIC_RELAXED);
		}
		slept = sleep_until_promise(service, tick);
	}
	return NULL;
}
