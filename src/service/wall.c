/* SPDX-License-Identifier: MIT */
/* Tasks that are armed for a wall-clock time follow that clock when it is set: explained and drawn in wall.h. */
#define _GNU_SOURCE
#include "shard.h"

bool pawl__wall_put_back(struct pawl_service *service, struct shard *shard, struct pawl_task *task,
                         struct wakes *wakes)
{
	uint64_t wall = wall_now(service), now, wait;

	lock_assert_held(&shard->lock);
	if (task->wall_ns <= wall)
		return false;
	now = clock_now(service);
	wait = task->wall_ns - wall;
	task->deadline_ns = saturating_sum(now, wait < PAWL_SECOND ? wait : PAWL_SECOND);
	put_on_wheel(service, shard, task, now, false, wakes);
	return true;
}

static void ring_init(struct pawl_task *ring)
{
	ring->wall_next = ring->wall_prev = ring;
}

static bool ring_empty(const struct pawl_task *ring)
{
	return ring->wall_next == ring;
}

/* Two readings of the clock, and one of the wall clock between them: a thread may lose its CPU there. */
struct comparison {
	struct pair pair;
	uint64_t after;
	uint64_t since; /* the time of the service's clock at the comparison before */
};

static struct comparison read_clocks(const struct pawl_service *service, uint64_t since)
{
	struct comparison now = {.since = since};

	now.pair.clock = clock_now(service);
	now.pair.wall = wall_now(service);
	now.after = clock_now(service);
	return now;
}

/* Whether the wall clock was set by more than a tick, or a second, since the pair was read. */
static bool was_set(const struct pair *pair, const struct comparison *now, uint64_t tick_ns)
{
	uint64_t least = wall_at(pair, now->pair.clock), most = wall_at(pair, now->after);
	uint64_t allowed = tick_ns < PAWL_SECOND ? tick_ns : PAWL_SECOND;

	return saturating_sum(now->pair.wall, allowed) < least ||
	       now->pair.wall > saturating_sum(most, allowed);
}

/* Under the lock. */
static void begin_rearming(struct shard *shard, const struct pair *pair)
{
	struct wall *wall = shard->wall;

	lock_assert_held(&shard->lock);
	ASSERT(ring_empty(&wall->stale));
	wall->pair = *pair;
	if (ring_empty(&wall->listed))
		return;
	wall->stale = wall->listed;
	wall->stale.wall_next->wall_prev = wall->stale.wall_prev->wall_next = &wall->stale;
	ring_init(&wall->listed);
}

/*
 * The earliest time to which the wall clock can have been set since the comparison before, and since the schedule got its
 * time: times of its rule before that one do not count.
 */
static uint64_t earliest_set(const struct comparison *now, uint64_t since)
{
	uint64_t passed = now->pair.clock - (since > now->since ? since : now->since);

	return now->pair.wall > passed ? now->pair.wall - passed : 0;
}

/*
 * The rule of a schedule may have a time that comes first by the new clock; also one that has passed since the clock was
 * set. The time for which the schedule is pending is not given up.
 */
static void follow_rule(struct pawl_task *task, const struct comparison *now)
{
	uint64_t since = pawl__schedule_since(task), next;

	if (since > now->pair.clock)
		return; /* it got its time after the clocks were read, so by the new clock */
	next = pawl__schedule_next(task, earliest_set(now, since));
	if (next < task->wall_ns)
		task->wall_ns = next;
}

/* Up to a batch. A time that has passed is due in this tick, not in the next one. Under the lock. */
static void rearm_some(struct pawl_service *service, struct shard *shard,
                       const struct comparison *comparison, struct wakes *wakes)
{
	struct wall *wall = shard->wall;
	uint64_t now = clock_now(service);
	uint64_t tick = ns_of_tick(&service->ticks, ticks_down(&service->ticks, now));

	lock_assert_held(&shard->lock);
	for (unsigned i = 0; i < BATCH && !ring_empty(&wall->stale); i++) {
		struct pawl_task *task = wall->stale.wall_next;

		wall_unlist(task);
		wall_append(&wall->listed, task);
		if (task->at_time == BY_RULE)
			follow_rule(task, comparison);
		if (!pawl_timer_armed(&task->timer))
			continue; /* it runs: finish() reads the pair */
		task->deadline_ns = wall_deadline(&wall->pair, now, task->wall_ns);
		if (task->deadline_ns == now)
			task->deadline_ns = tick;
		put_on_wheel(service, shard, task, now, false, wakes);
	}
}

/* True if the shard has wall-clock tasks. */
static bool compare_shard(struct pawl_service *service, struct shard *shard,
                          const struct comparison *now)
{
	bool any, stale;

	lock_acquire(&shard->lock);
	if (was_set(&shard->wall->pair, now, service->ticks.ns))
		begin_rearming(shard, &now->pair);
	do {
		struct wakes wakes = {0};

		rearm_some(service, shard, now, &wakes);
		any = !ring_empty(&shard->wall->listed);
		stale = !ring_empty(&shard->wall->stale);
		lock_release(&shard->lock);
		wake(service, &wakes);
		if (stale)
			lock_acquire_after_pause(&shard->lock);
	} while (stale);
	return any;
}

static bool compare_shards(struct pawl_service *service, const struct comparison *now)
{
	bool any = false;

	for (unsigned i = 0; i < service->shard_count; i++)
		any |= compare_shard(service, &service->shards[i], now);
	return any;
}

static bool any_listed(struct pawl_service *service)
{
	bool any = false;

	for (unsigned i = 0; i < service->shard_count && !any; i++) {
		lock_acquire(&service->shards[i].lock);
		any = !ring_empty(&service->shards[i].wall->listed);
		lock_release(&service->shards[i].lock);
	}
	return any;
}

/* True: this thread makes the next comparison. */
static bool begin_comparing(struct pawl_service *service)
{
	return !__atomic_exchange_n(&service->comparing, 1, __ATOMIC_SEQ_CST);
}

static bool goes_on(struct pawl_service *service)
{
	__atomic_store_n(&service->comparing, 0, __ATOMIC_SEQ_CST);
	return any_listed(service) && begin_comparing(service);
}

/*
 * A stopped service refuses the arming: then there is nothing left to follow. `compared` belongs to the thread that
 * compares: so it is written before another one may begin.
 */
static void compare_clocks(struct pawl_service *service, uint64_t since)
{
	const struct comparison now = read_clocks(service, since);

	service->compared = now.pair.clock;
	if (compare_shards(service, &now) || goes_on(service))
		pawl_service_arm_at(service, &service->compare,
		                    saturating_sum(now.pair.clock, PAWL_SECOND));
}

static void run_comparison(struct pawl_task *task)
{
	struct pawl_service *service = PAWL_CONTAINER_OF(task, struct pawl_service, compare);

	compare_clocks(service, service->compared);
}

void pawl__wall_open(struct pawl_service *service)
{
	pawl__task_init_internal(&service->compare, run_comparison);
	for (unsigned i = 0; i < service->shard_count; i++) {
		ring_init(&service->walls[i].listed);
		ring_init(&service->walls[i].stale);
		service->shards[i].wall = &service->walls[i];
	}
}

void pawl__wall_armed(struct pawl_service *service)
{
	if (!__atomic_load_n(&service->comparing, __ATOMIC_SEQ_CST) && begin_comparing(service))
		compare_clocks(service, clock_now(service));
}
