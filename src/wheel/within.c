/* SPDX-License-Identifier: MIT */
/*
 * Windows: a timer that may be late is due at a time that other timers choose, too.
 *
 *	earliest - 1   0101 0110 1111
 *	latest         0101 1001 0011
 *	                    ^            the first bit in which they differ: 1 in latest, 0 in earliest - 1
 *	within         0101 1000 0000    latest, with zeroes after that bit
 *
 * The bits before it are common to both, so the result is after earliest - 1 and not after latest. A multiple of a
 * larger power of two would have a zero at that bit as well, and so would not be after earliest - 1.
 */
#include "geometry.h"

uint64_t pawl_time_within(uint64_t earliest, uint64_t latest)
{
	uint64_t differ = (earliest - 1) ^ latest;

	if (earliest == 0 || latest <= earliest)
		return earliest;
	for (unsigned shift = 1; shift < 64; shift *= 2)
		differ |= differ >> shift; /* ones from the first bit in which they differ */
	return latest & ~(differ >> 1);
}

/* In ticks: two times within one tick are one opening. */
bool pawl_wheel_arm_within(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t earliest,
                           uint64_t latest)
{
	uint64_t now = pawl_wheel_now(wheel), first, last;

	if (earliest < now)
		earliest = now;
	first = earliest ? tick_of_deadline(wheel, earliest) : 0;
	last = tick_of_time(wheel, latest);
	if (first < last)
		earliest = time_of_tick(wheel, pawl_time_within(first, last));
	return pawl_wheel_arm(wheel, timer, earliest);
}
