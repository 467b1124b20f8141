/* SPDX-License-Identifier: MIT */
/*
 * Sums and products of times. They stop at UINT64_MAX, which is PAWL_NEVER, where plain ones would wrap around to a
 * time long past.
 */
#ifndef PAWL_BASE_SATURATE_H
#define PAWL_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t saturating_sum(uint64_t a, uint64_t b)
{
	return b <= UINT64_MAX - a ? a + b : UINT64_MAX;
}

/* Most factors are below 2^32 and need no division. */
static inline uint64_t saturating_product(uint64_t a, uint64_t b)
{
	return (a | b) >> 32 == 0 || b == 0 || a <= UINT64_MAX / b ? a * b : UINT64_MAX;
}

/* The time of a deadline that must come: at most PAWL_NEVER - 1, because PAWL_NEVER means that there is none. */
static inline uint64_t deadline_after(uint64_t time, uint64_t delay)
{
	return delay < UINT64_MAX - time ? time + delay : UINT64_MAX - 1;
}

#endif
