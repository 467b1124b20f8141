/* SPDX-License-Identifier: MIT */
/* Operations and their places: all that is done under the home's lock. */
#ifndef PAWL_PURGATORY_LINKING_H
#define PAWL_PURGATORY_LINKING_H

#include "layout.h"

static inline struct pawl_watch *watch_of(struct pawl_op *op, size_t i)
{
	return i < PAWL_OP_WATCHES ? &op->watches[i] : &op->more[i - PAWL_OP_WATCHES];
}

static inline void chain_insert(struct pawl_watch **link, struct pawl_watch *watch)
{
	watch->next = *link;
	watch->link = link;
	if (watch->next)
		watch->next->link = &watch->next;
	*link = watch;
}

static inline void chain_remove(struct pawl_watch *watch)
{
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
}

static inline void place_count(struct place *place, uint32_t count)
{
	__atomic_store_n(&place->count, count, __ATOMIC_RELAXED);
}

static inline void place_add(struct place *place, struct pawl_watch *watch, struct pawl_op *op)
{
	place->turn = (place->turn + 1) % CHAINS;
	watch->op = op;
	watch->place = place;
	chain_insert(&place->chains[place->turn], watch);
	place_count(place, place->count + 1);
}

/* Whether the newest watch is this operation's: then the key stood twice in one call. */
static inline bool place_has_newest(const struct place *place, const struct pawl_op *op)
{
	const struct pawl_watch *newest = place->chains[place->turn];

	return newest && newest->op == op;
}

/* The key must have a user, or the place something in it. */
static inline struct place *key_place(struct key *key, struct shard *shard)
{
	struct place *place = __atomic_load_n(&key->places[shard->number], __ATOMIC_SEQ_CST);

	return place ? place : pawl__key_make_place(key, shard);
}

/* What taking off leaves to be done when the lock has been given back. */
struct leftovers {
	struct place *retired; /* empty ones of keys that nobody uses */
	bool closed;           /* tell who stops */
};

static inline void place_remove(struct shard *home, struct pawl_watch *watch,
                                struct leftovers *leftovers)
{
	struct place *place = watch->place;

	chain_remove(watch);
	place_count(place, place->count - 1);
	if (place->count == 0 && !__atomic_load_n(&place->key->users, __ATOMIC_RELAXED) &&
	    pawl__place_retire(place, home)) {
		place->next_retired = leftovers->retired;
		leftovers->retired = place;
	}
}

static inline void put_on(struct shard *home, struct pawl_op *op, size_t nkeys)
{
	uint32_t count = 0;

	for (size_t i = 0; i < nkeys; i++) {
		struct pawl_watch *given = watch_of(op, i), *taken = watch_of(op, count);
		struct place *place = given->place;

		if (place_has_newest(place, op))
			continue;
		given->place = taken->place; /* those that are left out come last */
		place_add(place, taken, op);
		count++;
	}
	op->watch_count = count;
	home->watched += count;
	home->delayed++;
}

static inline void take_off(struct shard *home, struct pawl_op *op, struct leftovers *leftovers)
{
	for (size_t i = 0; i < op->watch_count; i++)
		place_remove(home, watch_of(op, i), leftovers);
	home->watched -= op->watch_count;
	home->delayed--;
	leftovers->closed |= home->closed;
}

/* By a winner that has not claimed it: somebody else may have, who must then let go of it, too. */
static inline void take_off_unclaimed(struct shard *home, struct pawl_op *op,
                                      struct leftovers *leftovers)
{
	take_off(home, op, leftovers);
	if (op->claim != UNCLAIMED) {
		op->claim = ABANDONED;
		__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
	}
}

#endif
