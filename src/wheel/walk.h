/* SPDX-License-Identifier: MIT */
/*
 * Looking into the slots of a wheel, for the service's live view and for the playground. Nothing here changes the
 * wheel.
 */
#ifndef PAWL_WHEEL_WALK_H
#define PAWL_WHEEL_WALK_H

#include <pawl/wheel.h>

/*
 * A walk through the lists of a level in short steps, for a caller that holds a lock and must not hold it for long:
 * only some of the lists, of each only the first timers. Other threads may change the wheel between two steps. A timer
 * that is moved then may be met twice or not at all.
 */
enum { WALK_MOST = 128 }; /* timers of one list */

struct list_walk {
	unsigned level;  /* the level's number plus 1; 0: the lists of due timers */
	uint64_t at;     /* the list to go on with: 0 at the beginning of a wheel */
	uint64_t skip;   /* lists to pass over first... */
	uint64_t stride; /* ...and then one of every `stride` lists is looked into; not 0 */
	unsigned most;   /* timers of one list, up to WALK_MOST */
};

/* The first timers of a list, perhaps none; `cut`: there are more behind them. */
typedef void wheel_walk_fn(struct pawl_timer *const *timers, unsigned count, bool cut, void *arg);

/* Go on until lists and timers together are `budget` or a little more. Returns whether the level has further lists. */
bool pawl__wheel_walk(const struct pawl_wheel *wheel, struct list_walk *walk, unsigned budget,
                      wheel_walk_fn *fn, void *arg);

/* A walk's `level` must be less than this. */
unsigned pawl__wheel_levels(const struct pawl_wheel *wheel);

/* How many lists a walk of this `level` would meet, some of them empty; and how many ticks each of them stands for. */
uint64_t pawl__wheel_lists(const struct pawl_wheel *wheel, unsigned level, uint64_t *width);

/*
 * Call fn for the timers of each list of each slot, from the front, until it returns false for that list. A timer that
 * moves down comes to the front: so fn can stop at the first timer that it met there before. It is for pictures of more
 * timers than can be asked for by pawl_wheel_place(), which walks a slot for each.
 */
typedef bool wheel_front_fn(struct pawl_timer *timer, const struct pawl_place *place);
void pawl__wheel_each_front(const struct pawl_wheel *wheel, wheel_front_fn *fn);

/* The levels that have been needed so far, a bit each. */
uint64_t pawl__wheel_levels_ready(const struct pawl_wheel *wheel);

/* How many levels 64 bits of time can need. */
unsigned pawl__wheel_levels_max(const struct pawl_wheel *wheel);

#endif
