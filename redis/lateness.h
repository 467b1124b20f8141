/* SPDX-License-Identifier: MIT */
/*
 * How late deliveries were: a histogram of milliseconds with four cells for each power of two, so a
 * percentile read from it is at most a quarter above the truth.
 */
#ifndef PAWL_REDIS_LATENESS_H
#define PAWL_REDIS_LATENESS_H

#include <stdint.h>

enum { LATENESS_CELLS = 4 * 63 };

struct lateness {
	uint64_t count, max;
	uint32_t cells[LATENESS_CELLS];
};

void lateness_count(struct lateness *lateness, uint64_t ms);
/* A value that `percent` of 100 deliveries did not exceed; 0 if there were none. */
uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent);

#endif
