/* SPDX-License-Identifier: MIT */
/*
 * Going through the operations that are watched under a key: to try them, or to take them out. They are taken
 * in batches, so that a lock is held for a bounded time and nothing need be allocated.
 */
#define _GNU_SOURCE
#include "winning.h"

/*
 * A walk along a place, from the newest to the oldest: what is added meanwhile comes before. Between two
 * batches a mark in each chain, which is a watch of no operation, says where to go on.
 */
struct walk {
	struct shard *home;
	struct place *place;
	bool paused;
	struct pawl_watch marks[CHAINS];
};

static void pause_at(struct pawl_watch *mark, uintptr_t node)
{
	mark->op = NULL;
	mark->link = NULL;
	if (node)
		chain_insert(*node_link(node), watch_node(mark), &mark->next, &mark->link);
}

static uintptr_t resume_at(struct pawl_watch *mark)
{
	if (!mark->link)
		return 0;
	chain_remove(mark->next, mark->link);
	return mark->next;
}

/*
 * The next operations, at most BATCH; and *places: all of theirs. The chains in step: a list alone is one
 * cache miss after the other.
 */
static inline __attribute__((always_inline)) uint32_t
walk_on(struct walk *walk, struct pawl_op **ops, uint64_t *places)
{
	uintptr_t at[CHAINS], left;
	uint64_t all = 0;
	uint32_t count = 0;

	/*
	 * One by one: a wide load would wait for what was stored word by word just before. And every loop is
	 * unrolled, so that the four are in registers.
	 */
#pragma GCC unroll 4
	for (unsigned c = 0; c < CHAINS; c++)
		at[c] = __atomic_load_n(&walk->place->chains[c], __ATOMIC_RELAXED);
	if (walk->paused) {
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++)
			at[c] = resume_at(&walk->marks[c]);
	}
	do {
		left = 0;
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++) {
			struct pawl_op *op;

			if (!at[c])
				continue;
			op = node_op(at[c]);
			at[c] = node_next(at[c]);
			left |= at[c];
			if (__builtin_expect(!op, 0))
				continue;           /* the mark of another walk */
			__builtin_prefetch(op + 1); /* likely to be what try_complete looks at */
			all |= op_places(op);
			ops[count++] = op;
		}
	} while (left && count + CHAINS <= BATCH);
	*places = all;
	walk->paused = left;
	if (left) {
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++)
			pause_at(&walk->marks[c], at[c]);
	}
	return count;
}

/* Leave out those that somebody else is trying, and leave word about them. Returns how many remain. */
static uint32_t leave_to_others(struct shard *home, uint64_t tried, struct pawl_op **ops,
                                uint32_t count)
{
	uint32_t remaining = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!(op_places(ops[i]) & tried) || !op_try_again(home, ops[i]))
			ops[remaining++] = ops[i];
	return remaining;
}

static unsigned next_bit(uint64_t *bits)
{
	unsigned bit = (unsigned)__builtin_ctzll(*bits);

	*bits &= *bits - 1;
	return bit;
}

static bool try_one(const struct trial *trial, unsigned i)
{
	return trial->ops[i]->type->try_complete(trial->ops[i]);
}

/* Which of them can complete. */
static uint64_t try_all(const struct trial *trial)
{
	uint64_t can = 0;

	for (unsigned i = 0; i < trial->count; i++)
		if (try_one(trial, i))
			can |= UINT64_C(1) << i;
	return can;
}

static uint64_t try_some(const struct trial *trial, uint64_t which)
{
	uint64_t can = 0;

	while (which) {
		unsigned i = next_bit(&which);

		can |= (uint64_t)try_one(trial, i) << i;
	}
	return can;
}

/* Under the lock. Those that were not taken off meanwhile wait still: nobody else could win them. */
static void take_off_each(struct shard *home, const struct trial *trial, uint64_t won,
                          struct leftovers *leftovers)
{
	while (won) {
		struct pawl_op *op = trial->ops[next_bit(&won)];

		op_win_waiting(op, COMPLETED);
		clear_off(home, op, leftovers);
	}
}

