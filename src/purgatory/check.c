/* SPDX-License-Identifier: MIT */
/*
 * Going through the operations that are watched under a key, to try them or to take them out: in batches, so that
 * a lock is held for a bounded time and nothing is allocated.
 */
#define _GNU_SOURCE
#include "table.h"

/*
 * A walk along a watch list, from its first node on: operations that are added meanwhile come before it.
 * Between two batches a mark in each chain, which is a watch of no operation, says where to go on.
 */
struct walk {
	struct shard *home;
	struct hash hash;
	bool paused;
	struct pawl_watch marks[CHAINS];
};

static void pause_at(struct pawl_watch *mark, uintptr_t node)
{
	mark->op = NULL;
	mark->link = NULL;
	if (node) {
		mark->low = node_low(node);
		mark->high = node_high(node);
		chain_insert(*node_link(node), (uintptr_t)mark | FURTHER, &mark->next, &mark->link);
	}
}

static uintptr_t resume_at(struct pawl_watch *mark)
{
	if (!mark->link)
		return 0;
	chain_remove(mark->next, mark->link);
	return mark->next;
}

static void walk_begin(struct walk *walk, struct shard *home, const struct hash *hash)
{
	walk->home = home;
	walk->hash = *hash;
	walk->paused = false;
}

static void walk_stop(struct walk *walk)
{
	if (!walk->paused)
		return;
	for (unsigned c = 0; c < CHAINS; c++)
		resume_at(&walk->marks[c]);
	walk->home->walks--;
	walk->paused = false;
}

/*
 * Under the lock: the next operations, at most BATCH; and *claims: all of their claims. The chains are walked in step, since a list alone is one
 * cache miss after the other. Every loop is unrolled, so that the four positions are in registers.
 */
static inline __attribute__((always_inline)) uint32_t
walk_on(struct walk *walk, struct pawl_op **ops, unsigned *claims)
{
	struct bucket *bucket = bucket_of(walk->home->table, walk->hash.low);
	const uint32_t high = walk->hash.high;
	uintptr_t at[CHAINS], left;
	unsigned all_claims = 0;
	uint32_t count = 0;

#pragma GCC unroll 4
	for (unsigned c = 0; c < CHAINS; c++)
		at[c] = bucket->chains[c];
	if (__builtin_expect(walk->paused, 0)) {
		for (unsigned c = 0; c < CHAINS; c++)
			at[c] = resume_at(&walk->marks[c]);
		walk->home->walks--;
	}
	do {
		left = 0;
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++) {
			uintptr_t node = at[c];
			struct pawl_op *op;
			bool same;

			if (!node)
				continue;
			if (__builtin_expect(node & FURTHER, 0)) {
				op = node_op(node);
				at[c] = node_watch(node)->next;
				same = op && node_watch(node)->high == high; /* no op: a mark */
			} else {
				op = node_op(node);
				at[c] = op->next[node & KEY];
				same = op->high[node & KEY] == high;
			}
			left |= at[c];
			if (__builtin_expect(!same, 0))
				continue;
			__builtin_prefetch(op + 1); /* likely to be what try_complete looks at */
			all_claims |= op->claim;
			ops[count++] = op;
		}
	} while (left && count + CHAINS <= BATCH);
	*claims = all_claims;
	walk->paused = left;
	if (__builtin_expect(walk->paused, 0)) {
		for (unsigned c = 0; c < CHAINS; c++)
			pause_at(&walk->marks[c], at[c]);
		walk->home->walks++;
	}
	return count;
}

/* Under the lock. Whether somebody else is trying it: then that thread is asked to try once more. */
static bool ask_to_retry(struct shard *home, struct pawl_op *op)
{
	struct batch *batch;
	uint64_t bit;

	if (op->claim) {
		op->claim |= AGAIN;
		return true;
	}
	batch = batch_with(home, op, &bit);
	if (batch)
		batch->again |= bit;
	return batch;
}

static uint32_t leave_to_others(struct shard *home, struct pawl_op **ops, uint32_t count)
{
	uint32_t remaining = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!ask_to_retry(home, ops[i]))
			ops[remaining++] = ops[i];
	return remaining;
}

/* Another check of the same key that is at it. */
static struct batch *batch_of_key(const struct shard *home, const struct hash *hash)
{
	struct batch *batch = home->batches;

