/* SPDX-License-Identifier: MIT */
/* Looking at a wheel: the place of a timer, every timer, the lists of a level, and whether all is well. */
#include "compiler.h"
#include "slots.h"
#include "walk.h"

/* Field by field, as in init.c: no call of memcpy. */
static void describe_slot(const struct pawl_wheel *wheel, const struct level *level, uint64_t slot,
                          struct pawl_wheel_place *place)
{
	place->level = (unsigned)(level - wheel->level);
	place->slot = (unsigned)(slot % wheel->wheel_size);
	place->opens = time_of_tick(wheel, tick_of_cell(level, cell_of_slot(wheel, level, slot)));
}

static const struct pawl_timer *head_of(const struct pawl_wheel *wheel,
                                        const struct pawl_timer *timer)
{
	while (!is_head(wheel, timer))
		timer = timer->next;
	return timer;
}

/*
 * As many fields as the caller's struct has, and zeroes in those that this version does not know. Byte by byte, and
 * volatile: otherwise the compiler would call memcpy and memset, and the wheel needs no libc.
 */
static void copy_place(const struct pawl_wheel_place *from, struct pawl_wheel_place *to,
                       size_t size)
{
	const unsigned char *known = (const unsigned char *)from;
	volatile unsigned char *byte = (volatile unsigned char *)to;

	for (size_t i = 0; i < size; i++)
		byte[i] = i < sizeof(*from) ? known[i] : 0;
}

bool pawl_wheel_get_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                          struct pawl_wheel_place *place, size_t size)
{
	struct pawl_wheel_place found;
	uintptr_t head, slots = (uintptr_t)wheel->level[0].bits;
	const struct level *level;
	uint64_t slot;

	if (!timer->next)
		return false;
	head = (uintptr_t)head_of(wheel, timer);
	if (head < slots)
		return false; /* the head of a list of due timers */
	level = &wheel->level[(head - slots) / wheel->level_stride];
	slot = (head - (uintptr_t)level->heads) % wheel->chain_stride / HEAD_SIZE;
	describe_slot(wheel, level, slot, &found);
	copy_place(&found, place, size);
	return true;
}

static bool in_due_list(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	return (uintptr_t)head_of(wheel, timer) < (uintptr_t)wheel->level[0].bits;
}

/*
 * No mark in the timer says whether it is due: a slot of level 0 is made due as a whole, without a look at its timers.
 * But no timer is due whose deadline is after `time`. And unless an advance is stopped, no timer waits whose tick has
 * come, nor does any at the end of time. Two cases are left, in which a due timer and one that waits may have the same
 * deadline:
 *
 *  - The deadline has passed, its tick is still to come. A timer that was armed before its deadline waits for the tick.
 *    A timer that was armed after it is due.
 *  - An advance was stopped within the timer's tick, in a slot that it opens timer by timer because of a touch.
 */
bool pawl_wheel_due(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	uint64_t now = tick_of_time(wheel, wheel->time), due;

	if (!timer->next || timer->deadline > wheel->time)
		return false;
	due = timer->deadline ? tick_of_deadline(wheel, timer->deadline) : 0;
	if (due < now || (!wheel->stopped && (due == now || wheel->time >= LAST)))
		return true;
	return in_due_list(wheel, timer);
}

struct each {
	bool (*fn)(struct pawl_timer *timer, void *arg);
	void *arg;
};

static bool each_in_list(const struct pawl_timer *head, const struct each *each)
{
	struct pawl_timer *timer, *next;

	if (list_empty(head))
		return true;
	for (timer = head->next; timer != head; timer = next) {
		CHECKED(pawl__timer_expect_sound(timer, head));
		next = timer->next; /* fn may cancel the timer */
		if (!each->fn(timer, each->arg))
			return false;
	}
	return true;
}

static bool each_in_level(const struct pawl_wheel *wheel, const struct level *level,
                          const struct each *each)
{
	uint64_t current =
	        slot_of_cell(wheel, cell_of_tick(wheel, level, tick_of_time(wheel, wheel->time)));

	for (uint64_t i = 0; i < wheel->slots; i++) {
		uint64_t slot = slot_of_cell(wheel, current + i);

		for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
			if (!each_in_list(slot_head(wheel, level, slot, chain), each))
				return false;
	}
	return true;
}

void pawl_wheel_each(struct pawl_wheel *wheel, bool (*fn)(struct pawl_timer *timer, void *arg),
                     void *arg)
{
	IN_WHEEL(wheel);
	const struct each each = {fn, arg};

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		if (!each_in_list(&wheel->due[chain], &each))
			return;
	for (unsigned i = wheel->levels_used; i-- > 0;)
		if (wheel->level[i].ready && !each_in_level(wheel, &wheel->level[i], &each))
			return;
}

/* How many slots to skip: to the next one that may hold timers, or to the end of the word or of the level. */
static uint64_t slots_to_skip(const struct pawl_wheel *wheel, const struct level *level,
                              uint64_t slot)
{
	uint64_t rest = wheel->slots - slot, in_word = slot % BITS_PER_WORD, bits, skip;

	if (!level->ready)
		return rest;
	bits = level->bits[slot / BITS_PER_WORD] >> in_word;
	skip = bits ? lowest_bit(bits) : BITS_PER_WORD - in_word;
	return skip < rest ? skip : rest;
}

