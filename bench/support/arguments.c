/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Begins a message; the caller adds what is allowed. */
static void refuse(const char *option, const char *value)
{
	fprintf(stderr, "%s: %s: bad value '%s'; allowed:", program_invocation_short_name, option,
	        value);
}

static _Noreturn void refuse_argument(const struct argument *known, size_t count, const char *what,
                                      const char *argument)
{
	fprintf(stderr, "%s: %s '%s'; allowed:", program_invocation_short_name, what, argument);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, " %s", known[i].name);
	fputc('\n', stderr);
	exit(2);
}

/* The option of that name, whose value may follow after a '='. NULL: there is none. */
static const struct argument *find(const struct argument *known, size_t count, const char *text)
{
	size_t length = strcspn(text, "=");

	for (size_t i = 0; i < count; i++)
		if (strlen(known[i].name) == length && memcmp(known[i].name, text, length) == 0)
			return &known[i];
	return NULL;
}

void arguments_parse(const struct argument *known, size_t count, void *settings, int argc,
                     char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct argument *argument = find(known, count, argv[i]);
		char *value = strchr(argv[i], '=');

		if (!argument)
			refuse_argument(known, count,
			                argv[i][0] == '-' ? "unknown option"
			                                  : "unexpected argument",
			                argv[i]);
		if (argument->set && value)
			refuse_argument(known, count, "a value for an option that takes none",
			                argv[i]);
		if (argument->set) {
			argument->set(settings);
			continue;
		}
		if (!value && i + 1 == argc)
			refuse_argument(known, count, "a value is missing after", argv[i]);
		argument->set_value(settings, argument->name, value ? value + 1 : argv[++i]);
	}
}

static bool parse_number(const char *text, uint32_t step, uint32_t most, uint32_t *number)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || value < step || value > most || value % step)
		return false;
	*number = (uint32_t)value;
	return true;
}

void set_quick(void *settings)
{
	((struct common *)settings)->quick = true;
}

void set_verify(void *settings)
{
	((struct common *)settings)->only_verify = true;
}

uint32_t repetitions_or(const struct common *common, uint32_t normal, uint32_t quick)
{
	if (common->repetitions)
		return common->repetitions;
	return common->quick ? quick : normal;
}

uint32_t number_within(const char *option, char *value, uint32_t least, uint32_t most)
{
	uint32_t number;

	if (parse_number(value, 1, most, &number) && number >= least)
		return number;
	refuse(option, value);
	fprintf(stderr, " a whole number from %u to %u\n", least, most);
	exit(2);
}

void set_repetitions(void *settings, const char *option, char *value)
{
	((struct common *)settings)->repetitions = number_within(option, value, 1, MAX_REPETITIONS);
}

void set_csv(void *settings, const char *option, char *value)
{
	(void)option;
	((struct common *)settings)->csv = value;
}

void parse_numbers(struct numbers *numbers, const char *option, char *list, uint32_t step,
                   uint32_t most)
{
	numbers->count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL; numbers->count++) {
		if (numbers->count < MAX_NUMBERS &&
		    parse_number(item, step, most, &numbers->value[numbers->count]))
			continue;
		refuse(option, item);
		fprintf(stderr, " at most %d whole numbers from %u to %u", MAX_NUMBERS, step, most);
		if (step > 1)
			fprintf(stderr, ", multiples of %u", step);
		fputs(", with commas between\n", stderr);
		exit(2);
	}
}

static bool is_allowed(name_fn *allowed, const char *name)
{
	const char *known;

	for (size_t i = 0; (known = allowed(i)) != NULL; i++)
		if (strcmp(known, name) == 0)
			return true;
	return false;
}

static _Noreturn void refuse_name(const char *option, const char *name, name_fn *allowed)
{
	const char *known, *last = "";

	refuse(option, name);
	for (size_t i = 0; (known = allowed(i)) != NULL; i++) {
		if (strcmp(known, last) != 0)
			fprintf(stderr, " %s", known);
		last = known;
	}
	fputs(" (a list with commas between)\n", stderr);
	exit(2);
}

void parse_names(struct names *names, const char *option, char *list, name_fn *allowed)
{
	names->count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		if (!is_allowed(allowed, item))
			refuse_name(option, item, allowed);
		if (names->count == 0 || !names_have(names, item)) /* an empty list means all */
			names->name[names->count++] = item;
	}
}

bool names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return names->count == 0;
}
