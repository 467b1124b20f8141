/* SPDX-License-Identifier: MIT */
/*
 * pawl/purgatory.h: operations that wait for a condition or a deadline, whichever comes first.
 *
 * A request cannot be answered yet: not all replicas have its data, there is nothing to read, the other side has not
 * replied. It is watched under the keys of the things that it waits for, with a deadline. A thread that changes one of
 * them then checks its key, which completes the operations that can complete now. Each completes exactly once, however
 * many threads check at the same time and whatever the deadline does. This is Kafka's DelayedOperationPurgatory.
 *
 *	#include <pawl/purgatory.h>
 *	#include <stdio.h>
 *
 *	struct fetch { struct pawl_op op; int wanted; };
 *	static _Atomic int records = 2;
 *
 *	static bool enough(struct pawl_op *op)                 // can it complete now? a question only
 *	{
 *		return records >= PAWL_CONTAINER_OF(op, struct fetch, op)->wanted;
 *	}
 *	static void answer(struct pawl_op *op)                 // exactly once
 *	{
 *		puts(pawl_op_expired(op) ? "time is up" : "enough");
 *	}
 *	static void dispose(struct pawl_op *op) { (void)op; }  // last: its memory is yours again
 *	static const struct pawl_op_type type = {enough, answer, NULL, NULL, dispose};
 *
 *	int main(void)
 *	{
 *		struct fetch fetch = {PAWL_OP_INIT(&type), 3};
 *		struct pawl_key key;
 *		struct pawl_service *service; struct pawl_purgatory *purgatory;
 *		if (pawl_service_open(&service, NULL) != 0 ||  // its threads run the deadlines
 *		    pawl_purgatory_open(&purgatory, service, NULL) != 0)
 *			return 1;
 *		key = pawl_purgatory_key(purgatory, "orders", 6);
 *		if (pawl_purgatory_try_or_watch(purgatory, &fetch.op, &key, 1, 30 * PAWL_SECOND) < 0)
 *			return 1;
 *		records++;                                             // elsewhere: change something,
 *		pawl_purgatory_check(purgatory, key);                  // then check its key
 *		pawl_purgatory_close(purgatory);                       // operations that still wait are dropped
 *		pawl_service_close(service, NULL);
 *	}
 *
 * The life of an operation:
 *
 *	pawl_op_init
 *	     v    try_or_watch: try_complete says yes; or pawl_op_complete
 *	   fresh --------------------------------------+
 *	     |    try_or_watch: no. Watched under      |
 *	     v    all its keys                         v
 *	  waiting ---------------------------------> completed ---> on_complete ---> [on_expire] ---+
 *	     |      try_or_watch tries again: yes                                    only if the    |
 *	     |      (no: the deadline is armed); a check                             deadline won   |
 *	     |      says yes; pawl_op_complete; the deadline                                        |
 *	     +-- cancel_key ---> withdrawn ---> cancelled(op) --------------------------------------+
 *	     +-- stop ---------> withdrawn ---> on_drop --------------------------------------------+
 *	             the memory is yours again <--- release <--- the last reference is given back --+
 *
 * One critical section decides which of the six ways out of `waiting` an operation goes. In it the winner unlinks the
 * operation from all its keys and removes its deadline; then it calls your functions. No trigger is lost: a check that
 * follows a change finds the operation watched, or the second try sees the change.
 *
 * Memory: an operation is part of a struct of yours, which stays in place from try_or_watch to `release`. Release comes
 * exactly once, last, on the thread that gives back the last reference. It may free the operation or initialise it for
 * another use. So once try_or_watch has returned 0 or 1 it may be gone: to use it later, take a reference before.
 *
 * Locks: the library holds no lock while it calls your functions. You must not hold a lock that they take during a call
 * that may call them: change, unlock, then check. try_complete may run at the same time as on_complete, and must not
 * call this library.
 *
 * pawl_purgatory(3) has the rare cases: LOCKS draws the deadlock; CONCURRENCY lists which calls may run together, and
 * the rules for fork(), signals, C++ exceptions and NULL; NESTING says how on_complete nests; MEMORY lists the sizes.
 */
#ifndef PAWL_PURGATORY_H
#define PAWL_PURGATORY_H

#include <pawl/service.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_op;
struct pawl_purgatory;
typedef void pawl_op_fn(struct pawl_op *op);

