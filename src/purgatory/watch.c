/* SPDX-License-Identifier: MIT */
/*
 * Bringing an operation: try, watch under every key, try again, arm. Everything is allocated before the
 * first watch can be seen, so nothing fails half-way.
 */
#define _GNU_SOURCE
#include "../service/uncounted.h"
#include "winning.h"

#include <errno.h>

static void leave_keys(struct pawl_op *op, size_t nkeys)
{
	for (size_t i = 0; i < nkeys; i++)
		pawl__key_leave(op_place(op, i)->key);
}

/* What try_or_watch was given, and found. */
struct bringing {
	struct shard *home;
	struct pawl_op *op;
	const struct pawl_key *keys;
	size_t nkeys;
	uint64_t timeout_ns;
	bool joined; /* some keys were given as bytes: this call is a user of all of them */
};

static struct place *find_place(const struct bringing *bringing, struct pawl_key given)
{
	struct key *key = key_resolved(given) ? (struct key *)given.data
	                                      : pawl__key_make(bringing->home->purgatory, given);
	struct place *place;

	if (!key)
		return NULL;
	if (bringing->joined && key_resolved(given))
		pawl__key_join(key);
	place = key_place(key, bringing->home);
	if (!place && bringing->joined)
		pawl__key_leave(key);
	return place;
}

