/* SPDX-License-Identifier: MIT */
#include "lateness.h"

enum { CELL_BITS = 2, CELLS_A_POWER = 1 << CELL_BITS };

static unsigned cell_of(uint64_t ms)
{
	unsigned shift;

	if (ms < CELLS_A_POWER)
		return (unsigned)ms;
	shift = 63u - (unsigned)__builtin_clzll(ms) - CELL_BITS;
	return shift * CELLS_A_POWER + (unsigned)(ms >> shift);
}

static uint64_t end_of(unsigned cell)
{
	unsigned shift = cell / CELLS_A_POWER - 1;

	if (cell < CELLS_A_POWER)
		return cell;
	return ((uint64_t)(cell % CELLS_A_POWER + CELLS_A_POWER + 1) << shift) - 1;
}

void lateness_count(struct lateness *lateness, uint64_t ms)
{
	uint32_t *cell = &lateness->cells[cell_of(ms)];

	lateness->count++;
	if (*cell < UINT32_MAX)
		++*cell;
	if (ms > lateness->max)
		lateness->max = ms;
}

uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent)
{
	uint64_t seen = 0;

	for (unsigned cell = 0; cell < LATENESS_CELLS; cell++) {
		seen += lateness->cells[cell];
		if (seen > 0 && seen * 100 >= lateness->count * percent)
			return end_of(cell) < lateness->max ? end_of(cell) : lateness->max;
	}
	return lateness->max;
}
