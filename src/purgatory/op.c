/* SPDX-License-Identifier: MIT */
/*
 * The life of an operation: try, watch under every key, try again, arm the deadline; and its end. All memory is
 * allocated before the operation is linked, so no step fails half-way.
 */
#define _GNU_SOURCE
#include "../base/siphash.h"
#include "../system/probes.h"
#include "table.h"

#include <errno.h>

/* As many as a 32-bit count can hold and, with 32-bit addresses, as many as fit into memory. */
#define MOST_KEYS                                                                             \
	(SIZE_MAX / sizeof(struct pawl_key) < UINT32_MAX ? SIZE_MAX / sizeof(struct pawl_key) \
	                                                 : UINT32_MAX)

_Thread_local struct thread pawl__purgatory_thread;

/* Threads get consecutive numbers at their first call, so that they spread over the shards. */
unsigned pawl__purgatory_number_thread(void)
{
	static unsigned threads;

	pawl__purgatory_thread.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return pawl__purgatory_thread.number;
}

struct pawl_key pawl_purgatory_key(const struct pawl_purgatory *purgatory, const void *bytes,
                                   size_t size)
{
	struct pawl_key key;

	IN_PURGATORY(purgatory);
	key = (struct pawl_key){.owner = purgatory->id};
	if (!bytes && size > 0)
		return (struct pawl_key){0};
	key.low = siphash_96(purgatory->secret, bytes, size, &key.high);
	return key;
}

void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type)
{
	CHECKED(pawl__op_expect_idle(op, __func__));
	op->timer = (struct pawl_timer){0};
	op->type = type;
	op->home = NULL;
	op->watches.more = NULL;
	op->state = FRESH;
	op->references = 1; /* the purgatory's */
}

void pawl_op_ref(struct pawl_op *op)
{
	__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
}

void pawl_op_unref(struct pawl_op *op)
{
	CHECKED(op_last_reference(op) ? pawl__op_expect_won(op, __func__) : (void)0);
	op_unref(op);
}

bool pawl_op_completed(const struct pawl_op *op)
{
	uint32_t state = op_state(op);

	return state == COMPLETED || state == EXPIRED;
}

bool pawl_op_expired(const struct pawl_op *op)
{
	return op_state(op) == EXPIRED;
}

/* The list is in the order of completion. A won operation is on no wheel, so its timer has room for the link. */
static void defer(struct thread *thread, struct pawl_op *op)
{
	ASSERT(op_is(op, COMPLETED) || op_is(op, EXPIRED));
	op->deferred = NULL;
	if (thread->deferred)
		thread->last_deferred->deferred = op;
	else
		thread->deferred = op;
	thread->last_deferred = op;
}

/* The winner is this thread. Another one may also be trying to win, so the state is read as others read it. */
static void run(struct pawl_op *op)
{
	op->type->on_complete(op);
	if (op_state(op) == EXPIRED && op->type->on_expire)
		op->type->on_expire(op);
	op_unref(op);
}

static void run_deferred(void)
{
	struct thread *thread = &pawl__purgatory_thread;

	while (thread->depth >= MAX_DEPTH && thread->deferred) {
		struct pawl_op *op = thread->deferred;

		thread->deferred = op->deferred;
		run(op);
	}
}

/*
 * The winner calls on_complete, after a deadline on_expire, and gives back its reference. Calls nest down to MAX_DEPTH.
 * There they are put off until the on_complete at that depth has returned. False: put off.
 */
bool pawl__op_run(struct pawl_op *op)
{
	struct thread *thread = &pawl__purgatory_thread;

	assert_nothing_held();
	if (thread->depth >= MAX_DEPTH) {
		defer(thread, op);
		return false;
	}
	thread->depth++;
	run(op);
	run_deferred();
	thread->depth--;
	return true;
}

bool pawl__op_run_completed(struct pawl_op *op)
{
	ASSERT(op_is(op, COMPLETED));
	probe1(complete, op);
	return pawl__op_run(op);
}

static bool complete_waiting(struct pawl_op *op)
{
	struct op_shard *home = __atomic_load_n(&op->home, __ATOMIC_ACQUIRE);
	bool won;

	lock_acquire(&home->lock);
	won = op_state(op) == WAITING;
	if (won) {
		op_win_from_others(home, op, COMPLETED);
		shard_count(home, &home->stats.completed_by_call);
	}
	lock_release(&home->lock);
	if (won)
		pawl__op_run_completed(op);
	return won;
}

/* A fresh operation is on no list. A thread that is in try_or_watch with it has a reference of its own. */
static bool complete_fresh(struct pawl_op *op)
{
	if (!op_win_fresh(op, COMPLETED))
		return false;
	pawl__op_run_completed(op);
	return true;
}

bool pawl_op_complete(struct pawl_op *op)
{
	IN_CALL();
	if (op_state(op) == FRESH && complete_fresh(op))
		return true;
	return op_state(op) == WAITING && complete_waiting(op);
}

