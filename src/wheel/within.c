/* SPDX-License-Identifier: MIT */
/* Arming for a window of time: within.h chooses the tick. */
#include "within.h"

#include "../base/mistake.h"
#include "geometry.h"

/* In ticks: two times within one tick are one opening. */
bool pawl_wheel_arm_between(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t earliest,
                            uint64_t latest)
{
	IN_WHEEL(wheel);
	uint64_t now = pawl_wheel_now(wheel), first, last;

	if (earliest < now)
		earliest = now;
	first = earliest ? tick_of_deadline(wheel, earliest) : 0;
	last = tick_of_time(wheel, latest);
	if (first < last)
		earliest = time_of_tick(wheel, time_within(first, last));
	return pawl_wheel_arm_at(wheel, timer, earliest);
}
