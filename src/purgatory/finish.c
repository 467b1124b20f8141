/* SPDX-License-Identifier: MIT */
/* An operation by itself: its beginning, its holds, its deadline, and its end. */
#define _GNU_SOURCE
#include "winning.h"

_Thread_local struct thread pawl__purgatory_thread;

static struct pawl_op *op_of(struct pawl_task *task)
{
	return (struct pawl_op *)((char *)task - offsetof(struct pawl_op, deadline));
}

/*
 * In the order in which they were completed. (The watches of a completed operation are no place for the
 * link: a try_or_watch that does not know yet that it was completed while fresh may be linking them.)
 */
static void defer(struct thread *thread, struct pawl_op *op, uint32_t references)
{
	op->deferred = NULL;
	op->owed = (uint8_t)references; /* at most 2 */
	if (thread->deferred)
		thread->last_deferred->deferred = op;
	else
		thread->deferred = op;
	thread->last_deferred = op;
}

static void run_deferred(struct thread *thread)
{
	while (thread->depth >= MAX_DEPTH && thread->deferred) {
		struct pawl_op *op = thread->deferred;

		thread->deferred = op->deferred;
		op->type->on_complete(op);
		op_drop(op, op->owed);
	}
}

/*
 * The functions of a completed operation, and then the references that its winner has. They nest as calls do,
 * down to MAX_DEPTH. There they are put off, and whoever is that deep calls them one after the other
 * before it returns. False: put off.
 */
bool pawl__op_run_completed(struct pawl_op *op, uint32_t references)
{
	struct thread *thread = &pawl__purgatory_thread;

	if (thread->depth >= MAX_DEPTH) {
		defer(thread, op, references);
		return false;
	}
	thread->depth++;
	op->type->on_complete(op);
	op_drop(op, references);
	run_deferred(thread);
	thread->depth--;
	return true;
}

/* Once closed, who stops may be waiting for just this; and when it goes on, the shard may be gone. */
static void end_expiring(struct shard *home)
{
	struct pawl_purgatory *purgatory = home->purgatory;
	bool closed;

	shard_lock(home);
	closed = home->closed;
	home->expiring -= !closed;
	shard_unlock(home);
	if (!closed)
		return;
	pthread_mutex_lock(&purgatory->mutex);
	shard_lock(home);
	home->expiring--;
	shard_unlock(home);
	pthread_cond_broadcast(&purgatory->changed);
	pthread_mutex_unlock(&purgatory->mutex);
}

static void run_expired(struct pawl_op *op)
{
	pawl__purgatory_thread.depth++;
	op->type->on_complete(op);
	if (op->type->on_expire)
		op->type->on_expire(op);
	op_drop(op, 2); /* the winner's and the deadline's */
	run_deferred(&pawl__purgatory_thread);
	pawl__purgatory_thread.depth--;
}

/* How a deadline has ended. */
enum expiry {
	EXPIRED, /* it has won */
	LOST,    /* to a winner who counts it as expiring, and has left its reference to it */
	DROPPED, /* the operation waits on, and its winner will have the reference */
};

/* Under the lock. */
static enum expiry end_deadline(struct pawl_op *op, struct shard *home, bool dropped,
                                struct leftovers *leftovers)
{
	if (op->late)
		return LOST;
	if (dropped) {
		op->over = 1;
		return DROPPED;
	}
	op_win_waiting(op, COMPLETED);
	home->expiring++;
	take_off(home, op, leftovers);
	op_abandon(home, op);
	return EXPIRED;
}

static void run_deadline(struct pawl_op *op, struct shard *home, bool dropped)
{
	struct leftovers leftovers = {NULL};
	enum expiry end;

	shard_lock(home);
	end = end_deadline(op, home, dropped, &leftovers);
	shard_unlock(home);
	if (end == DROPPED)
		return;
	if (end == EXPIRED) {
		free_more_of_won(op);
		clear_up(&leftovers);
		run_expired(op);
	} else {
		op_drop(op, 1);
	}
	end_expiring(home);
}

/*
 * A task of the service: the deadline has come. Or the service was stopped, against what is asked, before
 * the purgatory: then the operation waits on, without one, and its winner will have the reference.
 */
static void expire(struct pawl_task *task)
{
	struct pawl_op *op = op_of(task);
	struct shard *home = op->home;
	struct thread *thread = &pawl__purgatory_thread;
	struct inside inside = {home->purgatory, thread->inside};

	thread->inside = &inside;
	run_deadline(op, home, pawl__service_drops(task));
	thread->inside = inside.outer;
}

void pawl_op_init(struct pawl_op *op, const struct pawl_op_type *type)
{
	op->type = type;
	op->home = NULL;
	op->more = NULL;
	op->watch_count = 0;
	op->outcome = FRESH;
	op->references = 2; /* the purgatory's, and try_or_watch's: see layout.h */
	op->places = 0;
	op->timed = op->late = op->over = 0;
	pawl_task_init(&op->deadline, expire);
}

void pawl_op_hold(struct pawl_op *op)
{
	__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
}

void pawl_op_unhold(struct pawl_op *op)
{
	op_drop(op, 1);
}

bool pawl_op_completed(const struct pawl_op *op)
{
	return __atomic_load_n(&op->outcome, __ATOMIC_ACQUIRE) == COMPLETED;
}

static struct shard *op_home(const struct pawl_op *op)
{
	return __atomic_load_n(&op->home, __ATOMIC_ACQUIRE);
}

/*
 * Not if it was refused meanwhile for want of a service, and waits elsewhere now. (The outcome is looked at
 * first: what waits keeps its home.)
 */
static bool complete_waiting(struct pawl_op *op, struct shard *home)
{
	struct leftovers leftovers = {NULL};
	bool won;

	shard_lock(home);
	won = op_outcome(op) == WAITING && op_home(op) == home && op_win_waiting(op, COMPLETED);
	if (won) {
		clear_off(home, op, &leftovers);
		op_abandon(home, op);
	}
	shard_unlock(home);
	if (!won)
		return false;
	clear_up(&leftovers);
	free_more_of_won(op);
	pawl__op_run_completed(op, op->owed);
	return true;
}

/*
 * A fresh operation is on no key, and try_or_watch will find out that it is late. One that waits may be fresh
 * again if its deadline could not be armed: then look again.
 */
bool pawl_op_complete(struct pawl_op *op)
{
	uint32_t outcome;

	while ((outcome = op_outcome(op)) <= WAITING) {
		struct shard *home = op_home(op);

		if (outcome == FRESH && op_win_fresh(op, COMPLETED)) {
			pawl__op_run_completed(op, 1);
			return true;
		}
		if (outcome == WAITING && home && complete_waiting(op, home))
			return true;
	}
	return false;
}
