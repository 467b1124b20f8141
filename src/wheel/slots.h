/* SPDX-License-Identifier: MIT */
/* Slots: their lists of timers, the bits that mark slots in use, and the slot that opens first. */
#ifndef PAWL_WHEEL_SLOTS_H
#define PAWL_WHEEL_SLOTS_H

#include "../base/mistake.h"
#include "compiler.h"
#include "geometry.h"

/*
 * Circular doubly linked lists of timers, closed by a head. A timer on no list has next == NULL.
 *
 * A slot's list is unused (prev == NULL) until its first timer comes, and retired, which is unused again, when the slot
 * has opened. Appending needs head->prev anyway, and sees by it whether the slot is in use. Prepending need not know:
 * next is the head itself, as in an empty list.
 */

static inline void list_retire(struct pawl_timer *head)
{
	head->next = head;
	head->prev = NULL;
}

static inline bool list_unused(const struct pawl_timer *head)
{
	return !head->prev;
}

static inline void list_init(struct pawl_timer *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct pawl_timer *head)
{
	return list_unused(head) || head->prev == head;
}

/* Retire the list if it holds no timers. Returns whether it is unused now. */
static inline bool list_retire_if_empty(struct pawl_timer *head)
{
	if (list_unused(head))
		return true;
	if (head->prev != head)
		return false;
	list_retire(head);
	return true;
}

/* For assertions: the two follow each other in one list. */
static inline bool linked(const struct pawl_timer *timer, const struct pawl_timer *next)
{
	return timer->next == next && next->prev == timer;
}

static inline void list_append(struct pawl_timer *head, struct pawl_timer *timer)
{
	struct pawl_timer *last = head->prev;

	ASSERT(!list_unused(head));
	CHECKED(pawl__timer_expect_sound(last, head));
	timer->prev = last;
	last->next = timer;
	timer->next = head;
	head->prev = timer;
}

static inline void list_prepend(struct pawl_timer *head, struct pawl_timer *timer)
{
	struct pawl_timer *first = head->next;

	CHECKED(pawl__timer_expect_sound(first, head));
	timer->next = first;
	first->prev = timer;
	timer->prev = head;
	head->next = timer;
}

static inline void list_remove(struct pawl_timer *timer)
{
	struct pawl_timer *next = timer->next, *prev = timer->prev;

	ASSERT_LINKS(linked(prev, timer) && linked(timer, next));
	prev->next = next;
	next->prev = prev;
	timer->next = NULL;
}

/* Move all timers of a list, which must not be empty, to the end of another, and retire it. */
static inline void list_append_all(struct pawl_timer *head, struct pawl_timer *from)
{
	struct pawl_timer *first = from->next, *last = from->prev, *before = head->prev;

	CHECKED(pawl__timer_expect_sound(first, from));
	CHECKED(pawl__timer_expect_sound(last, from));
	CHECKED(pawl__timer_expect_sound(before, head));
	ASSERT(!list_empty(from) && linked(from, first) && linked(last, from));
	before->next = first;
	first->prev = before;
	last->next = head;
	head->prev = last;
	list_retire(from);
}

/*
 * Bits: which slots may hold timers. A second bitmap, `pairs`, sums them up: bit p is set if word 2p or word 2p + 1 is
 * not zero.
 */

static inline uint64_t bit_in_word(uint64_t number)
{
	return UINT64_C(1) << number % BITS_PER_WORD;
}

static inline bool bit_is_set(const struct level *level, uint64_t slot)
{
	return level->bits[slot / BITS_PER_WORD] & bit_in_word(slot);
}

static inline void bit_set(struct level *level, uint64_t slot)
{
	level->bits[slot / BITS_PER_WORD] |= bit_in_word(slot);
	level->pairs |= bit_in_word(slot / BITS_PER_PAIR);
}

static inline void bit_clear(struct level *level, uint64_t slot)
{
	uint64_t pair = slot / BITS_PER_PAIR;

	level->bits[slot / BITS_PER_WORD] &= ~bit_in_word(slot);
	if ((level->bits[2 * pair] | level->bits[2 * pair + 1]) == 0)
		level->pairs &= ~bit_in_word(pair);
}

/*
 * The level whose first slot opens first. Among levels that open at the same tick the order is 1, 2, 3, ... and 0 last.
 * The branch would be unpredictable, so this is written for conditional moves.
 */
static inline struct level *first_of_levels(struct pawl_wheel *wheel)
{
	struct level *first = &wheel->level[0];
	uint64_t opens = first->opens;

	for (struct level *level = &wheel->level[wheel->levels_used]; --level > &wheel->level[0];) {
		first = level->opens <= opens ? level : first;
		opens = level->opens <= opens ? level->opens : opens;
	}
	return first;
}

