/* SPDX-License-Identifier: MIT */
/* The table of a store's statistics, also for the metrics. */
#ifndef PAWL_STORE_STATS_H
#define PAWL_STORE_STATS_H

#include "../base/statistics.h"

extern const struct statistic pawl__store_statistics[];

#endif
