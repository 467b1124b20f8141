/* SPDX-License-Identifier: MIT */
/*
 * pawl/purgatory.h: operations that wait for a condition or a deadline, whichever comes first.
 *
 * A request cannot be answered yet: not all replicas have its data, there is nothing to read, the other side has not
 * replied. It is watched under the keys of what it waits for, with a deadline. A thread that changes something then
 * checks its key, and the operations that can complete now are completed, each exactly once, however many threads
 * check at the same time and whatever the deadline does. This is Kafka's DelayedOperationPurgatory.
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
 *		struct pawl_key key = {"orders", 6};
 *		struct pawl_service *service;
 *		struct pawl_purgatory *purgatory;
 *
 *		if (pawl_service_open(&service, NULL) != 0 ||  // its threads run the deadlines
 *		    pawl_purgatory_open(&purgatory, service, NULL) != 0 ||
 *		    pawl_purgatory_try_or_watch(purgatory, &fetch.op, &key, 1, 30 * PAWL_SECOND) < 0)
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
 *	                  the memory is yours again <--- release <--- the last hold is given back --+
 *
 * One critical section decides which of the six ways out of `waiting` it is. In it the winner takes the operation
 * off all its keys and its deadline off the wheel. Then it calls your functions. No trigger is lost: a check that
 * follows a change finds the operation watched, or the second try sees the change.
 *
 * Who frees: an operation's memory is yours, in a struct of yours that does not move. It stays from try_or_watch to
 * `release`, in which you may free it, or initialise it for another life. Release is called exactly once, after
 * everything else, by the thread that lets go last. So once try_or_watch has returned 0 or 1, it may be gone. Whoever
 * wants to touch the operation afterwards needs a hold, taken before: examples/rpc-timeout.c.
 *
 * Locks: your functions are called with no lock of the library's held. Hold no lock of yours that one of them takes
 * during a call that may call it: change under your lock, unlock, then check. try_complete may run beside on_complete
 * and calls nothing of this library; the others may. In pawl_purgatory(3) LOCKS draws the deadlock, CONCURRENCY
 * lists which calls may run together, NESTING says how on_complete nests, MEMORY what takes how much. After fork()
 * the child may only exec or exit. No call is async-signal-safe. Your functions must not throw C++ exceptions. NULL
 * is no service, no purgatory and no operation, but for close.
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
 * Any bytes, also none; borrowed for the time of a call. Two keys are equal if their hashes are, 96 bits of SipHash
 * with a secret: so two different keys are taken for one with a probability of about n^2 / 2^97 for n keys at a time
 * (10^-17 for a million). Invalid is NULL with more than 0 bytes, and a resolved key of another open purgatory.
 */
struct pawl_key {
	const void *data;
	size_t len; /* or PAWL_RESOLVED: `data` is from pawl_purgatory_resolve */
};
#define PAWL_RESOLVED SIZE_MAX

/* A kind of operation. Borrowed: it must outlive its operations. */
struct pawl_op_type {
	/* Can it complete now? A question only: any number of times, on any thread, but one at a time. */
	bool (*try_complete)(struct pawl_op *op);
	/* Exactly once, on the thread that has won: for a deadline the service's, or the one that polls. */
	void (*on_complete)(struct pawl_op *op);
	void (*on_expire)(struct pawl_op *op); /* after it, if the deadline has won; may be NULL */
	void (*on_drop)(struct pawl_op *op);   /* instead, on the thread in stop; may be NULL */
	void (*release)(struct pawl_op *op);   /* last, exactly once; it may free the operation */
};

#define PAWL_OP_WATCHES 4 /* keys for which an operation has room in itself */

/* An operation under up to four of its keys. Its fields are private. */
struct pawl_watches {
	uintptr_t *link[PAWL_OP_WATCHES];
	uint32_t high[PAWL_OP_WATCHES];
	uint32_t count;
	struct pawl_watches *more;
	uint64_t low[PAWL_OP_WATCHES];
	uintptr_t next[PAWL_OP_WATCHES];
	struct pawl_op *op;
};

