/* SPDX-License-Identifier: MIT */
/* Parses rules: cron expressions and times of day. */
#include <errno.h>
#include <string.h>

#include "error.h"

#define FIELDS     6
#define SHOWN_MAX  24 /* bytes of a bad value that an error shows */
#define NUMBER_MAX 1000

struct field {
	const char *name;
	int min, max;
	const char *names;    /* of the values from min on, three letters each; NULL: none */
	const char *expected; /* for an error */
};

static const struct field fields[FIELDS] = {
        {"second", 0, 59, NULL, "0 to 59"},
        {"minute", 0, 59, NULL, "0 to 59"},
        {"hour", 0, 23, NULL, "0 to 23"},
        {"day of the month", 1, 31, NULL, "1 to 31"},
        {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", "1 to 12 or JAN to DEC"},
        {"day of the week", 0, 7, "SUNMONTUEWEDTHUFRISAT", "0 to 7 or SUN to SAT"},
};

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const struct {
	const char *word, *expression;
} words[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
};

struct reader {
	const char *text, *at; /* the whole text, and how far it is read */
	struct pawl_calendar_error *error;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_letter(char c)
{
	return upper(c) >= 'A' && upper(c) <= 'Z';
}

/* Skip this character. false: another one is there. */
static bool accept(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* The length of the word at `text`, at most as much as an error shows. */
static int shown(const char *text)
{
	int length = 0;

	while (length < SHOWN_MAX && text[length] && !is_blank(text[length]))
		length++;
	return length;
}

/* The length of the text read since `start`, or of the word there if nothing was read; at most as much as an error
 * shows. */
static int shown_since(const struct reader *r, const char *start)
{
	if (r->at == start)
		return shown(start);
	return r->at - start < SHOWN_MAX ? (int)(r->at - start) : SHOWN_MAX;
}

/* It saturates: a number that is too large stays too large. */
static int read_number(struct reader *r)
{
	int number = 0;

	for (; is_digit(*r->at); r->at++)
		number = number < NUMBER_MAX ? number * 10 + (*r->at - '0') : NUMBER_MAX;
	return number;
}

/* The value of a name of three letters. -1: the field has no such name. */
static int read_name(struct reader *r, const struct field *field)
{
	int letters = 0, value = field->min;

	while (is_letter(r->at[letters]))
		letters++;
	for (const char *name = field->names; name && *name && letters == 3; name += 3, value++)
		if (upper(r->at[0]) == name[0] && upper(r->at[1]) == name[1] &&
		    upper(r->at[2]) == name[2]) {
			r->at += 3;
			return value;
		}
	return -1;
}

static int read_value(struct reader *r, const struct field *field, int *value)
{
	const char *start = r->at;

	*value = is_digit(*start) ? read_number(r) : read_name(r, field);
	if (*value < field->min || *value > field->max)
		return pawl__calendar_fail(r->error, (size_t)(start - r->text),
		                           "the %s is '%.*s'; expected %s", field->name,
		                           shown_since(r, start), start, field->expected);
	return 0;
}

/* The end of a range that begins with `first`. As an end, SUN is the day after SAT. */
static int read_range_end(struct reader *r, const struct field *field, const char *start, int first,
                          int *last)
{
	bool name = is_letter(*r->at);
	int error = read_value(r, field, last);

	if (error)
		return error;
	if (name && field == &fields[WEEKDAY] && *last == 0)
		*last = 7;
	if (*last < first)
		return pawl__calendar_fail(r->error, (size_t)(start - r->text),
		                           "the %s is the range '%.*s', which runs backwards; "
		                           "expected the lower end first, within %s",
		                           field->name, shown_since(r, start), start,
		                           field->expected);
	return 0;
}

static int read_step(struct reader *r, const struct field *field, int *step)
{
	const char *start = r->at;

	*step = read_number(r);
	if (*step >= 1 && *step <= field->max)
		return 0;
	return pawl__calendar_fail(r->error, (size_t)(start - r->text),
	                           "the step of the %s is '%.*s'; expected 1 to %d", field->name,
	                           shown_since(r, start), start, field->max);
}

/* One part of a list: *, a value or a range, each with or without a step. */
static int read_part(struct reader *r, const struct field *field, uint64_t *set)
{
	const char *start = r->at;
	bool all = accept(r, '*'), range = all, stepped;
	int first = field->min, last = field->max, step = 1, error = 0;

	if (!all) {
		error = read_value(r, field, &first);
		range = !error && accept(r, '-');
		if (range)
			error = read_range_end(r, field, start, first, &last);
	}
	stepped = !error && accept(r, '/');
	if (stepped)
		error = read_step(r, field, &step);
	if (error)
		return error;
	if (!range && !stepped)
		last = first;
	for (int value = first; value <= last; value += step)
		*set |= UINT64_C(1) << value;
	return 0;
}

static int read_field(struct reader *r, const struct field *field, uint64_t *set)
{
	const char *start = r->at;
	int error;

	*set = 0;
	do {
		error = read_part(r, field, set);
	} while (!error && accept(r, ','));
	if (!error && *r->at && !is_blank(*r->at))
		error = pawl__calendar_fail(
		        r->error, (size_t)(r->at - r->text),
		        "the %s is '%.*s', which goes on with '%c'; expected a list of %s, "
		        "ranges, and *, with steps",
		        field->name, shown(start), start, *r->at, field->expected);
	return error;
}

static void skip_blanks(struct reader *r)
{
	while (is_blank(*r->at))
		r->at++;
}

static int count_words(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += !is_blank(*text) && (is_blank(text[1]) || !text[1]);
	return count;
}

/* Fills `sets` and `stars`, which are indexed as `fields`. If there are 5 fields, the second is 0. */
static int read_fields(struct reader *r, uint64_t sets[FIELDS], bool stars[FIELDS])
{
	int count = count_words(r->text), error = 0;

	if (count != FIELDS && count != FIELDS - 1)
		return pawl__calendar_fail(r->error, strlen(r->text),
		                           "there are %d fields; expected 5: minute, hour, day of "
		                           "the month, month, day of the week; or 6: the second "
		                           "before them",
		                           count);
	sets[SECOND] = 1;
	stars[SECOND] = false;
	for (int i = FIELDS - count; i < FIELDS && !error; i++) {
		skip_blanks(r);
		stars[i] = *r->at == '*';
		error = read_field(r, &fields[i], &sets[i]);
	}
	return error;
}

static int parse_fields(struct pawl_calendar_rule *rule, const char *text,
                        struct pawl_calendar_error *error)
{
	struct reader r = {.text = text, .at = text, .error = error};
	uint64_t sets[FIELDS] = {0};
	bool stars[FIELDS] = {0};
	int code = read_fields(&r, sets, stars);

	if (code)
		return code;
	*rule = (struct pawl_calendar_rule){
	        .seconds = sets[SECOND],
	        .minutes = sets[MINUTE],
	        .hours = (uint32_t)sets[HOUR],
	        .days = (uint32_t)sets[DAY],
	        .months = (uint16_t)sets[MONTH],
	        .weekdays = (uint8_t)((sets[WEEKDAY] | sets[WEEKDAY] >> 7) & 0x7f),
	        .either_day = !stars[DAY] && !stars[WEEKDAY],
	        .wildcard = stars[SECOND] || stars[MINUTE] || stars[HOUR],
	};
	return 0;
}

/* Whether the text is the word, in upper or lower case, followed only by blanks. */
static bool is_word(const char *text, const char *word)
{
	for (; *word; text++, word++)
		if (upper(*text) != upper(*word))
			return false;
	while (is_blank(*text))
		text++;
	return !*text;
}

int pawl_calendar_parse(struct pawl_calendar_rule *rule, const char *text,
                        struct pawl_calendar_error *error)
{
	const char *start = text;

	while (is_blank(*start))
		start++;
	if (*start != '@')
		return parse_fields(rule, text, error);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(start, words[i].word))
			return parse_fields(rule, words[i].expression, error);
	return pawl__calendar_fail(error, (size_t)(start - text),
	                           "the word is '%.*s'; expected @yearly, @annually, @monthly, "
	                           "@weekly, @daily, @midnight or @hourly",
	                           shown(start), start);
}

/* false: there are no two digits, or their value is above max. Then nothing is read. */
static bool read_two_digits(struct reader *r, int max, int *value)
{
	if (!is_digit(r->at[0]) || !is_digit(r->at[1]))
		return false;
	*value = (r->at[0] - '0') * 10 + (r->at[1] - '0');
	if (*value > max)
		return false;
	r->at += 2;
	return true;
}

int pawl_calendar_daily(struct pawl_calendar_rule *rule, const char *text,
                        struct pawl_calendar_error *error)
{
	struct reader r = {.text = text, .at = text};
	int hour, minute, second = 0;

	if (!read_two_digits(&r, 23, &hour) || !accept(&r, ':') ||
	    !read_two_digits(&r, 59, &minute) ||
	    (accept(&r, ':') && !read_two_digits(&r, 59, &second)) || *r.at)
		return pawl__calendar_fail(error, (size_t)(r.at - text),
		                           "the time of day is '%.*s'; expected hh:mm or hh:mm:ss, "
		                           "00:00 to 23:59:59",
		                           SHOWN_MAX, text);
	*rule = (struct pawl_calendar_rule){
	        .seconds = UINT64_C(1) << second,
	        .minutes = UINT64_C(1) << minute,
	        .hours = UINT32_C(1) << hour,
	        .days = ~UINT32_C(1),
	        .months = 0x1ffe,
	        .weekdays = 0x7f,
	};
	return 0;
}
