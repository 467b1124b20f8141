/* SPDX-License-Identifier: MIT */
/*
 * pawl/purgatory.h: operations that wait for a condition or a deadline, whichever comes first.
 *
 * A request cannot be answered yet: not all replicas have its data, there is nothing to read, the other
 * side has not replied. It is put aside under the keys of what it waits for, with a deadline. Whoever
 * changes something checks the key of what has changed, and the operations that have become completable
 * are completed, each exactly once, however many threads check at the same time and whatever the
 * deadline does. This is Kafka's DelayedOperationPurgatory.
 *
 *	struct fetch { struct pawl_op op; struct partition *from; ... };
 *
 *	static bool enough(struct pawl_op *op) { ... }    // can it complete now? a question only
 *	static void answer(struct pawl_op *op) { ... }    // exactly once
 *	static void dispose(struct pawl_op *op) { ... }   // last: nobody has a pointer to it any more
 *
 *	static const struct pawl_op_type type =
 *		{.try_complete = enough, .on_complete = answer, .release = dispose};
 *
 *	pawl_service_open(&service, NULL);                // its threads run the deadlines
 *	pawl_purgatory_open(&purgatory, service, NULL);   // both: 0, or an error
 *
 *	pawl_op_init(&fetch->op, &type);
 *	error = pawl_purgatory_try_or_watch(purgatory, &fetch->op, keys, 3, 30 * SECOND);
 *	...
 *	append(partition, records);                            // elsewhere: something has changed,
 *	pawl_purgatory_check(purgatory, partition->key);       // so look who waited for it
 *	...
 *	pawl_purgatory_close(purgatory);                       // what still waits is dropped
 *	pawl_service_close(service, NULL);
 *
 *
 * The life of an operation
 *
 *	pawl_op_init
 *	     |
 *	     v    try_or_watch: try_complete says yes;
 *	   fresh --------------------------------------+
 *	     |    or pawl_op_complete                  |
 *	     | try_or_watch: no. Watched under         |
 *	     | all its keys                            |
 *	     v                                         v
 *	  waiting ---------------------------------> completed ---> on_complete ---> [on_expire] ---+
 *	     |      try_or_watch tries again: yes                                    only if the    |
 *	     |      (no: the deadline is armed); a check                             deadline won   |
 *	     |      whose try_complete says yes;                                                    |
 *	     |      pawl_op_complete; the deadline                                                  |
 *	     |                                                                                      |
 *	     +-- cancel_key ---> taken out ---> cancelled(op) --------------------------------------+
 *	     |                                                                                      |
 *	     +-- stop ---------> taken out ---> on_drop --------------------------------------------+
 *	                                                                                            |
 *	                  the memory is yours again <--- release <--- the last hold is given back --+
 *
 * One step, under one lock, decides which of the six ways out of `waiting` it is. In that step the winner takes
 * the operation off every key and takes its deadline away, or, if that has just been called, tells it that it
 * came second; then it calls your functions. Nothing lingers anywhere.
 *
 * No trigger is lost. Whoever changes something and then checks its key either finds the operation
 * watched there, or has changed it before the second try looked:
 *
 *	try_or_watch                            elsewhere
 *	------------                            ---------
 *	try_complete: no
 *	                                        change something
 *	                                        check(key): the operation is not there yet
 *	watched under key
 *	try_complete: yes, sees the change
 *
 *
 * Memory: who frees what
 *
 * An operation's memory is yours, embedded in a struct of yours, at a place that does not move. It has to
 * stay from try_or_watch until `release`, in which you may free it, or initialise it again for another
 * life. Release is called exactly once, after everything else, when no thread can touch the operation
 * any more: neither the winner, nor a check that is just trying it, nor a deadline that came second, nor
 * anybody with a hold. It comes on the thread that lets go last, whichever that is.
 *
 * So once try_or_watch has returned 0 or 1 the operation may be gone already. Whoever wants to touch it
 * afterwards, say because a table of requests has a pointer to it, needs a hold:
 *
 *	pawl_op_init(&request->op, &type);
 *	pawl_op_hold(&request->op);                             // the table's hold, and one to send it
 *	pawl_op_hold(&request->op);                             // with, both taken before...
 *	lock(table); insert(table, request); unlock(table);
 *	error = pawl_purgatory_try_or_watch(...);               // ...anybody could let go
 *	if (error >= 0) {
 *		send(request);                                  // though its time may be up already
 *		pawl_op_unhold(&request->op);
 *	}
 *
 *	lock(table);                                            // the reply has come: find the request
 *	request = find_and_remove(table, id);                   // whoever removes it has the table's hold
 *	unlock(table);
 *	if (request) {
 *		pawl_op_complete(&request->op);                 // false: somebody was faster
 *		pawl_op_unhold(&request->op);                   // after this it may be gone
 *	}
 *
 * The deadline finds no request in a table: on_complete has to take it out, and so have on_drop and
 * cancelled, or the table's hold keeps it for ever:
 *
 *	lock(table);
 *	found = remove(table, request);                         // false: it is a reply that has taken it
 *	unlock(table);
 *	if (found)
 *		pawl_op_unhold(&request->op);
 *
 * If try_or_watch fails there is no release: take the request out of the table again yourself. So let
 * nobody else complete it (do not send it, say) before try_or_watch has returned. All of it is in
 * examples/rpc-timeout.c.
 *
 * A key's bytes are yours and may go when the call returns: the purgatory copies them when it first needs
 * them, and forgets the key with its last operation.
 *
 *
 * Which calls may run together
 *
 *	                        beside itself and each other,   from inside on_complete, on_expire,
 *	                        on the same key or operation    on_drop, cancelled and release
 *	try_or_watch            yes; one call an operation      yes
 *	check, cancel_key       yes                             yes
 *	complete, completed     yes, with a hold                yes
 *	hold, unhold            yes, with a hold                yes; no hold in its own release
 *	resolve                 yes                             yes
 *	unresolve               yes, the last one see there     yes, the last one see there
 *	watched, delayed        yes                             yes
 *	stop                    yes                             not where a deadline or stop has called
 *	close                   no: alone, and last             no
 *	pawl_op_init            no: alone, and first            in release, for the operation released
 *
 * try_complete calls nothing of this library.
 *
 *
 * Locks, and the one deadlock
 *
 * Your functions are called with no lock of the library's held, but for try_complete: no two threads are in
 * try_complete of the same operation at the same time. (It may run beside on_complete of the same
 * operation, since pawl_op_complete and the deadline wait for nobody.) No thread waits for that lock either: a
 * check that finds another thread inside asks it to try once more, and that thread does so before it calls
 * on_complete of another operation. (Only after 16 such requests in a row does it call on_complete in between.)
 *
 * So the library cannot deadlock by itself. What is left is a lock of yours, held while you call the
 * library, which one of the functions takes that are called in turn:
 *
 *	thread 1                                thread 2
 *	--------                                --------
 *	lock(partition P)                       lock(partition Q)
 *	check(key of P)                         check(key of Q)
 *	  try_complete(a)                         try_complete(b)
 *	    lock(partition Q)  waits                lock(partition P)  waits
 *	                        neither ever goes on
 *
 * (or, with one thread, try_complete that wants the lock which its own caller has). The way out: change
 * under your lock, unlock, and check then. Hold no lock in a call of try_or_watch, check, complete,
 * cancel_key, unhold, stop or close that any try_complete, on_complete, on_expire, on_drop, cancelled or
 * release takes. (stop and close call on_drop themselves, and wait for the deadlines that are running.)
 *
 *
 * Chains
 *
 * on_complete may check other keys, start operations and complete others, whose on_complete may do so
 * again, without end. They are called at once, inside the call that has completed them, up to 16 deep. What
 * is completed by a call made at that depth has its on_complete called on the same thread as soon as the
 * on_complete at that depth has returned: so the stack has a bound, and still, when a call that you
 * make outside of any on_complete returns, on_complete has returned for all that it has completed. Of the
 * others, release, on_drop and cancelled, calls nest as deep as you nest them.
 *
 *
 * After fork() the child may only exec or exit. No call is async-signal-safe. Your functions must not throw
 * C++ exceptions. NULL is no purgatory and no operation, but for close.
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

/* Any bytes, also none. Two keys are equal if their bytes are. Borrowed for the time of a call. */
struct pawl_key {
	const void *data;
	size_t len; /* or PAWL_RESOLVED: `data` is from pawl_purgatory_resolve */
};

