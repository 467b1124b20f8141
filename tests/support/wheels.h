/* SPDX-License-Identifier: MIT */
/* Wheels in memory of exactly their footprint, so that an address sanitizer sees an access beyond it. */
#ifndef PAWL_TESTS_WHEELS_H
#define PAWL_TESTS_WHEELS_H

#include <stdio.h>
#include <stdlib.h>

#include "pawl/wheel.h"

/* Free it with free(). */
static inline struct pawl_wheel *wheel_with(const struct pawl_wheel_options *options)
{
	size_t size = pawl_wheel_footprint(options);
	void *memory = malloc(size);
	struct pawl_wheel *wheel = pawl_wheel_init(memory, size, options);

	if (!wheel) {
		fprintf(stderr, "no wheel: start %llu tick %llu wheel_size %u chains %u\n",
		        (unsigned long long)options->start, (unsigned long long)options->tick,
		        options->wheel_size, options->chains);
		abort();
	}
	return wheel;
}

/* Kafka's example: 20 slots of 1 ms. */
static inline struct pawl_wheel *wheel_of_20(uint64_t start)
{
	const struct pawl_wheel_options options = {.start = start, .wheel_size = 20};

	return wheel_with(&options);
}

#endif
