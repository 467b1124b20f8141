/* SPDX-License-Identifier: MIT */
/*
 * Watch lists, batches, and winning an operation. Functions here are called under the lock of the operation's home,
 * unless their comment says otherwise.
 *
 * A bucket has four chains of nodes. A node is an operation under one of its keys: the address of a struct
 * pawl_op_watches, with the number of the key in the low bits, which are free. An operation has one such struct, with
 * room for four keys, in itself. For more keys it has further structs.
 *
 *	bucket of "topic-1"         operation a                operation b
 *	  chains[0] = a, key 0 -->    next[0] = b, key 2 -->     next[0]
 *	  chains[1] = ...             next[1]                    next[1]
 *	                                                         next[2] = nothing
 */
#ifndef PAWL_PURGATORY_TABLE_H
#define PAWL_PURGATORY_TABLE_H

#include "layout.h"

enum { KEY = PAWL_OP_WATCHES - 1 }; /* the low bits of a node */

_Static_assert(_Alignof(struct pawl_op_watches) > KEY, "a node's low bits are free");

static inline struct pawl_op_watches *node_watches(uintptr_t node)
{
	return (struct pawl_op_watches *)(node & ~(uintptr_t)KEY);
}

static inline uintptr_t *node_next(uintptr_t node)
{
	return &node_watches(node)->next[node & KEY];
}

static inline uintptr_t **node_link(uintptr_t node)
{
	return &node_watches(node)->link[node & KEY];
}

static inline struct hash node_hash(uintptr_t node)
{
	return (struct hash){node_watches(node)->low[node & KEY],
	                     node_watches(node)->high[node & KEY]};
}

/* Has this purgatory made the key? */
static inline bool key_valid(const struct pawl_purgatory *purgatory, struct pawl_key key)
{
	return key.owner == purgatory->id;
}

