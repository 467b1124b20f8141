/* SPDX-License-Identifier: MIT */
/*
 * Tables of watch lists, and how they grow: see "Growth" in layout.h. Growth is spread over many calls, because a
 * table of a million buckets takes a tenth of a second to zero and another one to fill:
 *
 *	a try_or_watch finds the table full      allocates the next one
 *	each try_or_watch from then on           zeroes a piece of it, without the lock; the last one makes it `table`
 *	each try_or_watch and check after that   moves a few operations; the last one publishes the table
 *
 * A full table of n buckets has 2 n pairs of an operation and a key. Emptying it takes 3 n steps: moves, and buckets
 * left. Its successor is full after 2 n more pairs: later, since a try_or_watch makes MOST_MOVES of them for each four
 * of its keys.
 *
 * Without memory the table stays as it is: slower, but right.
 */
#define _GNU_SOURCE
#include "table.h"

#include <string.h>

/* Its buckets are not zeroed. NULL: no memory. */
static struct table *new_table(uint64_t buckets)
{
	const size_t most = (SIZE_MAX - sizeof(struct table) - LINE) / sizeof(struct bucket);
	struct table *table = NULL;

	if (buckets <= most)
		table = pawl__system_unset_lines(sizeof(*table) +
		                                 (size_t)buckets * sizeof(struct bucket));
	if (table)
		*table = (struct table){.mask = buckets - 1};
	return table;
}

/* Zero the next buckets, at most so many. Returns how many are zeroed then. */
static uint64_t zero_more(struct table *table, uint64_t zeroed, uint64_t most)
{
	uint64_t left = table->mask + 1 - zeroed, count = left < most ? left : most;

	memset(&table->buckets[zeroed], 0, (size_t)count * sizeof(struct bucket));
	return zeroed + count;
}

struct table *pawl__table_open(void)
{
	struct table *table = new_table(FEW_BUCKETS);

	if (table)
		zero_more(table, 0, FEW_BUCKETS);
	return table;
}

void pawl__tables_free(struct op_shard *shard)
{
	struct table *table = shard->table, *older;

	for (; table; table = older) {
		older = table->older;
		pawl__system_free_lines(table);
	}
	pawl__system_free_lines(shard->next);
}

/* False: the table grows already, it is as large as that, or stop goes through it. */
static bool begin(struct op_shard *shard, struct table *to)
{
	lock_assert_held(&shard->lock);
	if (table_grows(shard) || shard->table->mask >= to->mask || shard->closed)
		return false;
	to->older = shard->table;
	to->tags = (uint16_t)~shard->table->tags;
	shard->table->newer = to;
	shard->table = to;
	shard->moved = 0;
	return true;
}

/* `prepares` keeps other threads away from `next` and `zeroed`. */
void pawl__table_prepare(struct op_shard *shard, uint64_t buckets)
{
	struct table *ready = NULL;
	bool begun;

	if (!shard->next) {
		shard->next = new_table(buckets);
		shard->zeroed = 0;
	}
	if (shard->next)
		shard->zeroed = zero_more(shard->next, shard->zeroed, MOST_ZEROED);
	if (shard->next && shard->zeroed > shard->next->mask) {
		ready = shard->next;
		shard->next = NULL;
	}
	lock_acquire(&shard->lock);
	shard->prepares = false;
	begun = ready && begin(shard, ready);
	lock_release(&shard->lock);
	if (!begun)
		pawl__system_free_lines(ready);
}

static bool too_small(struct op_shard *shard, uint64_t keys)
{
	bool small;

	lock_acquire(&shard->lock);
	small = shard->table->mask < keys;
	lock_release(&shard->lock);
	return small;
}

/* True: a smaller table is still growing. */
static bool must_wait(const struct op_shard *shard, const struct table *to)
{
	lock_assert_held(&shard->lock);
	return table_grows(shard) && shard->table->mask < to->mask && !shard->closed;
}

/*
 * Grow to more buckets than an operation has keys, before it is linked. It takes as much time as the keys of this
 * operation do, so it is not spread over other calls.
 */
void pawl__table_make_room(struct op_shard *shard, uint64_t keys)
{
	uint64_t buckets = FEW_BUCKETS;
	struct table *to;
	bool begun, wait;

	while (buckets <= keys)
		buckets *= 2;
	to = too_small(shard, keys) ? new_table(buckets) : NULL;
	if (!to)
		return;
	zero_more(to, 0, buckets);
	do {
		lock_acquire(&shard->lock);
		table_step(shard);
		begun = begin(shard, to);
		wait = !begun && must_wait(shard, to);
		lock_release(&shard->lock);
	} while (wait);
	if (!begun)
		pawl__system_free_lines(to);
}

static void unlink_key(struct op_shard *shard, uintptr_t node)
{
	struct table *table = node_table(shard, node);
	uint64_t low = node_hash(node).low;

	lock_assert_held(&shard->lock);
	ASSERT(shard->watched > 0 && bucket_of(table, low)->count > 0);
	bucket_of(table, low)->count--;
	table_remove(shard, table, node, low);
	shard->watched--;
}

/* For op_unlink, while the operation may be in two tables. */
void pawl__op_unlink_growing(struct op_shard *shard, struct pawl_op *op)
{
	lock_assert_held(&shard->lock);
	for (struct pawl_op_watches *watches = &op->watches; watches; watches = watches->more)
		for (uint32_t i = 0; i < watches->count; i++)
			if (watches->link[i])
				unlink_key(shard, (uintptr_t)watches | i);
}

/* False: no operation is left in the bucket. */
static bool move_one(struct op_shard *shard, struct bucket *from)
{
	uintptr_t node = bucket_first(shard, from);
	uint64_t low;

	lock_assert_held(&shard->lock);
	if (!node)
		return false;
	low = node_hash(node).low;
	ASSERT(node_table(shard, node) == shard->oldest && from->count > 0);
	from->count--;
	bucket_remove(shard, from, node);
	node_watches(node)->tags ^= (uint16_t)(1u << (node & KEY));
	bucket_add(shard, bucket_of(shard->table, low), node, low);
	return true;
}

/*
 * A check that reads the filters of the old table from now on has a fence before that. If it misses an operation, that
 * one was linked after the store, by a thread that has a fence after it and then tries the operation: so it sees the
 * change (layout.h). By C11 that takes a sequentially consistent store: the thread that links is not the one that
 * stores.
 */
static void publish(struct op_shard *shard)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->purgatory->tables[shard->number], shard->table, __ATOMIC_SEQ_CST);
	shard->oldest = shard->table;
}

void pawl__table_step(struct op_shard *shard)
{
	struct table *from = shard->oldest;

	lock_assert_held(&shard->lock);
	if (shard->closed)
		return;
	for (unsigned left = MOST_MOVES; left > 0 && shard->moved <= from->mask; left--) {
		struct bucket *bucket = &from->buckets[shard->moved];

		if (move_one(shard, bucket))
			continue;
		shard->used -= bucket->adds > 0; /* it has only cursors */
		bucket->adds = 0;
		shard->moved++;
	}
	if (shard->moved > from->mask)
		publish(shard);
}
