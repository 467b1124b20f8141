/* SPDX-License-Identifier: MIT */
/* A snapshot of a service for the live view. It is gathered in short steps, while the service goes on. */
#ifndef PAWL_SERVICE_SNAPSHOT_H
#define PAWL_SERVICE_SNAPSHOT_H

#include "../json/json.h"
#include "journal.h"
#include "sample.h"
#include "shard.h"

enum { CELLS_DUE = 12, LATEST = 16 };

/* FUNCTIONS are shown. All functions of a sample are counted before that, so that the right ones are. */
enum { FUNCTIONS = 256, FUNCTIONS_COUNTED = SAMPLE_SIZE + 4096, FUNCTION_INDEX = 2 * SAMPLE_SIZE };

struct function {
	pawl_task_fn *run;                    /* NULL: not in use */
	uint64_t sampled;                     /* of the tasks counted, how many call it */
	uint64_t count, total_ns, longest_ns; /* of its runs */
	double share; /* of all tasks counted, and of all runs: from 0 to 2 */
};

struct latest {
	struct run_note note;
	unsigned worker;
};

struct snapshot {
	struct pawl_service *service;
	uint64_t now;                    /* of the service's clock */
	struct pawl_service_stats stats; /* without `queued` */
	struct pawl_histogram lateness, run_time;
	uint64_t sampled;             /* tasks that were counted: all of them, or a random sample */
	uint64_t due[CELLS_DUE];      /* of those */
	struct latest latest[LATEST]; /* the newest first */
	unsigned latest_count, function_count;
	struct function others;         /* functions without room, together */
	uint16_t index[FUNCTION_INDEX]; /* a hash table: a number in `functions`, from 1; or 0 */
	struct function functions[FUNCTIONS_COUNTED];
};

/* A cell has the tasks that are due within its bound, and not within the one before. The last cell has no bound. */
extern const uint64_t pawl__snapshot_due_within[CELLS_DUE - 1];

void pawl__snapshot_gather(struct snapshot *snapshot, struct pawl_service *service);
void pawl__snapshot_write(const struct snapshot *snapshot, struct json *json);

#endif