#define PAWL_RESOLVED SIZE_MAX

/* A kind of operation. Borrowed: it must outlive its operations. Two of the five may be NULL. */
struct pawl_op_type {
	/*
	 * Can it complete now? A question only: called at any time, any number of times, by any thread,
	 * but by one at a time. It may take locks of yours; it calls nothing of this library.
	 */
	bool (*try_complete)(struct pawl_op *op);

	/*
	 * It is completed. Exactly once, under no lock, on the thread that has won: for a deadline one of the
	 * service's, or with PAWL_MANUAL whichever polls.
	 */
	void (*on_complete)(struct pawl_op *op);

	/* After on_complete, on the same thread, if the deadline has won. May be NULL. */
	void (*on_expire)(struct pawl_op *op);

	/* Instead of on_complete, on the thread that stops the purgatory. May be NULL. */
	void (*on_drop)(struct pawl_op *op);

	/* Last, exactly once: nobody has a pointer to it any more. It may free the operation. */
	void (*release)(struct pawl_op *op);
};

#define PAWL_OP_WATCHES 4 /* keys for which an operation has room in itself */

/* An operation under a further key. Its fields are private. */
struct pawl_watch {
	uintptr_t next, *link;
	struct pawl_op *op;
	void *place;
} __attribute__((aligned(8)));