	while (batch && !same_hash(&batch->hash, hash))
		batch = batch->next;
	return batch;
}

static void batch_link(struct shard *home, struct batch *batch)
{
	batch->next = home->batches;
	home->batches = batch;
}

static void batch_unlink(struct shard *home, struct batch *batch)
{
	struct batch **at = &home->batches;

	while (*at != batch)
		at = &(*at)->next;
	*at = batch->next;
}

/*
 * Under the lock. False: there is nothing to try; or another check of the same key is at it, and goes through the
 * list once more for us. A check that is to go through it once more comes to the end first: else, as long as
 * others keep coming by, the last operations would never be tried.
 */
static bool batch_begin(struct walk *walk, struct batch *batch)
{
	struct shard *home = walk->home;
	struct batch *other = batch_of_key(home, &walk->hash);
	unsigned claims;

	if (other) {
		other->rescan = true;
		batch->rescan = false;
		walk_stop(walk);
		return false;
	}
	if (!walk->paused)
		batch->rescan = false;
	batch->count = walk_on(walk, batch->ops, &claims);
	if (claims || home->batches)
		batch->count = leave_to_others(home, batch->ops, batch->count);
	if (batch->count == 0)
		return false;
	batch->members = ~UINT64_C(0) >> (64 - batch->count);
	batch->again = batch->gone = 0;
	batch_link(home, batch);
	return true;
}

static unsigned next_bit(uint64_t *bits)
{
	unsigned bit = (unsigned)__builtin_ctzll(*bits);

	*bits &= *bits - 1;
	return bit;
}

static bool try_one(const struct batch *batch, unsigned i)
{
	return batch->ops[i]->type->try_complete(batch->ops[i]);
}

/* Which of them can complete. */
static uint64_t try_all(const struct batch *batch)
{
	uint64_t can = 0;

	for (unsigned i = 0; i < batch->count; i++)
		if (try_one(batch, i))
			can |= UINT64_C(1) << i;
	return can;
}

static uint64_t try_some(const struct batch *batch, uint64_t which)
{
	uint64_t can = 0;

	while (which) {
		unsigned i = next_bit(&which);

		can |= (uint64_t)try_one(batch, i) << i;
	}
	return can;
}

static void win_each(struct shard *home, struct batch *batch, uint64_t won)
{
	batch->members &= ~won;
	while (won) {
		op_win(home, batch->ops[next_bit(&won)], COMPLETED);
		shard_count(home, BY_CHECK);
	}
}

/*
 * Under the lock. Returns which are to be tried again: those that another check came by for. They are tried before
 * on_complete of any that is won, so that a slow on_complete does not let them expire. But if others keep coming
 * by, on_complete must not wait for ever: after so many retries it is called first.
 */
static uint64_t batch_retries(struct shard *home, struct batch *batch, unsigned retries)
{
	uint64_t again = batch->again & batch->members;

	batch->again = 0;
	if (again && retries >= MAX_RETRIES) {
		batch->rescan = true;
		again = 0;
	}
	if (!again)
		batch_unlink(home, batch);
	return again;
}

/* Returns those that are won. */
static uint64_t batch_try(struct shard *home, struct batch *batch)
{
	uint64_t can = try_all(batch), again, won = 0;

	for (unsigned retries = 0;; retries++) {
		lock_take(&home->lock);
		can &= batch->members;
		win_each(home, batch, can);
		again = batch_retries(home, batch, retries);
		lock_give(&home->lock);
		won |= can;
		if (!again)
			return won;
		can = try_some(batch, again);
	}
}

/* Without the lock. Returns how many were won. */
static size_t batch_finish(const struct batch *batch, uint64_t won)
{
	uint64_t gone = batch->gone;
	size_t completed = 0;

	while (gone)
		op_unref(batch->ops[next_bit(&gone)]);
	for (; won; completed++)
		pawl__op_run_completed(batch->ops[next_bit(&won)]);
	return completed;
}

static size_t check_shard(struct shard *home, const struct hash *hash)
{
	struct batch batch;
	struct walk walk;
	size_t completed = 0;
	bool begun;

	batch.hash = *hash;
	batch.rescan = false;
	walk_begin(&walk, home, hash);
	do {
		lock_take(&home->lock);
		begun = batch_begin(&walk, &batch);
		lock_give(&home->lock);
		if (begun)
			completed += batch_finish(&batch, batch_try(home, &batch));
	} while (walk.paused || batch.rescan);
	return completed;
}

