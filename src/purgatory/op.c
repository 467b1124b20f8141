/* SPDX-License-Identifier: MIT */
/*
 * The life of one operation: try, watch under every key, try again, arm the deadline; and its end. All memory is
 * allocated before the operation is linked, so nothing fails half-way.
 */
#define _GNU_SOURCE
#include "../hash/siphash.h"
#include "table.h"

#include <errno.h>

_Thread_local struct thread pawl__purgatory_thread;

/* Threads are numbered as they first submit something, so that neighbours in time get different shards. */
unsigned pawl__purgatory_number_thread(void)
{
	static unsigned threads;

	pawl__purgatory_thread.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return pawl__purgatory_thread.number;
}

static inline bool key_valid(const struct pawl_purgatory *purgatory, struct pawl_key key)
{
	if (key.len == PAWL_RESOLVED)
		return key.data && ((const struct resolved *)key.data)->purgatory == purgatory;
	return key.data || key.len == 0;
}

static __attribute__((noinline)) struct hash hash_bytes(const struct pawl_purgatory *purgatory,
                                                        struct pawl_key key)
{
	uint64_t words[2];

	siphash_128(purgatory->secret, key.data, key.len, words);
	return (struct hash){words[0], (uint32_t)words[1]};
}

static inline struct hash hash_of(const struct pawl_purgatory *purgatory, struct pawl_key key)
{
	if (key.len == PAWL_RESOLVED)
		return ((const struct resolved *)key.data)->hash;
	return hash_bytes(purgatory, key);
}

int pawl__key_hash(const struct pawl_purgatory *purgatory, struct pawl_key key, struct hash *hash)
{
	if (!key_valid(purgatory, key))
		return -EINVAL;
	*hash = hash_of(purgatory, key);
	return 0;
}

void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type)
{
	op->timer = (struct pawl_timer){0};
	op->type = type;
	op->home = NULL;
	op->more = NULL;
	op->watch_count = 0;
	op->state = FRESH;
	op->references = 1; /* the purgatory's */
	op->claim = 0;
}

void pawl_op_hold(struct pawl_op *op)
{
	__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
}