/*
 * A key: a value, the hash of any bytes for one purgatory. Copy it freely; its fields are private. The probability that
 * two of a million keys share a hash is 10^-17. A zeroed key, or one of another purgatory, is invalid.
 */
struct pawl_key {
	uint64_t low;
	uint32_t high, owner;
};

/* A kind of operation. Borrowed: it must outlive its operations. on_expire and on_drop may be NULL. */
struct pawl_op_type {
	/* Can it complete now? It changes nothing. Called any number of times, on any thread, but by one at a time. */
	bool (*try_complete)(struct pawl_op *op);
	/* Called exactly once, by the winner: a call of yours, or for a deadline a thread of the service, or poll. */
	void (*on_complete)(struct pawl_op *op);
	void (*on_expire)(struct pawl_op *op); /* after on_complete, if the deadline has won */
	void (*on_drop)(struct pawl_op *op);   /* instead of on_complete, on the thread in stop */
	void (*release)(struct pawl_op *op);   /* last, exactly once; it may free the operation */
};

/* An operation under up to four of its keys. Its fields are private. */
#define PAWL_OP_WATCHES 4
struct pawl_op_watches {
	uintptr_t *link[PAWL_OP_WATCHES];
	uint32_t high[PAWL_OP_WATCHES];
	uint16_t count, tags;
	struct pawl_op_watches *more;
	uint64_t low[PAWL_OP_WATCHES];
	uintptr_t next[PAWL_OP_WATCHES];
	struct pawl_op *op;
};

/* An operation. Embed it, and initialise it before each use; its fields are private. */
struct pawl_op {
	union {
		struct pawl_timer timer;
		struct pawl_op *deferred;
	};
	void *home;
	uint32_t state, references;
	struct pawl_op_watches watches;
	const struct pawl_op_type *type;
};

/* Make the operation fresh; or write struct pawl_op op = PAWL_OP_INIT(&type) where it is defined. */
PAWL_API void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type);
#define PAWL_OP_INIT(type)                                                                     \
	{                                                                                      \
		{PAWL_TIMER_INIT}, NULL, 0, 1, {{NULL}, {0}, 0, 0, NULL, {0}, {0}, NULL}, type \
	}

/*
 * Options. Zeroes, or NULL in place of the struct, mean the defaults.
 * shards     1 to 1024, rounded up to a power of two; 0: as many as the service has, at most 64.
 * describe   NULL, or a function that describes an operation for the live view, pawl_service_inspect, in at most `size`
 *            bytes with the zero. It is called with a reference and without a lock, and must not call this library. */
struct pawl_purgatory_options {
	unsigned shards;
	void (*describe)(struct pawl_op *op, char *text, size_t size);
	uint64_t reserved[4]; /* for options of later versions: 0 */
};

/*
 * Open a purgatory whose deadlines run on the service, which is borrowed until close.
 * 0         *purgatory is yours. Close it with pawl_purgatory_close, before the service.
 * -EINVAL   shards is above 1024, or reserved is not 0. After an error nothing is left, and *purgatory is as it was.
 * -ENOMEM   no memory. Any other error is the system's: it could supply no random bytes for the secret of the hash.
 */
PAWL_API PAWL_MUST_USE int pawl_purgatory_open(struct pawl_purgatory **purgatory,
                                               struct pawl_service *service,
                                               const struct pawl_purgatory_options *options);

/* The key of these bytes, which are read during this call only; size may be 0. For a thing that lasts, make its key
 * once and keep it there; or make it for each call. If bytes is NULL and size is not 0, the key is zeroed: invalid. */
PAWL_API struct pawl_key pawl_purgatory_key(const struct pawl_purgatory *purgatory,
                                            const void *bytes, size_t size);

/*
 * Try the operation. If it cannot complete, watch it under all the keys, try again, and arm its deadline: timeout_ns
 * after the end of the first try (PAWL_NEVER: no deadline; 0: it wins in this call). Kafka's tryCompleteElseWatch.
 *
 * 1           this call has completed it, and on_complete has returned. Release follows, or has been called.
 * 0           it waits. Or another thread has completed or withdrawn it already. Or on_complete follows: see NESTING.
 * -EBUSY      it was given to try_or_watch before and not initialised since. It may still wait: do not free it.
 * -EINVAL     no keys, or more than 2^32-1; an invalid key; a type without try_complete, on_complete or release.
 * -ECANCELED  the purgatory was stopped; or its service was, and timeout_ns is neither 0 nor PAWL_NEVER.
 * -ENOMEM     no memory for more than 4 keys; never with up to 4.
 * The first error that applies is returned. After all but -EBUSY the operation is yours as it was, and is not released;
 * nothing but try_complete may have been called. Equal keys count once. A deadline is never early, nor before the
 * second try has returned; the service does not count it.
 */
