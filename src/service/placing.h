/* SPDX-License-Identifier: MIT */
/* Putting a task on its wheel: what arming and the end of a run share. */
#ifndef PAWL_SERVICE_PLACING_H
#define PAWL_SERVICE_PLACING_H

#include "sleep.h"

static inline uint64_t clock_now(const struct pawl_service *service)
{
	return service->clock->now(service->clock);
}

/*
 * Places under max_pending. They are counted only where there is a limit: it takes a counter that all
 * threads share.
 */
static inline bool place_take(struct pawl_service *service)
{
	size_t taken = __atomic_load_n(&service->limited, __ATOMIC_RELAXED);

	if (!service->max_pending)
		return true;
	do
		if (taken >= service->max_pending)
			return false;
	while (!__atomic_compare_exchange_n(&service->limited, &taken, taken + 1, true,
	                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static inline void place_give(struct pawl_service *service)
{
	if (service->max_pending)
		__atomic_fetch_sub(&service->limited, 1, __ATOMIC_RELAXED);
}

/* Internal tasks take none. */
static inline bool place_take_for(struct pawl_service *service, const struct pawl_task *task)
{
	return task->internal || place_take(service);
}

static inline void place_give_of(struct pawl_service *service, const struct pawl_task *task)
{
	if (!task->internal)
		place_give(service);
}

/* Whether tasks wait for a worker. */
static inline bool anything_due(struct shard *shard)
{
	return pawl_wheel_next(shard->wheel) <= pawl_wheel_now(shard->wheel);
}

static inline void count_moves(struct pawl_service *service, size_t moves)
{
	if (moves)
		__atomic_add_fetch(&service->moves, moves, __ATOMIC_SEQ_CST);
}

static inline size_t advance_by_one(struct pawl_service *service, struct shard *shard,
                                    uint64_t tick)
{
	size_t moves = pawl_wheel_advance(shard->wheel, tick, 1);

	count_moves(service, moves);
	return moves;
}

/* Under the shard's lock. The wheel is told the time first, so that the timer gets its right place. */
static inline void put_on_wheel(struct pawl_service *service, struct shard *shard,
                                struct pawl_task *task, uint64_t now_ns, bool touch,
                                struct wakes *wakes)
{
	uint64_t tick = ticks_up(&service->ticks, task->deadline_ns);
	bool waits;

	if (advance_by_one(service, shard, ticks_down(&service->ticks, now_ns)) &&
	    anything_due(shard))
		mark_ready(shard, wakes);
	waits = touch ? pawl_wheel_touch(shard->wheel, &task->timer, tick)
	              : pawl_wheel_arm(shard->wheel, &task->timer, tick);
	if (waits)
		promise(service, shard, tick, wakes);
	else
		mark_ready(shard, wakes);
}

#endif
