/* SPDX-License-Identifier: MIT */
/* Statistics as OpenMetrics text, whatever table they are in. */
#ifndef PAWL_METRICS_FORMAT_H
#define PAWL_METRICS_FORMAT_H

#include "../service/stats.h"

/* As pawl/metrics.h says, but the prefix is a name. `stats` and `buckets` are the structs that the offsets are in. */
int pawl__metrics_format(const struct statistic *table, const void *stats, const void *buckets,
                         const char *prefix, char *text, size_t size);

#endif
