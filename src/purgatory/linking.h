/* SPDX-License-Identifier: MIT */
/*
 * Operations and their places: all that is done under the home's lock.
 *
 * A chain goes from operation to operation, each time by the link of the key in question. So a node is an
 * operation's address with the number of the key in its low bits, which are free. What a check reads of
 * each operation then stands at the end of struct pawl_op, in one cache line or two. Only for the further
 * keys of an operation, that it has no room for, a node is the address of a struct pawl_watch.
 *
 *	place of "topic-1"              operation a                 operation b
 *	  chains[0] = a, key 0   --->     next[0] = b, key 2   --->   next[0]
 *	  chains[1] = ...                 next[1]                     next[1]
 *	                                                              next[2] = nothing
 */
#ifndef PAWL_PURGATORY_LINKING_H
#define PAWL_PURGATORY_LINKING_H

#include "layout.h"

enum { KEY = 3, FURTHER = 4, TAG = KEY | FURTHER }; /* the low bits of a node */

_Static_assert(_Alignof(struct pawl_op) > TAG, "a node's low bits are free");
_Static_assert(_Alignof(struct pawl_watch) > TAG, "those of a watch, too");
_Static_assert(PAWL_OP_WATCHES == KEY + 1, "a key's number fits in");

static inline struct pawl_watch *node_watch(uintptr_t node)
{
	return (struct pawl_watch *)(node & ~(uintptr_t)TAG);
}

/* NULL: none; or it is a mark, see check.c */
static inline struct pawl_op *node_op(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return node_watch(node)->op;
	return (struct pawl_op *)(node & ~(uintptr_t)TAG);
}

static inline uintptr_t node_next(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return node_watch(node)->next;
	return node_op(node)->next[node & KEY];
}

static inline uintptr_t **node_link(uintptr_t node)
{
	if (__builtin_expect(node & FURTHER, 0))
		return &node_watch(node)->link;
	return &node_op(node)->link[node & KEY];
}

static inline uintptr_t watch_node(const struct pawl_watch *watch)
{
	return (uintptr_t)watch | FURTHER;
}

static inline uintptr_t op_node(const struct pawl_op *op, size_t i)
{
	return (uintptr_t)op | i;
}

static inline struct place *op_place(const struct pawl_op *op, size_t i)
{
	return i < PAWL_OP_WATCHES ? op->place[i] : op->more[i - PAWL_OP_WATCHES].place;
}

static inline void op_set_place(struct pawl_op *op, size_t i, struct place *place)
{
	if (i < PAWL_OP_WATCHES)
		op->place[i] = place;
	else
		op->more[i - PAWL_OP_WATCHES].place = place;
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

static inline void place_count(struct place *place, uint32_t count)
{
	__atomic_store_n(&place->count, count, __ATOMIC_RELAXED);
}

static inline void place_add(struct place *place, uintptr_t node, uintptr_t *next, uintptr_t **link)
{
	place->turn = (place->turn + 1u) % CHAINS;
	chain_insert(&place->chains[place->turn], node, next, link);
	place_count(place, place->count + 1);
}

/* Whether the newest one is this operation: then the key stood twice in one call. */
static inline bool place_has_newest(const struct place *place, const struct pawl_op *op)
{
	return node_op(place->chains[place->turn]) == op;
}

/* The key must have a user, or the place something in it. */
static inline struct place *key_place(struct key *key, struct shard *shard)
{
	struct place *place = __atomic_load_n(&key->places[shard->number], __ATOMIC_SEQ_CST);

	return place ? place : pawl__key_make_place(key, shard);
}

/*
 * Asked by whoever has emptied a place of it. If it has users, the last one is to see to that place. (Acquire:
 * the trial of a user that has left has ended, and retire sees that.)
 */
static inline bool key_unused(struct key *key)
{
	if (__atomic_load_n(&key->resolved, __ATOMIC_RELAXED))
		return false; /* the last unresolve looks without being told */
	if (!__atomic_load_n(&key->users, __ATOMIC_ACQUIRE))
		return true;
	__atomic_store_n(&key->emptied, true, __ATOMIC_RELAXED);
	fence();
	return !__atomic_load_n(&key->users, __ATOMIC_ACQUIRE);
}

/* What taking off leaves to be done when the lock has been given back. */
struct leftovers {
	struct place *retired; /* empty ones of keys that nobody uses */
};

/* What is alone in a place is always in the same chain: so a CPU can tell where a walk will find it. */
static inline void place_emptied(struct shard *home, struct place *place,
                                 struct leftovers *leftovers)
{
	place->turn = NO_TURN;
	if (key_unused(place->key) && pawl__place_retire(place, home)) {
		place->next_retired = leftovers->retired;
		leftovers->retired = place;
	}
}

static inline void place_remove(struct shard *home, struct place *place, uintptr_t next,
                                uintptr_t *link, struct leftovers *leftovers)
{
	uint32_t count = place->count - 1;

	chain_remove(next, link);
	place_count(place, count);
	if (count == 0)
		place_emptied(home, place, leftovers);
}

/* The i-th of its keys is that of this place. */
static inline void op_add(struct pawl_op *op, size_t i, struct place *place)
{
	if (i < PAWL_OP_WATCHES) {
		place_add(place, op_node(op, i), &op->next[i], &op->link[i]);
	} else {
		struct pawl_watch *watch = &op->more[i - PAWL_OP_WATCHES];

		place_add(place, watch_node(watch), &watch->next, &watch->link);
	}
}

/*
 * In the claim of its bringer. Those places that are left out come last, so that whoever needs all of them
 * finds them.
 */
static inline void put_on(struct shard *home, struct pawl_op *op, size_t nkeys)
{
	uint64_t places = CLAIMED;
	uint32_t count = 0;

	for (size_t i = 0; i < nkeys; i++) {
		struct place *place = op_place(op, i);

		if (__builtin_expect(place_has_newest(place, op), 0))
			continue;
		if (__builtin_expect(i != count, 0)) {
			op_set_place(op, i, op_place(op, count));
			op_set_place(op, count, place);
		}
		op_add(op, count++, place);
		places |= UINT64_C(1) << place->number;
	}
	op->watch_count = count;
	__atomic_store_n(&op->places, places, __ATOMIC_RELAXED);
	home->watched += count;
	home->delayed++;
}

static inline void take_off(struct shard *home, struct pawl_op *op, struct leftovers *leftovers)
{
	size_t few = op->watch_count < PAWL_OP_WATCHES ? op->watch_count : PAWL_OP_WATCHES;

	for (size_t i = 0; i < few; i++)
		place_remove(home, op->place[i], op->next[i], op->link[i], leftovers);
	for (size_t i = 0; i < op->watch_count - few; i++)
		place_remove(home, op->more[i].place, op->more[i].next, op->more[i].link,
		             leftovers);
	home->watched -= op->watch_count;
	home->delayed--;
}

#endif
