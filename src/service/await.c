/* SPDX-License-Identifier: MIT */
/*
 * User threads that wait: for the end of one run (cancel_wait), or until nothing is due or running (settle).
 *
 * Both set a flag under a shard's lock and sleep on `changed`: a cancel_wait sets `awaited` of the worker that runs its
 * task, a settle sets `settling` of each shard that is not settled. The worker holds that lock anyway when a run ends.
 * It reads the flags then, and locks the mutex only if one is set. So waiting costs the runs nothing: no atomic
 * instruction, no fence, no shared word.
 *
 *	settle                                  a worker
 *	------                                  --------
 *	read changes                            run(task)
 *	lock; not settled: settling = true;     lock; finish; nothing more is due: leave the shard;
 *	unlock                                  settling: clear it; unlock
 *	sleep while changes is the same         changes + 1, wake all that wait
 *
 * A shard becomes settled when a worker leaves it. That is so even if its last due task is cancelled: `ready` was set
 * for that task, so a worker visits the shard and finds nothing.
 */
#define _GNU_SOURCE
#include "shard.h"

void pawl__service_changed(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	service->changes++;
	mutex_unlock(&service->mutex);
	condition_broadcast(&service->changed);
}

/* The worker counts the run and then locks the mutex to broadcast: so this sees the count, or the broadcast. */
void pawl__service_await_run(struct pawl_service *service, struct worker *worker, uint64_t run)
{
	mutex_lock(&service->mutex);
	while (__atomic_load_n(&worker->runs, __ATOMIC_SEQ_CST) == run)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

static uint64_t changes_so_far(struct pawl_service *service)
{
	uint64_t changes;

	mutex_lock(&service->mutex);
	changes = service->changes;
	mutex_unlock(&service->mutex);
	return changes;
}

static void await_change(struct pawl_service *service, uint64_t changes)
{
	mutex_lock(&service->mutex);
	while (service->changes == changes)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

/* If not, a worker will leave the shard and say so. Advances the wheel: a slot may open that makes no task due. */
static bool shard_settled(struct pawl_service *service, struct shard *shard, uint64_t *ran)
{
	uint64_t tick = ticks_down(&service->ticks, clock_now(service));
	struct wakes wakes = {0};
	bool rest;

	lock_acquire(&shard->lock);
	pawl__shard_advance(service, shard, tick, TICK, &wakes);
	rest = settled(shard);
	shard->settling |= !rest;
	*ran += shard->counts[0].ran + shard->counts[1].ran;
	lock_release(&shard->lock);
	wake(service, &wakes);
	return rest;
}

static bool all_settled(struct pawl_service *service, uint64_t *ran)
{
	bool rest = true;

	*ran = 0;
	for (unsigned i = 0; i < service->shard_count; i++)
		rest &= shard_settled(service, &service->shards[i], ran);
	return rest;
}

/*
 * A task may arm another one in a shard that was looked at before. So look at all shards twice: if all of them were
 * settled both times, and no run began in between, then all were settled at the same time.
 */
static void settle_threads(struct pawl_service *service)
{
	bool rest = false, before;
	uint64_t ran = 0, ran_before;

	do {
		uint64_t changes = changes_so_far(service);

		before = rest;
		ran_before = ran;
		rest = all_settled(service, &ran);
		if (!rest)
			await_change(service, changes);
	} while (!before || !rest || ran != ran_before);
}

void pawl_service_settle(struct pawl_service *service)
{
	IN_SERVICE(service);
	pawl__service_refuse_inside_task(service, "pawl_service_settle");
	if (!service->manual)
		settle_threads(service);
	else
		while (pawl_service_poll(service, 0) > 0)
			;
}