/* An operation. Embed it and initialise it before its first use; its fields are private. */
struct pawl_op {
	union {
		struct pawl_timer timer;
		struct pawl_op *deferred;
	};
	void *home;
	uint32_t state, references;
	struct pawl_watches
	        watches; /* a check in vain reads its end, the type, and what follows in your struct */
	const struct pawl_op_type *type;
};

/* Make the operation fresh, before each use. Once try_or_watch has returned 0 or 1: not before release is called. */
PAWL_API void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type);

/* The same where the operation is defined: struct pawl_op op = PAWL_OP_INIT(&type); */
#define PAWL_OP_INIT(type)                                                                  \
	{                                                                                   \
		{PAWL_TIMER_INIT}, NULL, 0, 1, {{NULL}, {0}, 0, NULL, {0}, {0}, NULL}, type \
	}

/*
 * Operations are spread over shards by the thread that submits them, so that threads do not get in each other's
 * way; a check looks at all shards. Zeroes, or a NULL pointer in place of the whole struct, mean the defaults.
 */
struct pawl_purgatory_options {
	unsigned shards; /* 1 to 1024, rounded up to a power of two; 0: as the service, up to 64 */
	/* NULL, or: put an operation into words, for pawl_service_inspect; see below */
	void (*describe)(struct pawl_op *op, char *text, size_t size);
};
/*
 * The live view of the service shows the keys under which most operations wait, as hashes, since nothing else is kept of
 * a key. `describe` writes about one operation of each into `text`, at most `size` bytes with the zero at the end. It is called
 * with a hold on the operation and without a lock, on the thread of the view, and calls nothing of this library.
 */

/*
 * Open a purgatory whose deadlines run on the service, which is borrowed until close.
 *
 * 0         *purgatory is yours, to be closed with pawl_purgatory_close, before the service.
 * -EINVAL   shards is above 1024. After an error nothing is left behind, and *purgatory is as it was.
 * -ENOMEM   no memory. Another error: what the system's random bytes, for the secret, failed with.
 */
PAWL_API int pawl_purgatory_open(struct pawl_purgatory **purgatory, struct pawl_service *service,
                                 const struct pawl_purgatory_options *options);

/*
 * Try the operation; if it cannot complete, watch it under all the keys, try again, and arm its deadline,
 * timeout_ns after the end of the first try (PAWL_NEVER: none). Kafka's tryCompleteElseWatch.
 *
 * 1           this call has completed it, and on_complete has returned. Release follows, or has been called.
 * 0           it waits. Or another thread has completed it or taken it out already. Or this call has completed
 *             it nested 16 deep in on_complete, and its own on_complete follows.
 * -EBUSY      it was given to try_or_watch before, and not initialised since. It may still wait: do not free it.
 * -EINVAL     `keys` is NULL; no keys, or more than 2^32-1; an invalid key; no type, or a type without try_complete,
 *             on_complete or release.
 * -ESHUTDOWN  the purgatory was stopped; or its service was, and there is a deadline to arm.
 * -ENOMEM     no memory for more than 4 keys; never with up to 4.
 * Where several apply it is the first of these. After -EINVAL, -ESHUTDOWN and -ENOMEM the operation is fresh and
 * yours, and is not released; try_complete may have been called, nothing else.
 *
 * Equal keys count once. A deadline is never early, nor before the second try has returned. It comes from the
 * service, also with a timeout of 0, but is not in the service's counts: see pawl_purgatory_stats.
 */
PAWL_API int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory, struct pawl_op *op,
                                         const struct pawl_key *keys, size_t nkeys,
                                         uint64_t timeout_ns);

/*
 * Something about the key has changed: try every operation that is watched under it, in no particular order; those
 * that are added during the call may be tried, too. Returns how many this call has completed; on_complete has
 * returned for each (but see NESTING). An unknown or invalid key gives 0.
 *
 * This call does not wait for another thread that is trying an operation: that thread tries it once more. So an
 * operation may complete a little after this call has returned, and is not counted here. See CONCURRENCY.
 */
PAWL_API size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key);