/* The arguments of try_or_watch, the home, and the time. */
struct submission {
	struct op_shard *home;
	struct pawl_op *op;
	const struct pawl_key *keys;
	size_t nkeys;
	uint64_t
	        timeout_ns; /* 0: it never waits; PAWL_NEVER: no deadline, or it is armed already */
	uint64_t now_ns;    /* the timeout counts from here */
};

/* Is there a deadline to arm? */
static bool has_deadline(const struct submission *submission)
{
	return submission->timeout_ns != 0 && submission->timeout_ns != PAWL_NEVER;
}

static int refuse(const struct submission *submission)
{
	const struct pawl_op_type *type = submission->op->type;
	struct pawl_purgatory *purgatory = submission->home->purgatory;

	if (submission->op->home)
		return -EBUSY;
	if (!submission->keys || submission->nkeys == 0 || submission->nkeys > MOST_KEYS)
		return -EINVAL;
	for (size_t i = 0; i < submission->nkeys; i++)
		if (!key_valid(purgatory, submission->keys[i]))
			return -EINVAL;
	if (!type || !type->try_complete || !type->on_complete || !type->release)
		return -EINVAL;
	if (__atomic_load_n(&submission->home->closed, __ATOMIC_RELAXED))
		return -ECANCELED;
	return 0;
}

/*
 * Room for more than four keys. Equal keys of an operation are searched for in the list of their bucket, so for many
 * keys the table grows first.
 */
static int add_room(struct op_shard *home, struct pawl_op *op, size_t nkeys)
{
	size_t count = (nkeys - 1) / PAWL_OP_WATCHES;
	struct pawl_op_watches *more = calloc(count, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < count; i++)
		more[i].more = &more[i + 1];
	op->watches.more = more;
	if (nkeys > shard_table(home->purgatory, home->number)->mask)
		pawl__table_make_room(home, nkeys);
	return 0;
}

/* Allocate all memory and copy every key. The buckets are prefetched meanwhile. */
static int prepare(const struct submission *submission)
{
	struct op_shard *home = submission->home;
	const struct pawl_key *key = submission->keys, *end = key + submission->nkeys;
	struct pawl_op_watches *watches = &submission->op->watches;
	struct table *table;

	if (has_deadline(submission) && pawl__service_stopped(home->purgatory->service))
		return -ECANCELED;
	if (submission->nkeys > PAWL_OP_WATCHES &&
	    add_room(home, submission->op, submission->nkeys) != 0)
		return -ENOMEM;
	table = shard_table(home->purgatory, home->number);
	for (; key < end; watches = watches->more) {
		uint32_t i = 0;

		for (; i < PAWL_OP_WATCHES && key < end; i++, key++) {
			__builtin_prefetch(bucket_of(table, key->low), 1);
			watches->low[i] = key->low;
			watches->high[i] = key->high;
		}
		watches->count = (uint16_t)i;
		watches->op = submission->op;
	}
	return 0;
}

/*
 * Is the operation, which is being linked, in the bucket under an equal key already? Its nodes are the newest of the
 * bucket, so usually one comparison is enough.
 */
static bool given_before(const struct op_shard *home, const struct bucket *bucket,
                         const struct pawl_op *op, uintptr_t node)
{
	uintptr_t newest = bucket->chains[(bucket->adds - 1) % CHAINS];
	struct hash hash;

	lock_assert_held(&home->lock);
	if (__builtin_expect(!newest || node_watches(newest)->op != op, 1))
		return false;
	hash = node_hash(node);
	for (unsigned c = 0; c < CHAINS; c++)
		for (uintptr_t at = bucket->chains[c]; at && node_watches(at)->op == op;
		     at = *node_next(at)) {
			struct hash other = node_hash(at);

			if (same_hash(&hash, &other))
				return true;
		}
	return false;
}

/* Equal keys are linked once. While the table grows, checks read the filters of the oldest one. */
static void link_all(struct op_shard *home, struct pawl_op *op)
{
	struct table *table = home->table, *grows = table_grows(home) ? home->oldest : NULL;

	lock_assert_held(&home->lock);
	for (struct pawl_op_watches *watches = &op->watches; watches; watches = watches->more) {
		CHECKED(pawl__watches_note(watches, op, home->purgatory));
		watches->tags = table->tags;
		for (uint32_t i = 0; i < watches->count; i++) {
			struct bucket *bucket = bucket_of(table, watches->low[i]);
			uintptr_t node = (uintptr_t)watches | i;

			watches->link[i] = NULL;
			if (__builtin_expect(given_before(home, bucket, op, node), 0))
				continue;
			bucket_add(home, bucket, node, watches->low[i]);
			if (__builtin_expect(grows != NULL, 0))
				table_add_to_filter(grows, watches->low[i]);
			home->watched++;
		}
	}
	home->delayed++;
}

/*
 * 1: the operation waits, and is in the batch. 0: another thread has completed it while it was fresh. It is linked
 * first, so that the compare-and-set comes after that: see fence_after_lock.
 */
