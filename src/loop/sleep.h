/* SPDX-License-Identifier: MIT */
/* The clock of an adapter, and how long it lets its event loop sleep. */
#ifndef PAWL_LOOP_SLEEP_H
#define PAWL_LOOP_SLEEP_H

#include "../system/system.h"

#include <pawl/adapter.h>

static inline bool counts_sleep(const struct pawl_loop_options *options)
{
	return options && options->count_sleep;
}

static inline int loop_clock(const struct pawl_loop_options *options)
{
	return counts_sleep(options) ? BOOTTIME : MONOTONIC;
}

/*
 * The longest delay that the event loop's timer is set to. The pass after it finds nothing due, and sets it again.
 *
 * A day, since not every event loop accepts every delay: some kernels refuse 64 bits of nanoseconds, and a time_t may
 * have 32 bits. A second with count_sleep: the event loop's timer stands still in a suspension, and the pass after it
 * finds out how much time has passed.
 */
static inline uint64_t longest_delay(const struct pawl_loop_options *options)
{
	return counts_sleep(options) ? PAWL_SECOND : 24 * PAWL_HOUR;
}

static inline uint64_t delay_until(uint64_t at, uint64_t now, uint64_t longest)
{
	uint64_t left = at > now ? at - now : 0;

	return left < longest ? left : longest;
}

#endif