PAWL_API PAWL_MUST_USE int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory,
                                                       struct pawl_op *op,
                                                       const struct pawl_key *keys, size_t nkeys,
                                                       uint64_t timeout_ns);

/*
 * Something about the key has changed: try every operation that is watched under it, in no particular order, perhaps
 * also those added during the call. Returns how many this call has completed; on_complete has returned for each (but
 * see NESTING). An operation that another thread is trying is left to that thread, which tries it once more: it may
 * complete after this call has returned, and is not counted here. See CONCURRENCY. An invalid key finds nothing; in
 * the checked library it ends the program.
 */
PAWL_API size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key);

/*
 * Withdraw all operations that are watched under the key when the call begins. Then pass each to `cancelled` (may be
 * NULL) and release it. It never completes. Those that `cancelled` submits stay; one that another thread submits during
 * the call may stay or be withdrawn. Returns how many were withdrawn. An invalid key: as in pawl_purgatory_check.
 */
PAWL_API size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                          pawl_op_fn *cancelled);

/*
 * Complete the operation, also a fresh one, without asking try_complete (Kafka's forceComplete). Unless no other thread
 * knows it, you need a reference, and so does a thread in try_or_watch with it. true: it has left its keys and its
 * deadline, on_complete has returned (but see NESTING), release follows. false: it was completed or withdrawn before.
 */
PAWL_API bool pawl_op_complete(struct pawl_op *op);

/* Has it been completed? Has its deadline completed it? True as soon as the winner is decided, before on_complete is
 * called; false if it was cancelled or dropped. You need a reference, except in its functions after try_complete. */
PAWL_API bool pawl_op_completed(const struct pawl_op *op);
PAWL_API bool pawl_op_expired(const struct pawl_op *op);

/* A reference puts off release until it is given back by unref (examples/rpc-timeout.c). Call ref before try_or_watch,
 * in any function of the operation except try_complete and release, or while you have another reference. */
PAWL_API void pawl_op_ref(struct pawl_op *op);
PAWL_API void pawl_op_unref(struct pawl_op *op);

/* Counts since open, exact while no other call and no deadline runs. Later versions may add fields at the end. */
struct pawl_purgatory_stats {
	uint64_t watched, delayed; /* now: pairs of an operation and a key; operations that wait */
	uint64_t completed_by_try; /* by try_or_watch, at once or in its second try */
	uint64_t completed_by_check, completed_by_call; /* by pawl_op_complete, while it waited */
	uint64_t expired, cancelled, dropped;
};

/* Fill in *stats, whose size is `size`: sizeof(*stats). The second call: how late each deadline was when it won. */
PAWL_API void pawl_purgatory_get_stats(const struct pawl_purgatory *purgatory,
                                       struct pawl_purgatory_stats *stats, size_t size);
PAWL_API void pawl_purgatory_get_lateness(const struct pawl_purgatory *purgatory,
                                          struct pawl_histogram *to);
PAWL_API size_t pawl_purgatory_watched(const struct pawl_purgatory *purgatory);
PAWL_API size_t pawl_purgatory_delayed(const struct pawl_purgatory *purgatory);

/*
 * Refuse every try_or_watch from now on, pass each waiting operation to on_drop and release it, on this thread, and
 * wait for the deadlines that are running. The purgatory stays, empty. A second stop only waits for the first. In a
 * function that a deadline, stop or the live view runs, it would wait for itself, so it ends the program.
 */
PAWL_API void pawl_purgatory_stop(struct pawl_purgatory *purgatory);

/*
 * Stop, and free the purgatory, before its service is closed. NULL is allowed. No other call may run or follow, except
 * on operations with a reference: unref, completed, expired, and complete after stop (false).
 */
PAWL_API void pawl_purgatory_close(struct pawl_purgatory *purgatory);

#ifdef __cplusplus
}
#endif

#endif