static int link_to_try(const struct submission *submission, struct batch *batch)
{
	struct op_shard *home = submission->home;

	lock_assert_held(&home->lock);
	if (home->closed)
		return -ECANCELED;
	link_all(home, submission->op);
	if (!op_win_fresh(submission->op, WAITING)) {
		op_unlink(home, submission->op);
		return 0;
	}
	batch_link(home, batch);
	return 1;
}

static int watch(const struct submission *submission, struct batch *batch)
{
	struct op_shard *home = submission->home;
	uint64_t mask;
	int linked;
	bool claimed;

	lock_acquire(&home->lock);
	linked = link_to_try(submission, batch);
	for (struct pawl_op_watches *four = &submission->op->watches; four; four = four->more)
		table_step(home);
	mask = home->table->mask;
	claimed = table_claim(home);
	lock_release(&home->lock);
	fence_after_lock(); /* the operation is linked: see layout.h */
	if (__builtin_expect(claimed, 0))
		pawl__table_prepare(home, 2 * (mask + 1));
	return linked;
}

/* With or without the lock. */
static void count_try(struct op_shard *home)
{
	__atomic_add_fetch(&home->stats.completed_by_try, 1, __ATOMIC_RELAXED);
}

enum tried { WAITS, RETRY, WON, DUE, LOST };

static enum tried outcome_of_try(const struct submission *submission, const struct batch *batch,
                                 bool can)
{
	if (batch->gone)
		return LOST;
	if (can)
		return WON;
	if (submission->timeout_ns == 0)
		return DUE;
	return batch->retry ? RETRY : WAITS;
}

/*
 * After a try. The first one that fails arms the deadline, or wins by a timeout of 0. *set_alarm: call pawl__alarm_set.
 */
static enum tried end_try(struct submission *submission, struct batch *batch, bool can,
                          bool *set_alarm)
{
	struct op_shard *home = submission->home;
	struct pawl_op *op = submission->op;
	enum tried tried = outcome_of_try(submission, batch, can);

	lock_assert_held(&home->lock);
	if (tried == WON) {
		batch->members = 0;
		op_win(home, op, COMPLETED);
		count_try(home);
	} else if (tried == DUE) {
		batch->members = 0;
		pawl__deadline_win(home, op, 0);
	} else if (tried != LOST && submission->timeout_ns != PAWL_NEVER) {
		*set_alarm =
		        pawl__deadline_arm(home, op, submission->now_ns, submission->timeout_ns);
		submission->timeout_ns = PAWL_NEVER;
	}
	batch->retry = 0;
	if (tried != RETRY)
		batch_unlink(home, batch);
	return tried;
}

/* The operation is linked. Try it until no other thread has checked it during the try. */
static int try_watched(struct submission *submission, struct batch *batch)
{
	struct pawl_op *op = submission->op;
	enum tried tried;

	do {
		bool can = op->type->try_complete(op), set_alarm = false;

		lock_acquire(&submission->home->lock);
		tried = end_try(submission, batch, can, &set_alarm);
		lock_release(&submission->home->lock);
		if (set_alarm)
			pawl__alarm_set(submission->home);
	} while (tried == RETRY);
	if (tried == WON)
		return pawl__op_run_completed(op);
	if (tried == DUE)
		return pawl__op_run(op);
	if (tried == LOST)
		op_unref(op);
	return 0;
}

/*
 * The operation is on no list: it was completed while it was fresh, and the winner gives back the purgatory's
 * reference; or it was refused.
 */
static int end_unwatched(struct pawl_op *op, int error)
{
	if (op_state(op) != FRESH)
		return 0;
	free(op->watches.more);
	op->watches.more = NULL;
	__atomic_store_n(&op->home, NULL, __ATOMIC_RELEASE);
	return error;
}

int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory, struct pawl_op *op,
                                const struct pawl_key *keys, size_t nkeys, uint64_t timeout_ns)
{
	IN_PURGATORY(purgatory);
	CHECKED(pawl__expect_given(op, "operation"));
	CHECKED_DELAY(timeout_ns);
	struct submission submission = {own_shard(purgatory), op, keys, nkeys, timeout_ns, 0};
	struct batch batch = {.ops = &op, .count = 1};
	int error = refuse(&submission);

	if (error)
		return error;
	__atomic_store_n(&op->home, submission.home, __ATOMIC_RELEASE);
	if (op->type->try_complete(op) && op_win_fresh(op, COMPLETED)) {
		count_try(submission.home);
		return pawl__op_run_completed(op);
	}
	if (op_state(op) == FRESH) {
		error = prepare(&submission);
		/* Before the lock: reading the clock waits for all locked instructions before it. */
		if (has_deadline(&submission))
			submission.now_ns = purgatory->clock->now(purgatory->clock);
		if (!error)
			error = watch(&submission, &batch);
	}
	if (error <= 0)
		return end_unwatched(op, error);
	probe3(watch, purgatory, op, nkeys);
	return try_watched(&submission, &batch);
}
