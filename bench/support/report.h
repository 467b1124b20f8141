/* SPDX-License-Identifier: MIT */
/* report.h: figures, as cells of a table and lines of a CSV file; and the progress bar. */
#ifndef PAWL_BENCH_REPORT_H
#define PAWL_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of the repetitions of one measurement. */
struct figure {
	double median, least, greatest;
	uint32_t repetitions; /* 0: it was not measured */
};

/* Sorts the values. */
struct figure figure_of(double *values, uint32_t count);

/* Half the distance from the least to the greatest, in percent of the median. */
double figure_spread(const struct figure *figure);

/* The subject of a figure. */
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
void report_figure(const struct report_key *key, const struct figure *figure);

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
