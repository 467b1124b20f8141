/* SPDX-License-Identifier: MIT */
/*
 * Kafka's geometry: ticks, cells and levels, each formula once.
 *
 * A tick is the grain of the wheel; a cell is the stretch of time that a slot stands for. On level L
 * cells are n^L ticks wide and numbered from the beginning of time, so a cell's slot is its number
 * modulo the slots, and the cell that contains now is the level's current one. A level's window is its
 * current cell and the n-1 after it. Nothing of this is stored and renewed as time goes on: everything
 * follows from the time itself.
 *
 * A wheel without options.ahead has n slots in a level. One with it has 2n, for what ahead.c adds: a
 * level also holds, beyond its window, the ticks before its `upto`, which is at most the end of the next
 * cell of the level above. That is at most 2n cells from the current one on.
 */
#ifndef PAWL_WHEEL_GEOMETRY_H
#define PAWL_WHEEL_GEOMETRY_H

#include "compiler.h"
#include "layout.h"

/* The tick by whose beginning a deadline has passed: rounded up, so never early. It must not be 0. */
static inline uint64_t tick_of_deadline(const struct pawl_wheel *wheel, uint64_t deadline)
{
	ASSERT(deadline != 0);
	if (wheel->powers_of_two)
		return ((deadline - 1) >> wheel->tick_shift) + 1;
	return (deadline - 1) / wheel->tick + 1;
}

/* The tick that has begun by this time: rounded down. */
static inline uint64_t tick_of_time(const struct pawl_wheel *wheel, uint64_t time)
{
	if (wheel->powers_of_two)
		return time >> wheel->tick_shift;
	return time / wheel->tick;
}

/* When a tick begins. Only a tick rounded up from the last moments can begin after the end of time. */
static inline uint64_t time_of_tick(const struct pawl_wheel *wheel, uint64_t tick)
{
	return tick <= wheel->last_tick ? tick * wheel->tick : LAST;
}

static inline uint64_t cell_of_tick(const struct pawl_wheel *wheel, const struct level *level,
                                    uint64_t tick)
{
	if (wheel->powers_of_two)
		return tick >> level->shift;
	return tick / level->width;
}

static inline uint64_t tick_of_cell(const struct level *level, uint64_t cell)
{
	return cell * level->width;
}

static inline uint64_t slot_of_cell(const struct pawl_wheel *wheel, uint64_t cell)
{
	if (wheel->powers_of_two)
		return cell & wheel->slot_mask;
	return cell % wheel->slots;
}

/*
 * The level for a timer due at tick `due`, seen from tick `now`: the first whose window or `upto` reaches
 * it. A cell of level 0 is a tick, and the coarsest level's window is all of time. (With 256 slots level
 * 1 reaches a minute ahead at a millisecond a tick: there is little to search.)
 */
static inline struct level *level_for(struct pawl_wheel *wheel, uint64_t due, uint64_t now)
{
	struct level *level = &wheel->level[0];

	if (due < level->upto || due - now < wheel->wheel_size)
		return level;
	do
		level++;
	while (cell_of_tick(wheel, level, due) - cell_of_tick(wheel, level, now) >=
	               wheel->wheel_size &&
	       due >= level->upto);
	ASSERT(level < &wheel->level[wheel->levels]);
	return level;
}

#endif
