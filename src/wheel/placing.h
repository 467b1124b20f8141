/* SPDX-License-Identifier: MIT */
/* Putting a timer where it belongs: what arming and moving down share. */
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
	level->words |= bit_in_word(slot / BITS_PER_WORD);
}

static inline void bit_clear(struct level *level, uint64_t slot)
{
	level->bits[slot / BITS_PER_WORD] &= ~bit_in_word(slot);
	if (level->bits[slot / BITS_PER_WORD] == 0)
		level->words &= ~bit_in_word(slot / BITS_PER_WORD);
}

/* A timer comes to a slot's unused list: the slot's bit is set, and the level may open earlier. */
static inline void occupy(struct pawl_wheel *wheel, struct level *level, uint64_t cell,
                          struct pawl_timer *head)
{
	uint64_t opens = tick_of_cell(level, cell);

	list_init(head);
	bit_set(level, slot_of_cell(wheel, cell));
	if (opens >= level->opens)
		return;
	level->opens = opens;
	if (time_of_tick(wheel, opens) < wheel->wake)
		wheel->wake = time_of_tick(wheel, opens);
}

/* Where a timer due at tick `due` belongs, seen from tick `now`: its slot's list in this chain. */
static inline struct pawl_timer *list_for(struct pawl_wheel *wheel, uint64_t due, uint64_t now,
                                          size_t chain_offset)
{
	struct level *level = level_for(wheel, due, now);
	uint64_t cell = cell_of_tick(wheel, level, due);
	struct pawl_timer *head = head_at(level, slot_of_cell(wheel, cell), chain_offset);

	if (!level->ready)
		pawl__level_prepare(wheel, level);
	if (list_unused(head))
		occupy(wheel, level, cell, head);
	return head;
}

static inline void take_off(struct pawl_wheel *wheel, struct pawl_timer *timer)
{
	list_remove(timer);
	wheel->gone++;
}

static inline struct pawl_timer *due_list(struct pawl_wheel *wheel, uint64_t chain)
{
	wheel->due_chains |= UINT32_C(1) << chain;
	return &wheel->due[chain];
}

#endif
