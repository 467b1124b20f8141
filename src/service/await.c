/* SPDX-License-Identifier: MIT */
/*
 * Threads of the user's that wait: for the end of one run (cancel_wait), and for all that is due (settle).
 *
 * Both leave a flag under a shard's lock and sleep on `changed`: a cancel_wait with the worker that runs its
 * task (`awaited`), a settle with each shard that is not at rest (`settling`). The worker has that lock
 * anyway when a run ends. It reads the flags there, and takes the mutex only if one is set: so a run costs
 * nothing more because others might wait for it, neither an atomic instruction nor a fence nor a shared word.
 *
 *	settle                                  a worker
 *	------                                  --------
 *	read changes                            run(task)
 *	lock; not at rest: settling = true;     lock; finish; nothing more is due: leave the shard;
 *	unlock                                  settling: clear it; unlock
 *	sleep while changes is the same         changes + 1, wake all that wait
 *
 * A shard that is not at rest comes to rest by a worker that leaves it. That holds for a due task that is
 * cancelled, too: `ready` was set for it, so a worker comes, and finds nothing.
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

/* The worker takes the mutex after it has counted the run: so either that is seen, or the call is. */
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

/* If it is not, a worker will leave it, and tell. Slots that only move tasks down are opened here. */
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
 * A task may arm another one in a shard that has been looked at. So look at all shards twice: if both times all of
 * them were at rest, and no run began in between, then all were at rest at the same time.
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
	pawl__service_refuse_inside_task(service, "pawl_service_settle");
	if (!service->manual)
		settle_threads(service);
	else
		while (pawl_service_poll(service, 0) > 0)
			;
}
