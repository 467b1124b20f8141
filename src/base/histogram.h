/* SPDX-License-Identifier: MIT */
/*
 * Histograms with 64 cells for each power of two: the width of a cell is at most 1/64 of its values. One thread counts;
 * any thread may read at the same time, so each word is written and read as a whole.
 */
#ifndef PAWL_BASE_HISTOGRAM_H
#define PAWL_BASE_HISTOGRAM_H

#include <pawl/service.h>

enum { CELL_BITS = 6, CELLS = 1 << CELL_BITS };

static inline unsigned histogram_cell(uint64_t value)
{
	unsigned shift;

	if (value < CELLS)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - CELL_BITS;
	return shift * CELLS + (unsigned)(value >> shift);
}

/* The largest value in the cell. */
static inline uint64_t histogram_cell_end(unsigned cell)
{
	unsigned shift = cell / CELLS - 1;

	if (cell < CELLS)
		return cell;
	return ((uint64_t)(cell % CELLS + CELLS + 1) << shift) - 1;
}

static inline void histogram_add(uint64_t *word, uint64_t count)
{
	__atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + count, __ATOMIC_RELAXED);
}

static inline void histogram_count(struct pawl_histogram *histogram, uint64_t value)
{
	histogram_add(&histogram->count, 1);
	histogram_add(&histogram->sum, value);
	histogram_add(&histogram->cells[histogram_cell(value)], 1);
	if (value > histogram->max)
		__atomic_store_n(&histogram->max, value, __ATOMIC_RELAXED);
}

/* Add a histogram that another thread may be counting in. Most of its cells are after the largest value: all 0. */
static inline void histogram_merge(const struct pawl_histogram *from, struct pawl_histogram *to)
{
	uint64_t max = __atomic_load_n(&from->max, __ATOMIC_RELAXED);

	to->max = max > to->max ? max : to->max;
	to->sum += __atomic_load_n(&from->sum, __ATOMIC_RELAXED);
	for (unsigned i = 0, end = histogram_cell(max); i <= end; i++) {
		uint64_t count = __atomic_load_n(&from->cells[i], __ATOMIC_RELAXED);

		to->cells[i] += count;
		to->count += count;
	}
}

/*
 * The same for OpenMetrics, in few words: how many values do not exceed 2^10 - 1, 2^12 - 1, ... 2^38 - 1, and how many
 * there are. Each of these bounds is the end of a cell.
 */
enum { METRIC_BUCKETS = 15 };

struct metric_buckets {
	uint64_t upto[METRIC_BUCKETS];
	uint64_t count, sum;
};

static inline uint64_t metric_bound(unsigned bucket)
{
	return (UINT64_C(1) << (10 + 2 * bucket)) - 1;
}

static inline void metric_buckets_add(const struct pawl_histogram *from, struct metric_buckets *to)
{
	uint64_t count = 0;
	unsigned bucket = 0;

	for (unsigned i = 0; i < PAWL_HISTOGRAM_CELLS; i++) {
		count += __atomic_load_n(&from->cells[i], __ATOMIC_RELAXED);
		if (bucket < METRIC_BUCKETS && histogram_cell_end(i) == metric_bound(bucket))
			to->upto[bucket++] += count;
	}
	to->count += count;
	to->sum += __atomic_load_n(&from->sum, __ATOMIC_RELAXED);
}

#endif
