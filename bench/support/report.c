/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "report.h"

#include "arguments.h"
#include "machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BAR_WIDTH = 30,
	MAX_ROWS = 40,
	MAX_COLUMNS = 32,
	ROW_NAME = 64,
	LABEL_WIDTH = 40,
	CELL_WIDTH = 16,
	CELLS_A_LINE = 6,
};

struct row {
	char workload[ROW_NAME];
	struct report_key key;
	struct cell {
		uint32_t count;
		double values[MAX_REPETITIONS]; /* sorted when the table is printed */
		double median;
	} cells[MAX_COLUMNS];
};

static struct row rows[MAX_ROWS];
static const char *columns[MAX_COLUMNS];
static size_t row_count, column_count;

static FILE *csv;
static const char *csv_path, *csv_bench;
static double work_total, work_done;

void report_open(const char *path, const char *bench)
{
	if (!path)
		return;
	csv_path = path;
	csv_bench = bench;
	csv = fopen(path, "w");
	if (!csv)
		fail("%s: %s", path, strerror(errno));
	machine_describe_in(csv, "# ");
	fputs("bench,workload,object_bytes,n,peer,unit,median,least,greatest,repetitions\n", csv);
}

static struct row *row_of(const struct report_key *key)
{
	struct row *row = rows;

	for (; row < rows + row_count; row++)
		if (strcmp(row->workload, key->workload) == 0)
			return row;
	if (row_count++ == MAX_ROWS)
		fail("a table has too many rows");
	*row = (struct row){.key = *key};
	snprintf(row->workload, sizeof(row->workload), "%s", key->workload);
	return row;
}

static size_t column_of(const char *peer)
{
	size_t column = 0;

	while (column < column_count && strcmp(columns[column], peer) != 0)
		column++;
	if (column == MAX_COLUMNS)
		fail("a table has too many columns");
	if (column == column_count)
		columns[column_count++] = peer;
	return column;
}

void report_add(const struct report_key *key, double value)
{
	struct cell *cell = &row_of(key)->cells[column_of(key->peer)];

	cell->values[cell->count++] = value;
}

static void print_cell(const struct cell *cell)
{
	char number[GROUPED] = "-", text[2 * GROUPED];
	const char *figure = number;

	if (cell->median >= 100)
		figure = grouped((uint64_t)(cell->median + 0.5), number);
	else if (cell->count)
		snprintf(number, sizeof(number), cell->median >= 10 ? "%.1f" : "%.2f",
		         cell->median);
	if (cell->count < 2 || cell->median <= 0) {
		printf("%*s", CELL_WIDTH, figure);
		return;
	}
	snprintf(text, sizeof(text), "%s ±%.0f %%", figure,
	         50 * (cell->values[cell->count - 1] - cell->values[0]) / cell->median);
	printf("%*s", CELL_WIDTH + 1, text); /* the sign takes two bytes and one column */
}

static bool has_figures(const struct row *row, size_t first, size_t end)
{
	for (size_t column = first; column < end; column++)
		if (row->cells[column].count)
			return true;
	return false;
}

/* At least LABEL_WIDTH. */
static int label_width(void)
{
	size_t width = LABEL_WIDTH;

	for (size_t i = 0; i < row_count; i++) {
		size_t length = strlen(rows[i].workload) + strlen(", ") + strlen(rows[i].key.unit);

		width = length > width ? length : width;
	}
	return (int)width;
}

static void print_rows(size_t first, size_t end)
{
	int width = label_width();

	printf("%-*s", width, "");
	for (size_t column = first; column < end; column++)
		printf("%*s", CELL_WIDTH, columns[column]);
	for (size_t i = 0; i < row_count; i++) {
		if (!has_figures(&rows[i], first, end))
			continue;
		int length = printf("\n%s, %s", rows[i].workload, rows[i].key.unit) - 1;

		printf("%*s", width - length, "");
		for (size_t column = first; column < end; column++)
			print_cell(&rows[i].cells[column]);
	}
	printf("\n");
}

static void write_figure(const struct row *row, size_t column)
{
	const struct cell *cell = &row->cells[column];

	fprintf(csv, "%s,", csv_bench);
	for (const char *c = row->workload; *c; c++) /* a comma separates the fields */
		if (*c != ',')
			fputc(*c, csv);
	fprintf(csv, ",%zu,%" PRIu64 ",%s,%s,%.3f,%.3f,%.3f,%u\n", row->key.object_bytes,
	        row->key.n, columns[column], row->key.unit, cell->median, cell->values[0],
	        cell->values[cell->count - 1], cell->count);
}

static void evaluate(struct row *row)
{
	for (size_t column = 0; column < column_count; column++) {
		struct cell *cell = &row->cells[column];

		if (cell->count)
			cell->median = median(cell->values, cell->count);
	}
}

void report_table(const char *format, ...)
{
	va_list args;

	for (size_t i = 0; i < row_count; i++)
		evaluate(&rows[i]);
	progress_clear();
	printf("\n");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	for (size_t first = 0; first < column_count; first += CELLS_A_LINE) {
		size_t end = first + CELLS_A_LINE;

		print_rows(first, end < column_count ? end : column_count);
	}
	for (size_t i = 0; csv && i < row_count; i++)
		for (size_t column = 0; column < column_count; column++)
			if (rows[i].cells[column].count)
				write_figure(&rows[i], column);
	fflush(stdout);
	row_count = column_count = 0;
}

void report_close(void)
{
	puts("");
	machine_conclude_in(stdout, "");
	if (!csv)
		return;
	machine_conclude_in(csv, "# ");
	if (ferror(csv) | fclose(csv))
		fail("%s: it could not be written", csv_path);
	csv = NULL;
}

void progress_begin(double work)
{
	work_total = work;
	work_done = 0;
}

void progress_show(const char *format, ...)
{
	double share = work_total > 0 ? work_done / work_total : 0;
	int full = (int)(share * BAR_WIDTH);
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3.0f %%  ", 100 * share);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
}

void progress_done(double work)
{
	work_done += work;
}

void progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

const char *grouped(uint64_t number, char text[GROUPED])
{
	char *at = text + GROUPED - 1;
	int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		digits++;
	} while (number /= 10);
	return at;
}
