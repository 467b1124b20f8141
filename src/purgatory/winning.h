/* SPDX-License-Identifier: MIT */
/* How an operation is won, and what the winner does then. */
#ifndef PAWL_PURGATORY_WINNING_H
#define PAWL_PURGATORY_WINNING_H

#include "trials.h"

#include <stdlib.h>

static inline uint32_t op_outcome(const struct pawl_op *op)
{
	return __atomic_load_n(&op->outcome, __ATOMIC_ACQUIRE);
}

/* Nobody has won it yet. */
static inline bool op_pending(const struct pawl_op *op)
{
	return op_outcome(op) <= WAITING;
}

/* What is fresh has no home yet, or its bringer is still at it: so without a lock. */
static inline bool op_win_fresh(struct pawl_op *op, uint32_t outcome)
{
	uint32_t fresh = FRESH;

	return __atomic_compare_exchange_n(&op->outcome, &fresh, outcome, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_ACQUIRE);
}

/* Under its home's lock: whoever wins what waits takes it off in the same critical section. */
static inline bool op_win_waiting(struct pawl_op *op, uint32_t outcome)
{
	if (op_outcome(op) != WAITING)
		return false;
	__atomic_store_n(&op->outcome, outcome, __ATOMIC_RELEASE);
	return true;
}

/*
 * Under the lock. Returns 1 if the deadline's reference is the winner's now. Else its function has been called,
 * and will find that it has lost: then it drops its reference itself.
 */
static inline uint32_t op_disarm(struct shard *home, struct pawl_op *op)
{
	if (!op->timed)
		return 0;
	if (pawl__host_cancel(home->host, &op->deadline) || op->over)
		return 1;
	op->late = 1;
	home->expiring++;
	return 0;
}

/* For the winner, under the lock: off its keys, and the deadline away. It has so many references then. */
static inline void clear_off(struct shard *home, struct pawl_op *op, struct leftovers *leftovers)
{
	take_off(home, op, leftovers);
	op->owed = (uint8_t)(1 + op_disarm(home, op));
}

/*
 * Whoever has all the references that are left is alone with the operation: there is nobody who could add
 * or drop one meanwhile, and nothing to count.
 */
static inline void op_drop(struct pawl_op *op, uint32_t references)
{
	if (__atomic_load_n(&op->references, __ATOMIC_ACQUIRE) == references ||
	    __atomic_sub_fetch(&op->references, references, __ATOMIC_ACQ_REL) == 0)
		op->type->release(op);
}

static inline void free_more(struct pawl_op *op)
{
	if (op->more)
		free(op->more);
}

/* Outside of the lock. */
static inline void clear_up(const struct leftovers *leftovers)
{
	if (leftovers->retired)
		pawl__places_free(leftovers->retired);
}

/* For the winner, outside of the lock. A bringer that was abandoned may read them still, and frees them. */
static inline void free_more_of_won(struct pawl_op *op)
{
	if (!(op_places(op) & ABANDONED))
		free_more(op);
}

#endif
