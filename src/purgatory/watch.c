/* SPDX-License-Identifier: MIT */
/*
 * Bringing an operation: try, watch under every key, try again, arm. Everything is allocated before the
 * first watch can be seen, so nothing fails half-way.
 */
#define _GNU_SOURCE
#include "winning.h"

#include <errno.h>

/* What try_or_watch was given, and found. */
struct bringing {
	struct shard *home;
	struct pawl_op *op;
	const struct pawl_key *keys;
	size_t nkeys;
	uint64_t timeout_ns;
	uint64_t now_ns; /* if there is a time-out: it counts from here */
	bool joined;     /* some keys were given as bytes: this call is a user of all of them */
};

static void leave_keys(struct pawl_op *op, size_t nkeys)
{
	for (size_t i = 0; i < nkeys; i++)
		pawl__key_leave(op_place(op, i)->key);
}

static struct key *join_key(const struct bringing *bringing, struct pawl_key given)
{
	if (!key_resolved(given))
		return pawl__key_make(bringing->home->purgatory, given);
	pawl__key_join((struct key *)given.data);
	return (struct key *)given.data;
}

static struct place *join_place(const struct bringing *bringing, struct pawl_key given)
{
	struct key *key = join_key(bringing, given);
	struct place *place = key ? key_place(key, bringing->home) : NULL;

	if (key && !place)
		pawl__key_leave(key);
	return place;
}

