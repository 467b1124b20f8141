/* SPDX-License-Identifier: MIT */
/*
 * Moving ahead: timers move down before their slot opens, a few at a time.
 *
 * When a slot above level 0 opens, all of its timers move down at once. But they may as well move before. Take a wheel
 * of n = 4 slots at tick 6, in the middle of level 1's cell 4-7:
 *
 *	                       now
 *	tick            4   5   6   7 | 8   9  10  11 |12  13  14  15 |
 *	level 0                 [ window, n ticks ]    .               .
 *	level 1       [  current cell |    next: A    |   ...
 *	                                               ^ upto of level 0, once A is begun
 *
 * A opens at 8. To begin A is to set level 0's `upto` to 12: level 0 then accepts every tick before 12, in its window
 * or not. Timers armed from now on for 10 or 11 go to level 0 (8 and 9 are in its window anyway), and timers already in
 * A can move there one by one. When time reaches 8, level 0's window goes to 11. A is empty by then, or the rest of its
 * timers move as usual. So nothing has to be undone: `upto` only grows, and the window catches up.
 *
 * At 6 level 0 may hold ticks 6 to 11. In general there are at most 2n cells from the current cell of level L-1 to the
 * end of A on level L. So a wheel with options.ahead has 2n slots in a level.
 *
 * The order stays exact. The invariant is: of the untouched timers for one tick D, those on a coarser level were armed
 * before those on a finer one, and every list is in the order of arming.
 *
 *  1. Arming. Windows slide forward and `upto` only grows, so the level for D never becomes coarser. A timer armed now
 *     goes to the end of a list on the finest level that accepts D.
 *  2. A move from A, on level L, to the front of a slot on level l. It is right if no level i between, l < i < L, holds
 *     a timer for D. Since D belongs on l as seen from now, on level i D is in the current cell or the next one. A's
 *     opening o is also the beginning of a cell of level i, after now and not after D: so D is in i's next cell, which
 *     opens at o. Among cells that open at the same tick the *finest* is emptied first, so that cell is empty. Within A
 *     the last timer moves first, and to the front, as in advance.c.
 *  3. A slot that opens at o with some timers left. This is the same as 2, provided that no level has begun a cell
 *     beyond o's. Hence nothing is moved ahead while a bounded advance is stopped.
 *  4. A begun cell gets no further timers, so an emptied cell is not filled again.
 *
 * A timer that is cancelled after it moved early was moved in vain. So a cell is begun at most EARLY_PART of its width,
 * or a turn of level 0, before it opens: docs/design/wheel.md.
 */
#include "compiler.h"
#include "next.h"
#include "slots.h"

#define EARLY_PART 8u /* an eighth of a cell; measured: docs/design/wheel.md */

/* The tick after the level's first slot. Returns false if there is none: at the end of time, or without a slot. */
static bool end_of_first(const struct level *level, uint64_t *end)
{
	*end = level->opens + level->width;
	return *end >= level->opens;
}

/* How early, in ticks, a slot of this level may be begun: at most its own width. */
static uint64_t how_early(const struct pawl_wheel *wheel, const struct level *level)
{
	uint64_t early = level->width / EARLY_PART;

	if (early < wheel->wheel_size)
		early = wheel->wheel_size;
	return early < level->width ? early : level->width;
}

static bool too_early(const struct pawl_wheel *wheel, const struct level *level, uint64_t now)
{
	return level->opens - now > how_early(wheel, level);
}

/* The level whose next cell may hold timers and opens first; the finest of several at the same tick. NULL: none. */
static struct level *level_to_begin(struct pawl_wheel *wheel, uint64_t now)
{
	struct level *first = NULL;

	for (struct level *level = &wheel->level[1]; level < &wheel->level[wheel->levels_used];
	     level++)
		if (level->opens - now <= level->width && (!first || level->opens < first->opens))
			first = level;
	return first;
}

/* Empty the level's first slot, which is its next cell and holds timers. Returns the moves made, at most `max`. */
static size_t empty_first(struct pawl_wheel *wheel, struct level *level, uint64_t now, size_t max)
{
	uint64_t slot = first_slot(wheel, level);
	size_t moves;

	ASSERT(!first_slot_empty(wheel, level));
	moves = pawl__move_down(wheel, level, slot, now, max);
	if (moves < max)
		pass_first(wheel, level, slot);
	return moves;
}

/* Find the first level again: moves may have filled an earlier slot, or emptied the first one. */
static void renew_first(struct pawl_wheel *wheel)
{
	wheel->first = first_of_levels(wheel);
	wake_at(wheel, time_of_opening(wheel, wheel->first));
}

size_t pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves)
{
	IN_WHEEL(wheel);
	uint64_t now = tick_of_time(wheel, wheel->time), end;
	struct level *level;
	size_t moves = 0;

	if (!has_room_ahead(wheel) || wheel->stopped)
		return 0;
	if (max_moves == 0)
		max_moves = SIZE_MAX;
	while (moves < max_moves && (level = level_to_begin(wheel, now)) != NULL) {
		if (!end_of_first(level, &end))
			break;
		if (first_slot_empty(wheel, level)) {
			forget_first(wheel, level);
		} else if (!too_early(wheel, level, now)) {
			level[-1].upto = end;
			moves += empty_first(wheel, level, now, max_moves - moves);
		} else {
			break;
		}
		renew_first(wheel);
	}
	return moves;
}

static void forget_empty_first(struct pawl_wheel *wheel, struct level *level)
{
	while (level->opens != NO_TICK && first_slot_empty(wheel, level))
		forget_first(wheel, level);
}

/* The tick at which the level's first slot may be begun; NO_TICK if another level comes first then. */
static uint64_t begins(struct pawl_wheel *wheel, const struct level *level, uint64_t now)
{
	uint64_t early = how_early(wheel, level), end, tick;

	if (!end_of_first(level, &end))
		return NO_TICK;
	tick = level->opens > early ? level->opens - early : 0;
	tick = tick > now ? tick : now;
	return level_to_begin(wheel, tick) == level ? tick : NO_TICK;
}

uint64_t pawl__wheel_next_ahead(struct pawl_wheel *wheel)
{
	uint64_t now = tick_of_time(wheel, wheel->time), first = NO_TICK, opening;
	struct level *end = &wheel->level[wheel->levels_used];

	if (!has_room_ahead(wheel) || wheel->stopped)
		return pawl__wheel_next_opening(wheel);
	for (struct level *level = &wheel->level[1]; level < end; level++)
		forget_empty_first(wheel, level);
	renew_first(wheel);
	for (struct level *level = &wheel->level[1]; level < end; level++) {
		uint64_t tick = begins(wheel, level, now);

		first = tick < first ? tick : first;
	}
	opening = pawl__wheel_next_opening(wheel);
	if (first == NO_TICK || time_of_tick(wheel, first) >= opening)
		return opening;
	return first > now ? time_of_tick(wheel, first) : wheel->time;
}
