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

static bool parse_number(const char *text, const struct argument *argument, uint32_t *number)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	*number = (uint32_t)value;
	return text[0] >= '0' && text[0] <= '9' && !*end && value >= argument->least &&
	       value <= argument->most;
}

static void set_number(const struct argument *argument, const char *value)
{
	if (parse_number(value, argument, argument->number))
		return;
	refuse(argument->name, value);
	fprintf(stderr, " a whole number from %u to %u\n", argument->least, argument->most);
	exit(2);
}

static void set_numbers(const struct argument *argument, char *list)
{
	struct numbers *numbers = argument->numbers;
	uint32_t step = argument->least;

	numbers->count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL; numbers->count++) {
		uint32_t *value = &numbers->value[numbers->count];

		if (numbers->count < MAX_NUMBERS && parse_number(item, argument, value) &&
		    *value % step == 0)
			continue;
		refuse(argument->name, item);
		fprintf(stderr, " at most %d whole numbers from %u to %u", MAX_NUMBERS, step,
		        argument->most);
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
	for (size_t i = 0; (known = allowed(i)) != NULL; last = known, i++)
		if (strcmp(known, last) != 0)
			fprintf(stderr, " %s", known);
	fputs(" (a list with commas between)\n", stderr);
	exit(2);
}

static void set_names(const struct argument *argument, char *list)
{
	struct names *names = argument->names;

	names->count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		if (!is_allowed(argument->allowed, item))
			refuse_name(argument->name, item, argument->allowed);
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

static void set(const struct argument *argument, char *value)
{
	if (argument->text)
		*argument->text = value;
	else if (argument->number)
		set_number(argument, value);
	else if (argument->numbers)
		set_numbers(argument, value);
	else
		set_names(argument, value);
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

void arguments_parse(const struct argument *known, size_t count, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct argument *argument = find(known, count, argv[i]);
		char *value = strchr(argv[i], '=');

		if (!argument)
			refuse_argument(known, count,
			                argv[i][0] == '-' ? "unknown option"
			                                  : "unexpected argument",
			                argv[i]);
		if ((argument->flag || argument->help) && value)
			refuse_argument(known, count, "a value for an option that takes none",
			                argv[i]);
		if (argument->help) {
			argument->help();
			exit(0);
		}
		if (argument->flag) {
			*argument->flag = true;
			continue;
		}
		if (!value && i + 1 == argc)
			refuse_argument(known, count, "a value is missing after", argv[i]);
		set(argument, value ? value + 1 : argv[++i]);
	}
}

uint32_t repetitions_or(const struct common *common, uint32_t normal, uint32_t quick)
{
	if (common->repetitions)
		return common->repetitions;
	return common->quick ? quick : normal;
}
