/* SPDX-License-Identifier: MIT */
/* The fields of a struct pawl_loop, and its bounds. */
#ifndef PAWL_LOOP_LAYOUT_H
#define PAWL_LOOP_LAYOUT_H

#include "../base/saturate.h"
#include "../wheel/next.h"

#include <pawl/adapter.h>

#define DEFAULT_TICK_NS   (UINT64_C(1) << 20) /* with a power of two the wheel needs no division */
#define DEFAULT_MAX_MOVES 1024u
#define DEFAULT_MAX_CALLS 256u
#define MOVES_AHEAD       64u /* most moves ahead in a pass, and one more for each call in it */

struct pawl_loop {
	struct pawl_wheel *wheel; /* ours: malloc'ed */
	const struct pawl_loop_adapter
	        *adapter; /* borrowed, and so is `self` until it is released */
	void *self;
	pawl_loop_due_fn *due;
	void *arg;
	size_t max_moves, max_calls;
	size_t armings; /* by arm and touch */
	uint64_t wake;  /* the time that the event loop's timer is set to */
	bool running;   /* in a pass, which sets the event loop's timer when it ends */
	bool closed;
};

/* The first time on a periodic timer's grid after now: missed periods are left out. */
static inline uint64_t next_period(uint64_t deadline, uint64_t period, uint64_t now)
{
	uint64_t missed = now > deadline ? (now - deadline) / period : 0;
	uint64_t last = deadline + missed * period; /* not after now */

	return saturating_sum(last, period);
}

#endif
