/* SPDX-License-Identifier: MIT */
/*
 * The parts of a purgatory, and the races between its threads.
 *
 * Key. A key is its hash: 96 bits by SipHash with a secret of this purgatory, and 32 bits that say which purgatory made
 * it. It is a value: nothing is stored for a key, so a key has no lifetime. (The probability that two of a million
 * different keys have the same hash is 10^-17.)
 *
 * Watch list. The operations under one key in one shard. It is part of a bucket of the shard's hash table, linked
 * through the operations themselves, and exists while it has an operation.
 *
 * Shard. A lock, a hash table and a wheel of deadlines. An operation's home is the shard of the thread that submits it.
 * The home's lock guards the operation's links, deadline and state. Winning an operation takes one critical section of
 * one lock, for which other threads seldom contend.
 *
 *	                 shard 0                        shard 1                  ...
 *	               table:  a -- b   "topic-1"      table:  d   "topic-1"
 *	                       b        "topic-2"              d -- e  "topic-3"
 *	               wheel:  deadlines of a, b       wheel:  deadlines of d, e
 *	               alarms: tasks of the service    alarms
 *
 * Check. A check looks at one bucket in each shard. It reads the bucket's filter without the lock first, since most
 * shards have nothing under the key. It must not miss an operation whose second try has missed the change. So each side
 * writes, has a fence, and then reads what the other side writes; at least one of them sees the other's write:
 *
 *	try_or_watch                            a thread that checks
 *	------------                            --------------------
 *	lock; link (bucket->filter); unlock     change something
 *	fence                                   fence
 *	try_complete                            bucket->filter has the key?
 *
 * Batch. The operations that one thread is trying. A check collects up to 64 operations of a watch list under the lock,
 * tries them without the lock, and locks again to win those that can complete. Trying writes nothing into the
 * operations. Until the batch ends it is in the shard's list of batches, where other threads find it:
 *
 *	check of key A                          meanwhile, under the lock
 *	--------------                          -------------------------
 *	lock; collect; link the batch; unlock
 *	try each                                check of key B: sets the `retry` bit of an operation under A and B
 *	                                        check of key A: sets `rescan`, leaves the whole list to this batch
 *	                                        complete, deadline, cancel_key, stop: wins an operation, sets its
 *	                                        `gone` bit, and adds a reference for this batch
 *	lock; win those that can complete and are not `gone`
 *	  any `retry`? unlock, try those, lock again
 *	  else unlink the batch; unlock
 *	unref those that are `gone`; on_complete of those won; `rescan`? walk the list once more
 *
 * The second try of try_or_watch is a batch of one operation.
 *
 * Walk. A check goes along a watch list batch by batch. Between two batches it leaves a cursor in each chain: a node
 * without an operation, at which the walk goes on. New operations are added in front of it:
 *
 *	bucket --> e --> d --> c --> b --> a              collect e and d
 *	bucket --> e --> d --> CURSOR --> c --> b --> a   try them. f is added, c is won by its deadline
 *	bucket --> f --> e --> d --> CURSOR --> b --> a   go on with b
 *
 * Growth. A table that has become too small gets a successor of twice the size. Operations move to it a few at a time,
 * in the critical sections of try_or_watch and check, so that none of these is long however many operations wait. The
 * new table is zeroed piece by piece before that, without the lock:
 *
 *	before     oldest = table     0: a -- b -- c     1: d -- e                 checks read these filters
 *
 *	growing    oldest             0: (CURSOR)        1: e                      checks read these filters
 *	           moved = 1                             ^
 *	           table              0: b    1: d -- f    2: c -- a    3:         f was added meanwhile
 *
 *	after      oldest = table     0: b    1: d -- f    2: c -- a    3: e       published: checks read these filters
 *
 * New operations are linked in `table`, so operations move in one direction only. A walk goes through the tables from
 * `oldest` to `table`: an operation that moves meanwhile is still ahead of it, or is found twice. A cursor does not
 * move: its walk finds nothing more after it, and goes on with the next table. The filters of `oldest` have the bits of
 * all operations: those that have moved leave theirs behind, and a new one sets its bit in both tables. A check may be
 * reading an old table at any time, so old tables are kept until close.
 *
 * Alarm. A task of the service that pops the deadlines which are due: alarm.c.
 *
 * A timeout of 0 needs no alarm: the thread in try_or_watch wins for it, in the critical section that ends its try.
 *
 * State. FRESH -> WAITING -> COMPLETED, EXPIRED or WITHDRAWN, and FRESH -> COMPLETED. An operation leaves FRESH by a
 * compare-and-set, since it may have no home yet. It leaves WAITING under the home's lock, in the critical section that
 * also unlinks it and removes its deadline. So a linked operation is WAITING, and a deadline that is popped has won.
 *
 * References. The purgatory has one; the winner gives it back when your functions have returned. A winner that finds
 * the operation in a batch adds one for the thread that tries it. pawl_op_ref adds one. The thread that gives back the
 * last reference calls release. A fresh operation is in no batch: if it may be completed meanwhile, a thread in
 * try_or_watch has a reference of its own.
 *
 * Locks. A thread that holds a shard's lock acquires no other lock, and calls neither your functions nor the service.
 */
