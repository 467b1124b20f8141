/* SPDX-License-Identifier: MIT */
/* The purgatory's table of statistics, and the histogram in it: ../service/stats.h explains it. */
#ifndef PAWL_PURGATORY_STATS_H
#define PAWL_PURGATORY_STATS_H

#include "../base/statistics.h"

#include <pawl/purgatory.h>

extern const struct statistic pawl__purgatory_statistics[];

struct purgatory_buckets {
	struct metric_buckets lateness;
};

void pawl__purgatory_get_buckets(const struct pawl_purgatory *purgatory,
                                 struct purgatory_buckets *buckets);

#endif
