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

/* `name` is the option as it was written. */
static bool set_number(const struct setting *setting, const char *name, const char *text)
{
	uint64_t found;

	if (!parse_number(text, &found) || found < setting->least || found > setting->most) {
		complain("%s is '%s'; expected a whole number from %" PRIu64 " to %" PRIu64, name,
		         text, setting->least, setting->most);
		return false;
	}
	*setting->number = found;
	return true;
}

static bool set_decimal(const struct setting *setting, const char *name, const char *text)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double found = strtod(text, &end);

	if (digits == 0 || text[digits] != '\0' || *end != '\0' || found < setting->low ||
	    found > setting->high) {
		complain("%s is '%s'; expected a number from %g to %g", name, text, setting->low,
		         setting->high);
		return false;
	}
	*setting->decimal = found;
	return true;
}

bool argument_duration(const char *what, const char *text, uint64_t min_ns, uint64_t *ns)
{
	uint64_t found = 0;
	const char *wrong = duration_parse(text, strlen(text), &found);

	if (!wrong && found < min_ns)
		wrong = "it is too short";
	if (wrong) {
		complain("%s is '%s': %s; expected " DURATION_EXPECTED, what, text, wrong);
		return false;
	}
	*ns = found;
	return true;
}

static bool set(const struct setting *setting, const char *name, const char *text)
{
	if (setting->number)
		return set_number(setting, name, text);
	if (setting->decimal)
		return set_decimal(setting, name, text);
	if (setting->duration)
		return argument_duration(name, text, setting->least, setting->duration);
	if (setting->flag)
		*setting->flag = true;
	else if (setting->texts)
		setting->texts->list[setting->texts->count++] = text;
	else
		*setting->text = text;
	return true;
}

/* What getopt_long() has to know. Of a long option it tells the index, and of a short one the letter. */
struct known_options {
	struct option names[SETTINGS_MAX + 2];
	char letters[2 * SETTINGS_MAX + 3];
};

static void describe(const struct setting *settings, struct known_options *known)
{
	char *letter = known->letters + strlen(strcpy(known->letters, ":h"));

	known->names[0] = (struct option){"help", no_argument, NULL, 'h'};
	for (int i = 0; settings[i].name; i++) {
		bool has_value = !settings[i].flag;

		known->names[i + 1] = (struct option){
		        settings[i].name, has_value ? required_argument : no_argument, NULL, 0};
		if (settings[i].letter) {
			*letter++ = settings[i].letter;
			if (has_value)
				*letter++ = ':';
		}
	}
}

static bool set_named(const struct setting *setting, const char *text)
{
	char name[32];

	snprintf(name, sizeof(name), "--%s", setting->name);
	return set(setting, name, text);
}

static bool set_lettered(const struct setting *settings, char letter, const char *text)
{
	const char name[] = {'-', letter, '\0'};

	while (settings->letter != letter)
		settings++;
	return set(settings, name, text);
}

int parse_options(int argc, char **argv, const struct setting *settings, const char *help)
{
	struct known_options known = {0};
	int option, index;

	describe(settings, &known);
	opterr = 0;
	while ((option = getopt_long(argc, argv, known.letters, known.names, &index)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return finish_output(EXIT_FINE);
		}
		if (option == ':' || option == '?') {
			complain_of_option(argv, option == ':');
			return EXIT_USAGE;
		}
		if (option == 0 ? !set_named(&settings[index - 1], optarg)
		                : !set_lettered(settings, (char)option, optarg))
			return EXIT_USAGE;
	}
	return -1;
}

int finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno != EPIPE)
		complain("writing to standard output failed: %s", strerror(errno));
	return EXIT_FAULT;
}
