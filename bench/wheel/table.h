/* SPDX-License-Identifier: MIT */
/* table.h: what pawl-bench-wheel has measured with one number of objects of one size, and how it is shown. */
#ifndef PAWL_BENCH_TABLE_H
#define PAWL_BENCH_TABLE_H

#include "../support/report.h"
#include "options.h"
#include "workloads.h"

enum { MAX_WORKLOADS = 8 };

/* The chosen peers, and what was measured of them with one number of objects of one size. */
struct table {
	const struct options *options;
	const struct peer *peers[MAX_PEERS];
	size_t peer_count;
	struct arena arena;
	uint32_t repetitions;
	struct result results[MAX_PEERS][MAX_REPETITIONS]; /* of the workload at hand */
	struct figure figures[MAX_WORKLOADS][ROWS_PER_WORKLOAD][MAX_PEERS];
	double seconds[MAX_WORKLOADS][MAX_PEERS]; /* all repetitions together */
};

/* By --only. */
bool row_chosen(const struct table *table, const struct row *row);
bool workload_chosen(const struct table *table, const struct workload *workload);

/* Of the sparse workload or of all others: the rows with ratios, the other ones, and with --times a third. */
void table_print(const struct table *table, bool sparse);

#endif