#ifndef PAWL_PURGATORY_LAYOUT_H
#define PAWL_PURGATORY_LAYOUT_H

#include "../base/lock.h"
#include "../base/ticks.h"
#include "../service/internal.h"

#include <pawl/purgatory.h>
#include <stdlib.h>

#define MAX_OP_SHARDS     1024u
#define DEFAULT_OP_SHARDS 64u /* at most: a check looks at all of them */
#define CHAINS            4u  /* of a bucket, walked in step, so that their cache misses overlap */
#define BUCKET_BYTES      64u /* a cache line */

/* Bounds. PAWL_SMALL, for verify/schedules: a few operations reach each of them. */
#ifdef PAWL_SMALL
#define MAX_DEPTH     2u
#define MAX_RETRIES   1u
#define OPS_PER_BATCH 4u
#define FEW_BUCKETS   8u
#define MOST_SKIPPED  4u
#define MOST_MOVES    4u
#define MOST_ZEROED   8u
#else
#define MAX_DEPTH     16u  /* of nested calls of on_complete */
#define MAX_RETRIES   16u  /* of a batch, before on_complete of the operations that it has won */
#define OPS_PER_BATCH 64u  /* operations tried, or withdrawn, between two critical sections */
#define FEW_BUCKETS   64u  /* of the first table; a power of two */
#define MOST_SKIPPED  256u /* operations of other keys that a walk passes in one critical section */
#define MOST_MOVES    16u  /* operations to a new table, and buckets that are left, in one */
#define MOST_ZEROED   1024u /* buckets of a new table, by one call */
#endif

#ifdef PAWL_ASSERT
/* Not seen by the thread sanitizer and the explorer: to them it would be one more access to an atomic word. */
static __attribute__((noinline, unused, no_sanitize_thread)) bool op_is(const struct pawl_op *op,
                                                                        uint32_t state)
{
	return op->state == state;
}
#endif

enum state { FRESH, WAITING, COMPLETED, EXPIRED, WITHDRAWN };

struct hash {
	uint64_t low; /* chooses the bucket */
	uint32_t high;
};

static inline bool same_hash(const struct hash *a, const struct hash *b)
{
	return a->low == b->low && a->high == b->high;
}

struct bucket {
	uintptr_t chains[CHAINS]; /* see table.h */
	shared_uint64 filter; /* a bit for each key that may be here; also read without the lock */
	uint64_t adds;        /* since it was empty; they go to the chains round robin */
	uint64_t count;       /* of operations */
} __attribute__((aligned(BUCKET_BYTES)));

_Static_assert(sizeof(struct bucket) == BUCKET_BYTES, "a bucket is one cache line");

/* Checks read the mask and the filters of a table without the lock; the rest is under the lock. */
struct table {
	struct table *older, *newer; /* freed at close */
	uint64_t mask;
	uint16_t tags; /* of its operations: all bits, or none; the next table has the opposite */
	struct bucket buckets[];
};

/* On the stack of the thread that tries. While it is linked, all but `ops`, `count` and `hash` is under the lock. */
struct batch {
	struct batch *next;
	struct pawl_op **ops;
	uint32_t count;
	const struct hash *hash; /* of the key that is checked; NULL: a batch of try_or_watch */
	bool rescan;             /* another thread has checked the same key meanwhile */
	uint64_t members;        /* operations that no thread has won yet */
	uint64_t retry;          /* operations that another thread has checked meanwhile */
	uint64_t gone;           /* won by other threads, each with a reference for this thread */
};

/* A task of the service: see alarm.c */
struct alarm {
	struct pawl_task task;
	struct op_shard *shard;
	bool runs; /* under the lock */
};

struct op_shard {
	struct lock lock;
	bool closed; /* stop has begun: nothing more is linked. Also read without the lock */
	unsigned number;
	struct pawl_purgatory *purgatory;

