/* SPDX-License-Identifier: MIT */
/*
 * How workers sleep and are woken. The whole protocol is here and in sleep.h, which has the few lines of it
 * that are inlined into arming.
 *
 * A worker that finds nothing to run sleeps in one of two roles:
 *
 *	leader      at most one. It sleeps for all, by the service's clock, until the least `promised` of all
 *	            shards: when the first slot of some wheel opens or, with many tasks, can be opened ahead.
 *	follower    every other one. It sleeps on the condition variable `called` until it is called.
 *
 *	worker 1                                worker 2
 *	--------                                --------
 *	no leader: becomes the leader           there is a leader: becomes a follower
 *	sleeps until the next slot opens        sleeps
 *	resigns, and opens the slot
 *	takes a task, sees no leader:
 *	  calls a follower
 *	runs the task                           wakes up; runs what else is due, or becomes the leader
 *
 * So a due task runs on the thread that woke for it: with one worker a tick costs one wake-up, and with more
 * the second one delays nobody. It is Kafka's ExpiredOperationReaper without a thread of its own, and
 * without waking every 200 ms. What is given up: while every worker runs a task, nobody advances the wheels;
 * but nobody could run what would become due, either.
 *
 * When to wake. An arming that makes its task due, or an advance that does, wakes a worker: a follower, or the
 * leader if there is no follower. An arming for later wakes the leader, and only if the leader would sleep
 * past it: most armings are not earlier than their shard's promise, and look at nothing else. A cancel wakes
 * nobody and leaves the promise: the leader may wake once for nothing, which `empty_wakeups` counts.
 *
 * No wake-up is lost. Each side writes its own word and then reads the other side's, all sequentially
 * consistent, so at least one of the two sees the other. Time runs downwards:
 *
 *	arms for later: promise()               the leader: sleep_until_promise()
 *	-------------------------               ---------------------------------
 *	write promised = tick                   write sleeps_until = the least promise
 *	read  sleeps_until                      read  promised of all shards
 *	  later than tick: wake the leader        one is earlier: do not sleep
 *
 *	makes due: mark_ready(), wake()         the leader, or a follower: pawl__sleep_follow()
 *	-------------------------------         -----------------------------------------------
 *	write ready = true                      write sleeps_until, or followers + 1
 *	read  followers: call one, if any       read  ready of all shards
 *	read  sleeps_until: wake the leader       one is true: do not sleep
 *
 *	resigns: pawl__sleep_lead()             a follower
 *	---------------------------             ----------
 *	write has_leader = false                write followers + 1
 *	takes a task: read followers, call one  read  has_leader: false: do not sleep, but lead
 *	  (or finds none, and leads again)
 *
 *	stop: pawl__sleep_stop()                the leader, or a follower
 *	------------------------                -------------------------
 *	write stopping = true                   write sleeps_until; a follower has the mutex
 *	take the mutex, call all followers      read  stopping: do not sleep
 *	wake the leader
 *
 * To wake the leader is the clock's wake(), which also ends a wait() that begins after it. To call a
 * follower is to take it off `followers` and to add it to `calls`, under the mutex: so two calls wake two of them.
 *
 * With a pool of the user's, who polls (poll.c) is a worker, and one that is free counts as a follower. The service's one thread
 * leads all the time. It alone calls: it takes one off `followers`, adds it to `calls`, and calls the user's `dispatch`. `calling`
 * is true until the worker that answers has taken a task, or found none.
 *
 *	makes due, or begins to run, or ends    the leader
 *	------------------------------------    ----------
 *	write ready, calling or followers       write sleeps_until
 *	read  sleeps_until: if a call is        read  ready, calling, followers: a call is needed: do not
 *	  needed, wake the leader                 sleep, but call
 *
 * In manual mode there are no workers: the user's loop is the leader, and `sleeps_until` is what it was told. That, and how
 * stop and a poll meet, is in poll.c.
 *
 * tests/model/sleep.pml is a model of all this, and of what goes wrong without one of the steps.
 */
#define _GNU_SOURCE
#include "shard.h"

#define SLACK_PER_TICK 16u

static uint64_t first_promise(const struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		uint64_t promised = __atomic_load_n(&service->shards[i].promised, __ATOMIC_SEQ_CST);

		first = promised < first ? promised : first;
	}
	return first;
}