static int find_places(const struct bringing *bringing)
{
	for (size_t i = 0; i < bringing->nkeys; i++) {
		struct place *place = find_place(bringing, bringing->keys[i]);

		op_set_place(bringing->op, i, place);
		__builtin_prefetch(place, 1);
		if (!place) {
			if (bringing->joined)
				leave_keys(bringing->op, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static int allocate_more(struct pawl_op *op, size_t nkeys)
{
	if (nkeys <= PAWL_OP_WATCHES)
		return 0;
	op->more = calloc(nkeys - PAWL_OP_WATCHES, sizeof(struct pawl_watch));
	for (size_t i = 0; op->more && i < nkeys - PAWL_OP_WATCHES; i++)
		op->more[i].op = op;
	return op->more ? 0 : -ENOMEM;
}

/* In the claim of this thread: others may find it, but do not try it. */
static int link_claimed(const struct bringing *bringing)
{
	struct shard *home = bringing->home;
	struct pawl_op *op = bringing->op;
	bool closed;

	shard_lock(home);
	closed = home->closed;
	if (!closed) {
		op->timed = bringing->timeout_ns != PAWL_NEVER;
		put_on(home, op, bringing->nkeys);
	}
	shard_unlock(home);
	return closed ? -ESHUTDOWN : 0;
}

/* As it was before: fresh, and on no key. */
static int freshen(struct pawl_op *op, int error)
{
	free_more(op);
	op->more = NULL;
	op->watch_count = 0;
	op->places = 0;
	op->timed = 0;
	__atomic_store_n(&op->home, NULL, __ATOMIC_RELEASE);
	return error;
}

/* How letting go of the claim has ended. */
enum end {
	STAYS, /* it waits */
	STUCK, /* not at all: a check came by, so try once more */
	OFF,   /* off its keys, by us */
	LEFT,  /* off its keys, by another winner, who has abandoned it to us with a reference */
};

/* To go on waiting, if nobody has left word. Then others may be at it already. */
static bool let_go_quickly(struct pawl_op *op)
{
	uint64_t places = op_places(op);

	return !(places & (AGAIN | ABANDONED)) && op_move_claim(op, &places, places & ~CLAIMED);
}

/* Under the lock. `to`: what is to become of it. Whoever else wins it while it is claimed, abandons it. */
static enum end end_of_claim(struct pawl_op *op, uint32_t to)
{
	if (op_places(op) & ABANDONED)
		return LEFT;
	if (to == WAITING) {
		__atomic_and_fetch(&op->places, ~AGAIN, __ATOMIC_RELAXED);
		return STUCK;
	}
	op_win_waiting(op, to);
	return OFF;
}

static enum end let_go(struct shard *home, struct pawl_op *op, uint32_t to)
{
	struct leftovers leftovers = {NULL, false};
	enum end end;

	if (to == WAITING && let_go_quickly(op))
		return STAYS;
	shard_lock(home);
	end = end_of_claim(op, to);
	if (end == OFF)
		take_off(home, op, &leftovers);
	shard_unlock(home);
	clear_up(home->purgatory, &leftovers);
	return end;
}

/* Somebody has won it before it waited: completed it, or else taken it out, and off. */
static int come_too_late(struct shard *home, struct pawl_op *op)
{
	enum end end = let_go(home, op, COMPLETED);

	free_more(op);
	op_drop(op, end == LEFT ? 2 : 1);
	return 0;
}

/* It is watched, claimed, and waits. Try again, and arm: then let go, and do not touch it any more. */
static int stay(const struct bringing *bringing)
{
	struct shard *home = bringing->home;
	struct pawl_op *op = bringing->op;
	bool done, armed = false;
	uint32_t references;
	enum end end;
	int error = 0;

	do {
		done = op->type->try_complete(op);
		if (!done && !armed && op->timed && op_pending(op)) {
			error = pawl__service_arm_uncounted(home->purgatory->service, &op->deadline,
			                                    bringing->timeout_ns);
			armed = !error;
		}
		end = let_go(home, op, done ? COMPLETED : error ? FRESH : WAITING);
	} while (end == STUCK);
	if (end == STAYS) {
		if (!armed)
			op_drop(op, 1); /* this call's: there is no deadline to have it */
		return 0;
	}
	if (end == OFF && error)
		return freshen(op, error);
	free_more(op);
	references = 1 + (armed ? pawl__op_disarm(op, home) : 1);
	if (end == OFF)
		return pawl__op_run_completed(op, references);
	op_drop(op, references);
	return 0;
}

static int watch(const struct bringing *bringing)
{
	int error = allocate_more(bringing->op, bringing->nkeys);

	if (!error)
		error = find_places(bringing);
	if (error)
		return freshen(bringing->op, error);
	error = link_claimed(bringing);
	if (bringing->joined)
		leave_keys(bringing->op, bringing->nkeys);
	if (error)
		return freshen(bringing->op, error);
	if (!op_win_fresh(bringing->op, WAITING))
		return come_too_late(bringing->home, bringing->op);
	fence_after_exchange(); /* see layout.h */
	return stay(bringing);
}

/* And *bytes: whether there are any that are not resolved. */
static int refuse_keys(const struct pawl_purgatory *purgatory, const struct pawl_key *keys,
                       size_t nkeys, bool *bytes)
{
	if (!keys || nkeys == 0 || nkeys > UINT32_MAX)
		return -EINVAL;
	for (size_t i = 0; i < nkeys; i++) {
		if (!key_valid(purgatory, keys[i]))
			return -EINVAL;
		*bytes |= !key_resolved(keys[i]);
	}
	return 0;
}

static int refuse_op(const struct pawl_op *op)
{
	const struct pawl_op_type *type = op->type;

	if (!type || !type->try_complete || !type->on_complete || !type->release)
		return -EINVAL;
	return op->home ? -EBUSY : 0;
}

int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory, struct pawl_op *op,
                                const struct pawl_key *keys, size_t nkeys, uint64_t timeout_ns)
{
	struct bringing bringing = {own_shard(purgatory), op, keys, nkeys, timeout_ns, false};
	int error = refuse_keys(purgatory, keys, nkeys, &bringing.joined);

	if (!error)
		error = refuse_op(op);
	if (error)
		return error;
	if (__atomic_load_n(&bringing.home->closed, __ATOMIC_RELAXED))
		return -ESHUTDOWN;
	__atomic_store_n(&op->home, bringing.home, __ATOMIC_RELEASE);
	if (op->type->try_complete(op) && op_win_fresh(op, COMPLETED))
		return pawl__op_run_completed(op, 2);
	if (op_pending(op)) {
		error = watch(&bringing);
		if (error >= 0 || op_pending(op))
			return error;
	}
	op_drop(op, 1); /* this call's. Somebody has completed it before it could be watched */
	return 0;
}