static uint64_t chains_of(const struct pawl_wheel *wheel)
{
	return wheel->chain_mask + UINT64_C(1);
}

static uint64_t lists_of(const struct pawl_wheel *wheel, const struct list_walk *walk)
{
	return (walk->level ? wheel->slots : 1) * chains_of(wheel);
}

/* Begin the next list; or, if its slot has no timers, skip to a later slot. */
static void begin_list(struct pawl_wheel *wheel, struct list_walk *walk)
{
	const struct level *level = &wheel->level[walk->level ? walk->level - 1 : 0];
	uint64_t slot = walk->at / chains_of(wheel), chain = walk->at % chains_of(wheel);
	uint64_t skip = walk->level ? slots_to_skip(wheel, level, slot) : 0;
	struct walked_list *list;

	if (skip > 0) {
		walk->at = (slot + skip) * chains_of(wheel);
		return;
	}
	walk->at++;
	list = &walk->lists[walk->count++];
	list->head = walk->level ? slot_head(wheel, level, slot, chain) : &wheel->due[chain];
	list->next = NULL;
}

/*
 * The next timer of a list. Returns whether the list goes on. If its slot has opened meanwhile, it is empty: then `next`
 * is on another list, which is walked later.
 */
static bool walk_list(const struct pawl_wheel *wheel, struct walked_list *list, wheel_walk_fn *fn,
                      void *arg)
{
	struct pawl_timer *timer =
	        list->next && !list_empty(list->head) ? list->next : list->head->next;

	if (!is_head(wheel, timer)) {
		fn(timer, arg);
		timer = timer->next;
		PREFETCH_TO_READ(timer); /* for the next turn of this list */
	}
	list->next = is_head(wheel, timer) ? NULL : timer;
	return timer != list->head;
}

/* Put the last list in the place of list i. Field by field: gcc for ARM would call memcpy, and the wheel needs no libc. */
static void end_list(struct list_walk *walk, unsigned i)
{
	const struct walked_list *last = &walk->lists[--walk->count];

	walk->lists[i].head = last->head;
	walk->lists[i].next = last->next;
}

bool pawl__wheel_walk(struct pawl_wheel *wheel, struct list_walk *walk, unsigned steps,
                      wheel_walk_fn *fn, void *arg)
{
	const uint64_t end = lists_of(wheel, walk);

	ASSERT(walk->level < pawl__wheel_levels(wheel));
	while (steps > 0 && (walk->count > 0 || walk->at < end)) {
		for (; steps > 0 && walk->count < WALK_LISTS && walk->at < end; steps--)
			begin_list(wheel, walk);
		for (unsigned i = 0; steps > 0 && i < walk->count; steps--)
			if (walk_list(wheel, &walk->lists[i], fn, arg))
				i++;
			else
				end_list(walk, i);
	}
	return walk->count > 0 || walk->at < end;
}

unsigned pawl__wheel_levels(const struct pawl_wheel *wheel)
{
	return wheel->levels_used + 1u;
}

/*
 * The checker. Each function returns the name of the first broken invariant, or NULL. `left` counts down the timers
 * that the wheel says it holds, so that a list which runs in a circle ends.
 */

static const char *check_links(const struct pawl_timer *timer, size_t *left)
{
	if (!timer->next || !timer->prev)
		return "an armed timer has both neighbours";
	if (timer->next->prev != timer || timer->prev->next != timer)
		return "neighbours point at each other";
	if ((*left)-- == 0)
		return "the lists hold as many timers as are counted";
	if (timer->deadline > LAST)
		return "no deadline is after the end of time";
	return NULL;
}

static const char *check_due(const struct pawl_wheel *wheel, uint64_t chain, size_t *left)
{
	const struct pawl_timer *head = &wheel->due[chain];
	const char *broken;

	if (!list_empty(head) && !(wheel->due_chains >> chain & 1))
		return "a chain of due timers has its bit set";
	if (head->next->prev != head || head->prev->next != head)
		return "a list of due timers is closed";
	for (const struct pawl_timer *timer = head->next; timer != head; timer = timer->next) {
		if ((broken = check_links(timer, left)) != NULL)
			return broken;
		if (timer->deadline > wheel->time)
			return "a due timer's deadline is not after now";
	}
	return NULL;
}

/* A timer that was not touched is in its own cell; a touched timer is in an earlier one. */
static const char *check_cell(const struct pawl_wheel *wheel, const struct level *level,
                              uint64_t cell, const struct pawl_timer *timer)
{
	uint64_t opens = time_of_tick(wheel, tick_of_cell(level, cell)), due;
	bool untouched = level == &wheel->level[0] && all_due(wheel, opens);

	if (timer->deadline == 0)
		return "a timer that waits has a deadline after 0";
	due = tick_of_deadline(wheel, timer->deadline);
	if (due < tick_of_cell(level, cell))
		return "a timer's slot opens no later than its tick";
	if (untouched && cell_of_tick(wheel, level, due) != cell)
		return "a timer that was not touched is in the slot of its tick";
	return NULL;
}

