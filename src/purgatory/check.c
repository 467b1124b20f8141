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

/* The next operations, at most BATCH. The chains in step: a list alone is one cache miss after the other. */
static size_t walk_on(struct walk *walk, struct pawl_op **ops)
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
			if (!at[c])
				continue;
			ops[count] = at[c]->op;
			count += at[c]->op != NULL; /* else it is the mark of another walk */
			at[c] = at[c]->next;
			more |= at[c] != NULL;
		}
	} while (more && count + CHAINS <= BATCH);
	walk->paused = more;
	for (unsigned c = 0; more && c < CHAINS; c++)
		pause_at(&walk->marks[c], at[c]);
	return count;
}

/* Of those, the ones that this thread may try now. The others it leaves to whoever is trying them. */
static size_t claim(struct pawl_op **ops, size_t count)
{
	size_t claimed = 0;

	for (size_t i = 0; i < count; i++) {
		struct pawl_op *op = ops[i];

		ops[claimed] = op;
		claimed += op->claim == UNCLAIMED;
		op->claim = op->claim == UNCLAIMED ? CLAIMED : CLAIMED_AGAIN;
	}
	return claimed;
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
	for (size_t i = batch->won; i < batch->claimed; i++) {
		struct pawl_op *op = batch->ops[i];

		if (op->type->try_complete(op) && op_win_waiting(op, COMPLETED))
			swap(&batch->ops[i], &batch->ops[batch->won++]);
	}
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
	size_t kept = batch->won;

	for (size_t i = batch->won; i < batch->claimed; i++) {
		struct pawl_op *op = batch->ops[i];

		if (op->claim == CLAIMED)
			op->claim = UNCLAIMED;
		else
			keep(batch, &kept, op);
	}
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
		batch.claimed = claim(batch.ops, walk_on(&walk, batch.ops));
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
		won = win_each(home, ops, walk_on(&walk, ops), &leftovers);
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
	struct place *place = __atomic_load_n(&key->places[shard], __ATOMIC_ACQUIRE);

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

static size_t check(struct key *key)
{
	struct pawl_purgatory *purgatory = key->purgatory;
	size_t completed = 0;

	fence(); /* see layout.h */
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct place *place = busy_place(key, i);

		if (place)
			completed += check_place(&purgatory->shards[i], place);
	}
	return completed;
}

size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	struct key *known;
	size_t completed;

	if (!key_valid(purgatory, key))
		return 0;
	if (key_resolved(key))
		return check((struct key *)key.data);
	known = pawl__key_find(purgatory, key);
	if (!known)
		return 0;
	completed = check(known);
	pawl__key_leave(known);
	return completed;
}

size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                 pawl_op_fn *cancelled)
{
	struct key *known;
	size_t taken;

	if (!key_valid(purgatory, key))
		return 0;
	if (key_resolved(key))
		return take_out((struct key *)key.data, cancelled);
	known = pawl__key_find(purgatory, key);
	if (!known)
		return 0;
	taken = take_out(known, cancelled);
	pawl__key_leave(known);
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