/* An operation. Embed it and initialise it before its first use; its fields are private. */
struct pawl_op {
	struct pawl_task deadline;
	struct pawl_op *deferred;
	struct pawl_watch *more;
	void *home;
	uintptr_t *link[PAWL_OP_WATCHES];
	void *place[PAWL_OP_WATCHES];
	uint32_t outcome, references, watch_count;
	uint8_t timed, late, over, owed;

	/* All that a check in vain reads, beside what follows in your struct. */
	uintptr_t next[PAWL_OP_WATCHES];
	uint64_t places __attribute__((aligned(8)));
	const struct pawl_op_type *type;
} __attribute__((aligned(8)));

/* The operation is fresh afterwards. Not between try_or_watch (0 or 1) and the call of release. */
PAWL_API void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type);

/*
 * Keep the operation from being released until as many calls of unhold. Only where it cannot be released
 * meanwhile: before try_or_watch, in one of its functions other than try_complete and release, or where
 * another hold exists that cannot be given back just now. unhold that lets go last calls release before it
 * returns.
 *
 * Holds of an operation that try_or_watch has not taken (not called yet, or below 0) are only counted.
 */
PAWL_API void pawl_op_hold(struct pawl_op *op);
PAWL_API void pawl_op_unhold(struct pawl_op *op);

/*
 * Complete it without asking try_complete (Kafka's forceComplete). You must have a hold, unless
 * it is still yours alone.
 *
 * true   this call has completed it: off its keys, without deadline, and on_complete has returned (see
 *        "Chains").
 * false  somebody else was faster: it is, or is about to be, completed, cancelled or dropped.
 *
 * A fresh operation can be completed, too: a try_or_watch that finds it so, or has begun already, returns 0
 * and watches nothing, and release follows. If that call fails, or there is none, it is not released.
 */
PAWL_API bool pawl_op_complete(struct pawl_op *op);

/*
 * Whether it has been completed, by whomever: then on_complete has been called, is running or is about to be
 * called. False if it was cancelled or dropped. You must have a hold, or be in one of its
 * functions other than try_complete.
 */
PAWL_API bool pawl_op_completed(const struct pawl_op *op);

/* Zeroes, or a NULL pointer in place of the whole struct, mean the defaults. */
struct pawl_purgatory_options {
	unsigned shards; /* 1 to 1024, rounded up to a power of two; 0: as the service, at most 64 */
};
/*
 * Operations are spread over shards by the thread that brings them, so that threads do not get in each
 * other's way; a check looks at all of them. Each uses the lock of a shard of the service, so there is no use in
 * more than the service has; and with a service of one shard all threads share one lock.
 */

/*
 * Open a purgatory whose deadlines run on the service, which is borrowed until close.
 *
 * 0         *purgatory is yours, to be closed with pawl_purgatory_close, before the service.
 * -EINVAL   shards is above 1024.
 * -ENOMEM   no memory.
 * another   what getrandom(2) failed with: keys are hashed with a secret, so that nobody can choose keys
 *           that collide.
 * After an error nothing is left behind, and *purgatory is as it was.
 */
PAWL_API int pawl_purgatory_open(struct pawl_purgatory **purgatory, struct pawl_service *service,
                                 const struct pawl_purgatory_options *options);

/*
 * Try to complete the operation; if it cannot be, watch it under all the keys, try again, and arm the
 * deadline (PAWL_NEVER: none), which is timeout_ns after the end of the first try. (It is armed after the
 * second, so it cannot come before that has returned.) Equal keys count once. Kafka's tryCompleteElseWatch.
 *
 * 1           this call has completed it, and on_complete has returned. Release follows, or has been called.
 * 0           it waits; or has waited, and somebody else has completed it already, or taken it out; or was
 *             completed while fresh; or this call has completed it 16 deep in a chain, and on_complete follows.
 * Below 0 the operation is as it was: fresh and yours but with -EBUSY, and not released even if it was completed
 * while fresh; try_complete may have been called, nothing else:
 * -EINVAL     no keys (or `keys` is NULL), or more than 2^32-1; a key of NULL and not 0 bytes; a resolved
 *             key of another purgatory; no type, or one without try_complete, on_complete or release.
 * -EBUSY      it was given to try_or_watch before. It goes on, and is released in the end: do not free it.
 * -ENOMEM     no memory for a key that was not known, or for more than 4 keys.
 * -ESHUTDOWN  the purgatory was stopped; or its service was, and there is a deadline to arm.
 * Where several apply it is -EINVAL, else -EBUSY, else the -ESHUTDOWN of a stopped purgatory.
 *
 * It allocates nothing if there are at most 4 keys and this thread knows each: it has watched something
 * under it since it was resolved, or it has brought another operation that is watched under it now. Of a
 * resolved key the first thread to watch under it needs no memory either. An operation takes
 * sizeof(struct pawl_op) bytes with up to 4 keys, and 32 for each further one. A timeout of 0 is a deadline
 * that is due at once; on_complete then still comes from the service, not from this call. A deadline
 * is never early. It counts in the service's pending and statistics, but not against its max_pending.
 */
