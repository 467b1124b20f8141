/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_OPTIONS_H
#define PAWL_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_SIZES = 16, MAX_REPETITIONS = 99, MAX_NAMES = 32 };

/* A selection of names; empty means all. */
struct names {
	const char *name[MAX_NAMES];
	size_t count;
};

struct options {
	uint32_t sizes[MAX_SIZES]; /* the Ns */
	size_t size_count;
	uint32_t objects[MAX_SIZES]; /* their sizes in bytes */
	size_t object_count;
	bool spare;           /* leave out what teaches least: the sizes were not chosen */
	uint32_t repetitions; /* 0: chosen by N */
	uint32_t steps_per_tick;
	struct names rows, peers;
	const char *csv;  /* the file to write; NULL: none */
	bool only_verify; /* measure nothing */
	bool times;       /* show where the time of the run goes */
};

/* Exits with 0 after --help, and with 2, having said why, if something is wrong. */
void options_parse(struct options *options, int argc, char **argv);

bool names_have(const struct names *names, const char *name);

/* Whether to measure n timers in objects of this size. */
bool options_have(const struct options *options, uint32_t n, uint32_t object_size);

/* How often to measure with n timers. */
uint32_t options_repetitions(const struct options *options, uint32_t n);

#endif
