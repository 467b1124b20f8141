/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"

void complain(const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fflush(stdout);
	fprintf(stderr, "pawl: %s\n", text);
}

/* In -xyz getopt stays at the word until its last letter. */
static void complain_of_option(char **argv, bool known)
{
	const char *word = argv[optind - 1][0] == '-' ? argv[optind - 1] : argv[optind];

	if (known)
		complain("%s: option %s needs a value", argv[0], word);
	else
		complain("%s: option '%s' is unknown, ambiguous or takes no value; try 'pawl %s "
		         "--help'",
		         argv[0], word, argv[0]);
}

int parse_options_and_letters(int argc, char **argv, const char *letters,
                              const struct option *options, const char *help,
                              bool (*set)(void *arguments, int option), void *arguments)
{
	char with_help[16];
	int option;

	snprintf(with_help, sizeof(with_help), ":h%s", letters);
	opterr = 0;
	while ((option = getopt_long(argc, argv, with_help, options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return finish_output(EXIT_FINE);
		}
		if (option == ':' || option == '?') {
			complain_of_option(argv, option == ':');
			return EXIT_USAGE;
		}
		if (!set(arguments, option))
			return EXIT_USAGE;
	}
	return -1;
}

int parse_options(int argc, char **argv, const struct option *options, const char *help,
                  bool (*set)(void *arguments, int option), void *arguments)
{
	return parse_options_and_letters(argc, argv, "", options, help, set, arguments);
}

/* Digits only: strtoull accepts blanks and signs, and wraps. */
static bool parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0;
}

bool argument_number(const char *option, const char *text, uint64_t min, uint64_t max,
                     uint64_t *number)
{
	uint64_t found;

	if (!parse_number(text, &found) || found < min || found > max) {
		complain("%s is '%s'; expected a whole number from %" PRIu64 " to %" PRIu64, option,
		         text, min, max);
		return false;
	}
	*number = found;
	return true;
}

bool argument_decimal(const char *option, const char *text, double min, double max, double *number)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double found = strtod(text, &end);

	if (digits == 0 || text[digits] != '\0' || *end != '\0' || found < min || found > max) {
		complain("%s is '%s'; expected a number from %g to %g", option, text, min, max);
		return false;
	}
	*number = found;
	return true;
}

bool argument_duration(const char *option, const char *text, uint64_t min_ns, uint64_t *ns)
{
	uint64_t found = 0;
	const char *wrong = duration_parse(text, strlen(text), &found);

	if (!wrong && found < min_ns)
		wrong = "it is too short";
	if (wrong) {
		complain("%s is '%s': %s; expected " DURATION_EXPECTED, option, text, wrong);
		return false;
	}
	*ns = found;
	return true;
}

int finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno != EPIPE)
		complain("writing to standard output failed: %s", strerror(errno));
	return EXIT_FAULT;
}
