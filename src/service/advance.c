/* SPDX-License-Identifier: MIT */
/* Making tasks due: the wheels are advanced to the present tick. */
#define _GNU_SOURCE
#include "shard.h"

/* Others that wait for the lock have their chance between two batches. */
static void let_others_in(struct shard *shard)
{
	lock_give(&shard->lock);
	for (int i = 0; i < SPINS_BEFORE_YIELD / 2; i++)
		relax_cpu();
	lock_take(&shard->lock);
}

/*
 * Advance the shard's wheel, a batch of moves at a time, to the end or until something is due: to run that
 * first, while it is in the cache, is quicker than to make all of a backlog due and then run it. Where it
 * stopped is what the shard is promised then. True if anything moved or is due.
 */
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick,
                         enum advance_to end, struct wakes *wakes)
{
	size_t moves, all = 0;
	bool due = false;

	lock_take(&shard->lock);
	for (;;) {
		moves = pawl_wheel_advance(shard->wheel, tick, BATCH);
		all += moves;
		due |= moves && anything_due(shard);
		if (pawl_wheel_now(shard->wheel) >= tick || (due && end == FIRST_DUE))
			break;
		let_others_in(shard);
	}
	if (due)
		mark_ready(shard, wakes);
	promise_anew(service, shard, pawl_wheel_next_opening(shard->wheel), wakes);
	count_moves(service, all);
	lock_give(&shard->lock);
	return all > 0;
}

/* Open what was promised for now. Those of the service's threads that are idle learn of it. */
void pawl__service_open_promised(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {false, false};
	unsigned moved = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		if (__atomic_load_n(&shard->promised, __ATOMIC_SEQ_CST) <= tick)
			moved += pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
	}
	wakes.worker = moved > 1; /* one shard's tasks are for the thread that is here */
	wake(service, &wakes);
}

bool pawl__service_advance(struct pawl_service *service, uint64_t tick, enum advance_to end)
{
	struct wakes wakes = {false, false};
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++)
		moved |= pawl__shard_advance(service, &service->shards[i], tick, end, &wakes);
	wake(service, &wakes);
	return moved;
}
