/* SPDX-License-Identifier: MIT */
/*
 * What a purgatory consists of.
 *
 * Key. A key is its hash: 96 bits of SipHash with a secret of this purgatory's. Nothing is stored for a key,
 * so a key has no lifetime. (Two different keys among a million would meet by chance once in 10^17 times.)
 *
 * Watch list. The operations watched under one key in one shard. It is part of a bucket of the shard's
 * hash table, linked through the operations themselves, and exists as long as it has an operation.
 *
 * Shard. Operations are spread over shards by the thread that submits them. An operation's home is that
 * thread's shard: the lock there guards its links, its deadline and its state. Winning an operation is one
 * critical section of one lock, usually one that no other thread wants.
 *
 *	                 shard 0                        shard 1                  ...
 *	               table:  a -- b   "topic-1"      table:  d   "topic-1"
 *	                       b        "topic-2"              d -- e  "topic-3"
 *	               wheel:  deadlines of a, b       wheel:  deadlines of d, e
 *	               alarms: tasks of the service    alarms
 *
 * A check looks at one bucket in each shard. It looks without the lock first, since other threads' shards
 * mostly have nothing for the key. That look must not miss an operation whose second try has missed
 * the change. Both sides write, have a fence, and read what the other one writes, so one sees the other:
 *
 *	try_or_watch                            a thread that checks
 *	------------                            --------------------
 *	lock; link (bucket->filter); unlock     change something
 *	fence                                   fence
 *	try_complete                            bucket->filter has the key?
 *
 * Batch. The operations that one thread is trying. A check collects up to 64 operations of a watch list under the
 * lock, tries them without it, and takes it again to win those that can complete. Trying writes nothing into the
 * operations. Until the batch ends it is in the shard's list of batches, where other threads find it:
 *
 *	check of key A                          meanwhile, under the lock
 *	--------------                          -------------------------
 *	lock; collect; link the batch; unlock
 *	try each                                check of key B, which one of them has: sets its `retry` bit
 *	                                        check of key A: sets `rescan`, leaves all of it to this batch
 *	                                        complete, deadline, cancel_key: wins one of them, sets its
 *	                                        `gone` bit, and leaves a reference
 *	lock; win those that can, but for `gone`; some have `retry`? unlock, try those
 *	else unlink the batch; unlock
 *	on_complete of those won; unref those of `gone`; rescan? begin again
 *
 * The second try of try_or_watch is a batch of one operation.
 *
 * Walk. A check goes along a watch list from batch to batch. In between it leaves a cursor in each chain, a node of
 * no operation, which says where to go on; operations that are added meanwhile come before it:
 *
 *	bucket --> e --> d --> c --> b --> a              collect e and d
 *	bucket --> e --> d --> CURSOR --> c --> b --> a   try them. f is added, c is won by its deadline
 *	bucket --> f --> e --> d --> CURSOR --> b --> a   go on with b
 *
 * Alarm. A task of the service that pops the deadlines which are due: alarm.c.
 *
 * State. FRESH -> WAITING -> COMPLETED, EXPIRED or WITHDRAWN, and FRESH -> COMPLETED. From FRESH by a
 * compare-and-set, since a fresh operation may have no home yet. From WAITING under the home's lock, in the
 * same critical section that takes the operation off its lists and its deadline off the wheel. So a linked
 * operation is WAITING, and a deadline that is popped wins.
 *
 * References. One belongs to the purgatory: the winner gives it back when your functions have returned. A winner
 * that finds somebody trying the operation adds one for that thread. Each hold is one. The last one
 * releases.
 *
 * The order of locks: a shard's, then nothing. Your functions and the service are called without it.
 */
#ifndef PAWL_PURGATORY_LAYOUT_H
#define PAWL_PURGATORY_LAYOUT_H

#include "../service/inside.h"
#include "../service/lock.h"
#include "../service/ticks.h"

#include <pawl/purgatory.h>

#define MAX_OP_SHARDS     1024u
#define DEFAULT_OP_SHARDS 64u /* at most: a check looks at all of them */
#define MAX_DEPTH         16u /* of on_complete inside on_complete */
#define MAX_RETRIES       16u /* of a batch, before on_complete of those that it has won */
#define CHAINS            4u  /* of a bucket, walked in step, so that their cache misses overlap */
#define OPS_PER_BATCH \
	64u              /* operations tried, or withdrawn, from one critical section to the next */
#define BUCKET_BYTES 64u /* a cache line */
#define FEW_BUCKETS  64u /* of a new table; a power of two */

enum state { FRESH, WAITING, COMPLETED, EXPIRED, WITHDRAWN };
enum count { BY_TRY, BY_CHECK, BY_CALL, BY_DEADLINE, CANCELLED, DROPPED, COUNTS };

struct hash {
	uint64_t low; /* chooses the bucket */
	uint32_t high;
};

static inline bool same_hash(const struct hash *a, const struct hash *b)
{
	return a->low == b->low && a->high == b->high;
}

/* What a resolved key points to. */
struct resolved {
	struct hash hash;
	uint32_t count; /* of resolve calls; under `resolving`, as is next */
	struct pawl_purgatory *purgatory;
	struct resolved *next; /* with the same low bits */
};

struct bucket {
	uintptr_t chains[CHAINS]; /* see table.h */
	shared_uint64
	        filter; /* a bit for each key that may be watched here; read without the lock, too */
	uint64_t adds;  /* since it was empty: they go to the chains by turns */
	uint64_t count; /* of operations */
} __attribute__((aligned(BUCKET_BYTES)));

