/* SPDX-License-Identifier: MIT */
/* Statistics as JSON, for the live view. */
#ifndef PAWL_INSPECT_STATS_JSON_H
#define PAWL_INSPECT_STATS_JSON_H

#include "../base/json.h"
#include "../base/statistics.h"

static inline void write_statistics(struct json *json, const struct statistic *table,
                                    const void *stats)
{
	for (const struct statistic *row = table; row->name; row++)
		if (statistic_is_sum(row))
			json_member(json, row->name, statistic_value(row, stats));
}

/* The end of each cell that is not empty, in nanoseconds, and its count. */
static inline void write_histogram(struct json *json, const char *name,
                                   const struct pawl_histogram *histogram)
{
	json_name(json, name);
	json_open(json, '{');
	json_member(json, "count", histogram->count);
	json_member(json, "max_ns", histogram->max);
	json_name(json, "cells");
	json_open(json, '[');
	for (unsigned i = 0, end = histogram_cell(histogram->max); i <= end; i++) {
		if (histogram->cells[i] == 0)
			continue;
		json_open(json, '[');
		json_number(json, histogram_cell_end(i));
		json_number(json, histogram->cells[i]);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

#endif
