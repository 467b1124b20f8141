/* SPDX-License-Identifier: MIT */
/*
 * How workers sleep and are woken. The whole protocol is here and in sleep.h, which has the few lines of it that are
 * inlined into arming.
 *
 * Each shard has a tick `visit_by`: by then a worker must visit it, to advance its wheel. A worker that finds nothing
 * to run sleeps in one of two roles:
 *
 *	leader      at most one worker. It sleeps by the service's clock until the earliest `visit_by` of all shards.
 *	follower    every other worker. It sleeps on the condition variable `called` until it is called.
 *
 *	worker 1                                worker 2
 *	--------                                --------
 *	no leader: becomes the leader           there is a leader: becomes a follower
 *	sleeps until the earliest visit         sleeps
 *	resigns, and visits the shard
 *	starts a task, sees no leader:
 *	  calls a follower
 *	runs the task                           wakes up; runs another due task, or becomes the leader
 *
 * So a due task runs on the thread that woke up for it. With one worker, a tick costs one wake-up. With more, the
 * second wake-up does not delay the task. It is Kafka's ExpiredOperationReaper without a thread of its own, and without
 * a wake-up every 200 ms. The price: while every worker runs a task, no thread advances the wheels. But then no
 * worker is free to run another task, either.
 *
 * When to wake. An arming or an advance that makes a task due wakes a worker: a follower or, if there is none, the
 * leader. An arming for later wakes the leader, and only if the leader would sleep too long: most armings are not
 * earlier than `visit_by` of their shard, and read only that. A cancel wakes no thread and leaves `visit_by` as
 * it is: the leader may wake up once with nothing to do, which `empty_wakeups` counts.
 *
 * No wake-up is lost. Each side writes its own word and then reads the other side's, all sequentially consistent, so at
 * least one of the two sees the other. Time runs downwards:
 *
 *	arms for later: schedule_visit()        the leader: sleep_until_visit()
 *	--------------------------------        -------------------------------
 *	write visit_by = tick                   write sleeps_until = the earliest visit_by
 *	read  sleeps_until                      read  visit_by of all shards
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
 *	starts a task: read followers,          read  has_leader: false: do not sleep, but lead
 *	  call one (or finds no task,
 *	  and leads again)
 *
 *	stop: pawl__sleep_stop()                the leader, or a follower
 *	------------------------                -------------------------
 *	write stopping = true                   write sleeps_until; a follower has the mutex
 *	lock the mutex, call all followers      read  stopping: do not sleep
 *	wake the leader
 *
 * The leader is woken by the clock's wake(), which also ends a wait() that begins after it. A follower is called under
 * the mutex: `followers` becomes one less and `calls` one more. So two calls wake two followers.
 *
 * In manual mode the user's loop is the leader (manual.c). With a pool of user threads, the service's one thread is
 * always the leader, and calls the pool to run tasks (pool.c). Neither has followers.
 *
 * verify/models/sleep.pml is a model of this protocol, and shows what goes wrong without each of its steps.
 */
#define _GNU_SOURCE
#include "shard.h"

#define SLACK_PER_TICK 16u

static uint64_t earliest_visit(const struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		uint64_t visit_by = __atomic_load_n(&service->shards[i].visit_by, __ATOMIC_SEQ_CST);

		first = visit_by < first ? visit_by : first;
	}
	return first;
}

bool pawl__sleep_anything_ready(const struct pawl_service *service)
{
	for (unsigned i = 0; i < service->shard_count; i++)
		if (__atomic_load_n(&service->shards[i].ready, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/*
 * Reads `visit_by` first. A thread that makes a task due writes `ready` and then a later `visit_by`: a reader in the
 * other order could miss both.
 *
 *	makes due: pawl__shard_advance()        pawl__sleep_earliest_visit()
 *	--------------------------------        ----------------------------
 *	write ready = true                      read  visit_by: later already, so...
 *	write visit_by = later                  read  ready: ...it is true
 */
uint64_t pawl__sleep_earliest_visit(const struct pawl_service *service)
{
	uint64_t visit = earliest_visit(service);

	return pawl__sleep_anything_ready(service) ? 0 : visit;
}

/* The leader's last look before it sleeps, after it has written `sleeps_until`. */
static bool must_stay_awake(const struct pawl_service *service, uint64_t until)
{
	return earliest_visit(service) < until ||
	       __atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST) ||
	       (pawl__sleep_anything_ready(service) && !pool_full(service));
}

/* Sleep until the earliest visit, or a wake(). Returns that tick, or 0 if it did not sleep. */
static uint64_t sleep_until_visit(struct pawl_service *service, uint64_t tick)
{
	uint64_t until = earliest_visit(service);
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

/* A wake-up is empty if its time had come and no thread has moved a timer since before that sleep. */
static void lead(struct pawl_service *service, uint64_t tick)
{
	uint64_t moves = __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST);
	uint64_t until = sleep_until_visit(service, tick);

	if (until == 0)
		return;
	tick = ticks_down(&service->ticks, clock_now(service));
	pawl__service_visit_shards(service, tick);
	pawl__service_move_ahead(service, 0);
	count_wakeup(service, until <= tick && until != PAWL_NEVER &&
	                              moves == __atomic_load_n(&service->moves, __ATOMIC_SEQ_CST));
}

/* The leader resigns before it runs anything, so a worker that starts a task sees that the leader is gone. */
bool pawl__sleep_lead(struct pawl_service *service, uint64_t tick)
{
	if (__atomic_exchange_n(&service->has_leader, 1, __ATOMIC_SEQ_CST))
		return false;
	lead(service, tick);
	__atomic_store_n(&service->has_leader, 0, __ATOMIC_SEQ_CST);
	return true;
}

/* A follower's last look before it sleeps, after it has written `followers`. */
static bool has_work(const struct pawl_service *service)
{
	return pawl__sleep_anything_ready(service) || !has_leader(service);
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

/* False: other threads have called all followers. */
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

void pawl__sleep_wake_worker(struct pawl_service *service)
{
	if (__atomic_load_n(&service->followers, __ATOMIC_SEQ_CST) && call_follower(service))
		return;
	if (__atomic_load_n(&service->sleeps_until, __ATOMIC_SEQ_CST) && !pool_full(service))
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

/* Timer slack (50 us on Linux) is too coarse for a short tick. */
void pawl__sleep_precisely(const struct pawl_service *service)
{
	pawl__system_limit_slack(service->ticks.ns / SLACK_PER_TICK);
}
