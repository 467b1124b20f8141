/* SPDX-License-Identifier: MIT */
/*
 * The reach: how far ahead of `time` arming takes its quick way.
 *
 * Arming compares deadline - time - 1 with the reach, once, and that one unsigned compare must tell:
 *
 *  - that the deadline is after `time`. One that is not wraps to 2^64 - 1 - time or more. So while
 *    time < 2^63 and reach < 2^63, it is beyond the reach.
 *  - that the deadline is not PAWL_NEVER, which is to be normalised: time + reach <= 2^64 - 2.
 *  - that every level which may be asked for it is ready: what is at most n-1 cells ahead is within a
 *    level's window for certain.
 *  - that ticks are time units and cells are shifts: otherwise there is no reach.
 *
 * Hence there is a reach only in the first half of time, and it must end there: so the wheel looks up
 * at half time, whether a slot opens or not. Nothing but these functions sets `time` to anything that
 * may be beyond it: an advance that opens nothing stays before `wake`.
 */
#ifndef PAWL_WHEEL_REACH_H
#define PAWL_WHEEL_REACH_H

#include "geometry.h"

#define HALF_TIME (UINT64_C(1) << 63)

static inline uint64_t reach_of(const struct pawl_wheel *wheel)
{
	const struct level *level = wheel->level;
	uint64_t most = HALF_TIME - 1;

	if (!wheel->powers_of_two || wheel->tick != 1 || wheel->time >= HALF_TIME)
		return 0;
	while (level + 1 < wheel->level + wheel->levels && level[1].ready)
		level++;
	if (level->width > most / (wheel->wheel_size - 1))
		return most;
	return level->width * (wheel->wheel_size - 1);
}

/* Advance must look when the first slot opens, and at half time. */
static inline void wake_at(struct pawl_wheel *wheel, uint64_t opens)
{
	wheel->wake = wheel->reach && opens > HALF_TIME ? HALF_TIME : opens;
}

static inline void set_time(struct pawl_wheel *wheel, uint64_t time)
{
	wheel->time = time;
	if (time >= HALF_TIME)
		wheel->reach = 0;
}

#endif