/*
 * Under the lock. Operations that can complete are won; those that another check came by for are tried again,
 * before on_complete of any that is won, so that a slow on_complete does not let them expire. But if others
 * keep coming by, on_complete must not wait for ever: after so many retries they go into another trial.
 */
static uint64_t settle(struct shard *home, struct place *place, struct trial *trial, uint64_t can,
                       unsigned retries, struct leftovers *leftovers)
{
	uint64_t again = trial->again & ~trial->abandoned & ~can;

	take_off_each(home, trial, can, leftovers);
	trial->again = 0;
	if (again && retries >= MAX_RETRIES) {
		trial->anew = true;
		again = 0;
	}
	place_set_trying(place, again ? TRYING : IDLE);
	return again;
}

/* Try all, and some again if asked to. Returns those that are won, which are off their keys then. */
static uint64_t try_out(struct shard *home, struct place *place, struct trial *trial)
{
	struct leftovers leftovers = {NULL};
	uint64_t can = try_all(trial), again, won = 0;
	unsigned retries = 0;

	while (can || !place_move(place, TRYING, IDLE)) {
		shard_lock(home);
		can &= ~trial->abandoned;
		again = settle(home, place, trial, can, retries++, &leftovers);
		shard_unlock(home);
		won |= can;
		if (!again)
			break;
		can = try_some(trial, again);
	}
	clear_up(&leftovers);
	return won;
}

/* Outside of the lock, and of the trial. Returns how many were won. */
static size_t finish(const struct trial *trial, uint64_t won)
{
	uint64_t abandoned = trial->abandoned;
	size_t count = 0;

	while (abandoned)
		op_drop(trial->ops[next_bit(&abandoned)], 1);
	for (; won; count++) {
		struct pawl_op *op = trial->ops[next_bit(&won)];

		free_more_of_won(op);
		pawl__op_run_completed(op, op->owed);
	}
	return count;
}

static void walk_begin(struct walk *walk, struct shard *home, struct place *place)
{
	walk->home = home;
	walk->place = place;
	walk->paused = false;
}

static void walk_stop(struct walk *walk)
{
	for (unsigned c = 0; walk->paused && c < CHAINS; c++)
		resume_at(&walk->marks[c]);
	walk->paused = false;
}

/*
 * Under the lock. False: there is nothing to try; or another check of the same key is at it, and begins anew for
 * us. Who is to begin anew goes on to the end first: else, as long as others keep coming by, the last ones
 * would never be tried.
 */
static bool begin_batch(struct walk *walk, struct trial *trial)
{
	uint64_t tried, places;

	if (place_heed(walk->place)) {
		walk->place->trial->anew = true;
		trial->anew = false;
		walk_stop(walk);
		return false;
	}
	if (!walk->paused)
		trial->anew = false;
	tried = tried_bits(walk->home);
	trial->count = walk_on(walk, trial->ops, &places);
	if (places & tried)
		trial->count = leave_to_others(walk->home, tried, trial->ops, trial->count);
	if (trial->count)
		trial_begin(walk->home, walk->place, trial);
	return trial->count;
}

static size_t check_place(struct shard *home, struct place *place)
{
	struct trial trial;
	struct walk walk;
	size_t completed = 0;
	bool begun;

	trial.anew = false;
	walk_begin(&walk, home, place);
	do {
		shard_lock(home);
		begun = begin_batch(&walk, &trial);
		shard_unlock(home);
		if (begun)
			completed += finish(&trial, try_out(home, place, &trial));
	} while (walk.paused || trial.anew);
	return completed;
}

/* Won from whoever may be trying them. */
static size_t win_each(struct shard *home, struct pawl_op **ops, size_t count,
                       struct leftovers *leftovers)
{
	size_t won = 0;

	for (size_t i = 0; i < count; i++)
		if (op_win_waiting(ops[i], TAKEN_OUT)) {
			clear_off(home, ops[i], leftovers);
			op_abandon(home, ops[i]);
			ops[won++] = ops[i];
		}
	return won;
}

