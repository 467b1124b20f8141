/* SPDX-License-Identifier: MIT */
/*
 * When to come back to a wheel, for a caller inside the library that advances and leaves the pops to others: timers
 * that are due already do not count. All other callers use pawl_wheel_next().
 */
#ifndef PAWL_WHEEL_NEXT_H
#define PAWL_WHEEL_NEXT_H

#include <pawl/wheel.h>

#define WHEEL_MANY 1024u /* timers: with so many the extra wake-ups for moving ahead pay */

/* When the first slot that holds a timer opens; PAWL_NEVER if no timer waits. */
uint64_t pawl__wheel_next_opening(struct pawl_wheel *wheel);

/*
 * When to wake up for an advance or for pawl_wheel_ahead(), whichever comes first; now while pawl_wheel_ahead() has
 * something to do. Without options.ahead it is the next opening.
 */
uint64_t pawl__wheel_next_ahead(struct pawl_wheel *wheel);

/* The one or the other: with WHEEL_MANY timers or more the wheel is moved ahead. */
uint64_t pawl__wheel_next_visit(struct pawl_wheel *wheel);

bool pawl__wheel_any_due(const struct pawl_wheel *wheel);

#endif
