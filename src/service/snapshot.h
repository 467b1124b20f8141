/* SPDX-License-Identifier: MIT */
/* What the live view shows of a service, gathered in short steps beside its work. */
#ifndef PAWL_SERVICE_SNAPSHOT_H
#define PAWL_SERVICE_SNAPSHOT_H

#include "../json/json.h"
#include "journal.h"
#include "shard.h"

enum { CELLS_DUE = 12, FUNCTIONS = 256, LATEST = 16, LEVELS = 8 };

/* Tasks that were met on the wheels, by the level that they were on. Those on further levels count as on the last one. */
struct met {
	uint32_t on[LEVELS];
};

/* A level of all wheels. */
struct met_level {
	uint64_t lists, width; /* lists in use, and the ticks that one stands for */
	uint64_t looked;       /* lists that were looked into */
	uint64_t met;          /* tasks in them */
	bool cut;              /* some had more than was looked at */
	double weight;         /* how many tasks each of those that were met stands for */
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
	uint64_t now, wall; /* by the service's clock, and by the wall clock */
	struct counts counts;
	uint64_t moved_ahead, moved_at_opening;
	uint64_t met;
	struct met_level levels[LEVELS];
	unsigned level; /* that is being looked at */
	struct met due[CELLS_DUE];
	struct function functions[FUNCTIONS], others; /* others: for which there was no room */
	struct latest latest[LATEST];                 /* the newest first */
	unsigned latest_count;
	struct pawl_histogram lateness, run_time;
	pawl_task_fn *slowest;
	uint64_t slowest_ns;
};

/* Bounds: a cell has the tasks that are due within so long, and not within the bound before. The last cell has no bound. */
extern const uint64_t pawl__snapshot_due_within[CELLS_DUE - 1];

/* Anew, from a service. */
void pawl__snapshot_gather(struct snapshot *snapshot, struct pawl_service *service);
void pawl__snapshot_write(const struct snapshot *snapshot, struct json *json);

#endif