static int find_places(const struct bringing *bringing)
{
	struct pawl_op *op = bringing->op;

	for (size_t i = 0; i < bringing->nkeys; i++) {
		struct pawl_key given = bringing->keys[i];
		struct place *place = bringing->joined
		                              ? join_place(bringing, given)
		                              : key_place((struct key *)given.data, bringing->home);

		if (!place) {
			if (bringing->joined)
				leave_keys(op, i);
			return -ENOMEM;
		}
		__builtin_prefetch(place, 1);
		op_set_place(op, i, place);
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

/*
 * Under the lock: on its keys, in the claim of this thread, so that others may find it, but do not try it; and
 * waiting.
 *
 * 1            there it is.
 * 0            it was completed by somebody who has been faster: on no key.
 * -ESHUTDOWN   the purgatory was stopped.
 */
static int put_in(const struct bringing *bringing, struct leftovers *leftovers)
{
	struct shard *home = bringing->home;

	if (home->closed)
		return -ESHUTDOWN;
	put_on(home, bringing->op, bringing->nkeys);
	if (op_win_fresh(bringing->op, WAITING))
		return 1;
	take_off(home, bringing->op, leftovers);
	return 0;
}

static int link_claimed(const struct bringing *bringing)
{
	struct shard *home = bringing->home;
	struct leftovers leftovers = {NULL};
	int linked;

	shard_lock(home);
	linked = put_in(bringing, &leftovers);
	shard_unlock(home);
	fence_after_exchange(); /* it is on its keys: see layout.h */
	clear_up(&leftovers);
	return linked;
}

/*
 * It is on no key. Either that is a failure, and all is as it was before; or somebody has completed it
 * meanwhile, which is none: then it keeps its home, which says that it was given.
 */
static int come_to_nothing(struct pawl_op *op, int error)
{
	free_more(op);
	if (!op_pending(op)) {
		op_drop(op, 1); /* this call's */
		return 0;
	}
	op->more = NULL;
	op->watch_count = 0;
	op->places = 0;
	__atomic_store_n(&op->home, NULL, __ATOMIC_RELEASE);
	return error;
}

/* How a claim has ended. */
enum end {
	STAYS,   /* it waits; others may be at it already */
	STUCK,   /* not at all: a check came by, so try once more */
	OFF,     /* off its keys, by us */
	LEFT,    /* off its keys, by another winner, who has abandoned it to us with a reference */
	REFUSED, /* off its keys, and fresh again: the service has no deadlines any more */
};

/* Without the lock: if there is no deadline to arm, and nobody has left word. */
static bool let_go_quickly(struct pawl_op *op)
{
	uint64_t places = op_places(op);

	return !(places & (AGAIN | ABANDONED)) && op_move_claim(op, &places, places & ~CLAIMED);
}

/* Once, however often it is tried again. False: the service was stopped. */
static bool arm(const struct bringing *bringing, struct wakes *wakes)
{
	struct shard *home = bringing->home;
	struct pawl_op *op = bringing->op;

	if (bringing->timeout_ns == PAWL_NEVER || op->timed)
		return true;
	op->timed = pawl__host_arm(home->purgatory->service, home->host, &op->deadline,
	                           bringing->now_ns, bringing->timeout_ns, wakes);
	return op->timed;
}

/* Under the lock, where alone others leave word. Whoever else wins it while it is claimed, abandons it. */
static enum end end_claim(const struct bringing *bringing, bool done, struct wakes *wakes,
                          struct leftovers *leftovers)
{
	struct pawl_op *op = bringing->op;
	uint64_t places = op_places(op);
	bool again = places & AGAIN;

	if (places & ABANDONED)
		return LEFT;
	if (done) {
		op_win_waiting(op, COMPLETED);
		clear_off(bringing->home, op, leftovers);
		return OFF;
	}
	if (!arm(bringing, wakes)) {
		take_off(bringing->home, op, leftovers);
		op_win_waiting(op, FRESH); /* and from here on pawl_op_complete may have it */
		return REFUSED;
	}
	__atomic_store_n(&op->places, places & ~(again ? AGAIN : CLAIMED), __ATOMIC_RELEASE);
	return again ? STUCK : STAYS;
}

/* `done`: it can complete. */
static enum end let_go(const struct bringing *bringing, bool done)
{
	struct shard *home = bringing->home;
	struct leftovers leftovers = {NULL};
	struct wakes wakes = {false, false};
	enum end end;

	if (!done && bringing->timeout_ns == PAWL_NEVER && let_go_quickly(bringing->op))
		return STAYS;
	shard_lock(home);
	end = end_claim(bringing, done, &wakes, &leftovers);
	shard_unlock(home);
	clear_up(&leftovers);
	if (wakes.worker || wakes.watch)
		pawl__service_wake(home->purgatory->service, &wakes);
	return end;
}

/* It is watched, claimed, and waits. Try again: then let go, and do not touch it any more. */
static int stay(const struct bringing *bringing)
{
	struct pawl_op *op = bringing->op;
	uint32_t own;
	enum end end;

	do
		end = let_go(bringing, op->type->try_complete(op));
	while (end == STUCK);
	if (end == STAYS) {
		if (bringing->timeout_ns == PAWL_NEVER)
			op_drop(op, 1); /* this call's: there is no deadline to have it */
		return 0;
	}
	if (end == REFUSED)
		return come_to_nothing(op, -ESHUTDOWN);
	free_more(op);
	own = op->timed ? 0 : 1; /* this call's reference: else it is the deadline's */
	if (end == OFF)
		return pawl__op_run_completed(op, own + op->owed);
	op_drop(op, own + 1); /* that of who has abandoned it */
	return 0;
}

/* Returns what put_in does, or -ENOMEM. */
static int watch(const struct bringing *bringing)
{
	int linked = allocate_more(bringing->op, bringing->nkeys);

	if (!linked)
		linked = find_places(bringing);
	if (linked)
		return linked;
	linked = link_claimed(bringing);
	if (bringing->joined)
		leave_keys(bringing->op, bringing->nkeys);
	return linked;
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
		if (!key_resolved(keys[i]))
			*bytes = true;
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
	struct bringing bringing = {own_shard(purgatory), op, keys, nkeys, timeout_ns, 0, false};
	struct pawl_clock *clock = purgatory->clock;
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
		/* Not later: reading the clock waits for all locked instructions before it. */
		if (timeout_ns != PAWL_NEVER)
			bringing.now_ns = clock->now(clock);
		error = watch(&bringing);
	}
	return error > 0 ? stay(&bringing) : come_to_nothing(op, error);
}
