/* SPDX-License-Identifier: MIT */
/*
 * Watch lists, and winning an operation: what is done under the home's lock.
 *
 * A chain goes from operation to operation, each time by the link of the key in question. A node is an operation's
 * address with the number of the key in its low bits, which are free. Only for further keys, which an
 * operation has no room for, a node is the address of a struct pawl_watch.
 *
 *	bucket of "topic-1"             operation a                 operation b
 *	  chains[0] = a, key 0   --->     next[0] = b, key 2   --->   next[0]
 *	  chains[1] = ...                 next[1]                     next[1]
 *	                                                              next[2] = nothing
 *
 * All that a check in vain reads of an operation stands at the end of struct pawl_op, in 64 bytes.
 */
#ifndef PAWL_PURGATORY_TABLE_H
#define PAWL_PURGATORY_TABLE_H

#include "layout.h"

#include <stdlib.h>

enum { KEY = 3, FURTHER = 4, TAG = KEY | FURTHER }; /* the low bits of a node */

_Static_assert(_Alignof(struct pawl_op) > TAG, "a node's low bits are free");
_Static_assert(_Alignof(struct pawl_watch) > TAG, "those of a watch, too");
_Static_assert(PAWL_OP_WATCHES == KEY + 1, "a key's number fits in");

static inline struct pawl_watch *node_watch(uintptr_t node)
{
	return (struct pawl_watch *)(node & ~(uintptr_t)TAG);
}

/* NULL: it is the mark of a paused walk, see check.c */
static inline struct pawl_op *node_op(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return node_watch(node)->op;
	return (struct pawl_op *)(node & ~(uintptr_t)TAG);
}

static inline uintptr_t *node_next(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return &node_watch(node)->next;
	return &node_op(node)->next[node & KEY];
}

static inline uintptr_t **node_link(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return &node_watch(node)->link;
	return &node_op(node)->link[node & KEY];
}

static inline uint32_t node_high(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return node_watch(node)->high;
	return node_op(node)->high[node & KEY];
}

static inline uint64_t node_low(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return node_watch(node)->low;
	return node_op(node)->low[node & KEY];
}

static inline bool node_has(uintptr_t node, const struct hash *hash)
{
	return node_high(node) == hash->high && node_low(node) == hash->low;
}

/* The node of an operation's i-th key. */
static inline uintptr_t op_node(const struct pawl_op *op, size_t i)
{
	if (i < PAWL_OP_WATCHES)
		return (uintptr_t)op | i;
	return (uintptr_t)&op->more[i - PAWL_OP_WATCHES] | FURTHER;
}

static inline bool op_watches(const struct pawl_op *op, const struct hash *hash)
{
	uint32_t i = 0;

	while (i < op->watch_count && !node_has(op_node(op, i), hash))
		i++;
	return i < op->watch_count;
}

static inline struct bucket *bucket_of(struct table *table, uint64_t low)
{
	return &table->buckets[low & table->mask];
}

static inline uint64_t filter_bit(uint64_t low)
{
	return UINT64_C(1) << (low >> 58);
}

static inline void bucket_set_filter(struct bucket *bucket, uint64_t filter)
{
	__atomic_store_n(&bucket->filter, filter, __ATOMIC_RELAXED);
}

/* Without the lock. A table may be an old one: see pawl__table_grow. */
static inline struct table *shard_table(const struct pawl_purgatory *purgatory, unsigned shard)
{
	return __atomic_load_n(&purgatory->tables[shard], __ATOMIC_ACQUIRE);
}

/* Without the lock: false if nothing is watched there under the key. Sometimes true though nothing is. */
static inline bool table_may_have(struct table *table, uint64_t low)
{
	return __atomic_load_n(&bucket_of(table, low)->filter, __ATOMIC_RELAXED) & filter_bit(low);
}

/* A node's next and link are given with it: the caller knows which kind of node it is. */
static inline void chain_insert(uintptr_t *at, uintptr_t node, uintptr_t *next, uintptr_t **link)
{
	*next = *at;
	*link = at;
	if (*at)
		*node_link(*at) = next;
	*at = node;
}

static inline void chain_remove(uintptr_t next, uintptr_t *link)
{
	*link = next;
	if (next)
		*node_link(next) = link;
}

static inline void bucket_add(struct bucket *bucket, uint64_t low, uintptr_t node, uintptr_t *next,
                              uintptr_t **link)
{
	bucket->turn = (bucket->turn + 1u) % CHAINS;
	chain_insert(&bucket->chains[bucket->turn], node, next, link);
	bucket_set_filter(bucket, bucket->filter | filter_bit(low));
}

