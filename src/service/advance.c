/* SPDX-License-Identifier: MIT */
/* Making tasks due: workers advance the wheels to the current tick and, when there is time, move timers ahead. */
#define _GNU_SOURCE
#include "shard.h"

/*
 * Advance the shard's wheel, a batch of moves at a time, to `tick` or, with FIRST_DUE, until a task is due: running
 * that task first, while it is in the cache, is quicker than making a whole backlog due. `visit_by` becomes the tick at
 * which the next visit goes on. Under the lock, which is released between two batches. True if a timer moved.
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
		lock_release(&shard->lock);
		lock_acquire_after_pause(&shard->lock);
	}
	if (due)
		mark_ready(shard, wakes);
	set_visit(service, shard, next_visit(shard), wakes);
	count_moves(service, &shard->stats->moved_at_opening, all);
	return all > 0;
}

/*
 * Make up to `most` of the moves that the next openings would have to make at once (pawl_wheel_ahead). An emptied slot
 * needs no wake-up, so `visit_by` may be later now. Under the lock. True if a timer moved.
 */
bool pawl__shard_move_ahead(struct pawl_service *service, struct shard *shard, size_t most,
                            struct wakes *wakes)
{
	size_t moves;

	lock_assert_held(&shard->lock);
	moves = pawl_wheel_ahead(shard->wheel, most);
	if (!moves)
		return false;
	set_visit(service, shard, next_visit(shard), wakes);
	count_moves(service, &shard->stats->moved_ahead, moves);
	return true;
}

/*
 * For a worker that has nothing else to do: a batch of moves in the first shard that has any, beginning with shard
 * `from`. After it the worker looks again whether a task is due. False: no shard has moves to make ahead.
 */
bool pawl__service_move_ahead(struct pawl_service *service, unsigned from)
{
	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[(from + i) % service->shard_count];
		struct wakes wakes = {0};
		bool moved;

		if (__atomic_load_n(&shard->visit_by, __ATOMIC_RELAXED) == PAWL_NEVER)
			continue; /* without a task */
		lock_acquire(&shard->lock);
		moved = pawl__shard_move_ahead(service, shard, AHEAD, &wakes);
		lock_release(&shard->lock);
		wake(service, &wakes);
		if (moved)
			return true;
	}
	return false;
}

/* Advance each shard whose `visit_by` has come. */
void pawl__service_visit_shards(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {0};
	unsigned moved = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		if (__atomic_load_n(&shard->visit_by, __ATOMIC_SEQ_CST) > tick)
			continue;
		lock_acquire(&shard->lock);
		moved += pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
		lock_release(&shard->lock);
	}
	wakes.worker = moved > 1; /* this thread runs the tasks of one shard itself */
	wake(service, &wakes);
}
