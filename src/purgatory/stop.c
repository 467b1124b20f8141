/* SPDX-License-Identifier: MIT */
/* Stopping a purgatory: every operation is dropped, and every function that a deadline has called has returned. */
#define _GNU_SOURCE
#include "table.h"

static void refuse_nested_stop(const struct pawl_purgatory *purgatory)
{
	const struct nested_call *call = pawl__purgatory_thread.nested;

	while (call && call->purgatory != purgatory)
		call = call->outer;
	if (call)
		pawl__mistake("pawl_purgatory_stop",
		              "it was called in a function that a deadline, stop or the live "
		              "view of the same purgatory has called, and would wait for "
		              "itself: call it on another thread");
}

static void close_shard(struct op_shard *shard)
{
	lock_acquire(&shard->lock);
	__atomic_store_n(&shard->closed, true, __ATOMIC_RELAXED);
	lock_release(&shard->lock);
}

static void drop(struct pawl_op *op)
{
	if (op->type->on_drop)
		op->type->on_drop(op);
}

static void stop_once(struct pawl_purgatory *purgatory)
{
	struct thread *thread = &pawl__purgatory_thread;
	struct nested_call call = {purgatory, thread->nested};

	thread->nested = &call;
	/* The live view may have references. */
	pawl__service_hide_part(purgatory->service, &purgatory->part);
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		close_shard(&purgatory->shards[i]);
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		pawl__shard_withdraw_all(&purgatory->shards[i], drop);
	thread->nested = call.outer;
	pawl__alarms_stop(purgatory);
}

/*
 * A second stop waits for the mutex. The first one holds it while it calls on_drop, which may acquire any lock: so the
 * names in parentheses, the functions themselves, for which lock.h asserts no order.
 */
void pawl_purgatory_stop(struct pawl_purgatory *purgatory)
{
	IN_PURGATORY(purgatory);
	refuse_nested_stop(purgatory);
	(mutex_lock)(&purgatory->stopping);
	if (!purgatory->stopped)
		stop_once(purgatory);
	purgatory->stopped = true;
	(mutex_unlock)(&purgatory->stopping);
}
