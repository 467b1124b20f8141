/* SPDX-License-Identifier: MIT */
/*
 * How late deliveries were: a histogram of milliseconds with four buckets for each power of two. So a percentile from
 * it is at most a quarter too high.
 */
#ifndef PAWL_MODULE_LATENESS_H
#define PAWL_MODULE_LATENESS_H

#include <stdint.h>

enum { LATENESS_BUCKETS = 4 * 63 };

struct lateness {
	uint64_t count, max;
	uint32_t buckets[LATENESS_BUCKETS];
};

void lateness_count(struct lateness *lateness, uint64_t ms);
/* The lateness that `percent` percent of the deliveries did not exceed; 0 if there were none. */
uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent);

#endif
