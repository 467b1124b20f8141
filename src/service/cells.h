/* SPDX-License-Identifier: MIT */
/* A histogram as JSON: the end of each cell that is not empty, in nanoseconds, and its count. */
#ifndef PAWL_SERVICE_CELLS_H
#define PAWL_SERVICE_CELLS_H

#include "../json/json.h"
#include "histogram.h"

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