	/* Under the lock. */
	struct table *table;  /* operations are linked here */
	struct table *oldest; /* it may still have operations; the same, unless the table grows */
	struct batch *batches;
	size_t watched, delayed;
	uint64_t used;            /* buckets that are not empty */
	struct pawl_wheel *wheel; /* of deadlines, in ticks of the service */
	struct alarm *alarms;
	struct alarm *next_alarm; /* armed for next_alarm_at; NULL: none */
	uint64_t next_alarm_at;   /* a tick */
	struct pawl_histogram *lateness;
	/* All but `watched` and `delayed`, which are above. Atomic: completed_by_try is also counted without the lock. */
	struct pawl_purgatory_stats stats __attribute__((aligned(8)));
	uint64_t moved;     /* buckets of `oldest` from which all operations have moved */
	bool prepares;      /* a thread prepares the next table, and it alone uses these two */
	struct table *next; /* to be zeroed; NULL: none */
	uint64_t zeroed;    /* buckets of it */
} __attribute__((aligned(LINE)));

/* A key with many waiting operations. */
struct busy_key {
	struct hash hash;
	uint64_t waiting;
};

/* The position of the live view's scan of the tables, and its results: src/inspect/purgatory.c. */
#define BUSY_KEYS 16u
struct view {
	unsigned shard;
	uint64_t bucket;
	struct busy_key keys[BUSY_KEYS], found[BUSY_KEYS]; /* of this scan, and of the last one */
};

struct pawl_purgatory {
	struct service_part part; /* of the service's live view; the first member */
	struct view view;         /* used by the thread of that view alone */

	/* Set at open, then only read. */
	void (*describe)(struct pawl_op *op, char *text, size_t size); /* or NULL */
	struct pawl_service *service;
	struct pawl_clock *clock; /* the service's */
	struct ticks ticks;       /* the service's */
	unsigned shard_count;     /* a power of two */
	unsigned alarm_count;     /* of each shard */
	struct op_shard *shards;
	uint64_t secret[2]; /* of the hash */
	uint32_t id;        /* of its keys: not 0, and another one for each purgatory */

	struct mutex stopping; /* held by stop */
	bool stopped;          /* under it */

	/* The table of each shard, to be read without the lock. Atomic, and apart from words that are written often. */
	struct table *tables[] __attribute__((aligned(LINE)));
};

/* The thread is in a function that a deadline, stop or the live view of this purgatory has called. */
struct nested_call {
	const struct pawl_purgatory *purgatory;
	const struct nested_call *outer;
};

struct thread {
	unsigned number; /* from 1 */
	unsigned depth;  /* of nested calls of on_complete */
	struct pawl_op *deferred, *last_deferred;
	const struct nested_call *nested; /* the innermost one, or NULL */
};

extern _Thread_local struct thread pawl__purgatory_thread;
unsigned pawl__purgatory_number_thread(void);

/* The home of the operations that the calling thread submits. */
static inline struct op_shard *own_shard(struct pawl_purgatory *purgatory)
{
	unsigned number = pawl__purgatory_thread.number;

	if (!number)
		number = pawl__purgatory_number_thread();
	return &purgatory->shards[number & (purgatory->shard_count - 1)];
}

/*
 * Other threads see all earlier writes of this thread before it reads anything later. (The thread sanitizer does not
 * know fences; it sees the order of the two sides by their locks.)
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
 * The same after a locked instruction, which is a fence itself on x86. PAWL_BY_C11, for verify/schedules: rely on the
 * language alone.
 */
static inline void fence_after_lock(void)
{
#if defined(PAWL_BY_C11) || (!defined(__x86_64__) && !defined(__i386__))
	fence();
#endif
}

/* grow.c */
struct table *pawl__table_open(void); /* NULL: no memory */
void pawl__tables_free(struct op_shard *shard);
void pawl__table_prepare(struct op_shard *shard, uint64_t buckets); /* without the lock */
void pawl__table_make_room(struct op_shard *shard, uint64_t keys);  /* without the lock */
void pawl__table_step(struct op_shard *shard);
void pawl__op_unlink_growing(struct op_shard *shard, struct pawl_op *op);

/* op.c */
bool pawl__op_run(struct pawl_op *op);
bool pawl__op_run_completed(struct pawl_op *op);

/* src/inspect/purgatory.c */
void pawl__purgatory_write(struct service_part *part, struct json *json);

/* check.c */
void pawl__shard_withdraw_all(struct op_shard *shard, pawl_op_fn *fn);

/* alarm.c */
int pawl__alarms_open(struct op_shard *shard);
void pawl__alarms_stop(struct pawl_purgatory *purgatory);
void pawl__alarm_set(struct op_shard *shard); /* without the lock */
void pawl__deadline_win(struct op_shard *shard, struct pawl_op *op, uint64_t late_ns);
bool pawl__deadline_arm(struct op_shard *shard, struct pawl_op *op, uint64_t now_ns,
                        uint64_t timeout_ns); /* true: call alarm_set */

#endif
