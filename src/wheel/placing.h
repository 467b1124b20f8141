/* SPDX-License-Identifier: MIT */
/* What arming and moving down share: marking slots, and knowing which one opens first. */
#ifndef PAWL_WHEEL_PLACING_H
#define PAWL_WHEEL_PLACING_H

#include "geometry.h"
#include "list.h"

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
 * The level whose first slot opens first; of several at the same tick 1, 2, 3, ... and 0 last. Which it
 * is cannot be foretold, so this is written for conditional moves.
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

/* A timer comes to this cell's slot. Whether the level opens earlier than it would have. */
static inline bool mark(struct pawl_wheel *wheel, struct level *level, uint64_t cell)
{
	uint64_t opens = tick_of_cell(level, cell);

	bit_set(level, slot_of_cell(wheel, cell));
	if (opens >= level->opens)
		return false;
	level->opens = opens;
	return true;
}

/* Whoever leaves a list passes the look that may be at it (moving.h) on to the next. */
static inline void take_off(struct pawl_wheel *wheel, struct pawl_timer *timer)
{
	if (timer == wheel->look)
		wheel->look = timer->next;
	list_remove(timer);
	wheel->gone++;
}

static inline struct pawl_timer *due_list(struct pawl_wheel *wheel, uint64_t chain)
{
	wheel->due_chains |= UINT32_C(1) << chain;
	return &wheel->due[chain];
}

#endif
