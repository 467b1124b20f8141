/* SPDX-License-Identifier: MIT */
/*
 * Tasks that are armed for a time of the wall clock, which people set. Such a task has that time in `period_ns`, and is on the
 * wheel like any other: until then if the wall clock goes on as it does now, but for a second at the most. A worker that takes
 * it looks at the wall clock, and puts it back if it is too early (put_back() in run.c). So it is never early, and after the clock was
 * set forwards at most a second late; no list of these tasks is kept, and nobody has to notice that the clock was set.
 *
 * All of them look at the same ticks, as a window makes them do (pawl_time_within): one or two wake-ups a second for all.
 */
#ifndef PAWL_SERVICE_WALL_H
#define PAWL_SERVICE_WALL_H

#include "layout.h"

/* Times before 1970 have passed, and those after the year 2554 never come. */
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

/* How long until that time, as the wall clock goes now. */
static inline uint64_t wall_wait(const struct pawl_service *service, uint64_t wall)
{
	uint64_t now = wall_now(service);

	return wall > now ? wall - now : 0;
}

/* When to look at the wall clock, in so long or before. */
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
