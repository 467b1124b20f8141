/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_OPTIONS_H
#define PAWL_BENCH_OPTIONS_H

#include "../support/arguments.h"

struct options {
	struct common common;
	struct numbers sizes;   /* the Ns */
	struct numbers objects; /* their sizes in bytes */
	bool spare;             /* leave out the sizes that say least: the user chose none */
	uint32_t steps_per_tick;
	struct names rows, peers;
};

/* Exits with 0 after --help, and with 2 and a message if something is wrong. */
void options_parse(struct options *options, int argc, char **argv);

/* Whether to measure n timers in objects of this size. */
bool options_have(const struct options *options, uint32_t n, uint32_t object_size);

/* How often to measure with n timers; `calls`: the longest single call is measured. */
uint32_t options_repetitions(const struct options *options, uint32_t n, bool calls);

#endif
