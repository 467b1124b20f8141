/* SPDX-License-Identifier: MIT */
/*
 * What a purgatory consists of, and who may touch what.
 *
 * Operations are spread over shards by the thread that brings them. An operation's home is that thread's
 * shard: all its watches live there, and the home's lock guards them. So bringing an operation takes one
 * lock, and so does taking it off all its keys, usually one that no other thread wants just now.
 *
 *	                     shard 0             shard 1             ...
 *	key "topic-1" ----> place: a -- b       place: d
 *	key "topic-2" ----> place: b            (none)
 *	key "topic-3" ----> (none)              place: d -- e
 *
 * A place is a key in a shard: the watches of that key by the operations that live there. A check goes
 * along a row, and looks without a lock whether a place has anything: the columns of other threads are
 * mostly empty for a key, and looking leaves their cache lines where they are.
 *
 * That look must not miss an operation whose second try has missed the change. Each side writes, then has
 * a fence, and reads then what the other one writes, so one of them sees the other:
 *
 *	try_or_watch                            whoever checks
 *	------------                            --------------
 *	place->count++                          change something
 *	fence (FRESH -> WAITING)                fence
 *	try_complete                            place->count != 0?
 *
 *
 * An operation's claim, under its home's lock
 *
 *	CLAIMED         some thread is about to try it, or trying it: nobody else may. It is the operation's
 *	                own lock, but nobody waits for it.
 *	CLAIMED_AGAIN   a check came by meanwhile: the claimer tries once more before it lets go
 *	ABANDONED       it was taken off while claimed: the claimer has a reference of its own to drop
 *
 * A check claims a batch of operations in one critical section, tries them under no lock, and lets them go
 * in a second one. Whoever finds an operation claimed leaves word and goes on:
 *
 *	claimer                                 another check
 *	-------                                 -------------
 *	lock; CLAIMED; unlock
 *	try_complete: no                        change something
 *	                                        lock; CLAIMED_AGAIN; unlock
 *	lock; CLAIMED; unlock
 *	try_complete: yes
 *	lock; take off; unlock
 *
 * In the lock's order the other check comes either before the claimer lets go, which then sees its word; or
 * after, and then the operation is not claimed. try_or_watch links its operation claimed: it is its own first claimer.
 *
 *
 * Who wins
 *
 * outcome goes from FRESH to WAITING, and from either to COMPLETED or TAKEN_OUT, by one compare-and-set, under
 * a lock or not. Who wins a waiting operation takes it off under its home's lock, takes its deadline away,
 * calls the user's functions and drops its reference.
 *
 * try_or_watch links its operation first, and makes it waiting then. pawl_op_complete may be faster. Then it
 * has won a fresh operation, and leaves it to try_or_watch to take it off:
 *
 *	try_or_watch                            pawl_op_complete
 *	------------                            ----------------
 *	lock; link, claim; unlock
 *	                                        FRESH -> COMPLETED: it is not our task to take it off
 *	FRESH -> WAITING fails
 *	lock; take off; unlock
 *
 *
 * References: release comes with the last one
 *
 *	one of the purgatory's       the winner drops it when the user's functions have returned
 *	one of try_or_watch's        it becomes the deadline's, once that is armed; else it is dropped at the end
 *	one a hold                   unhold
 *	one of an abandoning winner  given to the claimer, who drops it
 *
 * A new operation has the first two. Whoever has all that are left need not count down (op_drop).
 *
 * The deadline's reference: cancelling the task gives it to the winner. Where the task's function has been
 * called already and has lost, then either it has come to its end before the winner asks (`over`), and
 * leaves its reference to the winner; or the winner is first (`late`), and it drops it itself. A late one
 * counts as expiring, so that stop waits for it: after close nothing of the library's touches an
 * operation.
 *
 * The order of locks: the purgatory's mutex, then a shard's; a table's and a shard's never both, nor two of
 * a kind. No function of the user's is called with any of them held.
 */
#ifndef PAWL_PURGATORY_LAYOUT_H
#define PAWL_PURGATORY_LAYOUT_H

#include "../service/lock.h"

#include <pawl/purgatory.h>
#include <pthread.h>

#define CACHE_LINE 64u
#define LINE       128u /* apart by so many bytes, two things do not share a cache line */
#define MAX_SHARDS 1024u
#define MAX_DEPTH  16u /* of on_complete inside on_complete */
#define CHAINS     4u  /* lists in a place, walked in step, so that their cache misses overlap */
#define BATCH      64u /* operations claimed, or taken out, in one critical section */
#define TABLES     16u /* of keys, each with a lock of its own */
#define FEW_CHAINS 8u

enum outcome { FRESH, WAITING, COMPLETED, TAKEN_OUT };
enum claim { UNCLAIMED, CLAIMED, CLAIMED_AGAIN, ABANDONED }; /* op->claim */
enum over { NOT_OVER, OVER, OVER_AND_TAKEN }; /* op->over, for a deadline that has lost */