/*
 * From the thread's own shard on, so that threads that check at the same time begin at different ones. Before a
 * shard is passed over there must be a fence: see layout.h.
 */
size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	struct shard *own = own_shard(purgatory);
	const unsigned last = purgatory->shard_count - 1;
	size_t completed = 0;
	struct hash hash;

	if (pawl__key_hash(purgatory, key, &hash) != 0)
		return 0;
	if (table_may_have(shard_table(purgatory, own->number), hash.low)) {
		completed = check_shard(own, &hash);
		fence_after_lock(); /* which check_shard has taken */
	} else {
		fence();
		if (table_may_have(shard_table(purgatory, own->number), hash.low))
			completed = check_shard(own, &hash);
	}
	for (unsigned i = 1; i <= last; i++) {
		unsigned number = (own->number + i) & last;

		if (table_may_have(shard_table(purgatory, number), hash.low))
			completed += check_shard(&purgatory->shards[number], &hash);
	}
	return completed;
}

/* Under the lock. Of the operations collected, those that really have the key are won, whoever is trying them. */
static uint32_t take_each(struct shard *home, const struct hash *hash, struct pawl_op **ops,
                          uint32_t collected)
{
	uint32_t won = 0;

	for (uint32_t i = 0; i < collected; i++)
		if (op_watches(ops[i], hash)) {
			op_win_from_others(home, ops[i], TAKEN_OUT);
			shard_count(home, CANCELLED);
			ops[won++] = ops[i];
		}
	return won;
}

static void hand_out(struct pawl_op **ops, uint32_t count, pawl_op_fn *fn)
{
	for (uint32_t i = 0; i < count; i++) {
		if (fn)
			fn(ops[i]);
		op_unref(ops[i]);
	}
}

static size_t cancel_in(struct shard *home, const struct hash *hash, pawl_op_fn *cancelled)
{
	struct pawl_op *ops[BATCH];
	size_t all = 0;
	struct walk walk;
	unsigned claims;
	uint32_t won;

	walk_begin(&walk, home, hash);
	do {
		lock_take(&home->lock);
		won = take_each(home, hash, ops, walk_on(&walk, ops, &claims));
		lock_give(&home->lock);
		hand_out(ops, won, cancelled);
		all += won;
	} while (walk.paused);
	return all;
}

size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                 pawl_op_fn *cancelled)
{
	size_t all = 0;
	struct hash hash;

	if (pawl__key_hash(purgatory, key, &hash) != 0)
		return 0;
	fence();
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		if (table_may_have(shard_table(purgatory, i), hash.low))
			all += cancel_in(&purgatory->shards[i], &hash, cancelled);
	return all;
}

/* The first operation of a bucket; NULL: none. Marks of walks are passed over. */
static struct pawl_op *first_of(const struct bucket *bucket)
{
	for (unsigned c = 0; c < CHAINS; c++)
		for (uintptr_t node = bucket->chains[c]; node; node = *node_next(node))
			if (node_op(node))
				return node_op(node);
	return NULL;
}

/* Under the lock: take out the next operation, beginning at this bucket. NULL: there is none. */
static struct pawl_op *take_next(struct shard *home, uint64_t *bucket)
{
	struct pawl_op *op = NULL;

	while (!op && *bucket <= home->table->mask) {
		op = first_of(&home->table->buckets[*bucket]);
		*bucket += !op;
	}
	if (op) {
		op_win_from_others(home, op, TAKEN_OUT);
		shard_count(home, DROPPED);
	}
	return op;
}

/* For stop, after which nothing is linked any more. A table may still grow: then begin again. */
void pawl__shard_take_out_all(struct shard *home, pawl_op_fn *fn)
{
	struct table *table = NULL;
	uint64_t bucket = 0;
	struct pawl_op *op;

	do {
		lock_take(&home->lock);
		if (home->table != table)
			bucket = 0;
		table = home->table;
		op = take_next(home, &bucket);
		lock_give(&home->lock);
		hand_out(&op, op ? 1 : 0, fn);
	} while (op);
}