static inline struct hash hash_of(struct pawl_key key)
{
	return (struct hash){key.low, key.high};
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

/* Without the lock. The table may be an old one: see grow.c. */
static inline struct table *shard_table(const struct pawl_purgatory *purgatory, unsigned shard)
{
	return __atomic_load_n(&purgatory->tables[shard], __ATOMIC_ACQUIRE);
}

/* Without the lock. False: nothing is watched there under the key. True: perhaps something is. */
static inline bool table_may_have(struct table *table, uint64_t low)
{
	return __atomic_load_n(&bucket_of(table, low)->filter, __ATOMIC_RELAXED) & filter_bit(low);
}

static inline void list_insert(uintptr_t *at, uintptr_t node)
{
	uintptr_t *next = node_next(node);

	ASSERT(node_watches(node));
	*next = *at;
	*node_link(node) = at;
	if (*at)
		*node_link(*at) = next;
	*at = node;
}

static inline void list_remove(uintptr_t node)
{
	uintptr_t next = *node_next(node), *link = *node_link(node);

	*link = next;
	if (next)
		*node_link(next) = link;
}

/*
 * Must the table grow? If it has two nodes a bucket on average, and more than a sixteenth of the buckets are in use.
 * With fewer in use a few keys have many operations, and more buckets would not shorten their lists.
 */
static inline bool table_full(const struct op_shard *home)
{
	lock_assert_held(&home->lock);
	return home->watched / 2 > home->table->mask && home->used > home->table->mask / 16;
}

static inline bool table_grows(const struct op_shard *home)
{
	return home->oldest != home->table;
}

/* In a critical section of every call that may find operations to move. */
static inline void table_step(struct op_shard *home)
{
	lock_assert_held(&home->lock);
	if (__builtin_expect(table_grows(home), 0))
		pawl__table_step(home);
}

/* True: the table is too small, and no thread prepares the next one. This thread does so: see pawl__table_prepare. */
static inline bool table_claim(struct op_shard *home)
{
	lock_assert_held(&home->lock);
	if (__builtin_expect(!table_full(home), 1) || table_grows(home) || home->prepares)
		return false;
	home->prepares = true;
	return true;
}

/* The table in which an operation is linked under this key, while the table grows. */
static inline struct table *node_table(const struct op_shard *home, uintptr_t node)
{
	unsigned differ = (unsigned)(node_watches(node)->tags ^ home->table->tags);

	lock_assert_held(&home->lock);
	return differ >> (node & KEY) & 1 ? home->oldest : home->table;
}

static inline void table_add_to_filter(struct table *table, uint64_t low)
{
	struct bucket *bucket = bucket_of(table, low);

	bucket_set_filter(bucket, bucket->filter | filter_bit(low));
}

static inline void bucket_add(struct op_shard *home, struct bucket *bucket, uintptr_t node,
                              uint64_t low)
{
	uint64_t adds = bucket->adds++;

	lock_assert_held(&home->lock);
	home->used += adds == 0;
	bucket->count++;
	list_insert(&bucket->chains[adds % CHAINS], node);
	bucket_set_filter(bucket, bucket->filter | filter_bit(low));
}

/* True: it is empty now. It begins with its first chain again, so a CPU can predict where a walk finds a single
 * node. */
static inline bool bucket_remove(struct op_shard *home, struct bucket *bucket, uintptr_t node)
{
	lock_assert_held(&home->lock);
	ASSERT(home->used > 0 && bucket->adds > 0);
	list_remove(node);
	if (bucket->chains[0] | bucket->chains[1] | bucket->chains[2] | bucket->chains[3])
		return false;
	home->used--;
	bucket->adds = 0;
	return true;
}

/* While the table grows, the oldest one keeps its filters, for the operations that have moved. */
static inline void table_remove(struct op_shard *home, struct table *table, uintptr_t node,
                                uint64_t low)
{
	struct bucket *bucket = bucket_of(table, low);

	lock_assert_held(&home->lock);
	if (bucket_remove(home, bucket, node) && table == home->table)
		bucket_set_filter(bucket, 0);
}

/* The node of an operation, not a cursor; 0: none. */
static inline uintptr_t bucket_first(const struct op_shard *home, const struct bucket *bucket)
{
	lock_assert_held(&home->lock);
	for (unsigned c = 0; c < CHAINS; c++)
		for (uintptr_t node = bucket->chains[c]; node; node = *node_next(node)) {
			CHECKED(pawl__watches_expect_sound(node_watches(node)));
			if (node_watches(node)->op)
				return node;
		}
	return 0;
}

#ifdef PAWL_CHECKED
static inline void op_forget(const struct pawl_op *op)
{
	for (const struct pawl_op_watches *watches = &op->watches; watches;
	     watches = watches->more) {
		pawl__watches_expect_sound(watches);
		pawl__object_forget(A_WATCHES, watches);
	}
}
#endif

static inline void op_unlink(struct op_shard *home, struct pawl_op *op)
{
	lock_assert_held(&home->lock);
	ASSERT(home->delayed > 0);
	home->delayed--;
	CHECKED(op_forget(op));
	if (__builtin_expect(table_grows(home), 0)) {
		pawl__op_unlink_growing(home, op);
		return;
	}
	for (struct pawl_op_watches *watches = &op->watches; watches; watches = watches->more)
		for (uint32_t i = 0; i < watches->count; i++)
			if (watches->link[i]) {
				struct bucket *bucket = bucket_of(home->table, watches->low[i]);

				ASSERT(home->watched > 0 && bucket->count > 0);
				bucket->count--;
				if (bucket_remove(home, bucket, (uintptr_t)watches | i))
					bucket_set_filter(bucket, 0);
				home->watched--;
			}
}

static inline uint32_t op_state(const struct pawl_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
}

/* With or without the lock. */
static inline bool op_win_fresh(struct pawl_op *op, uint32_t state)
{
	uint32_t fresh = FRESH;

	return __atomic_compare_exchange_n(&op->state, &fresh, state, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_ACQUIRE);
}

/* The batch that has the operation, and its bit there; NULL: none. An operation is in one batch at most. */
static inline struct batch *batch_with(const struct op_shard *home, const struct pawl_op *op,
                                       uint64_t *bit)
{
	lock_assert_held(&home->lock);
	for (struct batch *batch = home->batches; batch; batch = batch->next)
		for (uint32_t i = 0; i < batch->count; i++)
			if (batch->ops[i] == op && batch->members & UINT64_C(1) << i) {
				*bit = UINT64_C(1) << i;
				return batch;
			}
	return NULL;
}

#ifdef PAWL_ASSERT
static inline bool op_in_batch(const struct op_shard *home, const struct pawl_op *op)
{
	uint64_t bit;

	return batch_with(home, op, &bit);
}

static inline bool any_in_batch(const struct op_shard *home, const struct batch *ops)
{
	bool any = false;

	for (uint32_t i = 0; i < ops->count; i++)
		any |= op_in_batch(home, ops->ops[i]);
	return any;
}
#endif

static inline void batch_link(struct op_shard *home, struct batch *batch)
{
	lock_assert_held(&home->lock);
	ASSERT(batch->count > 0 && batch->count <= OPS_PER_BATCH);
	ASSERT(!any_in_batch(home, batch));
	batch->members = ~UINT64_C(0) >> (64 - batch->count);
	batch->retry = batch->gone = 0;
	batch->next = home->batches;
	home->batches = batch;
}

static inline void batch_unlink(struct op_shard *home, struct batch *batch)
{
	struct batch **at = &home->batches;

	lock_assert_held(&home->lock);
	while (*at != batch) {
		ASSERT(*at);
		at = &(*at)->next;
	}
	*at = batch->next;
}

/* The operation waits, and has left its batch. */
static inline void op_win(struct op_shard *home, struct pawl_op *op, uint32_t state)
{
	lock_assert_held(&home->lock);
	ASSERT(op_is(op, WAITING) && !op_in_batch(home, op));
	__atomic_store_n(&op->state, state, __ATOMIC_RELEASE);
	op_unlink(home, op);
	pawl_wheel_cancel(home->wheel, &op->timer);
}

/* The operation waits. A thread that is trying it is told that it has lost, and gets a reference. */
static inline void op_win_from_others(struct op_shard *home, struct pawl_op *op, uint32_t state)
{
	uint64_t bit;
	struct batch *batch = batch_with(home, op, &bit);

	lock_assert_held(&home->lock);
	if (batch) {
		batch->gone |= bit;
		batch->members &= ~bit;
		__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
	}
	op_win(home, op, state);
}

static inline bool op_last_reference(const struct pawl_op *op)
{
	return __atomic_load_n(&op->references, __ATOMIC_ACQUIRE) == 1;
}

/* Without the lock. A thread that finds one reference has the only one, and need not count down. */
static inline void op_unref(struct pawl_op *op)
{
	assert_nothing_held();
	if (!op_last_reference(op) && __atomic_sub_fetch(&op->references, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (op->watches.more)
		free(op->watches.more);
	op->type->release(op);
}

/* One of the shard's statistics. */
static inline void shard_count(struct op_shard *shard, uint64_t *count)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

#endif
