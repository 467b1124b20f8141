/* SPDX-License-Identifier: MIT */
/*
 * Tasks that are armed for a wall-clock time. People set that clock, so the time until the deadline may change.
 *
 * Such a task is on the wheel like any other, for as long as the wall clock will take if it is not set. That is
 * computed from a pair of times, one of each clock, that were read together. Each shard has a pair, and a list of its
 * wall-clock tasks. Once a second an internal task reads the clocks and compares them with the pairs. If the wall clock
 * was set, each shard gets the new pair and its tasks are armed again, a batch at a time:
 *
 *	a shard of the service          before       the new pair         a batch later       after
 *	----------------------          ------       ------------         -------------       -----
 *	listed: on the wheel by pair    a b c d                           a b                 a b c d
 *	stale: by the pair before                    a b c d              c d
 *
 * The task of a schedule is one of them. When it is armed again, it gets the time of its rule anew: if the clock was set
 * back, an earlier one may come first. See schedule.c.
 *
 * A task that is armed meanwhile is listed, by the new pair, and a cancel takes a task off either list. So only
 * the shard is locked, and a second change cannot begin before the first is complete.
 *
 * The worker that pops a wall-clock task reads the wall clock, and puts the task back if it is too early, for a second
 * at most: by then the clocks have been compared. So a task is never early, and at most a second and a tick late after
 * the clock was set, whatever else the clock did within that second.
 *
 * The clocks are compared only while there is a wall-clock task. `comparing` is 1 from the first arming until a
 * comparison finds no task. The thread that changes it from 0 to 1 makes the next comparison:
 *
 *	arms: list_by_wall() in arm.c           compares: goes_on() in wall.c
 *	-----------------------------           -----------------------------
 *	list the task, under the lock           write comparing = 0
 *	read comparing                          read all lists, each under its lock
 *	  0: set it to 1, and compare             a task: set it to 1, and go on, unless the other has
 */
#ifndef PAWL_SERVICE_WALL_H
#define PAWL_SERVICE_WALL_H

#include "layout.h"

/* Times of the service's clock and of the wall clock that were read together. */
struct pair {
	uint64_t clock, wall;
};

/* The wall-clock tasks of a shard, on its wheel, armed again while they run, or periodic and running: under its lock. */
struct wall {
	struct pawl_task listed, stale; /* the heads of two rings: only their links are used */
	struct pair pair;
};

/* A time before 1970 has passed, and one after the year 2554 never comes. */
static inline uint64_t wall_ns(struct timespec time)
{
	uint64_t seconds = (uint64_t)time.tv_sec;

	if (time.tv_sec < 0)
		return 0;
	if (seconds >= PAWL_NEVER / PAWL_SECOND)
		return PAWL_NEVER;
	return seconds * PAWL_SECOND + (uint64_t)time.tv_nsec;
}

static inline uint64_t wall_now(const struct pawl_service *service)
{
	return pawl__clock_wall(service->clock);
}

/* The wall-clock time at `clock`, if it was not set since the pair was read. */
static inline uint64_t wall_at(const struct pair *pair, uint64_t clock)
{
	return saturating_sum(pair->wall, clock > pair->clock ? clock - pair->clock : 0);
}

/* When that wall-clock time comes, or now. */
static inline uint64_t wall_deadline(const struct pair *pair, uint64_t now, uint64_t wall)
{
	uint64_t wall_now = wall_at(pair, now);

	if (wall == PAWL_NEVER)
		return PAWL_NEVER;
	return wall > wall_now ? saturating_sum(now, wall - wall_now) : now;
}

/* Under the shard's lock, like the next function. */
static inline void wall_append(struct pawl_task *ring, struct pawl_task *task)
{
	task->wall_next = ring;
	task->wall_prev = ring->wall_prev;
	ring->wall_prev->wall_next = task;
	ring->wall_prev = task;
}

/* Does nothing if it is not listed. */
static inline void wall_unlist(struct pawl_task *task)
{
	if (!task->wall_next)
		return;
	task->wall_prev->wall_next = task->wall_next;
	task->wall_next->wall_prev = task->wall_prev;
	task->wall_next = task->wall_prev = NULL;
}

/*
 * Its time has come, or stop drops it. A periodic schedule stays listed while it runs, so that the clocks are compared
 * until it has its next time. A cancel takes it off the list, so its function may free it then.
 */
static inline void wall_begin(struct pawl_task *task)
{
	if (!task->period_ns)
		wall_unlist(task);
	if (task->at_time == BY_RULE)
		pawl__schedule_begin(task);
}

/* wall.c */
bool pawl__wall_put_back(struct pawl_service *service, struct shard *shard, struct pawl_task *task,
                         struct wakes *wakes); /* false: its time has come */

#endif
