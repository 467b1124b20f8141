/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void refuse(const char *option, const char *value)
{
	fprintf(stderr, "%s: %s: bad value '%s'; allowed:", program_invocation_short_name, option,
	        value);
}

uint32_t parse_number(const char *option, const char *text, uint32_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end && value >= 1 && value <= most)
		return (uint32_t)value;
	refuse(option, text);
	fprintf(stderr, " a whole number from 1 to %u\n", most);
	exit(2);
}

void usage_error(const char *what, const char *argument, const char *allowed)
{
	fprintf(stderr, "%s: %s '%s'; allowed: %s\n", program_invocation_short_name, what, argument,
	        allowed);
	exit(2);
}
