/* SPDX-License-Identifier: MIT */
/*
 * Statistics as a table: the service has one, and the purgatory. Every reader of the public struct goes through the
 * table: the sums over the shards, the OpenMetrics text and the live view. So a new statistic needs a field in the
 * public struct, a row in the table, and a place that counts it.
 */
#ifndef PAWL_BASE_STATISTICS_H
#define PAWL_BASE_STATISTICS_H

#include "histogram.h"

#include <string.h>

enum statistic_kind {
	COUNTER, /* a uint64_t that only grows; all shards together */
	GAUGE,   /* a uint64_t that also falls; all shards together */
	WALKED,  /* a gauge that takes a walk through tasks: the live view leaves it out */
	DURATION, /* ns of the longest: the live view writes it with the function that took so long */
	HISTOGRAM, /* not in the public struct, but summed up in buckets */
};

struct statistic {
	const char
	        *name; /* of the field, but "slowest" of slowest_ns; NULL: the end of the table */
	const char *help;
	enum statistic_kind kind;
	size_t offset; /* in the public struct; HISTOGRAM: in the struct of buckets */
};

static inline bool statistic_is_sum(const struct statistic *statistic)
{
	return statistic->kind == COUNTER || statistic->kind == GAUGE;
}

/* A statistic that is a number. */
static inline uint64_t *statistic_in(const struct statistic *statistic, void *stats)
{
	return (uint64_t *)(void *)((char *)stats + statistic->offset);
}

static inline uint64_t statistic_value(const struct statistic *statistic, const void *stats)
{
	return *(const uint64_t *)(const void *)((const char *)stats + statistic->offset);
}

/* Add the counts of a shard, some of which other threads may be counting. */
static inline void statistics_add(const struct statistic *table, void *counts, void *sums)
{
	for (const struct statistic *row = table; row->name; row++)
		if (statistic_is_sum(row))
			*statistic_in(row, sums) +=
			        __atomic_load_n(statistic_in(row, counts), __ATOMIC_RELAXED);
}

/* Write a struct that the program knows with another size: the end is left out, or zeroed. See pawl(3). */
static inline void write_sized(const void *from, size_t known, void *to, size_t size)
{
	memcpy(to, from, size < known ? size : known);
	if (size > known)
		memset((char *)to + known, 0, size - known);
}

#endif
