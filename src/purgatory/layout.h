/* SPDX-License-Identifier: MIT */
/*
 * What a purgatory consists of, and who may touch what.
 *
 * Operations are spread over shards by the thread that brings them. An operation's home is that thread's
 * shard: all its watches live there, and the home's lock guards them. That lock is the one of a shard of the
 * service, the host, which has the operation's deadline, too. So all that is done to an operation at once
 * takes one lock, usually one that no other thread wants just now.
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
 *	lock; place->count++                    change something
 *	fence (FRESH -> WAITING); unlock        fence
 *	try_complete                            place->count != 0?
 *
 *
 * Who tries
 *
 * The operation's own lock, the one that try_complete runs under, is nothing that anybody waits for. First its
 * bringer has it: try_or_watch links its operation CLAIMED. After that a check that goes through a place
 * puts what it finds into a trial, in one critical section, and tries it under no lock. Who finds an operation
 * with its bringer, or in another trial, leaves word and goes on; and who tries does so once more if there is word:
 *
 *	a check                                 another one, by another key of the operation
 *	-------                                 --------------------------------------------
 *	lock; the place is TRYING; unlock
 *	try_complete: no                        change something
 *	                                        lock; HEED, `again` in the trial; unlock
 *	TRYING -> IDLE fails
 *	lock; TRYING; unlock
 *	try_complete: yes
 *	lock; win, take off, IDLE; unlock
 *
 * Either HEED comes before the trial ends, which then sees the word; or after, and then there is no trial any
 * more. A trial is ended, and a claim given up, without the lock where there is no word: trials.h.
 *
 * Of two checks of the same key, the one that comes second has the first go through the place anew.
 *
 *
 * Who wins
 *
 * outcome goes from FRESH to WAITING, and from either to COMPLETED; from WAITING to TAKEN_OUT, too, and back to
 * FRESH if the service was stopped and has no deadlines any more: from FRESH by a compare-and-set, from WAITING
 * under the home's lock. Whoever wins what waits takes it off and its
 * deadline away in the same critical section, then calls the user's functions and drops its references. If it
 * was in somebody else's trial, or claimed by its bringer, they are left word of that, too, and a reference to
 * go with it: it is abandoned to them.
 *
 * What is linked waits: try_or_watch does both in one critical section. Only pawl_op_complete may be faster, and
 * win the fresh operation; then it comes off in that same section.
 *
 *
 * References: release comes with the last one
 *
 *	one of the purgatory's       the winner drops it when the user's functions have returned
 *	one of try_or_watch's        it becomes the deadline's, once that is armed; else it is dropped at the end
 *	one a hold                   unhold
 *	one of an abandoning winner  dropped by whoever it was abandoned to
 *
 * A new operation has the first two. Whoever has all that are left need not count down (op_drop).
 *
 * The deadline's reference: taking it off the host gives it to the winner (op->owed: how many it has). If the
 * deadline's function has been called already, the winner is faster all the same: then it is `late`, and drops
 * its reference itself. A late one counts as expiring, so that stop waits for it: after close nothing of the
 * library's touches an operation. If it was called because the service was stopped, the operation waits on, and
 * its winner finds the reference left for it (`over`).
 *
 * The order of locks: the purgatory's mutex, then a shard's; a table's and a shard's never both, nor two of
 * a kind. No function of the user's is called with any of them held.
 */
#ifndef PAWL_PURGATORY_LAYOUT_H
#define PAWL_PURGATORY_LAYOUT_H

#include "../service/host.h"

#include <pawl/purgatory.h>
#include <pthread.h>

#define CACHE_LINE     64u
#define LINE           128u /* apart by so many bytes, two things do not share a cache line */
#define MAX_SHARDS     1024u
#define DEFAULT_SHARDS 64u /* at most: a check looks at all of them */
#define MAX_DEPTH      16u /* of on_complete inside on_complete */
#define MAX_RETRIES    16u /* of an operation, before on_complete of others */
#define CHAINS         4u /* lists in a place, walked in step, so that their cache misses overlap */
#define NO_TURN        (CHAINS - 1) /* place->turn of an empty place */
#define BATCH          64u /* operations tried, or taken out, from one critical section to the next */
#define TABLES         16u /* of keys, each with a lock of its own */
#define FEW_CHAINS     8u

