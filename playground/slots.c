/* SPDX-License-Identifier: MIT */
/* The one file here that knows how a wheel lies in memory. It only reads. */
#include "slots.h"

#include "../src/wheel/slots.h"

static void walk_front(struct pawl_timer *head, const struct pawl_place *place, slots_fn *fn)
{
	if (list_empty(head))
		return;
	for (struct pawl_timer *timer = head->next; timer != head; timer = timer->next)
		if (!fn(timer, place))
			return;
}

static uint64_t opening_of(const struct pawl_wheel *wheel, const struct level *level, uint64_t slot)
{
	uint64_t cell = cell_of_tick(wheel, level, tick_of_time(wheel, wheel->time));
	uint64_t current = slot_of_cell(wheel, cell);
	uint64_t ahead = slot >= current ? slot - current : slot + wheel->slots - current;

	return time_of_tick(wheel, tick_of_cell(level, cell + ahead));
}

static void walk_level(const struct pawl_wheel *wheel, unsigned number, slots_fn *fn)
{
	const struct level *level = &wheel->level[number];

	for (uint64_t slot = 0; slot < wheel->slots; slot++) {
		struct pawl_place place = {number, (unsigned)(slot % wheel->wheel_size), 0};

		if (!bit_is_set(level, slot))
			continue;
		place.opens = opening_of(wheel, level, slot);
		for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
			walk_front(slot_head(wheel, level, slot, chain), &place, fn);
	}
}

void slots_each_front(const struct pawl_wheel *wheel, slots_fn *fn)
{
	for (unsigned number = 0; number < wheel->levels_used; number++)
		if (wheel->level[number].ready)
			walk_level(wheel, number, fn);
}

uint64_t slots_levels(const struct pawl_wheel *wheel)
{
	uint64_t bits = 0;

	for (unsigned number = 0; number < wheel->levels_used; number++)
		if (wheel->level[number].ready)
			bits |= UINT64_C(1) << number;
	return bits;
}

unsigned slots_levels_max(const struct pawl_wheel *wheel)
{
	return wheel->levels;
}
