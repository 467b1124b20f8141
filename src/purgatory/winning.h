/* SPDX-License-Identifier: MIT */
/* How an operation is won, and what the winner does then. */
#ifndef PAWL_PURGATORY_WINNING_H
#define PAWL_PURGATORY_WINNING_H

#include "linking.h"

#include <stdlib.h>

/* Nobody has won it yet. */
static inline bool op_pending(const struct pawl_op *op)
{
	return __atomic_load_n(&op->outcome, __ATOMIC_ACQUIRE) <= WAITING;
}

static inline bool op_move(struct pawl_op *op, uint32_t *from, uint32_t to)
{
	return __atomic_compare_exchange_n(&op->outcome, from, to, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_ACQUIRE);
}

static inline bool op_win_waiting(struct pawl_op *op, uint32_t outcome)
{
	uint32_t waiting = WAITING;

	return op_move(op, &waiting, outcome);
}

static inline bool op_win_fresh(struct pawl_op *op, uint32_t outcome)
{
	uint32_t fresh = FRESH;

	return op_move(op, &fresh, outcome);
}

/* From either; *was says from which. */
static inline bool op_win(struct pawl_op *op, uint32_t outcome, uint32_t *was)
{
	*was = WAITING;
	while (!op_move(op, was, outcome))
		if (*was > WAITING)
			return false;
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

/* The memory of further watches is freed by the claimer that was abandoned, if any: it may read them. */
static inline void free_more(struct pawl_op *op)
{
	if (op->more)
		free(op->more);
}

/* Its deadline, too. Returns the references that the winner has now. */
static inline uint32_t op_clear(struct pawl_op *op, struct shard *home)
{
	if (op->claim != ABANDONED)
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