_Static_assert(sizeof(struct bucket) == BUCKET_BYTES, "a bucket is one cache line");

/* Once it is published only its buckets change. Checks read it without the lock, perhaps an older one. */
struct table {
	struct table *older; /* freed at close */
	uint64_t mask;
	struct bucket buckets[];
};

/* On the stack of the thread that tries. What is not set at its beginning is under the lock of the operations' home. */
struct batch {
	struct batch *next;
	struct pawl_op **ops;
	uint32_t count;
	const struct hash *hash; /* of the watch list that is checked; NULL: it is try_or_watch's */
	bool rescan;             /* another check of the same key has come by */
	uint64_t members;        /* those that nobody has won yet */
	uint64_t retry;          /* another check has come by for them */
	uint64_t gone;           /* won by others, each with a reference for this thread */
};

/* A task of the service: see alarm.c */
struct alarm {
	struct pawl_task task;
	struct op_shard *shard;
	bool runs; /* under the lock */
};

struct op_shard {
	struct lock lock;
	bool closed; /* stop has begun: nothing is linked any more. Read without the lock, too */
	unsigned number;
	struct pawl_purgatory *purgatory;

	/* Under the lock. */
	struct table *table;
	struct batch *batches;
	size_t watched, delayed;
	uint64_t used;            /* buckets of the table that are not empty */
	struct pawl_wheel *wheel; /* of deadlines, in ticks of the service */
	struct alarm *alarms,
	        *next_alarm;    /* next_alarm: the one armed for next_alarm_at; or NULL */
	uint64_t next_alarm_at; /* a tick */
	struct pawl_histogram *lateness;
	shared_uint64 counts[COUNTS]; /* atomic: BY_TRY is counted without the lock, too */
} __attribute__((aligned(LINE)));

/* A key under which many operations wait. */
struct busy_key {
	struct hash hash;
	uint64_t waiting;
};

/* How far the live view's pass through the tables has come, and what it has found: view.c. */
#define BUSY_KEYS 16u
struct view {
	unsigned shard;
	uint64_t bucket;
	struct busy_key keys[BUSY_KEYS], found[BUSY_KEYS]; /* of this pass, and of the last one */
};

struct pawl_purgatory {
	struct service_part part; /* first: of the service's live view */
	struct view view;         /* for the thread of that view alone */

	/* Set at open, and read only. */
	void (*describe)(struct pawl_op *op, char *text, size_t size); /* or NULL */
	struct pawl_service *service;
	struct pawl_clock *clock; /* the service's */
	struct ticks ticks;       /* the service's */
	unsigned shard_count;     /* a power of two */
	unsigned alarm_count;     /* of each shard */
	struct op_shard *shards;
	uint64_t secret[2]; /* of the hash */

	struct mutex stopping; /* held by stop */
	bool stopped;          /* under it */

	struct mutex resolving;
	struct resolved **resolved; /* under it: all resolved keys, by the low bits of their hash */
	size_t resolved_count, resolved_mask;

	/* Of each shard its table, for those who look without the lock. Atomic, and apart from what is written often. */
	struct table *tables[] __attribute__((aligned(LINE)));
};

/* That a thread is in a function called by a deadline or by stop, and of which purgatory. */
struct inside {
	const struct pawl_purgatory *purgatory;
	const struct inside *outer;
};

struct thread {
	unsigned number; /* from 1 */
	unsigned depth;  /* how many on_complete it is in */
	struct pawl_op *deferred, *last_deferred;
	const struct inside *inside;
};

extern _Thread_local struct thread pawl__purgatory_thread;
unsigned pawl__purgatory_number_thread(void);

/* Where the operations that the calling thread submits live. */
static inline struct op_shard *own_shard(struct pawl_purgatory *purgatory)
{
	unsigned number = pawl__purgatory_thread.number;

	if (!number)
		number = pawl__purgatory_number_thread();
	return &purgatory->shards[number & (purgatory->shard_count - 1)];
}

/*
 * All that was written before is seen by others before anything is read after. (The thread sanitizer does not
 * know fences; to it the two sides are ordered by the locks that they take where it matters.)
 */
static inline void fence(void)
{
#if defined(__SANITIZE_THREAD__) && !defined(PAWL_BY_C11)
	unsigned nothing = 0;

	__atomic_fetch_add(&nothing, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * The same after a locked instruction, which is a fence itself on some machines. PAWL_BY_C11: judge by the
 * language alone, as tests/schedules does.
 */
static inline void fence_after_lock(void)
{
#if defined(PAWL_BY_C11) || (!defined(__x86_64__) && !defined(__i386__))
	fence();
#endif
}

/* open.c */
void pawl__table_grow(struct op_shard *shard,
                      uint64_t buckets); /* to more than that; without the lock */

/* op.c */
struct hash pawl__hash_bytes(const struct pawl_purgatory *purgatory, struct pawl_key key);
bool pawl__op_run_completed(struct pawl_op *op);
void pawl__op_run_deferred(void);

/* view.c */
void pawl__purgatory_write(struct service_part *part, struct json *json);

/* check.c */
void pawl__shard_withdraw_all(struct op_shard *shard, pawl_op_fn *fn);

/* alarm.c */
int pawl__alarms_open(struct op_shard *shard);
void pawl__alarms_stop(struct pawl_purgatory *purgatory);
void pawl__alarm_set(struct op_shard *shard); /* without the lock */
bool pawl__deadline_arm(struct op_shard *shard, struct pawl_op *op, uint64_t now_ns,
                        uint64_t timeout_ns); /* true: call alarm_set */

#endif
