/* SPDX-License-Identifier: MIT */
/* Looking into the slots of a wheel. Nothing here changes the wheel. */
#ifndef PLAYGROUND_SLOTS_H
#define PLAYGROUND_SLOTS_H

#include <pawl/wheel.h>

/*
 * Call fn for the timers of each list of each slot, from the front, until it returns false for that list. A timer that
 * moves down comes to the front: so fn can stop at the first timer that it met there before. pawl_wheel_get_place()
 * would walk a slot for each timer.
 */
typedef bool front_fn(struct pawl_timer *timer, const struct pawl_wheel_place *place);
void each_front(const struct pawl_wheel *wheel, front_fn *fn);

/* The levels that have been needed so far, a bit each. */
uint64_t levels_ready(const struct pawl_wheel *wheel);

/* How many levels 64 bits of time can need. */
unsigned levels_max(const struct pawl_wheel *wheel);

#endif