void pawl_op_unhold(struct pawl_op *op)
{
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

/* A won operation is on no wheel, so its timer has room for the link. In the order of completion. */
static void defer(struct thread *thread, struct pawl_op *op)
{
	op->deferred = NULL;
	if (thread->deferred)
		thread->last_deferred->deferred = op;
	else
		thread->deferred = op;
	thread->last_deferred = op;
}

void pawl__op_run_deferred(void)
{
	struct thread *thread = &pawl__purgatory_thread;

	while (thread->depth >= MAX_DEPTH && thread->deferred) {
		struct pawl_op *op = thread->deferred;

		thread->deferred = op->deferred;
		op->type->on_complete(op);
		op_unref(op);
	}
}

/*
 * For the winner: on_complete, and then its reference. Calls nest down to MAX_DEPTH. There on_complete is put off, and
 * the call at that depth makes up for it before it returns. False: put off.
 */
bool pawl__op_run_completed(struct pawl_op *op)
{
	struct thread *thread = &pawl__purgatory_thread;

	if (thread->depth >= MAX_DEPTH) {
		defer(thread, op);
		return false;
	}
	thread->depth++;
	op->type->on_complete(op);
	op_unref(op);
	pawl__op_run_deferred();
	thread->depth--;
	return true;
}

static bool complete_waiting(struct pawl_op *op)
{
	struct shard *home = __atomic_load_n(&op->home, __ATOMIC_ACQUIRE);
	bool won;

	lock_take(&home->lock);
	won = op_state(op) == WAITING;
	if (won) {
		op_win_from_others(home, op, COMPLETED);
		shard_count(home, BY_CALL);
	}
	lock_give(&home->lock);
	if (won)
		pawl__op_run_completed(op);
	return won;
}

/*
 * A fresh operation is on no list. try_or_watch drops the purgatory's reference when it finds the operation completed,
 * perhaps while on_complete still runs here: so take another one first.
 */
static bool complete_fresh(struct pawl_op *op)
{
	bool won;

	pawl_op_hold(op);
	won = op_win_fresh(op, COMPLETED);
	if (won)
		pawl__op_run_completed(op);
	else
		op_unref(op);
	return won;
}

bool pawl_op_complete(struct pawl_op *op)
{
	if (op_state(op) == FRESH && complete_fresh(op))
		return true;
	return op_state(op) == WAITING && complete_waiting(op);
}

/* What try_or_watch was given, and found. */
struct submission {
	struct shard *home;
	struct pawl_op *op;
	const struct pawl_key *keys;
	size_t nkeys;
	uint64_t timeout_ns;
	uint64_t now_ns; /* if there is a time-out: it counts from here */
	bool armed;
};

static int refuse(const struct submission *submission)
{
	const struct pawl_op_type *type = submission->op->type;
	struct pawl_purgatory *purgatory = submission->home->purgatory;

	if (!submission->keys || submission->nkeys == 0 || submission->nkeys > UINT32_MAX)
		return -EINVAL;
	for (size_t i = 0; i < submission->nkeys; i++)
		if (!key_valid(purgatory, submission->keys[i]))
			return -EINVAL;
	if (!type || !type->try_complete || !type->on_complete || !type->release)
		return -EINVAL;
	if (submission->op->home)
		return -EBUSY;
	if (__atomic_load_n(&submission->home->closed, __ATOMIC_RELAXED))
		return -ESHUTDOWN;
	return 0;
}

static void set_hash(struct pawl_op *op, size_t i, struct hash hash)
{
	if (i < PAWL_OP_WATCHES) {
		op->low[i] = hash.low;
		op->high[i] = hash.high;
	} else {
		op->more[i - PAWL_OP_WATCHES].low = hash.low;
		op->more[i - PAWL_OP_WATCHES].high = hash.high;
	}
}

static struct hash get_hash(const struct pawl_op *op, size_t i)
{
	if (i < PAWL_OP_WATCHES)
		return (struct hash){op->low[i], op->high[i]};
	return (struct hash){op->more[i - PAWL_OP_WATCHES].low, op->more[i - PAWL_OP_WATCHES].high};
}

/* Memory for further keys, and the hash of every key. Their buckets are fetched meanwhile. */
static int prepare(const struct submission *submission)
{
	struct pawl_op *op = submission->op;
	const struct shard *home = submission->home;
	struct table *table = shard_table(home->purgatory, home->number);

	if (submission->timeout_ns != PAWL_NEVER && pawl__service_stopped(home->purgatory->service))
		return -ESHUTDOWN;
	if (submission->nkeys > PAWL_OP_WATCHES) {
		op->more = calloc(submission->nkeys - PAWL_OP_WATCHES, sizeof(*op->more));
		if (!op->more)
			return -ENOMEM;
		for (size_t i = 0; i < submission->nkeys - PAWL_OP_WATCHES; i++)
			op->more[i].op = op;
	}
	for (size_t i = 0; i < submission->nkeys; i++) {
		struct hash hash = hash_of(home->purgatory, submission->keys[i]);

		__builtin_prefetch(bucket_of(table, hash.low), 1);
		set_hash(op, i, hash);
	}
	return 0;
}

static void link_key(struct bucket *bucket, struct pawl_op *op, uint32_t i, uint64_t low)
{
	if (i < PAWL_OP_WATCHES) {
		bucket_add(bucket, low, (uintptr_t)op | i, &op->next[i], &op->link[i]);
	} else {
		struct pawl_watch *watch = &op->more[i - PAWL_OP_WATCHES];

		bucket_add(bucket, low, (uintptr_t)watch | FURTHER, &watch->next, &watch->link);
	}
}

/* Under the lock. A key that was given before is left out. */
static void link_all(struct shard *home, struct pawl_op *op, size_t nkeys)
{
	struct table *table = home->table;
	uint32_t count = 0;

	for (size_t i = 0; i < nkeys; i++) {
		struct hash hash = get_hash(op, i);
		struct bucket *bucket = bucket_of(table, hash.low);

		if (__builtin_expect(bucket_has_newest(bucket, op, &hash), 0))
			continue;
		if (__builtin_expect(i != count, 0))
			set_hash(op, count, hash);
		link_key(bucket, op, count++, hash.low);
	}
	op->watch_count = count;
	op->claim = CLAIMED;
	home->watched += count;
	home->delayed++;
}

/*
 * Under the lock. 1: it waits, claimed by this thread. 0: somebody has completed it while it was fresh. It is linked
 * first, so that the compare-and-set comes after that: see fence_after_lock.
 */
static int link_claimed(const struct submission *submission)
{
	struct shard *home = submission->home;

	if (home->closed)
		return -ESHUTDOWN;
	link_all(home, submission->op, submission->nkeys);
	if (op_win_fresh(submission->op, WAITING))
		return 1;
	op_unlink(home, submission->op);
	return 0;
}

static int watch(const struct submission *submission)
{
	struct shard *home = submission->home;
	size_t watched;
	uint64_t mask;
	int linked;

	lock_take(&home->lock);
	linked = link_claimed(submission);
	watched = home->watched;
	mask = home->table->mask;
	lock_give(&home->lock);
	fence_after_lock(); /* it is on its lists: see layout.h */
	if (__builtin_expect(watched / WATCHED_PER_BUCKET > mask, 0))
		pawl__table_grow(home, watched);
	return linked;
}

/* With or without the lock. */
static void count_try(struct shard *home)
{
	__atomic_add_fetch(&home->counts[BY_TRY], 1, __ATOMIC_RELAXED);
}

/* How a claim goes on after a try. */
enum claimed { WAITS, TRY_AGAIN, WON, LOST };

/* Under the lock. */
static enum claimed end_claim(struct submission *submission, bool can, bool *set_alarm)
{
	struct shard *home = submission->home;
	struct pawl_op *op = submission->op;
	uint8_t claim = op->claim;

	op->claim = 0;
	if (claim & GONE)
		return LOST;
	if (can) {
		op_win(home, op, COMPLETED);
		count_try(home);
		return WON;
	}
	if (submission->timeout_ns != PAWL_NEVER && !submission->armed)
		*set_alarm =
		        pawl__deadline_arm(home, op, submission->now_ns, submission->timeout_ns);
	submission->armed = true;
	if (!(claim & AGAIN))
		return WAITS;
	op->claim = CLAIMED;
	return TRY_AGAIN;
}

/* It is linked and claimed. Try again, until no check has come by during the try. */
static int try_claimed(struct submission *submission)
{
	struct pawl_op *op = submission->op;
	enum claimed claimed;

	do {
		bool can = op->type->try_complete(op), set_alarm = false;

		lock_take(&submission->home->lock);
		claimed = end_claim(submission, can, &set_alarm);
		lock_give(&submission->home->lock);
		if (set_alarm)
			pawl__alarm_set(submission->home);
	} while (claimed == TRY_AGAIN);
	if (claimed == WON)
		return pawl__op_run_completed(op);
	if (claimed == LOST)
		op_unref(op);
	return 0;
}

/* It is on no list: completed by somebody while it was fresh, or refused. */
static int come_to_nothing(struct pawl_op *op, int error)
{
	if (op_state(op) != FRESH) {
		op_unref(op);
		return 0;
	}
	free(op->more);
	op->more = NULL;
	__atomic_store_n(&op->home, NULL, __ATOMIC_RELEASE);
	return error;
}

int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory, struct pawl_op *op,
                                const struct pawl_key *keys, size_t nkeys, uint64_t timeout_ns)
{
	struct submission submission = {own_shard(purgatory), op, keys, nkeys,
	                                timeout_ns,           0,  false};
	int error = refuse(&submission);

	if (error)
		return error;
	__atomic_store_n(&op->home, submission.home, __ATOMIC_RELEASE);
	if (op->type->try_complete(op) && op_win_fresh(op, COMPLETED)) {
		count_try(submission.home);
		return pawl__op_run_completed(op);
	}
	if (op_state(op) == FRESH) {
		/* Not later: reading the clock waits for all locked instructions before it. */
		if (timeout_ns != PAWL_NEVER)
			submission.now_ns = purgatory->clock->now(purgatory->clock);
		error = prepare(&submission);
		if (!error)
			error = watch(&submission);
	}
	return error > 0 ? try_claimed(&submission) : come_to_nothing(op, error);
}
