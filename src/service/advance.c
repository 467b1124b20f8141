/* SPDX-License-Identifier: MIT */
/* Making tasks due: the wheels are advanced to the present tick, and, where there is time, opened ahead. */
#define _GNU_SOURCE
#include "shard.h"

/* Others that wait for the lock have their chance between two batches. */
static void let_others_in(struct shard *shard)
{
	lock_release(&shard->lock);
	for (int i = 0; i < SPINS_BEFORE_YIELD / 2; i++)
		relax_cpu();
	lock_acquire(&shard->lock);
}

/*
 * Advance the shard's wheel, a batch of moves at a time, to the end or until something is due: to run that
 * first, while it is in the cache, is quicker than to make all of a backlog due and then run it. Where it
 * stopped is what the shard is promised then. Under the lock, which is given back for a moment between two
 * batches. True if anything moved.
 */
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick,
                         enum advance_to end, struct wakes *wakes)
{
	size_t moves, all = 0;
	bool due = false;

	lock_assert_held(&shard->lock);
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
	promise_anew(service, shard, next_visit(shard), wakes);
	count_moves(service, &shard->moved_at_opening, all);
	return all > 0;
}

/*
 * Do at most so many moves of what the next openings would do at once (pawl_wheel_ahead). A slot that was emptied
 * needs no wake-up, so the promise may be for later now. True if anything moved. Under the lock.
 */
bool pawl__shard_open_ahead(struct pawl_service *service, struct shard *shard, size_t most,
                            struct wakes *wakes)
{
	size_t moves;

	lock_assert_held(&shard->lock);
	moves = pawl_wheel_ahead(shard->wheel, most);
	if (!moves)
		return false;
	promise_anew(service, shard, next_visit(shard), wakes);
	count_moves(service, &shard->moved_ahead, moves);
	return true;
}

/*
 * For a worker that has nothing else to do: a batch of moves in the first shard that has any, from this one on. Then
 * the worker looks again whether a task is due. False: nothing is left to do ahead.
 */
bool pawl__service_open_ahead(struct pawl_service *service, unsigned from)
{
	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[(from + i) % service->shard_count];
		struct wakes wakes = {0};
		bool moved;

		if (__atomic_load_n(&shard->promised, __ATOMIC_RELAXED) == PAWL_NEVER)
			continue; /* there is no task */
		lock_acquire(&shard->lock);
		moved = pawl__shard_open_ahead(service, shard, AHEAD, &wakes);
		lock_release(&shard->lock);
		wake(service, &wakes);
		if (moved)
			return true;
	}
	return false;
}

/* Advance each shard that was promised a worker by now. */
void pawl__service_open_promised(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {0};
	unsigned moved = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		if (__atomic_load_n(&shard->promised, __ATOMIC_SEQ_CST) > tick)
			continue;
		lock_acquire(&shard->lock);
		moved += pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
		lock_release(&shard->lock);
	}
	wakes.worker = moved > 1; /* the tasks of one shard are for this thread */
	wake(service, &wakes);
}