static void hand_out(struct pawl_op *op, pawl_op_fn *fn)
{
	free_more_of_won(op);
	if (fn)
		fn(op);
	op_drop(op, op->owed);
}

static size_t take_out_place(struct shard *home, struct place *place, pawl_op_fn *fn)
{
	struct pawl_op *ops[BATCH];
	size_t won, all = 0;
	struct walk walk;

	walk_begin(&walk, home, place);
	do {
		struct leftovers leftovers = {NULL};
		uint64_t places;

		shard_lock(home);
		won = win_each(home, ops, walk_on(&walk, ops, &places), &leftovers);
		shard_unlock(home);
		clear_up(&leftovers);
		for (size_t i = 0; i < won; i++)
			hand_out(ops[i], fn);
		all += won;
	} while (walk.paused);
	return all;
}

/* The key's place in a shard, if there is anything in it. */
static struct place *busy_place(const struct key *key, unsigned shard)
{
	struct place *place = __atomic_load_n(&key->places[shard], __ATOMIC_SEQ_CST);

	return place && __atomic_load_n(&place->count, __ATOMIC_RELAXED) ? place : NULL;
}

static size_t take_out(struct key *key, pawl_op_fn *fn)
{
	struct pawl_purgatory *purgatory = key->purgatory;
	size_t all = 0;

	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct place *place = busy_place(key, i);

		if (place)
			all += take_out_place(&purgatory->shards[i], place, fn);
	}
	return all;
}

/*
 * What other threads have written they still have in their caches: ask for it before it is needed. Not for
 * what is not there: a CPU would look for page 0 each time, and of many shards most have no place.
 */
static void fetch_places(const struct key *key, unsigned own, unsigned last)
{
	for (unsigned i = 1; i <= last; i++) {
		struct place *place =
		        __atomic_load_n(&key->places[(own + i) & last], __ATOMIC_RELAXED);

		if (place)
			__builtin_prefetch(place);
	}
}

/*
 * From the thread's own shard on, so that threads that check at the same time begin at different ones. Before
 * a place is passed over as empty there must be a fence: see layout.h.
 */
static size_t check(struct key *key)
{
	struct pawl_purgatory *purgatory = key->purgatory;
	struct shard *shards = purgatory->shards, *own = own_shard(purgatory);
	const unsigned first = own->number, last = purgatory->shard_count - 1;
	struct place *place = busy_place(key, first);
	size_t completed = 0;

	fetch_places(key, first, last);
	if (!place) {
		fence();
		place = busy_place(key, first);
	}
	if (place) {
		completed = check_place(own, place);
		fence_after_exchange(); /* which is taking its lock */
	}
	for (unsigned i = 1; i <= last; i++) {
		place = busy_place(key, (first + i) & last);
		if (place)
			completed += check_place(&shards[(first + i) & last], place);
	}
	return completed;
}

/* The key, if it is known. Given as bytes it has one user more, until leave. */
static struct key *enter(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	if (!key_valid(purgatory, key))
		return NULL;
	return key_resolved(key) ? (struct key *)key.data : pawl__key_find(purgatory, key);
}

static void leave(struct pawl_key key, struct key *known)
{
	if (!key_resolved(key))
		pawl__key_leave(known);
}

size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	struct key *known = enter(purgatory, key);
	size_t completed = 0;

	if (known) {
		completed = check(known);
		leave(key, known);
	}
	return completed;
}

size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                 pawl_op_fn *cancelled)
{
	struct key *known = enter(purgatory, key);
	size_t taken = 0;

	if (known) {
		taken = take_out(known, cancelled);
		leave(key, known);
	}
	return taken;
}

static void drop(struct pawl_op *op)
{
	if (op->type->on_drop)
		op->type->on_drop(op);
}

/* For stop. */
void pawl__key_drop_all(struct key *key)
{
	take_out(key, drop);
}
