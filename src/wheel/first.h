/* SPDX-License-Identifier: MIT */
/* A level's first slot, the one that opens first of those whose bit is set: look at it, and pass it. */
#ifndef PAWL_WHEEL_FIRST_H
#define PAWL_WHEEL_FIRST_H

#include "compiler.h"
#include "placing.h"

/* The next slot whose bit is set, going round from this one, whose own is not. Some bit must be set. */
static inline uint64_t next_slot(const struct level *level, uint64_t slot)
{
	uint64_t at = slot / BITS_PER_WORD, pair = slot / BITS_PER_PAIR;
	uint64_t rest_of_word = level->bits[at] & ~(bit_in_word(slot) - 1);
	uint64_t rest_of_pairs = level->pairs & ~(bit_in_word(pair) * 2 - 1);

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
	return slot_of_cell(wheel, cell_of_tick(wheel, level, level->opens));
}

/*
 * The lists of the first slot are retired. Every bit is of one of the `slots` cells from the current one
 * on: so the next bit that is met going round is that of the next cell.
 */
static inline void pass_first(const struct pawl_wheel *wheel, struct level *level, uint64_t slot)
{
	uint64_t next;

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

/* The level's first slot is empty. */
static inline void forget_first(const struct pawl_wheel *wheel, struct level *level)
{
	uint64_t slot = first_slot(wheel, level);

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		list_retire(slot_head(wheel, level, slot, chain));
	pass_first(wheel, level, slot);
}

static inline uint64_t time_of_opening(const struct pawl_wheel *wheel, const struct level *level)
{
	return level->opens != NO_TICK ? time_of_tick(wheel, level->opens) : PAWL_NEVER;
}

#endif
