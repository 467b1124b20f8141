/* SPDX-License-Identifier: MIT */
/*
 * Time goes on: slots open, timers move down and become due.
 *
 * Order. Timers of one tick come out in the order in which they were armed. This rests on Kafka's geometry: windows
 * only move forward: if two timers are for the same tick, the one on the coarser level was armed first. So a timer that
 * moves down into a slot was armed before all timers that are in it. Hence two rules:
 *
 *  - Slots open by time. Among slots that open at the same time, level 1 opens first, then 2, then 3, and level 0 last.
 *  - A slot above level 0 is emptied from its tail, and each timer goes to the *front* of its new slot.
 *
 *	level 1, the slot that opens now:   A B C       all three for tick 7
 *	level 0, slot 7, before:            D E         armed later, when 7 was near
 *	  C moves:                          C D E
 *	  B moves:                          B C D E
 *	  A moves:                          A B C D E
 *
 * A timer whose tick is the present one also goes to the front of level 0's present slot, not straight to the due ones:
 * that slot opens last, and makes all of its timers due in order.
 */
#include "compiler.h"
#include "slots.h"

/*
 * Emptying a slot timer by timer: each timer goes to the slot that is now right for it.
 *
 * The cost is latency. The address of a timer is in its neighbour, so a list of cold timers is walked one cache miss
 * after the other. But a list has two ends, and a slot may have several lists.
 *
 *  - A single list is emptied from one end, as the order demands. At the same pace a cursor runs through it from the
 *    other end, and only prefetches. They meet in the middle, and from there on all timers are in the cache. So two
 *    misses are under way at a time. If the list is not emptied at once, the cursor goes on in the next call: see
 *    unlink_timer().
 *  - Several lists are emptied in step, and each from both ends, since their order is open. A round removes the two
 *    timers at the ends of each list, prefetches the timers behind them, and then moves the removed ones. This was
 *    measured to be faster than moving each timer at once: docs/design/wheel.md.
 */

/*
 * Put a timer at the front of its new slot. The slot's bit is set even if it is set already: the branch would be
 * unpredictable.
 */
static ALWAYS_INLINE void put_in_front(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                       uint64_t due, uint64_t now, uint64_t chain)
{
	struct level *level = level_for(wheel, due, now);
	uint64_t cell = cell_of_tick(wheel, level, due);

	if (!level->ready)
		pawl__level_prepare(wheel, level);
	list_prepend(slot_head(wheel, level, slot_of_cell(wheel, cell), chain), timer);
	mark(wheel, level, cell);
}

/* Move a timer out of its slot, as seen from tick `now`. Only timers of level 0, the finest, can be due. */
static ALWAYS_INLINE void move(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t now,
                               uint64_t chain, bool finest)
{
	uint64_t due = tick_of_deadline(wheel, timer->deadline);

	if (finest && due <= now)
		list_append(due_list(wheel, chain), timer);
	else
		put_in_front(wheel, timer, due, now, chain);
}

/* Where the cursor through this list is: an earlier call may have begun. */
static inline struct pawl_timer *cursor_in(const struct pawl_wheel *wheel, struct pawl_timer *head)
{
	return wheel->cursor_list == head ? wheel->cursor : head->next;
}

/*
 * Empty a list of level 0, which holds timers, by at most `max` moves, which is not 0. From its head: its timers go to
 * the *end* of the due ones.
 */
static inline size_t empty_from_head(struct pawl_wheel *wheel, struct pawl_timer *head,
                                     uint64_t chain, uint64_t now, size_t max)
{
	struct pawl_timer *timer = head->next, *next;
	size_t moves = 0;

	CHECKED(pawl__timer_expect_sound(timer, head));
	ASSERT(!list_empty(head) && max > 0 && linked(head, timer));
	do {
		next = timer->next;
		CHECKED(pawl__timer_expect_sound(next, head));
		ASSERT(linked(timer, next));
		PREFETCH(next);
		move(wheel, timer, now, chain, true);
		moves++;
		timer = next;
	} while (timer != head && moves < max);
	if (timer == head) {
		list_retire(head);
	} else {
		head->next = timer;
		timer->prev = head;
	}
	return moves;
}

/*
 * Empty a list of another level likewise, but from its tail: its timers go to the front of a finer slot. A cursor from
 * the other end prefetches, until the two meet.
 */