struct shard {
	/* Under the lock. */
	struct lock lock;
	bool closed;       /* stop has begun: nothing is linked any more. Read without, too */
	unsigned expiring; /* deadlines that call the user's functions, or have lost and are late */
	size_t watched, delayed;

	/* Set at open, and read only. */
	struct pawl_purgatory *purgatory;
	unsigned number;
} __attribute__((aligned(LINE)));

/* A key in a shard. Under the shard's lock. */
struct place {
	struct pawl_watch *chains[CHAINS]; /* the newest first */
	uint32_t count; /* of its watches; written under the lock, read without */
	uint32_t turn;  /* the chain that got the newest one */
	struct key *key;
	struct place *next_retired;
} __attribute__((aligned(CACHE_LINE)));

/*
 * A key that something is watched under, or that somebody uses. It is in its table as long as it has
 * references: one each place, and one each user.
 */
struct key {
	struct key *next; /* in its chain of the table */
	uint64_t hash;
	size_t len;
	bool swept;   /* under the table's lock: stop has been here */
	void *memory; /* that the key is somewhere in */

	struct place first; /* for the first shard that needs one: see first_taken */
	struct pawl_purgatory *purgatory;
	uint32_t users; /* atomic: calls of resolve, and calls that are under way with its bytes */
	uint32_t references;    /* atomic */
	bool first_taken;       /* atomic */
	struct place *places[]; /* one for each shard, atomic; and then the bytes */
};

struct table {
	struct lock lock;
	struct key **chains;
	size_t chain_count; /* a power of two */
	size_t key_count;
	struct key *few[FEW_CHAINS]; /* the chains, as long as there need not be more */
} __attribute__((aligned(LINE)));

struct pawl_purgatory {
	/* Set at open, and read only. */
	struct pawl_service *service;
	unsigned shard_count; /* a power of two */
	struct shard *shards;
	uint64_t secret[2]; /* of the hash */

	struct table tables[TABLES];

	/* For stop, and those who wait for it. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum { OPEN, STOPPING, STOPPED } state; /* under the mutex */
};

/* How far stop has come with the keys. */
struct sweep {
	unsigned table;
	size_t chain, chain_count;
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

static inline void shard_lock(struct shard *shard)
{
	lock_take(&shard->lock);
}

static inline void shard_unlock(struct shard *shard)
{
	lock_give(&shard->lock);
}

/*
 * All that was written before is seen by others before anything is read after. (The thread sanitizer
 * does not know fences; to it the two sides are ordered by the locks that they take where it matters.)
 */
static inline void fence(void)
{
#ifdef __SANITIZE_THREAD__
	unsigned nothing = 0;

	__atomic_fetch_add(&nothing, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The same after a compare-and-set, which is a fence itself on some machines. */
static inline void fence_after_exchange(void)
{
#if !defined(__x86_64__) && !defined(__i386__)
	fence();
#endif
}

/* Of the thread that calls: where the operations that it brings live. */
static inline struct shard *own_shard(struct pawl_purgatory *purgatory)
{
	unsigned number = pawl__purgatory_thread.number;

	if (!number)
		number = pawl__purgatory_number_thread();
	return &purgatory->shards[number & (purgatory->shard_count - 1)];
}

static inline bool key_resolved(struct pawl_key key)
{
	return key.len == PAWL_RESOLVED;
}

static inline bool key_valid(const struct pawl_purgatory *purgatory, struct pawl_key key)
{
	if (key_resolved(key))
		return key.data && ((const struct key *)key.data)->purgatory == purgatory;
	return key.data || key.len == 0;
}

/* keys.c. Each returns a key that has one user more, or NULL; key_leave takes that back. */
struct key *pawl__key_find(struct pawl_purgatory *purgatory, struct pawl_key key);
struct key *pawl__key_make(struct pawl_purgatory *purgatory,
                           struct pawl_key key); /* NULL: no memory */
void pawl__key_join(struct key *key);
void pawl__key_leave(struct key *key);
struct place *pawl__key_make_place(struct key *key, struct shard *shard); /* NULL: no memory */
bool pawl__place_retire(struct place *place, struct shard *shard); /* under the shard's lock */
void pawl__places_free(struct place *retired);
struct key *pawl__key_sweep(struct pawl_purgatory *purgatory, struct sweep *sweep);
void pawl__keys_init(struct pawl_purgatory *purgatory);
void pawl__keys_free(struct pawl_purgatory *purgatory);

/* finish.c */
uint32_t pawl__op_disarm(struct pawl_op *op, struct shard *home);
bool pawl__op_run_completed(struct pawl_op *op, uint32_t references);

/* open.c */
void pawl__purgatory_changed(struct pawl_purgatory *purgatory); /* for who stops */

/* check.c */
void pawl__key_drop_all(struct key *key);

#endif
