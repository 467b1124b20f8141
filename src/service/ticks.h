/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds and ticks. The wheels count in ticks, so that arming takes their quick way; a deadline is
 * rounded up and now is rounded down, so nothing is early.
 */
#ifndef PAWL_SERVICE_TICKS_H
#define PAWL_SERVICE_TICKS_H

#include <pawl/wheel.h>

__extension__ typedef unsigned __int128 uint128;

struct ticks {
	uint64_t ns;      /* in a tick */
	uint64_t inverse; /* 2^64 / ns, rounded down; not used if ns is 1 */
};

static inline struct ticks ticks_of(uint64_t ns)
{
	return (struct ticks){ns, ns > 1 ? (uint64_t)(((uint128)1 << 64) / ns) : 0};
}

/*
 * ns / ticks->ns by a multiplication with the inverse: a division whose divisor is in memory would wait, on
 * some CPUs, for the addresses of all stores before it. The inverse is rounded down, so the quotient is
 * right or one too small.
 */
static inline uint64_t ticks_down(const struct ticks *ticks, uint64_t ns)
{
	uint64_t quotient = (uint64_t)((uint128)ns * ticks->inverse >> 64);

	if (ticks->ns == 1)
		return ns; /* the inverse would be 2^64 */
	return ns - quotient * ticks->ns >= ticks->ns ? quotient + 1 : quotient;
}

static inline uint64_t ticks_up(const struct ticks *ticks, uint64_t ns)
{
	return ns == 0 ? 0 : ticks_down(ticks, ns - 1) + 1;
}

/* When a tick begins; PAWL_NEVER for what is beyond all time. */
static inline uint64_t ns_of_tick(const struct ticks *ticks, uint64_t tick)
{
	uint64_t ns;

	return __builtin_mul_overflow(tick, ticks->ns, &ns) ? PAWL_NEVER : ns;
}

static inline uint64_t add_ns(uint64_t now, uint64_t delay)
{
	return delay <= PAWL_NEVER - now ? now + delay : PAWL_NEVER;
}

#endif
