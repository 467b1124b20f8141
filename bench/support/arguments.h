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

/* An option: `set` if it has no value, `set_value` if it has one. */
struct argument {
	const char *name; /* with its dashes */
	void (*set)(void *settings);
	void (*set_value)(void *settings, const char *option, char *value);
};

void arguments_parse(const struct argument *known, size_t count, void *settings, int argc,
                     char **argv);

/* The options that several programs have: the first member of their settings, and the functions that set it. */
struct common {
	bool quick;
	bool only_verify;     /* measure nothing */
	uint32_t repetitions; /* 0: the default */
	const char *csv;      /* the file to write; NULL: none */
};

void set_quick(void *settings);
void set_verify(void *settings);
void set_repetitions(void *settings, const char *option, char *value);
void set_csv(void *settings, const char *option, char *value);

/* By --reps, else the default: `quick` with --quick, and `normal` without. */
uint32_t repetitions_or(const struct common *common, uint32_t normal, uint32_t quick);

/* A whole number in this range. */
uint32_t number_within(const char *option, char *value, uint32_t least, uint32_t most);

/* A list of whole numbers. */
struct numbers {
	uint32_t value[MAX_NUMBERS];
	size_t count;
};

/* Each from `step` to `most`, and a multiple of `step`. */
void parse_numbers(struct numbers *numbers, const char *option, char *list, uint32_t step,
                   uint32_t most);

/* A selection of names; empty means all. */
struct names {
	const char *name[MAX_NAMES];
	size_t count;
};

/* The name at this index; NULL after the last. Equal names are neighbours. */
typedef const char *name_fn(size_t index);

void parse_names(struct names *names, const char *option, char *list, name_fn *allowed);
bool names_have(const struct names *names, const char *name);

#endif
