/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_SERVICE_OPTIONS_H
#define PAWL_BENCH_SERVICE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_REPETITIONS = 99 };

/* What --only takes. */
enum service_row { CHURN, BACKLOG, LIVE, RATES, MEMORY, SERVICE_ROWS };
extern const char *const service_row_names[SERVICE_ROWS];

struct service_options {
	bool quick;
	uint32_t repetitions; /* 0: the default of each row */
	uint32_t rows;        /* a bit each */
	uint32_t peers;       /* likewise */
	const char *csv;      /* the file to write; NULL: none */
};

/* Exits with 0 after --help, and with 2, having said why, if something is wrong. */
void service_options_parse(struct service_options *options, int argc, char **argv);

#endif
