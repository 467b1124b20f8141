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

/*
 * The next option's `val`, with its value in optarg; -1 after the last, when optind is the first argument
 * that is none; '?' if it is not among `options` or lacks its value, and stderr says so.
 */
int next_option(int argc, char **argv, const struct option *options);

/* True, and *number is set; or false, and stderr says why. */
bool argument_number(const char *option, const char *text, uint64_t min, uint64_t max,
                     uint64_t *number);
bool argument_decimal(const char *option, const char *text, double min, double max, double *number);
bool argument_duration(const char *option, const char *text, uint64_t min_ns, uint64_t *ns);

/* "pawl: ..." on stderr, in one piece, with a newline behind it. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write out stdout. True if all of it arrived; else stderr says why, unless the reader has gone away. */
bool finish_output(void);

#endif
