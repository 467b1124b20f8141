/* SPDX-License-Identifier: MIT */
/*
 * The counters of INFO pawl, since the server started: for the whole server, and for each of the first metrics_queues
 * queues; all other queues are counted together. Counters belong to the name of a key: if the key is deleted and
 * created again, they continue. They are not saved or replicated.
 *
 * Most of them count what clients of this server did: commands from the replication stream or a file are not counted.
 * Lapses and deaths are counted by every server for the queues that it has, a replica too, but not while it loads a
 * file: so a task that a server shows as dead has been counted there as died, unless it was dead in the file.
 */
#ifndef PAWL_MODULE_METRICS_H
#define PAWL_MODULE_METRICS_H

#include "access.h"

enum metric {
	METRIC_PUT,
	METRIC_DELIVERED,
	METRIC_ACKNOWLEDGED,
	METRIC_NACKED,
	METRIC_LAPSED,
	METRIC_DIED,
	METRIC_CANCELLED,
	METRICS,
};

enum { METRICS_QUEUES_MAX = 1024 };
extern long long metrics_queues; /* default 64 */

/* Once, when the module is loaded. */
int metrics_init(RedisModuleCtx *ctx);

/* Add to a counter, for the key and for the server. */
void metrics_add(struct access *access, enum metric metric, uint64_t count);
/* The task is about to be delivered: count that and its lateness. */
void metrics_deliver(struct access *access, const struct task *task);
/* Add the lapses and deaths that the queue has counted (struct lapses). */
void metrics_lapses(struct access *access);

#endif
