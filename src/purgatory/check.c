/* SPDX-License-Identifier: MIT */
/*
 * Walks along the operations under a key, to try them or to withdraw them. A walk goes in batches, so that nothing is
 * allocated and the lock is released after every 64 operations, or 256 of other keys in the same bucket.
 */
#define _GNU_SOURCE
#include "table.h"

/*
 * A walk along a watch list, in one table after the other. Between two batches a cursor in each chain, a node without
 * an operation, says where the walk goes on. Operations that are added meanwhile come before it, or in a newer table.
 */
struct key_walk {
	struct op_shard *home;
	const struct hash *hash;
	struct table *table; /* NULL: the walk has not begun, or is over */
	bool has_cursors;    /* else it goes on with the first operations of `table` */
	struct pawl_op_watches cursors;
};

static void walk_begin(struct key_walk *walk, struct op_shard *home, const struct hash *hash)
{
	walk->home = home;
	walk->hash = hash;
	walk->table = NULL;
	walk->has_cursors = false;
}

static void walk_pause(struct key_walk *walk, unsigned chain, uintptr_t at)
{
	lock_assert_held(&walk->home->lock);
	walk->cursors.op = NULL;
	walk->cursors.next[chain] = 0;
	walk->cursors.link[chain] = NULL;
	if (at)
		list_insert(*node_link(at), (uintptr_t)&walk->cursors | chain);
}

static uintptr_t walk_resume(struct key_walk *walk, unsigned chain)
{
	uintptr_t cursor = (uintptr_t)&walk->cursors | chain;

	lock_assert_held(&walk->home->lock);
	if (!walk->cursors.link[chain])
		return 0;
	if (bucket_of(walk->table, walk->hash->low)->adds)
		table_remove(walk->home, walk->table, cursor, walk->hash->low);
	else
		list_remove(cursor); /* all operations have moved to a newer table */
	return walk->cursors.next[chain];
}

static void walk_stop(struct key_walk *walk)
{
	lock_assert_held(&walk->home->lock);
	for (unsigned c = 0; walk->has_cursors && c < CHAINS; c++)
		walk_resume(walk, c);
	walk->has_cursors = false;
	walk->table = NULL;
}

/* A walk lets operations move only before it begins, so that it does not find them twice by itself. */
static inline struct table *walk_first(struct op_shard *home)
{
	table_step(home);
	return home->oldest;
}

/*
 * Collect the next operations of one table, at most OPS_PER_BATCH. 64 bits of the hash are enough to try an operation:
 * if the other 32 differ, it is tried in vain. The chains are walked in step, since one list alone is one cache
 * miss after the other. Every loop is unrolled, so that the four positions stay in registers.
 */
static inline __attribute__((always_inline)) uint32_t walk_collect(struct key_walk *walk,
                                                                   struct pawl_op **ops)
{
	struct table *table = walk->table ? walk->table : walk_first(walk->home);
	const struct bucket *bucket = bucket_of(table, walk->hash->low);
	const uint64_t low = walk->hash->low;
	uintptr_t at[CHAINS], more;
	uint32_t count = 0, skipped = 0;

	lock_assert_held(&walk->home->lock);
#pragma GCC unroll 4
	for (unsigned c = 0; c < CHAINS; c++)
		at[c] = __builtin_expect(walk->has_cursors, 0) ? walk_resume(walk, c)
		                                               : bucket->chains[c];
	do {
		more = 0;
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++) {
			struct pawl_op_watches *watches = node_watches(at[c]);
			unsigned key = at[c] & KEY;

			if (!at[c])
				continue;
			CHECKED(pawl__watches_expect_sound(watches));
			at[c] = watches->next[key];
			more |= at[c];
			if (__builtin_expect(watches->low[key] != low || !watches->op, 0)) {
				skipped++;
				continue;
			}
			/* try_complete is likely to read what follows the operation. */
			__builtin_prefetch(watches->op + 1);
			ASSERT(op_is(watches->op, WAITING));
			ops[count++] = watches->op;
		}
	} while (more && count + CHAINS <= OPS_PER_BATCH && skipped < MOST_SKIPPED);
	walk->has_cursors = more;
	walk->table = more ? table : table->newer;
	if (__builtin_expect(walk->has_cursors, 0))
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++)
			walk_pause(walk, c, at[c]);
	return count;
}

/* If another thread is trying the operation, ask that thread to retry. */
static bool ask_to_retry(struct op_shard *home, struct pawl_op *op)
{
	uint64_t bit;
	struct batch *batch = batch_with(home, op, &bit);

	lock_assert_held(&home->lock);
	if (batch)
		batch->retry |= bit;
	return batch;
}

