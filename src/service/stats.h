/* SPDX-License-Identifier: MIT */
/* The service's table of statistics, and the histograms in it: ../base/statistics.h explains it. */
#ifndef PAWL_SERVICE_STATS_H
#define PAWL_SERVICE_STATS_H

#include "../base/statistics.h"

#include <pawl/service.h>

extern const struct statistic pawl__service_statistics[];

struct service_buckets {
	struct metric_buckets lateness, run_time;
};

void pawl__service_get_buckets(const struct pawl_service *service, struct service_buckets *buckets);

#endif
