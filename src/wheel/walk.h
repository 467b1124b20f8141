/* SPDX-License-Identifier: MIT */
/*
 * A walk through the lists of a level in short steps, for whoever holds a lock meanwhile and must not hold it for long: only
 * some of the lists, of each only the first timers, and between two steps others may change the wheel. A timer that is
 * moved between two steps may be met twice or not at all.
 */
#ifndef PAWL_WHEEL_WALK_H
#define PAWL_WHEEL_WALK_H

#include <pawl/wheel.h>

enum { WALK_MOST = 128 }; /* timers of one list */

struct list_walk {
	unsigned level;  /* from 1; 0 stands for the lists of due timers */
	uint64_t at;     /* the list to go on with: 0 at the beginning of a wheel */
	uint64_t skip;   /* so many lists are passed over first... */
	uint64_t stride; /* ...and then every one of so many is looked into */
	unsigned most;   /* timers of one list, up to WALK_MOST */
};

/* The first timers of a list, perhaps none; `cut`: there are more behind them. */
typedef void wheel_walk_fn(struct pawl_timer *const *timers, unsigned count, bool cut, void *arg);

/* Go on until lists and timers together are `budget` or a little more. Returns whether the level has further lists. */
bool pawl__wheel_walk(const struct pawl_wheel *wheel, struct list_walk *walk, unsigned budget,
                      wheel_walk_fn *fn, void *arg);

/* One more than its last level. */
unsigned pawl__wheel_levels(const struct pawl_wheel *wheel);

/* How many lists of the level a walk would come to, some of them empty; and how many ticks each of them stands for. */
uint64_t pawl__wheel_lists(const struct pawl_wheel *wheel, unsigned level, uint64_t *width);

#endif