/* Leave out the operations that other threads are trying. Returns how many remain. */
static uint32_t leave_to_others(struct op_shard *home, struct pawl_op **ops, uint32_t count)
{
	uint32_t remaining = 0;

	lock_assert_held(&home->lock);
	for (uint32_t i = 0; i < count; i++)
		if (!ask_to_retry(home, ops[i]))
			ops[remaining++] = ops[i];
	return remaining;
}

/* The batch of another check of the same key; NULL: none. */
static struct batch *batch_of_key(const struct op_shard *home, const struct hash *hash)
{
	struct batch *batch = home->batches;

	lock_assert_held(&home->lock);
	while (batch && !(batch->hash && same_hash(batch->hash, hash)))
		batch = batch->next;
	return batch;
}

/*
 * False: there is nothing to try. Or another check of the same key is under way, and rescans the list for this one. A
 * check that is to rescan comes to the end of the list first. Otherwise, while other threads keep checking, the last
 * operations would never be tried.
 */
static bool batch_begin(struct key_walk *walk, struct batch *batch)
{
	struct op_shard *home = walk->home;
	struct batch *other = batch_of_key(home, walk->hash);

	lock_assert_held(&home->lock);
	if (other) {
		other->rescan = true;
		batch->rescan = false;
		walk_stop(walk);
		return false;
	}
	if (!walk->table)
		batch->rescan = false;
	batch->count = walk_collect(walk, batch->ops);
	if (home->batches)
		batch->count = leave_to_others(home, batch->ops, batch->count);
	if (batch->count == 0)
		return false;
	batch_link(home, batch);
	return true;
}

static unsigned next_bit(uint64_t *bits)
{
	unsigned bit = (unsigned)__builtin_ctzll(*bits);

	ASSERT(*bits);
	*bits &= *bits - 1;
	return bit;
}

static bool try_one(const struct batch *batch, unsigned i)
{
	assert_nothing_held();
	return batch->ops[i]->type->try_complete(batch->ops[i]);
}

/* Returns which operations can complete. */
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

static void win_each(struct op_shard *home, struct batch *batch, uint64_t won)
{
	lock_assert_held(&home->lock);
	ASSERT((won & ~batch->members) == 0);
	batch->members &= ~won;
	while (won) {
		op_win(home, batch->ops[next_bit(&won)], COMPLETED);
		shard_count(home, &home->stats.completed_by_check);
	}
}

/*
 * Returns the operations to retry: those that another thread has checked meanwhile. They are retried before on_complete
 * of the operations that are won, so that a slow on_complete does not let them expire. But on_complete must not wait
 * forever while other threads keep checking: after MAX_RETRIES it comes first, and then a rescan.
 */
static uint64_t batch_retries(struct op_shard *home, struct batch *batch, unsigned retries)
{
	uint64_t retry = batch->retry & batch->members;

	lock_assert_held(&home->lock);
	batch->retry = 0;
	if (retry && retries >= MAX_RETRIES) {
		batch->rescan = true;
		retry = 0;
	}
	if (!retry)
		batch_unlink(home, batch);
	return retry;
}

