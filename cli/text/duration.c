/* SPDX-License-Identifier: MIT */
#include "duration.h"

#include <inttypes.h>
#include <pawl/wheel.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST (UINT64_MAX - 1) /* UINT64_MAX is "never" */

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
        {"ns", 1},
        {"us", 1000},
        {"ms", 1000000},
        {"s", PAWL_SECOND},
        {"m", 60 * PAWL_SECOND},
        {"h", 3600 * PAWL_SECOND},
        {"d", 86400 * PAWL_SECOND},
};

static size_t count_digits(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && text[count] >= '0' && text[count] <= '9')
		count++;
	return count;
}

static uint64_t unit_named(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == length && memcmp(units[i].name, name, length) == 0)
			return units[i].ns;
	return 0;
}

/* digits * unit, or UINT64_MAX if that is too large. */
static uint64_t whole_part(const char *digits, size_t count, uint64_t unit)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t digit = (uint64_t)(digits[i] - '0');

		if (value > (LONGEST / unit - digit) / 10)
			return UINT64_MAX;
		value = value * 10 + digit;
	}
	return value * unit;
}

/* 0.digits * unit, rounded up. From the last digit to the first, so that any number of them is exact. */
static uint64_t decimal_part(const char *digits, size_t count, uint64_t unit)
{
	uint64_t value = 0, rest = 0;

	while (count-- > 0) {
		value += (uint64_t)(digits[count] - '0') * unit;
		rest |= value % 10;
		value /= 10;
	}
	return value + (rest != 0);
}

/* A number and its unit, which ends at the next digit or at the end. */
struct part {
	size_t length;
	uint64_t ns, unit;
};

static size_t unit_length(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && !(text[count] >= '0' && text[count] <= '9'))
		count++;
	return count;
}

static const char *parse_part(const char *text, size_t length, struct part *part)
{
	size_t whole = count_digits(text, length);
	bool point = whole < length && text[whole] == '.';
	const char *decimals = text + whole + point;
	size_t count = point ? count_digits(decimals, length - whole - 1) : 0;
	size_t number = whole + point + count, name = unit_length(text + number, length - number);
	uint64_t value, rest;

	if (whole == 0)
		return text[0] == '-' ? "it is negative" : "it does not begin with a digit";
	if (point && count == 0)
		return "there is no digit after the point";
	if (number == length)
		return "it has no unit";
	part->unit = unit_named(text + number, name);
	if (part->unit == 0)
		return "its unit is unknown";
	value = whole_part(text, whole, part->unit);
	rest = decimal_part(decimals, count, part->unit);
	if (value > LONGEST - rest)
		return "it is too long";
	part->ns = value + rest;
	part->length = number + name;
	return NULL;
}

const char *duration_parse(const char *text, size_t length, uint64_t *ns)
{
	uint64_t sum = 0, unit = UINT64_MAX;
	struct part part;
	const char *wrong;

	if (length == 0)
		return "it is missing";
	for (; length > 0; text += part.length, length -= part.length) {
		wrong = parse_part(text, length, &part);
		if (wrong)
			return wrong;
		if (part.unit >= unit)
			return "its units do not go from large to small";
		if (part.ns > LONGEST - sum)
			return "it is too long";
		sum += part.ns;
		unit = part.unit;
	}
	*ns = sum;
	return NULL;
}

/* From the largest on. */
static const struct unit long_units[] = {
        {"d", 86400 * PAWL_SECOND},
        {"h", 3600 * PAWL_SECOND},
        {"min", 60 * PAWL_SECOND},
};
static const struct unit short_units[] = {
        {"s", PAWL_SECOND},
        {"ms", 1000000},
        {"us", 1000},
        {"ns", 1},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "2.5 ms": in the largest unit that is not larger, and all decimals. Less than a minute, and not 0. */
static void append_short(uint64_t ns, char *text, size_t size)
{
	const struct unit *unit = short_units;
	uint64_t rest, digit;
	size_t length;

	while (unit->ns > ns)
		unit++;
	length = (size_t)snprintf(text, size, "%" PRIu64, ns / unit->ns);
	rest = ns % unit->ns;
	if (rest > 0)
		text[length++] = '.';
	for (digit = unit->ns / 10; rest > 0; rest %= digit, digit /= 10)
		text[length++] = (char)('0' + rest / digit);
	snprintf(text + length, size - length, " %s", unit->name);
}

void duration_exact(uint64_t ns, char text[DURATION_TEXT])
{
	size_t length = 0;

	if (ns == 0)
		snprintf(text, DURATION_TEXT, "0 ms");
	for (size_t i = 0; i < COUNT(long_units); i++) {
		const struct unit *unit = &long_units[i];

		if (ns < unit->ns)
			continue;
		length += (size_t)snprintf(text + length, DURATION_TEXT - length, "%" PRIu64 " %s",
		                           ns / unit->ns, unit->name);
		ns %= unit->ns;
		if (ns > 0)
			text[length++] = ' ';
	}
	if (ns > 0)
		append_short(ns, text + length, DURATION_TEXT - length);
}

/* A minute or more: cut to its two largest units. */
static void format_long(uint64_t ns, char text[DURATION_TEXT])
{
	const struct unit *unit = long_units;

	while (unit->ns > ns)
		unit++;
	duration_exact(ns - ns % (unit->ns == 60 * PAWL_SECOND ? PAWL_SECOND : unit[1].ns), text);
}

void duration_format(uint64_t ns, char text[DURATION_TEXT])
{
	static const char *const names[] = {"us", "ms", "s"};
	double value = (double)ns / 1e3;
	int unit = 0;

	if (ns < 1000) {
		snprintf(text, DURATION_TEXT, "%d ns", (int)ns);
		return;
	}
	if (ns >= UINT64_C(59950000000)) { /* which has 3 digits as 60.0 s */
		format_long(ns < 60 * PAWL_SECOND ? 60 * PAWL_SECOND : ns, text);
		return;
	}
	for (; unit < 2 && value >= 999.5; unit++)
		value /= 1e3;
	snprintf(text, DURATION_TEXT, "%.*f %s",
	         value < 9.995   ? 2
	         : value < 99.95 ? 1
	                         : 0,
	         value, names[unit]);
}
