/* SPDX-License-Identifier: MIT */
/*
 * splitmix64: a stream of numbers that a seed reproduces on every machine.
 */
#ifndef PAWL_TESTS_RANDOM_H
#define PAWL_TESTS_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state; /* the seed, to begin with; every seed is good */
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A number below `bound`; slightly uneven, which no test here minds. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	return random_next(random) % bound;
}

#endif
