/* SPDX-License-Identifier: MIT */
/*
 * Options of the command line. For a bad value, a message on stderr names the option, the value and what is expected,
 * and the command does nothing else.
 */
#ifndef PAWL_CLI_ARGUMENTS_H
#define PAWL_CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The command's exit codes. */
enum {
	EXIT_FINE = 0,
	EXIT_FAULT = 1,        /* done, but something was wrong */
	EXIT_USAGE = 2,        /* the arguments are wrong, and nothing was done */
	EXIT_INTERRUPTED = 128 /* plus the number of the signal that ended it */
};

/* The values of an option that may be repeated. The list has room for as many as there are arguments. */
struct texts {
	const char **list;
	size_t count;
};

/* An option, where its value is put, which is one of the six, and the range of that. */
struct setting {
	const char *name; /* without its dashes; NULL ends a table */
	char letter;      /* its short form, or 0 */
	bool *flag;
	const char **text;
	struct texts *texts; /* the option may be repeated */
	uint64_t *number;
	double *decimal;
	uint64_t *duration;   /* ns */
	uint64_t least, most; /* of a number; a duration has only the first */
	double low, high;     /* of a decimal */
};

enum { SETTINGS_MAX = 16 }; /* of a command */

/*
 * Parse all options. `help` is printed for --help. Returns -1 if all is well: then argv[optind] is the first argument
 * that is no option. Otherwise returns the exit code.
 */
int parse_options(int argc, char **argv, const struct setting *settings, const char *help);

/* true: *ns is set. false: stderr says why. */
bool argument_duration(const char *what, const char *text, uint64_t min_ns, uint64_t *ns);

/* Print "pawl: ..." and a newline on stderr, in one piece. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flush stdout. Returns `code` if all of it was written. Otherwise returns EXIT_FAULT, and stderr says why, unless the
 * reader is gone.
 */
int finish_output(int code);

#endif
