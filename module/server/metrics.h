/* SPDX-License-Identifier: MIT */
/*
 * The counters of INFO pawl, since the server started: for the whole server, and for each of the first metrics_queues
 * queues; all other queues are counted together. Counters belong to the name of a key: if the key is deleted and
 * created again, they continue. They are not saved or replicated.
 *
 * Most of them count what clients of this server did: commands from the replication stream or a file are not counted.
 * Every server, also a replica, counts lapses and deaths of the queues that it has, but not while it loads a
 * file: so a task that a server shows as dead has been counted there as died, unless it was dead in the file.
 */
#ifndef PAWL_MODULE_METRICS_H
#define PAWL_MODULE_METRICS_H

#include <stdint.h>

#include "redis_module.h"

struct lapses;

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

/* The counters of one key. The first count looks them up: a command that counts nothing adds no line to INFO. */
struct key_metrics {
	RedisModuleCtx *ctx;
	RedisModuleString *name; /* borrowed */
	struct metrics *found;   /* NULL before the first count */
};

/* Add to a counter, for the key and for the server. */
void metrics_add(struct key_metrics *key, enum metric metric, uint64_t count);
/* Count a delivery and its lateness. */
void metrics_deliver(struct key_metrics *key, uint64_t late_ms);
/* Add the lapses and deaths that the queue has counted, and set its counts to 0. Lapses of a loading file do not count. */
void metrics_move_lapses(struct key_metrics *key, struct lapses *lapses);

#endif