static bool anything_ready(const struct pawl_service *service)
{
	for (unsigned i = 0; i < service->shard_count; i++)
		if (__atomic_load_n(&service->shards[i].ready, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/*
 * The promises first. Who makes a task due writes `ready` and then a later promise: so a look in the other order could
 * miss both.
 *
 *	makes due: pawl__shard_advance()        looks
 *	--------------------------------        -----
 *	write ready = true                      read  promised: later already, so...
 *	write promised = later                  read  ready: ...it is true
 */
uint64_t pawl__sleep_first_visit(const struct pawl_service *service)
{
	uint64_t promised = first_promise(service);

	return anything_ready(service) ? 0 : promised;
}

/*
 * With a pool, where a free worker is a follower: whether to call one. One call at a time: the worker that answers it takes
 * a task, and then looks whether there is more.
 */
static bool pool_needed(const struct pawl_service *service)
{
	return __atomic_load_n(&service->followers, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&service->calling, __ATOMIC_SEQ_CST) && anything_ready(service);
}

/* Whether a due task needs the leader. */
static bool leader_needed(const struct pawl_service *service)
{
	return service->dispatch ? pool_needed(service) : anything_ready(service);
}

/* What the leader reads before it sleeps, after it has written `sleeps_until`. */
static bool must_stay_awake(const struct pawl_service *service, uint64_t until)
{
	return first_promise(service) < until ||
	       __atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST) || leader_needed(service);
}

/* Sleep until the first promise, or a wake(). Returns the promise, or 0 if it did not sleep. */
static uint64_t sleep_until_promise(struct pawl_service *service, uint64_t tick)
{
	uint64_t until = first_promise(service);
	bool sleeps = until > tick || until == PAWL_NEVER;

	if (!sleeps)
		return 0;
	__atomic_store_n(&service->sleeps_until, until, __ATOMIC_SEQ_CST);
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

/* A wake-up is empty if its time had come and, since before that sleep, no thread found anything to move. */
static void lead(struct pawl_service *service, uint64_t tick)
{
	uint64_t moves = __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST);
	uint64_t until = sleep_until_promise(service, tick);

	if (until == 0)
		return;
	tick = ticks_down(&service->ticks, clock_now(service));
	pawl__service_open_promised(service, tick);
	pawl__service_open_ahead(service, 0);
	count_wakeup(service, until <= tick && until != PAWL_NEVER &&
	                              moves == __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST));
}

/* The leader resigns before it runs anything: whoever takes a task then sees that there is no leader. */
bool pawl__sleep_lead(struct pawl_service *service, uint64_t tick)
{
	if (__atomic_exchange_n(&service->has_leader, 1, __ATOMIC_SEQ_CST))
		return false;
	lead(service, tick);
	__atomic_store_n(&service->has_leader, 0, __ATOMIC_SEQ_CST);
	return true;
}

/* What a follower reads before it sleeps, after it has written `followers`. */
static bool has_work(const struct pawl_service *service)
{
	return anything_ready(service) || !has_leader(service);
}

void pawl__sleep_follow(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	__atomic_add_fetch(&service->followers, 1, __ATOMIC_SEQ_CST);
	if (has_work(service)) {
		__atomic_sub_fetch(&service->followers, 1, __ATOMIC_SEQ_CST);
	} else {
		while (!service->calls && !__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST))
			condition_wait(&service->called, &service->mutex);
		service->calls -= service->calls > 0;
	}
	mutex_unlock(&service->mutex);
}

/* False: other threads have called all of them. */
static bool call_follower(struct pawl_service *service)
{
	bool found;

	mutex_lock(&service->mutex);
	found = service->followers > 0;
	if (found) {
		__atomic_sub_fetch(&service->followers, 1, __ATOMIC_SEQ_CST);
		service->calls++;
		condition_signal(&service->called);
	}
	mutex_unlock(&service->mutex);
	return found;
}

/* The leader alone calls the pool, so that its function is never called from inside an arming or a task. */
bool pawl__sleep_call_pool(struct pawl_service *service)
{
	bool needed;

	mutex_lock(&service->mutex);
	needed = pool_needed(service);
	if (needed) {
		__atomic_sub_fetch(&service->followers, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&service->calling, 1, __ATOMIC_SEQ_CST);
		service->calls++;
	}
	mutex_unlock(&service->mutex);
	return needed;
}

void pawl__sleep_wake_worker(struct pawl_service *service)
{
	if (service->dispatch && !pool_needed(service))
		return;
	if (!service->dispatch && __atomic_load_n(&service->followers, __ATOMIC_SEQ_CST) &&
	    call_follower(service))
		return;
	if (__atomic_load_n(&service->sleeps_until, __ATOMIC_SEQ_CST))
		pawl__sleep_wake_leader(service);
}

void pawl__sleep_wake_leader(struct pawl_service *service)
{
	if (service->manual)
		pawl__service_wake_loop(service);
	else
		service->clock->wake(service->clock);
}

void pawl__sleep_stop(struct pawl_service *service)
{
	__atomic_store_n(&service->stopping, true, __ATOMIC_SEQ_CST);
	mutex_lock(&service->mutex);
	condition_broadcast(&service->called);
	mutex_unlock(&service->mutex);
	service->clock->wake(service->clock);
}

/* Systems wake a thread later than asked, to wake several at once: Linux by 50 us, much for a tick of little more. */
void pawl__sleep_precisely(const struct pawl_service *service)
{
	pawl__system_limit_slack(service->ticks.ns / SLACK_PER_TICK);
}