static const char *check_chain(const struct pawl_wheel *wheel, const struct level *level,
                               uint64_t slot, uint64_t chain, size_t *left)
{
	const struct pawl_timer *head = slot_head(wheel, level, slot, chain);
	uint64_t cell = cell_of_slot(wheel, level, slot);
	const char *broken;

	if (list_unused(head))
		return head->next == head ? NULL : "a list that is not in use is empty";
	if (!bit_is_set(level, slot))
		return "a slot in use has its bit set";
	if (head->next->prev != head || head->prev->next != head)
		return "a slot's list is closed";
	for (const struct pawl_timer *timer = head->next; timer != head; timer = timer->next) {
		if ((broken = check_links(timer, left)) != NULL)
			return broken;
		if ((broken = check_cell(wheel, level, cell, timer)) != NULL)
			return broken;
	}
	return NULL;
}

static const char *check_bit(const struct pawl_wheel *wheel, const struct level *level,
                             uint64_t slot)
{
	uint64_t now = tick_of_time(wheel, wheel->time);
	uint64_t cell = cell_of_slot(wheel, level, slot);

	if (!bit_is_set(level, slot))
		return NULL;
	if (cell - cell_of_tick(wheel, level, now) >= wheel->wheel_size &&
	    tick_of_cell(level, cell) >= level->upto)
		return "a slot beyond the window is of a cell that was begun ahead";
	if (tick_of_cell(level, cell) < level->opens)
		return "no slot whose bit is set opens before the level's first";
	if (time_of_tick(wheel, tick_of_cell(level, cell)) < wheel->wake)
		return "the wheel wakes for every slot whose bit is set";
	if (!wheel->stopped && cell == cell_of_tick(wheel, level, now))
		return "a slot that time has reached is open and empty";
	return NULL;
}

static const char *check_summary(const struct pawl_wheel *wheel, const struct level *level)
{
	for (uint64_t pair = 0; pair * BITS_PER_PAIR < wheel->slots; pair++)
		if (!!(level->pairs & bit_in_word(pair)) !=
		    !!(level->bits[2 * pair] | level->bits[2 * pair + 1]))
			return "a pair's bit is set if, and only if, one of its words is not zero";
	if ((level->pairs == 0) != (level->opens == NO_TICK))
		return "a level with bits set has a first opening";
	return NULL;
}

/* Only the next cell of the level above can have been begun. */
static const char *check_upto(const struct pawl_wheel *wheel, const struct level *level)
{
	const struct level *above = level + 1;
	uint64_t now = tick_of_time(wheel, wheel->time), cell;

	if (level->upto == 0)
		return NULL;
	if (!has_room_ahead(wheel) || level == &wheel->level[wheel->levels - 1])
		return "only a wheel with room for it, and not its last level, has an upto";
	cell = cell_of_tick(wheel, above, level->upto);
	if (tick_of_cell(above, cell) != level->upto)
		return "an upto is the end of a cell of the level above";
	if (cell > cell_of_tick(wheel, above, now) + 2)
		return "an upto is at most the end of the next cell of the level above";
	return NULL;
}

static const char *check_level(const struct pawl_wheel *wheel, const struct level *level,
                               size_t *left)
{
	const char *broken = check_summary(wheel, level);

	if (broken || (broken = check_upto(wheel, level)) != NULL)
		return broken;
	for (uint64_t slot = 0; slot < wheel->slots; slot++) {
		if ((broken = check_bit(wheel, level, slot)) != NULL)
			return broken;
		for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
			if ((broken = check_chain(wheel, level, slot, chain, left)) != NULL)
				return broken;
	}
	return NULL;
}

/* If a list was emptied in part, the cursor is at one of its timers, or at its end. */
static const char *check_cursor(const struct pawl_wheel *wheel)
{
	const struct pawl_timer *timer;

	if (!wheel->cursor_list || wheel->cursor == wheel->cursor_list)
		return NULL;
	for (timer = wheel->cursor_list->next; timer != wheel->cursor_list; timer = timer->next)
		if (timer == wheel->cursor)
			return NULL;
	return "the cursor through a list is at one of its timers";
}

const char *pawl_wheel_check(const struct pawl_wheel *wheel)
{
	size_t left = pawl_wheel_count(wheel);
	const char *broken;

	if (wheel->fast_span != pawl__fast_span(wheel))
		return "the fast span is what the levels that are ready allow";
	for (unsigned i = 0; i < wheel->levels_used; i++)
		if (wheel->level[i].opens < wheel->first->opens)
			return "no level opens before the first one";
	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		if ((broken = check_due(wheel, chain, &left)) != NULL)
			return broken;
	for (unsigned i = 0; i < wheel->levels_used; i++)
		if (wheel->level[i].ready &&
		    (broken = check_level(wheel, &wheel->level[i], &left)) != NULL)
			return broken;
	if (left > 0)
		return "the lists hold as many timers as are counted";
	return check_cursor(wheel);
}
