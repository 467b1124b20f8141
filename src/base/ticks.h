/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds and ticks. The wheels count in ticks. A deadline is rounded up and the current time is rounded down, so
 * nothing is early.
 */
#ifndef PAWL_BASE_TICKS_H
#define PAWL_BASE_TICKS_H

#include "saturate.h"

#include <pawl/wheel.h>

/* A deadline that never comes is at this time, or beyond. So no clock comes so far: it stops 1 ns before. */
#define END_OF_TIME (PAWL_NEVER - 1)

struct ticks {
	uint64_t ns;      /* in a tick */
	uint64_t inverse; /* 2^64 / ns, rounded down; not used if ns is 1 */
};

/* (2^64 - 1) / ns is the inverse already, unless ns divides 2^64: then it is one too small. */
static inline struct ticks ticks_of(uint64_t ns)
{
	return (struct ticks){ns, ns > 1 ? UINT64_MAX / ns + ((ns & (ns - 1)) == 0) : 0};
}

/* The upper half of a product of 128 bits, by the products of the halves. */
static inline uint64_t multiply_high_by_halves(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t middle = a_high * b_low + (a_low * b_low >> 32); /* no sum here overflows */
	uint64_t other = a_low * b_high + (uint32_t)middle;

	return a_high * b_high + (middle >> 32) + (other >> 32);
}

static inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 uint128;

	return (uint64_t)((uint128)a * b >> 64);
#else
	return multiply_high_by_halves(a, b);
#endif
}

/*
 * ns / ticks->ns, by multiplication with the inverse: on some CPUs a division whose divisor is in memory waits for the
 * addresses of all stores before it. The inverse is rounded down, so the quotient is right or one too small.
 */
static inline uint64_t ticks_down(const struct ticks *ticks, uint64_t ns)
{
	uint64_t quotient;

	ns = ns < END_OF_TIME ? ns : END_OF_TIME - 1;
	if (ticks->ns == 1)
		return ns; /* the inverse would be 2^64 */
	quotient = multiply_high(ns, ticks->inverse);
	return ns - quotient * ticks->ns >= ticks->ns ? quotient + 1 : quotient;
}

static inline uint64_t ticks_up(const struct ticks *ticks, uint64_t ns)
{
	return ns == 0 ? 0 : ticks_down(ticks, ns - 1) + 1;
}

/* When a tick begins; PAWL_NEVER if that is at the end of time, or beyond. */
static inline uint64_t ns_of_tick(const struct ticks *ticks, uint64_t tick)
{
	uint64_t ns = saturating_product(tick, ticks->ns);

	return ns < END_OF_TIME ? ns : PAWL_NEVER;
}

#endif
