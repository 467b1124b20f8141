/* SPDX-License-Identifier: MIT */
/*
 * random.h: random numbers for tests, benchmarks, the command and the playground. The library has none of them.
 *
 * The generator is splitmix64. A seed gives the same numbers on every machine and with every compiler: a test prints
 * its seed, and all peers of a benchmark get the same numbers. No library is needed.
 *
 *	struct random random = {seed};
 *
 * The numbers can be predicted, so they are not for keys or secrets. Recorded seeds, as in
 * verify/mutations, depend on random_next() and random_below().
 */
#ifndef PAWL_SUPPORT_RANDOM_H
#define PAWL_SUPPORT_RANDOM_H

#include <stdint.h>

/* 2^64 divided by the golden ratio, odd: the state visits all 2^64 values before it repeats. */
#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

struct random {
	uint64_t state; /* the seed, at first; any seed will do, even 0 */
};

/* The state counts; the two multiplications spread each of its bits over the whole number. */
static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += RANDOM_STEP;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to bound - 1; the bound must not be 0. Small numbers are more likely, by a factor of 1 + bound / 2^64 at most. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	return random_next(random) % bound;
}

/*
 * 0 to bound - 1 from 32 random bits. It multiplies, so that it can be called in measured code: a division whose divisor
 * is in memory waits, on some CPUs, for the addresses of all stores before it.
 */
static inline uint32_t random_scale(uint32_t bits, uint32_t bound)
{
	return (uint32_t)((uint64_t)bits * bound >> 32);
}

/* As random_below(), without a division; other numbers than random_below() gives. */
static inline uint32_t random_below32(struct random *random, uint32_t bound)
{
	return random_scale((uint32_t)(random_next(random) >> 32), bound);
}

#endif
