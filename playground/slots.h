/* SPDX-License-Identifier: MIT */
/*
 * A look into the slots themselves, for pictures of more timers than pawl_wheel_place() could be asked for one
 * by one: it walks the slot for each.
 */
#ifndef PAWL_PLAYGROUND_SLOTS_H
#define PAWL_PLAYGROUND_SLOTS_H

#include <pawl/wheel.h>

/*
 * Call fn for the timers at the front of each list of each slot, until it returns false for that list. Whatever
 * moves comes to the front: so fn meets the newcomers, and stops at the first timer that it knew there.
 */
typedef bool slots_fn(struct pawl_timer *timer, const struct pawl_place *place);
void slots_each_front(const struct pawl_wheel *wheel, slots_fn *fn);

/* Levels that have come into being: a bit each. */
uint64_t slots_levels(const struct pawl_wheel *wheel);

/* Levels that 64 bits of time can need. */
unsigned slots_levels_max(const struct pawl_wheel *wheel);

#endif
