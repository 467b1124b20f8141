/* SPDX-License-Identifier: MIT */
/*
 * arguments.h: the programs' command lines. Each program has a table of its options; whatever is wrong with
 * an argument is said on stderr, with what is allowed instead, and the program exits with 2.
 */
#ifndef PAWL_BENCH_ARGUMENTS_H
#define PAWL_BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_REPETITIONS = 99, MAX_NUMBERS = 16, MAX_NAMES = 32 };

/* An option: `set` is for one without a value, `take` for one with. */
struct argument {
	const char *name; /* with its dashes */
	void (*set)(void *settings);
	void (*take)(void *settings, const char *option, char *value);
};

void arguments_parse(const struct argument *known, size_t count, void *settings, int argc,
                     char **argv);

/* What several programs take: the first member of their settings, and the options that fill it. */
struct common {
	bool quick;
	bool only_verify;     /* measure nothing */
	uint32_t repetitions; /* 0: the default */
	const char *csv;      /* the file to write; NULL: none */
};

void set_quick(void *settings);
void set_verify(void *settings);
void take_repetitions(void *settings, const char *option, char *value);
void take_csv(void *settings, const char *option, char *value);

uint32_t take_number(const char *option, char *value, uint32_t least, uint32_t most);

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

/* The name that has this index; NULL behind the last. Names that are alike stand together. */
typedef const char *name_fn(size_t index);

void parse_names(struct names *names, const char *option, char *list, name_fn *allowed);
bool names_have(const struct names *names, const char *name);

#endif
