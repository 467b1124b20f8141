/* SPDX-License-Identifier: MIT */
/*
 * Options of the command line. A bad value is told on stderr with the option's name, the value and what is
 * expected; nothing else is done then.
 */
#ifndef PAWL_CLI_ARGUMENTS_H
#define PAWL_CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "../exits.h"

/*
 * Take all options: `take` gets the `val` of each, with its value in optarg, and returns false if that is bad and
 * stderr says so. `help` is printed for --help, whose val is 'h'. Returns -1 if all is well, and the first argument
 * that is no option is argv[optind]; else the exit code.
 */
int take_options(int argc, char **argv, const struct option *options, const char *help,
                 bool (*take)(void *arguments, int option), void *arguments);

/* True, and *number is set; or false, and stderr says why. */
bool argument_number(const char *option, const char *text, uint64_t min, uint64_t max,
                     uint64_t *number);
bool argument_decimal(const char *option, const char *text, double min, double max, double *number);
bool argument_duration(const char *option, const char *text, uint64_t min_ns, uint64_t *ns);

/* "pawl: ..." on stderr, in one piece, with a newline behind it. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Write out stdout. Returns `code` if all of it arrived; else EXIT_FAULT, and stderr says why, unless the reader has
 * gone away.
 */
int finish_output(int code);

#endif
