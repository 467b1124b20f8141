/* SPDX-License-Identifier: MIT */
/*
 * What this server has done since it started, as INFO pawl shows it: counters of the whole server, and of each queue by
 * name, the first metrics_queues of them; the others are counted together. They are of names, not of keys: a queue that is
 * deleted and comes again goes on counting. Nothing of it is saved or replicated, and what a replica is told, or what is
 * read from a file, counts for nothing.
 */
#ifndef PAWL_REDIS_METRICS_H
#define PAWL_REDIS_METRICS_H

#include "visit.h"

enum metric {
	METRIC_PUT,
	METRIC_DELIVERED,
	METRIC_ACKNOWLEDGED,
	METRIC_NACKED,
	METRIC_LAPSED, /* leases that ended by themselves: counted when the task is met again */
	METRIC_DIED,   /* counted likewise */
	METRIC_CANCELLED,
	METRICS,
};

enum { METRICS_QUEUES_MAX = 1024 };
extern long long metrics_queues; /* 64 unless told */

/* Once, when the module is loaded. */
int metrics_init(RedisModuleCtx *ctx);

/* So much has happened to tasks of the visited key. */
void metrics_add(struct visit *visit, enum metric metric, uint64_t count);
/* The task is about to be delivered: how late is it, and did a lease of it lapse? */
void metrics_deliver(struct visit *visit, const struct task *task);
/* The task is about to be delivered, changed or deleted: was it waiting to be found dead? */
void metrics_find(struct visit *visit, const struct task *task);

#endif
