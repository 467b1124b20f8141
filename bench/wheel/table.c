/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "table.h"

#include <stdio.h>

enum { NAME_WIDTH = 16, CELL_WIDTH = 22, NUMBER_WIDTH = 15 };

bool row_chosen(const struct table *table, const struct row *row)
{
	return row->key && names_have(&table->options->rows, row->key);
}

bool workload_chosen(const struct table *table, const struct workload *workload)
{
	for (size_t i = 0; i < ROWS_PER_WORKLOAD; i++)
		if (row_chosen(table, &workload->rows[i]))
			return true;
	return false;
}

/* Its number among the chosen peers, or peer_count if it was not chosen. */
static size_t number_of_plain(const struct table *table)
{
	size_t peer = 0;

	while (peer < table->peer_count && table->peers[peer] != &peer_plain)
		peer++;
	return peer;
}

static const struct figure *plain_figure(const struct table *table, size_t workload, size_t row)
{
	size_t plain = number_of_plain(table);

	return plain < table->peer_count ? &table->figures[workload][row][plain] : NULL;
}

static const char *unit(const struct table *table, bool compared)
{
	if (!compared)
		return "ns; bytes";
	return number_of_plain(table) < table->peer_count ? "ns, x plain" : "ns";
}

static void print_compared(const struct figure *figure, const struct figure *plain)
{
	char spread[16], ratio[16] = "";

	if (figure->repetitions == 0) {
		printf("%*s", CELL_WIDTH, "-      ");
		return;
	}
	snprintf(spread, sizeof(spread), "±%.0f%%", figure_spread(figure));
	if (plain && plain->repetitions && plain != figure)
		snprintf(ratio, sizeof(ratio), "x%.2f", plain->median / figure->median);
	/* The sign takes two bytes and one column. */
	printf("%*.1f %-*s%*s", CELL_WIDTH - 14, figure->median, 7, spread, 7, ratio);
}

static void print_number(const struct figure *figure)
{
	char text[GROUPED];

	printf("%*s", NUMBER_WIDTH,
	       figure->repetitions ? grouped((uint64_t)(figure->median + 0.5), text) : "-");
}

typedef void column_fn(const struct table *table, size_t workload, size_t row, size_t peer);

static void print_title_cell(const struct table *table, size_t workload, size_t row, size_t peer)
{
	const struct row *what = &workloads[workload].rows[row];

	(void)table;
	(void)peer;
	printf("%*s%s", what->kind == COMPARED ? CELL_WIDTH - 6 : NUMBER_WIDTH, what->label,
	       what->kind == COMPARED ? "      " : "");
}

static void print_cell(const struct table *table, size_t workload, size_t row, size_t peer)
{
	const struct figure *figure = &table->figures[workload][row][peer];

	if (workloads[workload].rows[row].kind == COMPARED)
		print_compared(figure, plain_figure(table, workload, row));
	else
		print_number(figure);
}

static bool in_table(const struct table *table, size_t column, bool sparse, bool compared)
{
	const struct workload *workload = &workloads[column / ROWS_PER_WORKLOAD];
	const struct row *row = &workload->rows[column % ROWS_PER_WORKLOAD];

	return workload->sparse == sparse && row_chosen(table, row) &&
	       (row->kind == COMPARED) == compared;
}

/* One line: the columns with ratios, or the others. */
static void each_column(const struct table *table, bool sparse, bool compared, column_fn *print,
                        size_t peer)
{
	for (size_t i = 0; i < workload_count * ROWS_PER_WORKLOAD; i++) {
		if (in_table(table, i, sparse, compared))
			print(table, i / ROWS_PER_WORKLOAD, i % ROWS_PER_WORKLOAD, peer);
	}
	printf("\n");
}

static bool has_figures(const struct table *table, bool sparse, bool compared, size_t peer)
{
	for (size_t i = 0; i < workload_count * ROWS_PER_WORKLOAD; i++)
		if (in_table(table, i, sparse, compared) &&
		    table->figures[i / ROWS_PER_WORKLOAD][i % ROWS_PER_WORKLOAD][peer].repetitions)
			return true;
	return false;
}

static bool has_columns(const struct table *table, bool sparse, bool compared)
{
	for (size_t i = 0; i < workload_count * ROWS_PER_WORKLOAD; i++)
		if (in_table(table, i, sparse, compared))
			return true;
	return false;
}

static void print_table(const struct table *table, bool sparse, bool compared)
{
	if (!has_columns(table, sparse, compared))
		return;
	printf("%-*s", NAME_WIDTH, unit(table, compared));
	each_column(table, sparse, compared, print_title_cell, 0);
	for (size_t peer = 0; peer < table->peer_count; peer++) {
		if (!has_figures(table, sparse, compared, peer))
			continue;
		printf("%-*s", NAME_WIDTH, table->peers[peer]->name);
		each_column(table, sparse, compared, print_cell, peer);
	}
	fflush(stdout);
}

/* For --times: how long each workload of each peer took. */
static void print_times(const struct table *table, bool sparse)
{
	double all = 0;

	printf("%-*s", NAME_WIDTH, "seconds");
	for (size_t i = 0; i < workload_count; i++)
		if (workloads[i].sparse == sparse && workload_chosen(table, &workloads[i]))
			printf("%*s", NUMBER_WIDTH, workloads[i].rows[0].label);
	for (size_t peer = 0; peer < table->peer_count; peer++) {
		printf("\n%-*s", NAME_WIDTH, table->peers[peer]->name);
		for (size_t i = 0; i < workload_count; i++) {
			if (workloads[i].sparse != sparse || !workload_chosen(table, &workloads[i]))
				continue;
			printf("%*.2f", NUMBER_WIDTH, table->seconds[i][peer]);
			all += table->seconds[i][peer];
		}
	}
	printf("\n%-*s%*.2f\n", NAME_WIDTH, "all", NUMBER_WIDTH, all);
}

void table_print(const struct table *table, bool sparse)
{
	print_table(table, sparse, true);
	print_table(table, sparse, false);
	if (table->options->times)
		print_times(table, sparse);
}
