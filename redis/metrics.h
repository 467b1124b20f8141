/* SPDX-License-Identifier: MIT */
/*
 * The counters of INFO pawl, since the server started: for the whole server, and for each of the first metrics_queues
 * queues; all other queues are counted together. Counters belong to the name of a key: if the key is deleted and
 * created again, they continue. They are not saved or replicated. Commands from the replication stream or a file are
 * not counted.
 */
#ifndef PAWL_REDIS_METRICS_H
#define PAWL_REDIS_METRICS_H

#include "access.h"

enum metric {
	METRIC_PUT,
	METRIC_DELIVERED,
	METRIC_ACKNOWLEDGED,
	METRIC_NACKED,
	METRIC_LAPSED, /* counted when the task is delivered again, or found dead */
	METRIC_DIED,   /* the same, if it died by a lapse */
	METRIC_CANCELLED,
	METRICS,
};

enum { METRICS_QUEUES_MAX = 1024 };
extern long long metrics_queues; /* default 64 */

/* Once, when the module is loaded. */
int metrics_init(RedisModuleCtx *ctx);

/* Add to a counter, for the key and for the server. */
void metrics_add(struct access *access, enum metric metric, uint64_t count);
/* The task is about to be delivered: count that, its lateness, and a lapse if its lease lapsed. */
void metrics_deliver(struct access *access, const struct task *task);
/* The task is about to be delivered, changed or deleted: if it died by a lapse, count that. */
void metrics_find(struct access *access, const struct task *task);

#endif