/* Mark the slot of a cell that gets a timer. Returns whether the level's first opening is now earlier. */
static inline bool mark(struct pawl_wheel *wheel, struct level *level, uint64_t cell)
{
	uint64_t opens = tick_of_cell(level, cell);

	bit_set(level, slot_of_cell(wheel, cell));
	if (opens >= level->opens)
		return false;
	level->opens = opens;
	return true;
}

/* If the cursor of advance.c is at this timer, move it on. */
static inline void unlink_timer(struct pawl_wheel *wheel, struct pawl_timer *timer)
{
	if (timer == wheel->cursor)
		wheel->cursor = timer->next;
	list_remove(timer);
	CHECKED(pawl__timer_note_idle(timer));
	wheel->gone++;
}

static inline struct pawl_timer *due_list(struct pawl_wheel *wheel, uint64_t chain)
{
	ASSERT(chain <= wheel->chain_mask);
	wheel->due_chains |= UINT32_C(1) << chain;
	return &wheel->due[chain];
}

/*
 * Whether the slot of level 0 that opens at this time can be made due as a whole: no touch has replaced a deadline as
 * late as this slot's, so every timer in it is due then.
 */
static inline bool all_due(const struct pawl_wheel *wheel, uint64_t opens)
{
	return opens >= wheel->tick && wheel->touched <= opens - wheel->tick;
}

/* A level's first slot: of the slots whose bit is set, the first to open. */

/* The first slot whose bit is set, going round from this one on. Some bit must be set. */
static inline uint64_t next_slot(const struct level *level, uint64_t slot)
{
	uint64_t at = slot / BITS_PER_WORD, pair = slot / BITS_PER_PAIR;
	uint64_t rest_of_word = level->bits[at] & ~(bit_in_word(slot) - 1);
	uint64_t rest_of_pairs = level->pairs & ~(bit_in_word(pair) * 2 - 1);

	ASSERT(level->pairs != 0);
	if (rest_of_word)
		return at * BITS_PER_WORD + lowest_bit(rest_of_word);
	if (at % 2 == 0 && level->bits[at + 1])
		return (at + 1) * BITS_PER_WORD + lowest_bit(level->bits[at + 1]);
	pair = lowest_bit(rest_of_pairs ? rest_of_pairs : level->pairs);
	at = 2 * pair + (level->bits[2 * pair] == 0);
	return at * BITS_PER_WORD + lowest_bit(level->bits[at]);
}

static inline uint64_t first_slot(const struct pawl_wheel *wheel, const struct level *level)
{
	ASSERT(level->opens != NO_TICK);
	return slot_of_cell(wheel, cell_of_tick(wheel, level, level->opens));
}

static inline bool slot_retired(const struct pawl_wheel *wheel, const struct level *level,
                                uint64_t slot)
{
	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		if (!list_unused(slot_head(wheel, level, slot, chain)))
			return false;
	return true;
}

/*
 * Go on to the next slot, when the lists of the first one are retired. Every bit belongs to one of the `slots` cells
 * from the current one on: so the next bit, going round, is that of the next cell.
 */
static inline void pass_first(const struct pawl_wheel *wheel, struct level *level, uint64_t slot)
{
	uint64_t next;

	ASSERT(slot_retired(wheel, level, slot));
	bit_clear(level, slot);
	if (level->pairs == 0) {
		level->opens = NO_TICK;
		return;
	}
	next = next_slot(level, slot);
	level->opens += tick_of_cell(level, next - slot + (next < slot ? wheel->slots : 0));
}

static inline bool first_slot_empty(const struct pawl_wheel *wheel, const struct level *level)
{
	uint64_t slot = first_slot(wheel, level);

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		if (!list_empty(slot_head(wheel, level, slot, chain)))
			return false;
	return true;
}

/* Retire the level's first slot, which must be empty, and go on to the next. */
static inline void forget_first(const struct pawl_wheel *wheel, struct level *level)
{
	uint64_t slot = first_slot(wheel, level);

	ASSERT(first_slot_empty(wheel, level));
	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		list_retire(slot_head(wheel, level, slot, chain));
	pass_first(wheel, level, slot);
}

static inline uint64_t time_of_opening(const struct pawl_wheel *wheel, const struct level *level)
{
	return level->opens != NO_TICK ? time_of_tick(wheel, level->opens) : PAWL_NEVER;
}

/* Advance has work when the first slot opens, and at half time, where the fast span ends: arm.c. */
static inline void wake_at(struct pawl_wheel *wheel, uint64_t opens)
{
	wheel->wake = wheel->fast_span && opens > HALF_TIME ? HALF_TIME : opens;
}

/* The cell that a slot stands for now: the current one or a later one. */
static inline uint64_t cell_of_slot(const struct pawl_wheel *wheel, const struct level *level,
                                    uint64_t slot)
{
	uint64_t cell = cell_of_tick(wheel, level, tick_of_time(wheel, wheel->time));
	uint64_t current = slot_of_cell(wheel, cell);

	return cell + (slot >= current ? slot - current : slot + wheel->slots - current);
}

#endif
