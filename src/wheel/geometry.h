/* SPDX-License-Identifier: MIT */
/*
 * Kafka's geometry: ticks, cells and levels, each formula once.
 *
 * A wheel counts in ticks. A cell is the stretch of time that a slot stands for. On level L cells are n^L ticks wide
 * and numbered from the beginning of time, so a cell's slot is its number modulo the slots. The cell that contains now
 * is the level's current cell, and its window is the current cell and the n-1 after it. None of this is stored: it all
 * follows from the time.
 *
 * A wheel without options.ahead has n slots in a level. A wheel with it has 2n, since ahead.c lets a level accept ticks
 * beyond its window, up to its `upto`. That is at most the end of the next cell of the level above, and so at most 2n
 * cells from the current one on.
 */
#ifndef PAWL_WHEEL_GEOMETRY_H
#define PAWL_WHEEL_GEOMETRY_H

#include "compiler.h"
#include "layout.h"

/* Whether the wheel was made with options.ahead. */
static inline bool has_room_ahead(const struct pawl_wheel *wheel)
{
	return wheel->slots > wheel->wheel_size;
}

/* The tick at whose beginning a deadline has passed: rounded up, so never early. The deadline must not be 0. */
static inline uint64_t tick_of_deadline(const struct pawl_wheel *wheel, uint64_t deadline)
{
	ASSERT(deadline != 0);
	if (wheel->powers_of_two)
		return ((deadline - 1) >> wheel->tick_shift) + 1;
	return (deadline - 1) / wheel->tick + 1;
}

/* The last tick that has begun by this time: rounded down. */
static inline uint64_t tick_of_time(const struct pawl_wheel *wheel, uint64_t time)
{
	if (wheel->powers_of_two)
		return time >> wheel->tick_shift;
	return time / wheel->tick;
}

/* When a tick begins. Only a tick that was rounded up from a deadline can begin after the end of time. */
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
 * The level for a timer due at tick `due`, as seen from tick `now`: the first whose window or `upto` includes it. A
 * cell of level 0 is a tick, and the coarsest level's window is all of time. With 256 slots and a tick of 1 ms, level 1
 * goes a minute ahead: so the search is short.
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
