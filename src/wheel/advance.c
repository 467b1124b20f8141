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
#include "slots.h"

/*
 * Emptying a slot timer by timer: each goes where it belongs by now.
 *
 * What this costs is latency. A list of cold timers is walked one cache miss after the other, for where
 * a timer is, only its neighbour knows. But a list has two ends, and a slot may have several lists.
 *
 *  - A single list is emptied from one end, as order asks for, and at the same pace a cursor runs
 *    through it from the other end, which does nothing but fetch: they meet in the middle, and from
 *    there on everything is in the cache. So two misses are under way at a time. Where the list is not
 *    emptied at once, the cursor goes on in the next call where it was: slots.h keeps it on the list.
 *  - Several lists are emptied in step and each from both ends, for their order is open. A round takes
 *    the two timers at the ends of each, asks for those behind them, and then moves what it took. To ask
 *    for all of them before moving any was measured to be faster: docs/design/wheel.md.
 */

/*
 * To the front of its new slot, whose bit is set and set again: to look whether it is would be a branch
 * that nobody can foretell.
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

/* A timer that its slot lets out. Only those of level 0, the finest, can be due now. */
static ALWAYS_INLINE void move(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t now,
                               uint64_t chain, bool finest)
{
	uint64_t due = tick_of_deadline(wheel, timer->deadline);

	if (finest && due <= now)
		list_append(due_list(wheel, chain), timer);
	else
		put_in_front(wheel, timer, due, now, chain);
}

/* Where the cursor from the list's head is to go on: it may have begun in a call before. */
static inline struct pawl_timer *cursor_in(const struct pawl_wheel *wheel, struct pawl_timer *head)
{
	return wheel->cursor_list == head ? wheel->cursor : head->next;
}

/*
 * A single list, which holds timers; at most `max` of them, which is not 0. From its tail (see
 * advance.c), but on level 0 from its head, since these timers go to the *end* of the due ones.
 */
static ALWAYS_INLINE size_t move_list(struct pawl_wheel *wheel, struct pawl_timer *head,
                                      uint64_t chain, uint64_t now, size_t max, bool finest)
{
	struct pawl_timer *timer = finest ? head->next : head->prev, *next;
	struct pawl_timer *cursor =
	        finest ? head->prev : cursor_in(wheel, head); /* until they meet */
	size_t moves = 0;

	ASSERT(!list_empty(head) && max > 0);
	do {
		next = finest ? timer->next : timer->prev;
		PREFETCH(next);
		if (cursor == timer || cursor == next)
			cursor = head;
		if (cursor != head) {
			cursor = finest ? cursor->prev : cursor->next;
			PREFETCH(cursor);
		}
		move(wheel, timer, now, chain, finest);
		moves++;
		timer = next;
	} while (timer != head && moves < max);
	if (timer == head) {
		list_retire(head);
		wheel->cursor_list = NULL;
	} else if (finest) {
		head->next = timer;
		timer->prev = head;
	} else {
		head->prev = timer;
		timer->next = head;
		wheel->cursor = cursor;
		wheel->cursor_list = head;
	}
	return moves;
}

/*
 * A walk along one chain of a slot, which takes timers off at either end. The list itself is not kept
 * up with each step: what the walk did not reach is closed again at the end.
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

/* Take the timers at both ends, or the one that is left or that there is room for. */
static inline unsigned walk_step(struct walk *walk, struct removed *removed, size_t room)
{
	struct pawl_timer *first = walk->first, *last = walk->last;

	removed[0] = (struct removed){first, walk->chain};
	if (first == last) {
		walk->first = walk->last = walk->head;
		return 1;
	}
	walk->first = first->next;
	PREFETCH(walk->first);
	if (room == 1)
		return 1;
	removed[1] = (struct removed){last, walk->chain};
	if (walk->first == last) {
		walk->first = walk->last = walk->head;
		return 2;
	}
	walk->last = last->prev;
	PREFETCH(walk->last);
	return 2;
}

/* A step of every walk, as long as there is room. Returns how many timers were removed. */
static inline unsigned remove_round(struct walk *walks, unsigned used, struct removed *removed,
                                    size_t max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < used && n < max; i++)
		if (walks[i].first != walks[i].head)
			n += walk_step(&walks[i], &removed[n], max - n);
	return n;
}

/* Begin a walk along each list of the slot that holds timers. Returns how many they are. */
static inline unsigned walks_begin(const struct pawl_wheel *wheel, const struct level *level,
                                   uint64_t slot, struct walk *walks)
{
	unsigned used = 0;

	for (unsigned chain = 0; chain <= wheel->chain_mask; chain++) {
		struct pawl_timer *head = slot_head(wheel, level, slot, chain);

		if (!list_in_use(head))
			continue;
		walks[used++] = (struct walk){head, head->next, head->prev, chain};
		PREFETCH(head->next);
		PREFETCH(head->prev);
	}
	return used;
}

/* Several lists, at most `max` timers of them. */
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
 * Move the timers of a slot, at most `max` of them, placed as seen from tick `now`. Returns how many. On
 * a wheel with few timers most slots have a single list in use, however many chains there are.
 */
static ALWAYS_INLINE size_t move_each(struct pawl_wheel *wheel, struct level *level, uint64_t slot,
                                      uint64_t now, size_t max, bool finest)
{
	uint64_t chain_in_use = 0;
	unsigned used = 0;

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		if (!list_in_use(slot_head(wheel, level, slot, chain)))
			continue;
		chain_in_use = chain;
		used++;
	}
	if (used == 0)
		return 0;
	if (used > 1)
		return move_lists(wheel, level, slot, now, max);
	return move_list(wheel, slot_head(wheel, level, slot, chain_in_use), chain_in_use, now, max,
	                 finest);
}

/* For ahead.c. Here it is inlined. */
size_t pawl__move_down(struct pawl_wheel *wheel, struct level *level, uint64_t slot, uint64_t now,
                       size_t max)
{
	return move_each(wheel, level, slot, now, max, false);
}

/* Beyond half time the fast span is 0: arm.c. */
static inline void set_time(struct pawl_wheel *wheel, uint64_t time)
{
	ASSERT(time >= wheel->time);
	wheel->time = time;
	if (time >= HALF_TIME)
		wheel->fast_span = 0;
}

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
static NEVER_INLINE size_t open_touched(struct pawl_wheel *wheel, uint64_t slot, size_t max)
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
		                ? open_touched(wheel, slot, max)
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

/* Seldom: so out of line. */
static NEVER_INLINE void forget_emptied(const struct pawl_wheel *wheel, struct level *level)
{
	forget_first(wheel, level);
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
 * One compare for two questions: is `now` at or after the wheel's time, and before the next opening?
 * Time that goes back wraps to a distance beyond any opening. After a stop the next opening is no
 * distance away. (And half time is never passed here: arm.c.)
 */
size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	if (now - wheel->time >= wheel->wake - wheel->time)
		return advance_and_open(wheel, now, max_moves);
	wheel->time = now;
	return 0;
}
