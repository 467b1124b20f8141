/* SPDX-License-Identifier: MIT */
/* Statistics as OpenMetrics text, whatever table they are in. */
#ifndef PAWL_INSPECT_METRICS_H
#define PAWL_INSPECT_METRICS_H

#include "../base/statistics.h"

/* As pawl/metrics.h says, but the prefix is a name. `stats` and `buckets` are the structs that the offsets are in. */
int pawl__metrics_format(const struct statistic *table, const void *stats, const void *buckets,
                         const char *prefix, char *text, size_t size);

#endif
