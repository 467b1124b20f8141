/* SPDX-License-Identifier: MIT */
/*
 * The watch: one worker at a time sleeps until the first slot of some wheel opens. It is Kafka's
 * ExpiredOperationReaper, without its waking every 200 ms to see whether there is something, and without
 * a thread of its own. Whoever finds nothing to run takes the watch, if nobody has it; the other idle
 * workers sleep until they are called.
 *
 *	worker 1                                worker 2
 *	--------                                --------
 *	takes the watch                         somebody has it: counts itself idle, and sleeps
 *	sleeps until the next slot opens
 *	leaves the watch, opens the slot
 *	nobody has the watch: calls an idle one
 *	runs what is due                        wakes up; runs what else is due, or takes the watch
 *
 * So what is due runs on the thread that woke for it: with one worker a tick costs one wake-up, and with
 * more the second one is in nobody's way.
 */
#define _GNU_SOURCE
#include "placing.h"

/* Others that wait for the lock have their chance between two batches. */
static void let_others_in(struct shard *shard)
{
	lock_give(&shard->lock);
	for (int i = 0; i < SPINS_BEFORE_YIELD / 2; i++)
		relax_cpu();
	lock_take(&shard->lock);
}

/*
 * Advance the shard's wheel, a batch of moves at a time, to the end or until something is due: to run that
 * first, while it is in the cache, is quicker than to make all of a backlog due and then run it. Where it
 * stopped is what the shard is promised then. True if anything moved or is due.
 */
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick,
                         enum advance_to end, struct wakes *wakes)
{
	size_t moves, all = 0;
	bool due = false;

	lock_take(&shard->lock);
	for (;;) {
		moves = pawl_wheel_advance(shard->wheel, tick, BATCH);
		all += moves;
		due |= moves && anything_due(shard);
		if (pawl_wheel_now(shard->wheel) >= tick || (due && end == FIRST_DUE))
			break;
		let_others_in(shard);
	}
	if (due)
		mark_ready(shard, wakes);
	promise_anew(service, shard, pawl_wheel_next_opening(shard->wheel), wakes);
	count_moves(service, all);
	lock_give(&shard->lock);
	return all > 0;
}

/* Open what was promised for now. Those of the service's threads that are idle learn of it. */
void pawl__service_open_promised(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {false, false};
	unsigned moved = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		if (__atomic_load_n(&shard->promised, __ATOMIC_SEQ_CST) <= tick)
			moved += pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
	}
	wakes.worker = moved > 1; /* one shard's tasks are for the thread that is here */
	wake(service, &wakes);
}

static uint64_t first_promise(const struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		uint64_t promised = __atomic_load_n(&service->shards[i].promised, __ATOMIC_SEQ_CST);

		first = promised < first ? promised : first;
	}
	return first;
}

/* What must be looked at before sleeping, after `sleeps_until` has been said. */
static bool must_stay_awake(const struct pawl_service *service, uint64_t until)
{
	return first_promise(service) < until ||
	       __atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST) ||
	       pawl__service_anything_ready(service);
}

/* Sleep until the first promise; with a wake() at the latest. Returns which one, or 0 if it did not sleep. */
static uint64_t sleep_until_promise(struct pawl_service *service, uint64_t tick)
{
	uint64_t until = first_promise(service);
	bool sleeps = until > tick || until == PAWL_NEVER;

	if (!sleeps)
		return 0;
	__atomic_store_n(&service->sleeps_until, until, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&service->settling, __ATOMIC_SEQ_CST))
		pawl__service_changed(service);
	sleeps = !must_stay_awake(service, until);
	if (sleeps)
		service->clock->wait(service->clock, ns_of_tick(&service->ticks, until));
	__atomic_store_n(&service->sleeps_until, 0, __ATOMIC_SEQ_CST);
	return sleeps ? until : 0;
}

static void count_wakeup(struct pawl_service *service, bool empty)
{
	__atomic_add_fetch(&service->wakeups, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&service->empty_wakeups, empty, __ATOMIC_RELAXED);
}

/* A wake-up is empty if its time had come and, since before that sleep, nobody found anything to move. */
static void keep_watch(struct pawl_service *service, uint64_t tick)
{
	uint64_t moves = __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST);
	uint64_t until = sleep_until_promise(service, tick);

	if (until == 0)
		return;
	tick = ticks_down(&service->ticks, clock_now(service));
	pawl__service_open_promised(service, tick);
	count_wakeup(service, until <= tick && until != PAWL_NEVER &&
	                              moves == __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST));
}

/* It is left before anything is run: whoever runs something next looks whether to call an idle worker. */
bool pawl__service_keep_watch(struct pawl_service *service, uint64_t tick)
{
	if (__atomic_exchange_n(&service->watched, true, __ATOMIC_SEQ_CST))
		return false;
	keep_watch(service, tick);
	__atomic_store_n(&service->watched, false, __ATOMIC_SEQ_CST);
	return true;
}
