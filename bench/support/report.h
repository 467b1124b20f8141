/* SPDX-License-Identifier: MIT */
/* report.h: figures, as a table's cells and as lines of a CSV file; and how far a run has come. */
#ifndef PAWL_BENCH_REPORT_H
#define PAWL_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the repetitions of one measurement gave. */
struct figure {
	double median, least, greatest;
	uint32_t repetitions; /* 0: it was not measured */
};

/* Sorts the values. */
struct figure figure_of(double *values, uint32_t count);

/* Half the distance from the least to the greatest, in percent of the median. */
double figure_spread(const struct figure *figure);

/* Where a figure belongs. */
struct report_key {
	const char *workload, *peer, *unit;
	size_t object_bytes; /* 0: does not apply */
	uint64_t n;
};

/*
 * Write the lines to this file from now on, below comments on the machine, the compiler and the commit.
 * NULL: write none. Exits if it cannot be written.
 */
void report_open(const char *path, const char *bench);
void report_figure(const struct report_key *key, const struct figure *figure);

/* Tell, in the file too, what else the machine did meanwhile. */
void report_close(void);

/* A bar on stderr, if that is a terminal, until all of the work is done. */
void progress_begin(double work);
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_done(double work);
void progress_clear(void);

/* 1234567 as 1,234,567. */
enum { GROUPED = 32 };
const char *grouped(uint64_t number, char text[GROUPED]);

#endif
