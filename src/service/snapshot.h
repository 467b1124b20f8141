/* SPDX-License-Identifier: MIT */
/* What the live view shows of a service. It is gathered in short steps, while the service goes on. */
#ifndef PAWL_SERVICE_SNAPSHOT_H
#define PAWL_SERVICE_SNAPSHOT_H

#include "../json/json.h"
#include "journal.h"
#include "shard.h"

enum { CELLS_DUE = 12, FUNCTIONS = 256, LATEST = 16, LEVELS = 8 };

/* How many tasks were met on each level of the wheels. Higher levels count as the last one. */
struct met {
	uint32_t on[LEVELS];
};

/* One level of all wheels together. */
struct met_level {
	uint64_t lists, width; /* lists in use; ticks of a cell */
	uint64_t looked;       /* lists that were read */
	uint64_t met;          /* tasks in them */
	bool cut;              /* some were not read to their end */
	double weight;         /* how many tasks each met task stands for */
};

struct function {
	pawl_task_fn *run; /* NULL: not in use */
	struct met met;
	uint64_t count, total_ns, longest_ns; /* of its runs */
};

struct latest {
	struct run_note note;
	unsigned worker;
};

struct snapshot {
	struct pawl_service *service;
	uint64_t now;            /* of the service's clock */
	struct pawl_stats stats; /* without `queued` and the wake-ups */
	uint64_t met;
	struct met_level levels[LEVELS];
	unsigned level; /* being read */
	struct met due[CELLS_DUE];
	struct function functions[FUNCTIONS], others; /* others: functions without room */
	struct latest latest[LATEST];                 /* the newest first */
	unsigned latest_count;
};

/* A cell has the tasks that are due within its bound, and not within the one before. The last cell has no bound. */
extern const uint64_t pawl__snapshot_due_within[CELLS_DUE - 1];

void pawl__snapshot_gather(struct snapshot *snapshot, struct pawl_service *service);
void pawl__snapshot_write(const struct snapshot *snapshot, struct json *json);

#endif