static ALWAYS_INLINE size_t empty_from_tail(struct pawl_wheel *wheel, struct pawl_timer *head,
                                            uint64_t chain, uint64_t now, size_t max)
{
	struct pawl_timer *timer = head->prev, *next, *cursor = cursor_in(wheel, head);
	size_t moves = 0;

	CHECKED(pawl__timer_expect_sound(timer, head));
	ASSERT(!list_empty(head) && max > 0 && linked(timer, head));
	do {
		next = timer->prev;
		CHECKED(pawl__timer_expect_sound(next, head));
		ASSERT(linked(next, timer));
		PREFETCH(next);
		if (cursor == timer || cursor == next)
			cursor = head;
		if (cursor != head) {
			CHECKED(pawl__timer_expect_sound(cursor, head));
			cursor = cursor->next;
			PREFETCH(cursor);
		}
		move(wheel, timer, now, chain, false);
		moves++;
		timer = next;
	} while (timer != head && moves < max);
	if (timer == head) {
		list_retire(head);
		wheel->cursor_list = NULL;
	} else {
		head->prev = timer;
		timer->next = head;
		wheel->cursor = cursor;
		wheel->cursor_list = head;
	}
	return moves;
}

/*
 * A walk along one chain of a slot, which removes timers at both ends. The list is not kept up with each step:
 * walk_end() closes it around the timers that are left.
 */
struct walk {
	struct pawl_timer *head;
	struct pawl_timer *first, *last; /* not removed yet; both the head if there is none */
	unsigned chain;
};

static inline void walk_end(const struct walk *walk)
{
	if (walk->first == walk->head) {
		list_retire(walk->head);
		return;
	}
	walk->head->next = walk->first;
	walk->first->prev = walk->head;
	walk->head->prev = walk->last;
	walk->last->next = walk->head;
}

/* A timer that a walk has removed from its list. */
struct removed {
	struct pawl_timer *timer;
	unsigned chain;
};

/* Remove the timers at both ends, or one, if only one is left or there is room for only one. Returns how many. */
static inline unsigned walk_step(struct walk *walk, struct removed *removed, size_t room)
{
	struct pawl_timer *first = walk->first, *last = walk->last;

	removed[0] = (struct removed){first, walk->chain};
	if (first == last) {
		walk->first = walk->last = walk->head;
		return 1;
	}
	walk->first = first->next;
	CHECKED(pawl__timer_expect_sound(walk->first, walk->head));
	ASSERT(linked(first, walk->first));
	PREFETCH(walk->first);
	if (room == 1)
		return 1;
	removed[1] = (struct removed){last, walk->chain};
	if (walk->first == last) {
		walk->first = walk->last = walk->head;
		return 2;
	}
	walk->last = last->prev;
	CHECKED(pawl__timer_expect_sound(walk->last, walk->head));
	ASSERT(linked(walk->last, last));
	PREFETCH(walk->last);
	return 2;
}

/* A step of every walk, while there is room. Returns how many timers were removed. */
static inline unsigned remove_round(struct walk *walks, unsigned used, struct removed *removed,
                                    size_t max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < used && n < max; i++)
		if (walks[i].first != walks[i].head)
			n += walk_step(&walks[i], &removed[n], max - n);
	return n;
}

/* Begin a walk along each list of the slot that holds timers. Returns how many there are. */
static inline unsigned walks_begin(const struct pawl_wheel *wheel, const struct level *level,
                                   uint64_t slot, struct walk *walks)
{
	unsigned used = 0;

	for (unsigned chain = 0; chain <= wheel->chain_mask; chain++) {
		struct pawl_timer *head = slot_head(wheel, level, slot, chain);

		if (list_retire_if_empty(head))
			continue;
		CHECKED(pawl__timer_expect_sound(head->next, head));
		CHECKED(pawl__timer_expect_sound(head->prev, head));
		ASSERT(linked(head, head->next) && linked(head->prev, head));
		walks[used++] = (struct walk){head, head->next, head->prev, chain};
		PREFETCH(head->next);
		PREFETCH(head->prev);
	}
	return used;
}

/* Empty several lists, by at most `max` moves. */
static NEVER_INLINE size_t move_lists(struct pawl_wheel *wheel, struct level *level, uint64_t slot,
                                      uint64_t now, size_t max)
{
	const bool finest = level == &wheel->level[0];
	struct removed removed[2 * MAX_CHAINS];
	struct walk walks[MAX_CHAINS];
	unsigned used = walks_begin(wheel, level, slot, walks), n;
	size_t moves = 0;

	while ((n = remove_round(walks, used, removed, max - moves)) > 0) {
		for (unsigned i = 0; i < n; i++)
			move(wheel, removed[i].timer, now, removed[i].chain, finest);
		moves += n;
	}
	for (unsigned i = 0; i < used; i++)
		walk_end(&walks[i]);
	return moves;
}

