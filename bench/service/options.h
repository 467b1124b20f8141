/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_SERVICE_OPTIONS_H
#define PAWL_BENCH_SERVICE_OPTIONS_H

#include "../support/arguments.h"

/* The names for --only. */
enum service_row { CHURN, BACKLOG, LIVE, RATES, WINDOWS, INSPECT, MEMORY, SERVICE_ROWS };
extern const char *const service_row_names[SERVICE_ROWS];

struct service_options {
	struct common common; /* repetitions 0: the default of each row */
	struct names rows, peers;
	uint32_t wheel_size; /* of pawl in live; 0: its default */
};

/* Exits with 0 after --help, and with 2 and a message if something is wrong. */
void service_options_parse(struct service_options *options, int argc, char **argv);

#endif
