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
 * Whoever has all the references that are left is alone with the operation: there is nobody who could add
 * or drop one meanwhile, and nothing to count.
 */
static inline void op_drop(struct pawl_op *op, uint32_t references)
{
	if (__atomic_load_n(&op->references, __ATOMIC_ACQUIRE) == references ||
	    __atomic_sub_fetch(&op->references, references, __ATOMIC_ACQ_REL) == 0)
		op->type->release(op);
}

/* The memory of further watches is freed by the bringer that was abandoned, if any: it may read them. */
static inline void free_more(struct pawl_op *op)
{
	if (op->more)
		free(op->more);
}

/* Its deadline, too. Returns the references that the winner has now. */
static inline uint32_t op_clear(struct pawl_op *op, struct shard *home)
{
	if (!(op_places(op) & ABANDONED))
		free_more(op);
	return 1 + (op->timed ? pawl__op_disarm(op, home) : 0);
}

/* Outside of the lock. */
static inline void clear_up(struct pawl_purgatory *purgatory, const struct leftovers *leftovers)
{
	if (leftovers->retired)
		pawl__places_free(leftovers->retired);
	if (leftovers->closed)
		pawl__purgatory_changed(purgatory);
}

#endif
