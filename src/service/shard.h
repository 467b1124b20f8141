/* SPDX-License-Identifier: MIT */
/*
 * Steps in the life of a task that several files need, each under the lock of the task's home: onto the wheel, and into
 * and out of a run. layout.h has the states and transitions.
 */
#ifndef PAWL_SERVICE_SHARD_H
#define PAWL_SERVICE_SHARD_H

#include "../wheel/next.h"
#include "sample.h"
#include "sleep.h"
#include "wall.h"

static inline uint64_t clock_now(const struct pawl_service *service)
{
	return service->clock->now(service->clock);
}

static inline struct pawl_task *task_of(struct pawl_timer *timer)
{
	return (struct pawl_task *)timer; /* its first member */
}

/*
 * The quota: at most max_pending tasks may be pending. It is counted only if there is a limit, since all threads share
 * the counter. Internal tasks need no quota.
 */
static inline bool quota_reserve(struct pawl_service *service, const struct pawl_task *task)
{
	size_t reserved;

	if (!service->max_pending || task->internal)
		return true;
	reserved = __atomic_load_n(&service->quota_used, __ATOMIC_RELAXED);
	do
		if (reserved >= service->max_pending)
			return false;
	while (!__atomic_compare_exchange_n(&service->quota_used, &reserved, reserved + 1, true,
	                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static inline void quota_return(struct pawl_service *service, const struct pawl_task *task)
{
	size_t reserved;

	if (!service->max_pending || task->internal)
		return;
	reserved = __atomic_fetch_sub(&service->quota_used, 1, __ATOMIC_RELAXED);
	ASSERT(reserved > 0);
	(void)reserved;
}

/* Whether a task is due. Under the lock. */
static inline bool anything_due(struct shard *shard)
{
	lock_assert_held(&shard->lock);
	return pawl__wheel_any_due(shard->wheel);
}

/* Under the lock of the shard that has the count: its callers assert that. */
static inline void count_moves(struct pawl_service *service, uint64_t *count, size_t moves)
{
	if (moves == 0)
		return;
	*count += moves;
	__atomic_add_fetch(&service->moves, moves, __ATOMIC_SEQ_CST);
}

static inline size_t advance_by_one(struct pawl_service *service, struct shard *shard,
                                    uint64_t tick)
{
	size_t moves;

	lock_assert_held(&shard->lock);
	moves = pawl_wheel_advance(shard->wheel, tick, 1);
	count_moves(service, &shard->stats->moved_at_opening, moves);
	return moves;
}

/* No task is due. Under the lock: so it comes before or after a mark_ready(), as the tasks do. */
static inline void clear_ready(struct shard *shard)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->ready, false, __ATOMIC_RELAXED);
}

/*
 * When a worker must visit the shard: when its next slot opens. With many tasks pending, when that slot can be emptied
 * ahead: that is one more wake-up, but then no due task waits while all the others are moved. Under the lock.
 */
static inline uint64_t next_visit(struct shard *shard)
{
	lock_assert_held(&shard->lock);
	return pawl__wheel_next_visit(shard->wheel);
}

/* The same for a task that was just armed for this tick. With few tasks pending: when it is due. Under the lock. */
static inline uint64_t visit_for(struct shard *shard, uint64_t tick)
{
	uint64_t visit = pawl_wheel_count(shard->wheel) < WHEEL_MANY ? tick : next_visit(shard);

	lock_assert_held(&shard->lock);
	return visit < tick ? visit : tick;
}

#ifdef PAWL_ASSERT
/* Not seen by the thread sanitizer and the explorer: to them it would be one more access to an atomic word. */
static __attribute__((noinline, unused, no_sanitize_thread)) bool
is_running(const struct pawl_service *service, const struct pawl_task *task)
{
	if (task->runner == 0 || task->runner > service->worker_count)
		return false;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is always a worker */
	return service->workers[task->runner - 1].current == task;
}
#endif

/* Under the lock. Advances the wheel first, so that the timer gets its right slot. */
static inline void put_on_wheel(struct pawl_service *service, struct shard *shard,
                                struct pawl_task *task, uint64_t now_ns, bool touch,
                                struct wakes *wakes)
{
	uint64_t tick = ticks_up(&service->ticks, task->deadline_ns);
	bool waits;

	lock_assert_held(&shard->lock);
	ASSERT(!is_running(service, task));
	if (advance_by_one(service, shard, ticks_down(&service->ticks, now_ns)) &&
	    anything_due(shard))
		mark_ready(shard, wakes);
	waits = touch ? pawl_wheel_touch_at(shard->wheel, &task->timer, tick)
	              : pawl_wheel_arm_at(shard->wheel, &task->timer, tick);
	if (!waits)
		mark_ready(shard, wakes);
	else if (tick < shard->visit_by ||
	         shard->counts[0].armed % WHEEL_MANY == 0) /* by now they may be many */
		schedule_visit(service, shard, visit_for(shard, tick), wakes);
}

/* The task waits for a wall-clock time. Under the lock. */
static inline void set_wall_time(struct shard *shard, struct pawl_task *task, uint64_t wall_ns,
                                 uint64_t now_ns)
{
	lock_assert_held(&shard->lock);
	task->wall_ns = wall_ns;
	task->deadline_ns = wall_deadline(&shard->wall->pair, now_ns, wall_ns);
}

/* From now on cancel returns PAWL_SERVICE_RUNNING. Under the lock of the task's home. */
static inline void begin_run(struct shard *shard, struct worker *worker, struct pawl_task *task)
{
	lock_assert_held(&shard->lock);
	ASSERT(!worker->current && !pawl_timer_armed(&task->timer));
	if (task->at_time)
		wall_begin(task);
	sample_leaving(worker->service, shard, task);
	task->runner = (uint16_t)worker->number;
	worker->again = worker->ended = worker->awaited = worker->quota = false;
	__atomic_store_n(&worker->current, task, __ATOMIC_RELAXED);
}

/* Under the same lock. Release: a cancel_wait that sees the count sees what the run wrote. */
static inline void end_run(struct shard *shard, struct worker *worker, struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	ASSERT(worker->current);
	__atomic_store_n(&worker->runs, worker->runs + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&worker->current, NULL, __ATOMIC_RELAXED);
	wakes->waiting |= worker->awaited;
}

/* A worker can start a task. Under the lock. */
static inline bool can_start(struct shard *shard)
{
	lock_assert_held(&shard->lock);
	return !shard->closed && anything_due(shard);
}

/* No task of the shard is due or running. Under the lock. */
static inline bool settled(struct shard *shard)
{
	return !shard->running && !can_start(shard);
}

/*
 * The worker found no further task in the shard, or has run its batch. Under the lock. This is all that settle costs
 * the workers; await.c explains how it waits.
 */
static inline void leave_shard(struct shard *shard, struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	ASSERT(shard->running > 0);
	shard->running--;
	if (!can_start(shard))
		clear_ready(shard);
	if (shard->settling && settled(shard)) {
		shard->settling = false;
		wakes->waiting = true;
	}
}

#endif