/* op->places: a bit for each of its places, and about its bringer. See trials.h */
#define PLACE_BITS 61u
#define ABANDONED  (UINT64_C(1) << 61)
#define AGAIN      (UINT64_C(1) << 62)
#define CLAIMED    (UINT64_C(1) << 63)

enum outcome { FRESH, WAITING, COMPLETED, TAKEN_OUT };
enum trying { IDLE, TRYING, HEED }; /* place->trying: see trials.h */

struct shard {
	/* Set at open, and read only. */
	struct host *host; /* of the service: has the lock, and the deadlines */
	struct pawl_purgatory *purgatory;
	unsigned number;

	/* Under the lock. */
	bool closed;       /* stop has begun: nothing is linked any more. Read without, too */
	unsigned expiring; /* deadlines that call the user's functions, or have lost and are late */
	size_t watched, delayed;
} __attribute__((aligned(LINE)));

/* The operations of one place that a check is trying. Under the lock of their home, while they are tried. */
struct trial {
	uint32_t count;
	bool anew; /* another check of the same key has come by: go through the place once more */
	uint64_t
	        again; /* those that a check of another of their keys came by for: try them once more */
	uint64_t abandoned; /* those that were taken off meanwhile: each has a reference for us */
	struct pawl_op *ops[BATCH]; /* does not change */
};

/* A key in a shard. Under the shard's lock. */
struct place {
	uintptr_t chains[CHAINS]; /* the newest first: see linking.h */
	uint32_t count;           /* of its watches; written under the lock, read without */
	uint8_t turn;             /* the chain that got the newest one */
	uint8_t number;           /* of its bit, by the key's hash: see trials.h */
	uint8_t trying;           /* atomic */
	bool listed;              /* in the host's list of tried ones */
	struct key *key;
	struct place *next_tried;
	union {
		struct trial *trial;        /* while they are tried */
		struct place *next_retired; /* when it is over */
	};
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
	uint32_t resolved; /* atomic: how many of them are calls of resolve */
	bool emptied;      /* atomic: a place has become empty while there were users: see keys.c */
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
	struct pawl_clock *clock; /* the service's */
	unsigned shard_count;     /* a power of two */
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
	lock_take(&shard->host->lock);
}

static inline void shard_unlock(struct shard *shard)
{
	lock_give(&shard->host->lock);
}

/*
 * All that was written before is seen by others before anything is read after. (The thread sanitizer
 * does not know fences; to it the two sides are ordered by the locks that they take where it matters.)
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
 * The same after a compare-and-set, which is a fence itself on some machines. PAWL_BY_C11: judge by the language
 * alone, as tests/schedules does.
 */
static inline void fence_after_exchange(void)
{
#if defined(PAWL_BY_C11) || (!defined(__x86_64__) && !defined(__i386__))
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
void pawl__key_resolve(struct key *key);   /* the user that it has more is a call of resolve... */
void pawl__key_unresolve(struct key *key); /* ...which ends */
struct place *pawl__key_make_place(struct key *key, struct shard *shard); /* NULL: no memory */
bool pawl__place_retire(struct place *place, struct shard *shard); /* under the shard's lock */
void pawl__places_free(struct place *retired);
struct key *pawl__key_sweep(struct pawl_purgatory *purgatory, struct sweep *sweep);
void pawl__keys_init(struct pawl_purgatory *purgatory);
void pawl__keys_free(struct pawl_purgatory *purgatory);

/* finish.c */
bool pawl__op_run_completed(struct pawl_op *op, uint32_t references);

/* check.c */
void pawl__key_drop_all(struct key *key);

#endif
