/* SPDX-License-Identifier: MIT */
/* table.h: the results of pawl-bench-wheel for one number of timers and one object size, and how they are printed. */
#ifndef PAWL_BENCH_TABLE_H
#define PAWL_BENCH_TABLE_H

#include "../support/report.h"
#include "options.h"
#include "workloads.h"

/* The chosen peers, and their results for one number of timers and one object size. */
struct table {
	const struct options *options;
	const struct peer *peers[MAX_PEERS];
	size_t peer_count;
	struct arena arena;
	uint32_t repetitions;
	struct result results[MAX_PEERS][MAX_REPETITIONS]; /* of the current workload */
	struct figure figures[MAX_WORKLOADS][ROWS_PER_WORKLOAD][MAX_PEERS];
	double seconds[MAX_WORKLOADS][MAX_PEERS]; /* all repetitions together */
};

/* Chosen by --only. */
bool row_chosen(const struct table *table, const struct row *row);
bool workload_chosen(const struct table *table, const struct workload *workload);

/* For the sparse workload, or for all others: the rows with ratios, the other rows, and with --times the seconds. */
void table_print(const struct table *table, bool sparse);

#endif
