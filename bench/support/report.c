/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "report.h"

#include "machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static FILE *csv;
static const char *csv_path, *csv_bench;
static double work_total, work_done;

struct figure figure_of(double *values, uint32_t count)
{
	struct figure figure = {.repetitions = count};

	if (count == 0)
		return figure;
	figure.median = median(values, count); /* which sorts them */
	figure.least = values[0];
	figure.greatest = values[count - 1];
	return figure;
}

double figure_spread(const struct figure *figure)
{
	if (figure->median <= 0)
		return 0;
	return 50 * (figure->greatest - figure->least) / figure->median;
}

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

/* Without commas, which separate the fields. */
static void write_name(const char *name)
{
	for (; *name; name++)
		if (*name != ',')
			fputc(*name, csv);
}

void report_figure(const struct report_key *key, const struct figure *figure)
{
	if (!csv || figure->repetitions == 0)
		return;
	fprintf(csv, "%s,", csv_bench);
	write_name(key->workload);
	fprintf(csv, ",%zu,%" PRIu64 ",%s,%s,%.3f,%.3f,%.3f,%u\n", key->object_bytes, key->n,
	        key->peer, key->unit, figure->median, figure->least, figure->greatest,
	        figure->repetitions);
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