/*
 * Move the timers of a slot, at most `max` of them, as seen from tick `now`. Returns the moves. On a wheel with few
 * timers most slots have a single list in use, however many chains there are.
 */
static ALWAYS_INLINE size_t move_each(struct pawl_wheel *wheel, struct level *level, uint64_t slot,
                                      uint64_t now, size_t max, bool finest)
{
	struct pawl_timer *head;
	uint64_t chain_in_use = 0;
	unsigned used = 0;

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		if (list_retire_if_empty(slot_head(wheel, level, slot, chain)))
			continue;
		chain_in_use = chain;
		used++;
	}
	if (used == 0)
		return 0;
	if (used > 1)
		return move_lists(wheel, level, slot, now, max);
	head = slot_head(wheel, level, slot, chain_in_use);
	return finest ? empty_from_head(wheel, head, chain_in_use, now, max)
	              : empty_from_tail(wheel, head, chain_in_use, now, max);
}

/* For ahead.c. In this file move_each() is inlined. */
size_t pawl__move_down(struct pawl_wheel *wheel, struct level *level, uint64_t slot, uint64_t now,
                       size_t max)
{
	return move_each(wheel, level, slot, now, max, false);
}

/* In the second half of time the fast span is 0: arm.c. */
static inline void set_time(struct pawl_wheel *wheel, uint64_t time)
{
	ASSERT(time >= wheel->time);
	wheel->time = time;
	if (time >= HALF_TIME)
		wheel->fast_span = 0;
}

/* Returns whether there was a timer in the slot. */
static bool make_all_due(struct pawl_wheel *wheel, uint64_t slot)
{
	bool any = false;

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		struct pawl_timer *head = slot_head(wheel, &wheel->level[0], slot, chain);

		if (list_retire_if_empty(head))
			continue;
		list_append_all(due_list(wheel, chain), head); /* which retires it */
		any = true;
	}
	return any;
}

/* Open a slot of level 0 in which a touch may have left timers that are not due yet. It is rare, so out of line. */
static NEVER_INLINE size_t open_touched(struct pawl_wheel *wheel, uint64_t slot, size_t max)
{
	return move_each(wheel, &wheel->level[0], slot, wheel->level[0].opens, max, true);
}

/*
 * Open the level's first slot, with at most `max` moves. Returns the moves. If all of them were needed, the slot keeps
 * its bit, even if it is empty now: the next opening finds out.
 */
static inline size_t open_first(struct pawl_wheel *wheel, struct level *level, size_t max)
{
	uint64_t slot = first_slot(wheel, level);
	size_t moves;

	if (level == &wheel->level[0] && all_due(wheel, wheel->time)) {
		moves = make_all_due(wheel, slot);
	} else {
		moves = level == &wheel->level[0]
		                ? open_touched(wheel, slot, max)
		                : move_each(wheel, level, slot, level->opens, max, false);
		if (moves == max)
			return moves;
	}
	pass_first(wheel, level, slot);
	return moves;
}

/* Stop: the bound is reached, and this level's first slot is still to open. */
static void stop_before(struct pawl_wheel *wheel, struct level *level)
{
	set_time(wheel, time_of_tick(wheel, level->opens));
	wheel->first = level;
	wheel->stopped = true;
	wheel->wake = wheel->time;
}

/* A slot that cancelling emptied. It is rare, so out of line. */
static NEVER_INLINE void forget_emptied(const struct pawl_wheel *wheel, struct level *level)
{
	forget_first(wheel, level);
}

/* Advance when there may be a slot to open, or `now` is before the wheel's time. */
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
			forget_emptied(wheel, level);
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
 * One compare answers two questions: is `now` at or after the wheel's time, and before the next opening? If `now` is
 * before the wheel's time, the distance wraps beyond any opening. After a stop the distance to the next opening is 0.
 * Half time is never passed here, since `wake` is at most half time until then (arm.c).
 */
size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	IN_WHEEL(wheel);
	if (now - wheel->time >= wheel->wake - wheel->time)
		return advance_and_open(wheel, now, max_moves);
	wheel->time = now;
	return 0;
}
