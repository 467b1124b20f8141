/* SPDX-License-Identifier: MIT */
/*
 * Options of the command line. For a bad value, a message on stderr names the option, the value and what is expected,
 * and the command does nothing else.
 */
#ifndef PAWL_CLI_ARGUMENTS_H
#define PAWL_CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "../exits.h"

/*
 * Parse all options. `set` is called with the `val` of each, and its value in optarg; it returns false after a message
 * on stderr, if the value is bad. `help` is printed for --help, whose val is 'h'. Returns -1 if all is well: then
 * argv[optind] is the first argument that is no option. Otherwise returns the exit code.
 */
int parse_options(int argc, char **argv, const struct option *options, const char *help,
                  bool (*set)(void *arguments, int option), void *arguments);

/* The same, with options of one letter, as for getopt: "n:" is -n with a value. */
int parse_options_and_letters(int argc, char **argv, const char *letters,
                              const struct option *options, const char *help,
                              bool (*set)(void *arguments, int option), void *arguments);

/* true: *number is set. false: stderr says why. */
bool argument_number(const char *option, const char *text, uint64_t min, uint64_t max,
                     uint64_t *number);
bool argument_decimal(const char *option, const char *text, double min, double max, double *number);
bool argument_duration(const char *option, const char *text, uint64_t min_ns, uint64_t *ns);

/* Print "pawl: ..." and a newline on stderr, in one piece. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flush stdout. Returns `code` if all of it was written. Otherwise returns EXIT_FAULT, and stderr says why, unless the
 * reader is gone.
 */
int finish_output(int code);

#endif