/* An only node is always in the first chain, so that a CPU can tell where a walk will find it. */
static inline void bucket_empty(struct bucket *bucket)
{
	bucket->turn = LAST_CHAIN;
	bucket_set_filter(bucket, 0);
}

static inline bool bucket_is_empty(const struct bucket *bucket)
{
	return !(bucket->chains[0] | bucket->chains[1] | bucket->chains[2] | bucket->chains[3]);
}

/*
 * Whether the operation, which is just being linked, stands in the bucket under this key already: then the key
 * was given twice. Its nodes are the newest of the bucket, so mostly one look is enough.
 */
static inline bool bucket_has_newest(const struct bucket *bucket, const struct pawl_op *op,
                                     const struct hash *hash)
{
	uintptr_t newest = bucket->chains[bucket->turn];

	if (__builtin_expect(!newest || node_op(newest) != op, 1))
		return false;
	for (unsigned c = 0; c < CHAINS; c++)
		for (uintptr_t node = bucket->chains[c]; node && node_op(node) == op;
		     node = *node_next(node))
			if (node_has(node, hash))
				return true;
	return false;
}

static inline void bucket_remove(struct bucket *bucket, uintptr_t next, uintptr_t *link)
{
	chain_remove(next, link);
	if (bucket_is_empty(bucket))
		bucket_empty(bucket);
}

static inline void op_unlink(struct shard *home, struct pawl_op *op)
{
	struct table *table = home->table;
	uint32_t few = op->watch_count < PAWL_OP_WATCHES ? op->watch_count : PAWL_OP_WATCHES;

	for (uint32_t i = 0; i < few; i++)
		bucket_remove(bucket_of(table, op->low[i]), op->next[i], op->link[i]);
	for (uint32_t i = 0; i < op->watch_count - few; i++)
		bucket_remove(bucket_of(table, op->more[i].low), op->more[i].next,
		              op->more[i].link);
	home->watched -= op->watch_count;
	home->delayed--;
}

static inline uint32_t op_state(const struct pawl_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
}

static inline bool op_win_fresh(struct pawl_op *op, uint32_t state)
{
	uint32_t fresh = FRESH;

	return __atomic_compare_exchange_n(&op->state, &fresh, state, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_ACQUIRE);
}

/* A walk collects by this half of the hash alone. */
static inline bool op_has_high(const struct pawl_op *op, uint32_t high)
{
	uint32_t i = 0;

	while (i < op->watch_count && node_high(op_node(op, i)) != high)
		i++;
	return i < op->watch_count;
}

/* The batch that has the operation, and its bit there; NULL: none. An operation is in one at the most. */
static inline struct batch *batch_with(const struct shard *home, const struct pawl_op *op,
                                       uint64_t *bit)
{
	for (struct batch *batch = home->batches; batch; batch = batch->next) {
		if (!op_has_high(op, batch->hash.high))
			continue;
		for (uint32_t i = 0; i < batch->count; i++)
			if (batch->ops[i] == op && batch->members & UINT64_C(1) << i) {
				*bit = UINT64_C(1) << i;
				return batch;
			}
	}
	return NULL;
}

/* If a thread is trying the operation, tell it that it is won, and leave it a reference. */
static inline void op_leave_to_tryer(struct shard *home, struct pawl_op *op)
{
	struct batch *batch;
	uint64_t bit;

	if (op->claim) {
		op->claim |= GONE;
	} else {
		batch = batch_with(home, op, &bit);
		if (!batch)
			return;
		batch->gone |= bit;
		batch->members &= ~bit;
	}
	__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
}

/* Under the lock, for a waiting operation that nobody else is trying. */
static inline void op_win(struct shard *home, struct pawl_op *op, uint32_t state)
{
	__atomic_store_n(&op->state, state, __ATOMIC_RELEASE);
	op_unlink(home, op);
	pawl_wheel_cancel(home->wheel, &op->timer);
}

static inline void op_win_from_others(struct shard *home, struct pawl_op *op, uint32_t state)
{
	op_leave_to_tryer(home, op);
	op_win(home, op, state);
}

/* A thread that has the last reference is alone with the operation, so it need not count down. */
static inline void op_unref(struct pawl_op *op)
{
	if (__atomic_load_n(&op->references, __ATOMIC_ACQUIRE) != 1 &&
	    __atomic_sub_fetch(&op->references, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (op->more)
		free(op->more);
	op->type->release(op);
}

/* Under the lock. */
static inline void shard_count(struct shard *shard, enum count count)
{
	__atomic_store_n(&shard->counts[count], shard->counts[count] + 1, __ATOMIC_RELAXED);
}

#endif
