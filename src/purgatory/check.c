/* SPDX-License-Identifier: MIT */
/*
 * Going through the operations that are watched under a key: to try them, or to take them out. They are taken
 * in batches, so that a lock is held for a bounded time and nothing need be allocated.
 */
#define _GNU_SOURCE
#include "winning.h"

/*
 * A walk along a place, from the newest watch to the oldest: what is added meanwhile comes before. Between
 * two batches a mark in each chain, which is a watch of no operation, says where to go on.
 */
struct walk {
	struct place *place;
	bool paused;
	struct pawl_watch marks[CHAINS];
};

static void pause_at(struct pawl_watch *mark, struct pawl_watch *watch)
{
	mark->op = NULL;
	mark->link = NULL;
	if (watch)
		chain_insert(watch->link, mark);
}

static struct pawl_watch *resume_at(struct pawl_watch *mark)
{
	if (!mark->link)
		return NULL;
	chain_remove(mark);
	return mark->next;
}

/*
 * Whether this thread may try it now. Otherwise it is left to whoever is trying it. (Somebody may have won it
 * already and be about to take it off: then it is tried in vain.)
 */
static inline bool claim(struct pawl_op *op)
{
	bool mine = op->claim == UNCLAIMED;

	__builtin_prefetch(op + 1); /* what try_complete looks at is likely to stand there */
	op->claim = mine ? CLAIMED : CLAIMED_AGAIN;
	return mine;
}

static inline bool any(struct pawl_op *op)
{
	(void)op;
	return true;
}

/*
 * The next operations that are wanted, at most BATCH. The chains in step: a list alone is one cache miss
 * after the other.
 */
static inline __attribute__((always_inline)) size_t walk_on(struct walk *walk, struct pawl_op **ops,
                                                            bool (*wanted)(struct pawl_op *))
{
	struct pawl_watch *at[CHAINS];
	size_t count = 0;
	bool more;

	for (unsigned c = 0; c < CHAINS; c++)
		at[c] = walk->paused ? resume_at(&walk->marks[c]) : walk->place->chains[c];
	do {
		more = false;
#pragma GCC unroll 4
		for (unsigned c = 0; c < CHAINS; c++) {
			struct pawl_op *op;

			if (!at[c])
				continue;
			op = at[c]->op; /* none: it is the mark of another walk */
			at[c] = at[c]->next;
			more |= at[c] != NULL;
			if (op && wanted(op))
				ops[count++] = op;
		}
	} while (more && count + CHAINS <= BATCH);
	walk->paused = more;
	for (unsigned c = 0; more && c < CHAINS; c++)
		pause_at(&walk->marks[c], at[c]);
	return count;
}

/* A batch on its way: [0, won) are won, [won, claimed) still claimed, and the abandoned ones apart. */
struct batch {
	struct shard *home;
	size_t won, claimed, abandoned;
	struct pawl_op *ops[BATCH], *others[BATCH];
};

static void swap(struct pawl_op **a, struct pawl_op **b)
{
	struct pawl_op *op = *a;

	*a = *b;
	*b = op;
}

static void try_each(struct batch *batch)
{
	struct pawl_op **end = batch->ops + batch->claimed;

	for (struct pawl_op **at = batch->ops + batch->won; at < end; at++)
		if ((*at)->type->try_complete(*at) && op_win_waiting(*at, COMPLETED))
			swap(at, &batch->ops[batch->won++]);
}

/* Somebody else has won it, or wants it to be tried once more. */
static void keep(struct batch *batch, size_t *kept, struct pawl_op *op)
{
	if (op->claim == ABANDONED) {
		batch->others[batch->abandoned++] = op;
	} else {
		op->claim = CLAIMED;
		batch->ops[(*kept)++] = op;
	}
}

/* Let go of those that are not won; but keep what there is still something to do about. */
static void let_go(struct batch *batch)
{
	struct pawl_op **end = batch->ops + batch->claimed;
	size_t kept = batch->won;

	for (struct pawl_op **at = batch->ops + batch->won; at < end; at++)
		if ((*at)->claim == CLAIMED)
			(*at)->claim = UNCLAIMED;
		else
			keep(batch, &kept, *at);
	batch->claimed = kept;
}

static void try_claimed(struct batch *batch)
{
	struct leftovers leftovers = {NULL, false};

	while (batch->won < batch->claimed) {
		size_t won = batch->won;

		try_each(batch);
		shard_lock(batch->home);
		for (; won < batch->won; won++)
			take_off(batch->home, batch->ops[won], &leftovers);
		let_go(batch);
		shard_unlock(batch->home);
	}
	clear_up(batch->home->purgatory, &leftovers);
}

static void finish(struct batch *batch)
{
	for (size_t i = 0; i < batch->abandoned; i++) {
		free_more(batch->others[i]);
		op_drop(batch->others[i], 1);
	}
	for (size_t i = 0; i < batch->won; i++)
		pawl__op_run_completed(batch->ops[i], op_clear(batch->ops[i], batch->home));
}

static size_t check_place(struct shard *home, struct place *place)
{
	struct batch batch;
	struct walk walk;
	size_t completed = 0;

	batch.home = home;
	walk.place = place;
	walk.paused = false;
	do {
		batch.won = batch.abandoned = 0;
		shard_lock(home);
		batch.claimed = walk_on(&walk, batch.ops, claim);
		shard_unlock(home);
		try_claimed(&batch);
		finish(&batch);
		completed += batch.won;
	} while (walk.paused);
	return completed;
}

/* Won from whoever may be trying them. */
static size_t win_each(struct shard *home, struct pawl_op **ops, size_t count,
                       struct leftovers *leftovers)
{
	size_t won = 0;
	uint32_t was;

	for (size_t i = 0; i < count; i++)
		if (op_win(ops[i], TAKEN_OUT, &was)) {
			take_off_unclaimed(home, ops[i], leftovers);
			ops[won++] = ops[i];
		}
	return won;
}

static void hand_out(struct shard *home, struct pawl_op *op, pawl_op_fn *fn)
{
	uint32_t references = op_clear(op, home);

	if (fn)
		fn(op);
	op_drop(op, references);
}

static size_t take_out_place(struct shard *home, struct place *place, pawl_op_fn *fn)
{
	struct pawl_op *ops[BATCH];
	size_t won, all = 0;
	struct walk walk;

	walk.place = place;
	walk.paused = false;
	do {
		struct leftovers leftovers = {NULL, false};

		shard_lock(home);
		won = win_each(home, ops, walk_on(&walk, ops, any), &leftovers);
		shard_unlock(home);
		clear_up(home->purgatory, &leftovers);
		for (size_t i = 0; i < won; i++)
			hand_out(home, ops[i], fn);
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

/* From the thread's own shard on, so that threads that check at the same time begin at different ones. */
static size_t check(struct key *key)
{
	struct pawl_purgatory *purgatory = key->purgatory;
	unsigned own = own_shard(purgatory)->number;
	size_t completed = 0;

	fence(); /* see layout.h */
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		unsigned shard = (own + i) & (purgatory->shard_count - 1);
		struct place *place = busy_place(key, shard);

		if (place)
			completed += check_place(&purgatory->shards[shard], place);
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