/*
 * Take the operations that are watched under the key when the call begins off all their keys and their deadline,
 * hand each to `cancelled` (may be NULL), and release it: it never completes. Returns how many; unknown, invalid: 0.
 */
PAWL_API size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                          pawl_op_fn *cancelled);

/*
 * Complete the operation without asking try_complete (Kafka's forceComplete). You must have a hold, unless no other
 * thread knows the operation. true: it is off its keys, has no deadline, and on_complete has returned (but see
 * NESTING). false: it was completed or withdrawn before. A fresh operation can be completed, too: a try_or_watch,
 * even if it has begun, then returns 0, watches nothing, and releases it. If there is none, or it fails, free it
 * yourself.
 */
PAWL_API bool pawl_op_complete(struct pawl_op *op);

/*
 * Has it been completed? Has it been completed by its deadline? True from the moment at which it was won, before
 * on_complete is called; false if it was cancelled or dropped. Ask with a hold, or in any of its functions but
 * try_complete.
 */
PAWL_API bool pawl_op_completed(const struct pawl_op *op);
PAWL_API bool pawl_op_expired(const struct pawl_op *op);

/*
 * Put release off until unhold has been called as often as hold: the last unhold calls release. Call hold before
 * try_or_watch, or in any of its functions but try_complete and release, or while another hold exists that is not
 * given back meanwhile. Before try_or_watch, and after it has failed, holds are only counted.
 */
PAWL_API void pawl_op_hold(struct pawl_op *op);
PAWL_API void pawl_op_unhold(struct pawl_op *op);

/*
 * Hash a key once: *resolved stands for it in every call of this purgatory that takes a key, until unresolve has been
 * called as often as resolve, or until close. Returns 0; or -EINVAL for an invalid key, or -ENOMEM, and *resolved is as
 * it was. At the last unresolve no call that was given *resolved may be under way (so not in an on_complete that such a
 * check has called), and none may follow: it is freed, and one unresolve too many is not noticed. Operations may
 * outlast it. For a key that is not resolved unresolve does nothing.
 */
PAWL_API int pawl_purgatory_resolve(struct pawl_purgatory *purgatory, struct pawl_key key,
                                    struct pawl_key *resolved);
PAWL_API void pawl_purgatory_unresolve(struct pawl_purgatory *purgatory, struct pawl_key resolved);

/* How many pairs of an operation and a key are watched; how many operations wait. Exact if nothing runs beside it. */
PAWL_API size_t pawl_purgatory_watched(const struct pawl_purgatory *purgatory);
PAWL_API size_t pawl_purgatory_delayed(const struct pawl_purgatory *purgatory);

/* Counts since open. Exact if nothing runs beside it. It is large: pass a pointer. */
struct pawl_op_stats {
	uint64_t watched, delayed;   /* now: as the functions above */
	uint64_t completed_by_try;   /* by try_or_watch, at once or in its second try */
	uint64_t completed_by_check; /* by a check */
	uint64_t completed_by_call;  /* by pawl_op_complete, while it waited */
	uint64_t expired, cancelled, dropped;
	struct pawl_histogram lateness; /* of deadlines: to the moment at which one has won */
};
PAWL_API void pawl_purgatory_stats(struct pawl_purgatory *purgatory, struct pawl_op_stats *stats);

/*
 * Refuse every try_or_watch from now on, hand what waits to on_drop and release it, on this thread, and wait for the
 * deadlines that run. The purgatory stays, empty. A second stop only waits for the first. Not from a function that a
 * deadline or stop has called: it would wait for itself, and ends the program with a message.
 */
PAWL_API void pawl_purgatory_stop(struct pawl_purgatory *purgatory);

/*
 * Stop, and free the purgatory with its resolved keys. Close it before you close its service, and better before you
 * stop that: a stopped service runs no deadlines. No other call may be under way or follow, but for operations that you
 * hold: unhold, completed, expired, and a complete that begins after stop, which returns false. NULL is allowed.
 */
PAWL_API void pawl_purgatory_close(struct pawl_purgatory *purgatory);

#ifdef __cplusplus
}
#endif

#endif
