/* SPDX-License-Identifier: MIT */
/*
 * arguments.h: the programs' command lines. Each program has a table of its options. If an argument is wrong, a message
 * on stderr says what is allowed, and the program exits with 2.
 */
#ifndef PAWL_BENCH_ARGUMENTS_H
#define PAWL_BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_REPETITIONS = 99, MAX_NUMBERS = 16, MAX_NAMES = 32 };

/* A list of whole numbers. */
struct numbers {
	uint32_t value[MAX_NUMBERS];
	size_t count;
};

/* A selection of names; empty means all. */
struct names {
	const char *name[MAX_NAMES];
	size_t count;
};

bool names_have(const struct names *names, const char *name);

/* The name at this index; NULL after the last. Equal names are neighbours. */
typedef const char *name_fn(size_t index);

/* An option, and where its value goes: one of these pointers is not NULL. */
struct argument {
	const char *name;   /* with its dashes */
	void (*help)(void); /* print it; then the program exits with 0 */
	bool *flag;
	const char **text;
	uint32_t *number;        /* from `least` to `most` */
	struct numbers *numbers; /* each from `least` to `most`, and a multiple of `least` */
	uint32_t least, most;
	struct names *names; /* of these: */
	name_fn *allowed;
};

void arguments_parse(const struct argument *known, size_t count, int argc, char **argv);

/* The options that several programs have. */
struct common {
	bool quick;
	bool only_verify;     /* measure nothing */
	uint32_t repetitions; /* 0: the default */
	const char *csv;      /* the file to write; NULL: none */
};

/* By --reps, else the default: `quick` with --quick, and `normal` without. */
uint32_t repetitions_or(const struct common *common, uint32_t normal, uint32_t quick);

#endif
