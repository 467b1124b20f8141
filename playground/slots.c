/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include "../src/wheel/slots.h"

static void front_of_list(struct pawl_timer *head, const struct pawl_wheel_place *place,
                          front_fn *fn)
{
	if (list_empty(head))
		return;
	for (struct pawl_timer *timer = head->next; timer != head; timer = timer->next)
		if (!fn(timer, place))
			return;
}

static void fronts_of_level(const struct pawl_wheel *wheel, const struct level *level, front_fn *fn)
{
	for (uint64_t slot = 0; slot < wheel->slots; slot++) {
		struct pawl_wheel_place place;

		if (!bit_is_set(level, slot))
			continue;
		place.level = (unsigned)(level - wheel->level);
		place.slot = (unsigned)(slot % wheel->wheel_size);
		place.opens =
		        time_of_tick(wheel, tick_of_cell(level, cell_of_slot(wheel, level, slot)));
		for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
			front_of_list(slot_head(wheel, level, slot, chain), &place, fn);
	}
}

void each_front(const struct pawl_wheel *wheel, front_fn *fn)
{
	for (unsigned i = 0; i < wheel->levels_used; i++)
		if (wheel->level[i].ready)
			fronts_of_level(wheel, &wheel->level[i], fn);
}

uint64_t levels_ready(const struct pawl_wheel *wheel)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < wheel->levels_used; i++)
		if (wheel->level[i].ready)
			bits |= UINT64_C(1) << i;
	return bits;
}

unsigned levels_max(const struct pawl_wheel *wheel)
{
	return wheel->levels;
}