PAWL_API int pawl_purgatory_try_or_watch(struct pawl_purgatory *purgatory, struct pawl_op *op,
                                         const struct pawl_key *keys, size_t nkeys,
                                         uint64_t timeout_ns);

/*
 * Something about the key has changed: try each operation that is watched under it when the call begins,
 * once, in no particular order. (Of those watched while it runs it may try some.) Returns how many this
 * call has completed; on_complete has returned for each (see "Chains"). A key that is unknown or
 * invalid gives 0.
 *
 * An operation that another thread is just trying is left to that thread, which tries it once more for
 * this call; and if another thread is just checking the same key, it does so once more, as soon as on_complete
 * has returned for what it has completed so far. Then something may be completed a little after this call
 * has returned, and does not count here. And a thread is kept in check, or in try_or_watch, for as long as
 * others check the same operations faster than it tries them.
 */
PAWL_API size_t pawl_purgatory_check(struct pawl_purgatory *purgatory, struct pawl_key key);

/*
 * Take the operations that are watched under the key when the call begins out of the purgatory altogether,
 * off all their keys and their deadline, and hand each to `cancelled` (which may be NULL): not completed,
 * and it never will be. Then it is released. Returns how many: 0 for a key that is unknown or invalid.
 */
PAWL_API size_t pawl_purgatory_cancel_key(struct pawl_purgatory *purgatory, struct pawl_key key,
                                          pawl_op_fn *cancelled);

/*
 * For a key that is used many times: look it up once. *resolved then stands for the key in every call of
 * this purgatory that takes one, and is not hashed, looked up or made again. The key is known until as many
 * calls of unresolve or until close; operations may outlast that. It takes some 300 bytes and 8 a shard,
 * and some 80 for each further shard that has watched something under it. The bytes are copied if need be.
 * Resolving a resolved key counts once more. A stopped purgatory resolves keys as ever.
 *
 * The last unresolve ends it: no call that was given *resolved may still be under way then, or follow. (So
 * not from an on_complete that a check of the same *resolved has called.) Of a key that is not resolved, or
 * is one of another purgatory, unresolve does nothing.
 *
 * 0         *resolved is set.
 * -EINVAL   a key of NULL and not 0 bytes, or a resolved one of another purgatory.
 * -ENOMEM   no memory. After an error *resolved is as it was.
 */
PAWL_API int pawl_purgatory_resolve(struct pawl_purgatory *purgatory, struct pawl_key key,
                                    struct pawl_key *resolved);
PAWL_API void pawl_purgatory_unresolve(struct pawl_purgatory *purgatory, struct pawl_key resolved);

/*
 * How many pairs of an operation and a key are watched, and how many operations wait. Both are exact
 * whenever no other call runs beside them, and no deadline: what is completed or taken out counts no more.
 */
PAWL_API size_t pawl_purgatory_watched(const struct pawl_purgatory *purgatory);
PAWL_API size_t pawl_purgatory_delayed(const struct pawl_purgatory *purgatory);

/*
 * Refuse every try_or_watch from now on, take out what waits, hand each to its on_drop and release it, on
 * this thread; and wait for the deadlines whose functions are running. Whatever a check, complete or
 * deadline wins before that is completed as ever. The purgatory stays; it is empty. (What is held is
 * released by unhold; what another thread is trying at that moment, by that thread.) A second stop does
 * nothing but wait for the first. Not from a function that a deadline or stop itself has called: it
 * would wait for itself, and so ends the program with a message.
 */
PAWL_API void pawl_purgatory_stop(struct pawl_purgatory *purgatory);

/*
 * Stop, and free the purgatory, with what was resolved: before its service is closed, and better before that
 * is stopped, for then what waits goes on waiting without its deadline. No other call may be under way or
 * follow, but for those on operations that are still held: unhold, completed, and a complete that begins
 * after stop has returned, which is false. NULL is allowed.
 */
PAWL_API void pawl_purgatory_close(struct pawl_purgatory *purgatory);

#ifdef __cplusplus
}
#endif

#endif
