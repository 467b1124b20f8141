/* SPDX-License-Identifier: MIT */
/* Random tests. A failure prints its seed, and the program runs that seed alone with --seed. */
#ifndef PAWL_TESTS_REDIS_SEEDS_H
#define PAWL_TESTS_REDIS_SEEDS_H

#include "../../tests/support/test.h"

static uint64_t only_seed; /* 0: all */

/* Call run with the seeds 1 to count, or with only_seed. */
static inline void with_seeds(uint64_t count, void (*run)(uint64_t seed))
{
	uint64_t first = only_seed ? only_seed : 1;
	uint64_t last = only_seed ? only_seed : count;

	for (uint64_t seed = first; seed <= last; seed++) {
		unsigned before = test_failures;

		run(seed);
		if (test_failures != before)
			fprintf(stderr, "    ^ repeat with --seed %llu\n",
			        (unsigned long long)seed);
	}
}

#endif