/* Returns the operations that are won. */
static uint64_t batch_try(struct op_shard *home, struct batch *batch)
{
	uint64_t can = try_all(batch), retry, won = 0;

	for (unsigned retries = 0;; retries++) {
		lock_acquire(&home->lock);
		can &= batch->members;
		win_each(home, batch, can);
		retry = batch_retries(home, batch, retries);
		lock_release(&home->lock);
		won |= can;
		if (!retry)
			return won;
		can = try_some(batch, retry);
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

static size_t check_shard(struct op_shard *home, const struct hash *hash)
{
	struct pawl_op *ops[OPS_PER_BATCH];
	struct batch batch = {.ops = ops, .hash = hash};
	struct key_walk walk;
	size_t completed = 0;
	bool begun;

	walk_begin(&walk, home, hash);
	do {
		lock_acquire(&home->lock);
		begun = batch_begin(&walk, &batch);
		lock_release(&home->lock);
		if (begun)
			completed += batch_finish(&batch, batch_try(home, &batch));
	} while (walk.table || batch.rescan);
	return completed;
}

/* A call by a key that another purgatory has made, or that is zeroed, finds nothing. */
static bool invalid(const struct pawl_purgatory *purgatory, struct pawl_key key, const char *call)
{
	if (__builtin_expect(key_valid(purgatory, key), 1))
		return false;
	CHECKED(pawl__mistake(call,
	                      "the key is not of purgatory %p: make it by pawl_purgatory_key of "
	                      "the same purgatory",
	                      (const void *)purgatory));
	(void)call;
	return true;
}

/*
 * Start at the thread's own shard, so that threads that check at the same time start at different ones. There must be a
 * fence before a shard is skipped: see layout.h.
 */
size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	IN_PURGATORY(purgatory);
	struct op_shard *own = own_shard(purgatory);
	const unsigned last = purgatory->shard_count - 1;
	size_t completed = 0;
	struct hash hash;

	if (invalid(purgatory, key, "pawl_purgatory_check"))
		return 0;
	hash = hash_of(key);
	if (table_may_have(shard_table(purgatory, own->number), hash.low)) {
		completed = check_shard(own, &hash);
		fence_after_lock(); /* check_shard has acquired one */
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

static void hand_out(struct pawl_op *op, pawl_op_fn *fn)
{
	assert_nothing_held();
	ASSERT(op_is(op, WITHDRAWN));
	if (fn)
		fn(op);
	op_unref(op);
}

static bool op_has(const struct pawl_op *op, const struct hash *hash)
{
	for (const struct pawl_op_watches *watches = &op->watches; watches; watches = watches->more)
		for (uint32_t i = 0; i < watches->count; i++)
			if (watches->low[i] == hash->low && watches->high[i] == hash->high)
				return true;
	return false;
}

static void withdraw(struct op_shard *home, struct pawl_op *op, uint64_t *count)
{
	lock_assert_held(&home->lock);
	op_win_from_others(home, op, WITHDRAWN);
	shard_count(home, count);
}

/* Operations that are withdrawn and not handed out yet: a list through their timers, which have left the wheel. */
struct withdrawn {
	struct pawl_op *first, *last;
	size_t count;
};

static void add_withdrawn(struct withdrawn *withdrawn, struct pawl_op *op)
{
	op->deferred = NULL;
	if (withdrawn->first)
		withdrawn->last->deferred = op;
	else
		withdrawn->first = op;
	withdrawn->last = op;
	withdrawn->count++;
}

static void hand_out_all(struct withdrawn *withdrawn, pawl_op_fn *fn)
{
	struct pawl_op *op, *next;

	for (op = withdrawn->first; op; op = next) {
		next = op->deferred;
		hand_out(op, fn);
	}
}

/* Withdraw the operations that have the key, by all bits of its hash. */
static void withdraw_each(struct op_shard *home, const struct hash *hash, struct pawl_op **ops,
                          uint32_t count, struct withdrawn *withdrawn)
{
	lock_assert_held(&home->lock);
	for (uint32_t i = 0; i < count; i++)
		if (op_has(ops[i], hash)) {
			withdraw(home, ops[i], &home->stats.cancelled);
			add_withdrawn(withdrawn, ops[i]);
		}
}

static void cancel_in(struct op_shard *home, const struct hash *hash, struct withdrawn *withdrawn)
{
	struct pawl_op *ops[OPS_PER_BATCH];
	struct key_walk walk;

	walk_begin(&walk, home, hash);
	do {
		lock_acquire(&home->lock);
		withdraw_each(home, hash, ops, walk_collect(&walk, ops), withdrawn);
		lock_release(&home->lock);
	} while (walk.table);
}

/* `cancelled` may submit operations under the same key: so it is called when all shards are done. */
size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                 pawl_op_fn *cancelled)
{
	IN_PURGATORY(purgatory);
	struct withdrawn withdrawn = {0};
	struct hash hash;

	if (invalid(purgatory, key, "pawl_purgatory_cancel_key"))
		return 0;
	hash = hash_of(key);
	fence();
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		if (table_may_have(shard_table(purgatory, i), hash.low))
			cancel_in(&purgatory->shards[i], &hash, &withdrawn);
	hand_out_all(&withdrawn, cancelled);
	return withdrawn.count;
}

/* NULL: no operation is left in the bucket. */
static struct pawl_op *withdraw_first(struct op_shard *home, const struct bucket *bucket)
{
	struct pawl_op *op = NULL;
	uintptr_t node;

	lock_acquire(&home->lock);
	node = bucket_first(home, bucket);
	if (node) {
		op = node_watches(node)->op;
		withdraw(home, op, &home->stats.dropped);
	}
	lock_release(&home->lock);
	return op;
}

/* For stop. The shard is closed: no operation is linked from now on, and the table does not grow. */
void pawl__shard_withdraw_all(struct op_shard *home, pawl_op_fn *fn)
{
	struct pawl_op *op;

	ASSERT(home->closed);
	for (struct table *table = home->oldest; table; table = table->newer)
		for (uint64_t i = 0; i <= table->mask; i++)
			while ((op = withdraw_first(home, &table->buckets[i])))
				hand_out(op, fn);
}
