/* SPDX-License-Identifier: MIT */
/*
 * Time goes on: slots open, timers move down and become due.
 *
 * Order. Within a tick timers shall come out as they were armed, and Kafka's geometry allows it: what
 * waits on a coarser level for the same tick was armed before what waits on a finer one, since the
 * window only moves forward. So whatever moves down into a slot was armed before everything that is
 * there already. Hence
 *
 *  - slots open by time, and at the same time level 1 before 2 before 3, and level 0 last of all;
 *  - a slot above level 0 is emptied from its tail, each timer to the *front* of its new slot.
 *
 *	level 1, the slot that opens now:   A B C       all three for tick 7
 *	level 0, slot 7, before:            D E         armed later, when 7 was near
 *	  C moves:                          C D E
 *	  B moves:                          B C D E
 *	  A moves:                          A B C D E
 *
 * Even a timer whose tick is the present one goes to the front of level 0's present slot rather than
 * straight to the due ones: that slot opens last and takes all of them in order.
 */
#include "compiler.h"
#include "first.h"
#include "moving.h"
#include "reach.h"

/*
 * Whether the slot of level 0 that opens now can be made due without a look at each timer: no touch
 * has replaced a deadline as late as this slot's, so everything in it is due.
 */
static bool all_due(const struct pawl_wheel *wheel)
{
	return wheel->time >= wheel->tick && wheel->touched <= wheel->time - wheel->tick;
}

/* Whether there was anything in the slot. */
static bool make_all_due(struct pawl_wheel *wheel, uint64_t slot)
{
	bool any = false;

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		struct pawl_timer *head = slot_head(wheel, &wheel->level[0], slot, chain);

		if (!list_in_use(head))
			continue;
		list_append_all(due_list(wheel, chain), head); /* which retires it */
		any = true;
	}
	return any;
}

/* A slot of level 0 in which a touch may have left timers that are not due yet. Seldom: so out of line. */
static NEVER_INLINE size_t look_through(struct pawl_wheel *wheel, uint64_t slot, size_t max)
{
	return move_each(wheel, &wheel->level[0], slot, wheel->level[0].opens, max, true);
}

/*
 * Open the level's first slot, with at most `max` moves. If they do not suffice, some timers stay. If
 * they just do, the slot stays without a timer, and the next look finds out.
 */
static inline size_t open_first(struct pawl_wheel *wheel, struct level *level, size_t max)
{
	uint64_t slot = first_slot(wheel, level);
	size_t moves;

	if (level == &wheel->level[0] && all_due(wheel)) {
		moves = make_all_due(wheel, slot);
	} else {
		moves = level == &wheel->level[0]
		                ? look_through(wheel, slot, max)
		                : move_each(wheel, level, slot, level->opens, max, false);
		if (moves == max)
			return moves;
	}
	pass_first(wheel, level, slot);
	return moves;
}

/* The bound is reached, and this level's first slot is still to open. */
static void stop_before(struct pawl_wheel *wheel, struct level *level)
{
	set_time(wheel, time_of_tick(wheel, level->opens));
	wheel->first = level;
	wheel->stopped = true;
	wheel->wake = wheel->time;
}

/* Advance where there may be something to open, or time would go back. */
static NEVER_INLINE size_t advance_and_open(struct pawl_wheel *wheel, uint64_t now,
                                            size_t max_moves)
{
	struct level *level;
	uint64_t target;
	size_t moves = 0;

	if (now < wheel->time)
		return 0;
	target = now < LAST ? tick_of_time(wheel, now) : NO_TICK - 1;
	if (max_moves == 0)
		max_moves = SIZE_MAX;
	for (level = wheel->first; level->opens <= target; level = first_of_levels(wheel)) {
		if (moves < max_moves) {
			set_time(wheel, time_of_tick(wheel, level->opens));
			moves += open_first(wheel, level, max_moves - moves);
		} else if (first_slot_empty(wheel, level)) {
			forget_first(wheel, level);
		} else {
			stop_before(wheel, level);
			return moves;
		}
	}
	set_time(wheel, now);
	wheel->first = level;
	wheel->stopped = false;
	wake_at(wheel, time_of_opening(wheel, level));
	return moves;
}

/*
 * One compare for two questions: is `now` at or after the wheel's time, and before the next opening?
 * Time that goes back wraps to a distance beyond any opening. After a stop the next opening is no
 * distance away. (And half time is never passed here: reach.h.)
 */
size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	if (now - wheel->time >= wheel->wake - wheel->time)
		return advance_and_open(wheel, now, max_moves);
	wheel->time = now;
	return 0;
}

/* The first chain of due timers from the one whose turn it is. There must be one. */
static uint32_t due_chain_in_turn(const struct pawl_wheel *wheel)
{
	uint32_t twice = wheel->due_chains | wheel->due_chains << MAX_CHAINS;
	uint32_t ahead = (uint32_t)lowest_bit(twice >> wheel->due_turn);

	return (wheel->due_turn + ahead) % MAX_CHAINS;
}

static inline struct pawl_timer *first_due(struct pawl_wheel *wheel)
{
	while (wheel->due_chains) {
		uint32_t chain = due_chain_in_turn(wheel);

		if (!list_empty(&wheel->due[chain])) {
			wheel->due_turn = (chain + 1) & wheel->chain_mask;
			return wheel->due[chain].next;
		}
		wheel->due_chains &= ~(UINT32_C(1) << chain);
	}
	return NULL;
}

/*
 * The next pop will take the first timer of the chain whose turn it is, which is in the cache since its
 * predecessor went, and write to the one behind it, which may be cold: ask for that one now.
 */
struct pawl_timer *pawl_wheel_pop(struct pawl_wheel *wheel)
{
	struct pawl_timer *timer = first_due(wheel);

	if (!timer)
		return NULL;
	take_off(wheel, timer);
	PREFETCH(wheel->due[wheel->due_turn].next->next);
	return timer;
}

/* Slots that cancelling emptied are no reason to wake: they are forgotten here, one by one. */
static NEVER_INLINE void forget_empty(struct pawl_wheel *wheel)
{
	do {
		forget_first(wheel, wheel->first);
		wheel->first = first_of_levels(wheel);
	} while (wheel->first->opens != NO_TICK && first_slot_empty(wheel, wheel->first));
	if (!wheel->stopped) /* else the advance that was stopped is to be gone on with */
		wake_at(wheel, time_of_opening(wheel, wheel->first));
}

static inline uint64_t next_opening(struct pawl_wheel *wheel)
{
	if (wheel->first->opens == NO_TICK)
		return PAWL_NEVER;
	if (first_slot_empty(wheel, wheel->first))
		forget_empty(wheel);
	if (wheel->stopped && wheel->first->opens != NO_TICK)
		return wheel->time;
	return time_of_opening(wheel, wheel->first);
}

uint64_t pawl_wheel_next_opening(struct pawl_wheel *wheel)
{
	return next_opening(wheel);
}

uint64_t pawl_wheel_next(struct pawl_wheel *wheel)
{
	if (first_due(wheel))
		return pawl_wheel_now(wheel) <= LAST ? pawl_wheel_now(wheel) : LAST;
	return next_opening(wheel);
}
