/* SPDX-License-Identifier: MIT */
/*
 * random.h: a splitmix64 generator. Cheap enough to be called inside of what is measured, and the
 * same numbers for every peer.
 */
#ifndef PAWL_BENCH_RANDOM_H
#define PAWL_BENCH_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/*
 * 0 to bound - 1 out of 32 random bits. By a multiplication: a division whose divisor is in memory
 * waits, on some CPUs, for the addresses of all stores before it, and would be what is measured.
 */
static inline uint32_t random_scale(uint32_t bits, uint32_t bound)
{
	return (uint32_t)((uint64_t)bits * bound >> 32);
}

static inline uint32_t random_below(struct random *random, uint32_t bound)
{
	return random_scale((uint32_t)(random_next(random) >> 32), bound);
}

#endif
