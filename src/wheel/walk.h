/* SPDX-License-Identifier: MIT */
/* Looking into the slots of a wheel, for the service's live view. Nothing here changes the wheel. */
#ifndef PAWL_WHEEL_WALK_H
#define PAWL_WHEEL_WALK_H

#include <pawl/wheel.h>

/*
 * A walk through the timers of a level in short steps, for a caller that holds a lock and must not hold it for long.
 * Other threads may change the wheel between two steps. A timer that is moved then may be seen twice or not at all.
 *
 * Several lists are walked in step: along one list alone, each timer is a cache miss that waits for the one before.
 */
#define WALK_LISTS 16u

struct list_walk {
	unsigned level; /* the level's number plus 1; 0: the lists of due timers */
	unsigned count; /* of the lists that are being walked */
	uint64_t at;    /* the number of the next list to begin: 0 at the beginning */
	struct walked_list {
		struct pawl_timer *head;
		struct pawl_timer *next; /* the timer to go on with; NULL: the first one */
	} lists[WALK_LISTS];
};

typedef void wheel_walk_fn(struct pawl_timer *timer, void *arg);

/*
 * Go on, for `steps` lists and timers together. Returns whether the level goes on. A `next` that is not NULL must be
 * armed at the next step, or be set to NULL: then its list is walked from its beginning. So it is if `next` is on another
 * list by then.
 */
bool pawl__wheel_walk(struct pawl_wheel *wheel, struct list_walk *walk, unsigned steps,
                      wheel_walk_fn *fn, void *arg);

/* A walk's `level` must be less than this. */
unsigned pawl__wheel_levels(const struct pawl_wheel *wheel);

#endif
