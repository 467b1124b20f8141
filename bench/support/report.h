/* SPDX-License-Identifier: MIT */
/* report.h: what was measured, as tables and as lines of a CSV file; and the progress bar. */
#ifndef PAWL_BENCH_REPORT_H
#define PAWL_BENCH_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* The subject of a figure: a row of the table, and in `peer` its column. */
struct report_key {
	const char *workload, *peer, *unit;
	size_t object_bytes; /* 0: does not apply */
	uint64_t n;
};

/*
 * Write the lines to this file from now on, after comments on machine, compiler and commit. NULL: write none. Exits if
 * the file cannot be written.
 */
void report_open(const char *path, const char *bench);

/* Add the value of one repetition to the table. */
void report_add(const struct report_key *key, double value);

/*
 * Print the table under this title, and write it to the file. A figure is the median of its repetitions; ± is half the
 * distance from the least to the greatest. Then an empty table begins.
 */
void report_table(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print, also to the file, the load by others during the run. */
void report_close(void);

/* A bar on stderr, if that is a terminal. */
void progress_begin(double work);
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_done(double work);
void progress_clear(void);

/* 1234567 as 1,234,567. */
enum { GROUPED = 32 };
const char *grouped(uint64_t number, char text[GROUPED]);

#endif
