/* SPDX-License-Identifier: MIT */
/*
 * Tasks that are armed for a wall-clock time. People set that clock, so the time until the deadline may change. Such a
 * task has its wall-clock time in `period_ns`. It is on the wheel like any other, for as long as the wall clock will
 * take from now, but for a second at most. The worker that pops it reads the wall clock, and puts it back if it is too
 * early (put_back() in run.c). So a task is never early, and at most a second late after the clock was set forwards.
 * There is no list of these tasks, and no thread has to notice that the clock was set.
 *
 * All of them are checked at the same ticks, by pawl_time_within: that is one or two wake-ups a second for all
 * together.
 */
#ifndef PAWL_SERVICE_WALL_H
#define PAWL_SERVICE_WALL_H

#include "layout.h"

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

/* How long until that time, if nobody sets the wall clock. */
static inline uint64_t wall_wait(const struct pawl_service *service, uint64_t wall)
{
	uint64_t now = wall_now(service);

	return wall > now ? wall - now : 0;
}

/* When to check the wall clock: after `wait`, or sooner. */
static inline uint64_t wall_check_at(const struct pawl_service *service, uint64_t now,
                                     uint64_t wait)
{
	uint64_t first = ticks_up(&service->ticks, saturating_sum(now, PAWL_SECOND / 2));
	uint64_t last = ticks_down(&service->ticks, saturating_sum(now, PAWL_SECOND));

	if (wait <= PAWL_SECOND)
		return saturating_sum(now, wait);
	return first < last ? ns_of_tick(&service->ticks, pawl_time_within(first, last))
	                    : saturating_sum(now, PAWL_SECOND);
}

#endif
