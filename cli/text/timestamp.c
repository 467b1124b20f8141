/* SPDX-License-Identifier: MIT */
#include "timestamp.h"

#include <pawl/wheel.h>

static const char malformed[] = "it is not of that form";
static const char out_of_range[] = "it is before 1970 or after 2554";

/* The rest of the text. */
struct reader {
	const char *at, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool accept(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool accept_either(struct reader *r, char a, char b)
{
	return accept(r, a) || accept(r, b);
}

/* Exactly `count` digits. */
static bool read_number(struct reader *r, int count, int *number)
{
	*number = 0;
	while (count-- > 0) {
		if (r->at == r->end || !is_digit(*r->at))
			return false;
		*number = *number * 10 + (*r->at++ - '0');
	}
	return true;
}

/* The digits after a point or comma, if there is one, as nanoseconds. */
static bool read_fraction(struct reader *r, uint64_t *ns)
{
	uint64_t weight = PAWL_SECOND / 10;
	bool more = false;

	*ns = 0;
	if (!accept_either(r, '.', ','))
		return true;
	if (r->at == r->end || !is_digit(*r->at))
		return false;
	for (; r->at < r->end && is_digit(*r->at); r->at++, weight /= 10) {
		*ns += (uint64_t)(*r->at - '0') * weight;
		more |= weight == 0 && *r->at != '0';
	}
	*ns += more;
	return true;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01 to the first day of the year. */
static int64_t days_before_year(int year)
{
	int64_t before = year - 1;

	return 365 * (int64_t)(year - 1970) + (before / 4 - before / 100 + before / 400) - 477;
}

static int64_t days_before(int year, int month, int day)
{
	int64_t days = days_before_year(year) + day - 1;

	for (int m = 1; m < month; m++)
		days += days_in(year, m);
	return days;
}

static const char *read_date(struct reader *r, int64_t *days)
{
	int year, month, day;

	if (!read_number(r, 4, &year) || !accept(r, '-') || !read_number(r, 2, &month) ||
	    !accept(r, '-') || !read_number(r, 2, &day))
		return malformed;
	if (month < 1 || month > 12)
		return "there is no such month";
	if (day < 1 || day > days_in(year, month))
		return "that month has no such day";
	*days = days_before(year, month, day);
	return NULL;
}

/* hh:mm, or hh:mm:ss with or without a fraction. */
static const char *read_time_of_day(struct reader *r, int64_t *seconds, uint64_t *fraction)
{
	int hour, minute, second = 0;

	*fraction = 0;
	if (!read_number(r, 2, &hour) || !accept(r, ':') || !read_number(r, 2, &minute) ||
	    (accept(r, ':') && (!read_number(r, 2, &second) || !read_fraction(r, fraction))))
		return malformed;
	if (hour > 23 || minute > 59 || second > 60)
		return "there is no such time of day";
	*seconds = hour * 3600 + minute * 60 + second;
	return NULL;
}

/* Z, +hh:mm or +hhmm. Without it the time is UTC, and not `zoned`. */
static const char *read_offset(struct reader *r, int64_t *seconds, bool *zoned)
{
	int hours, minutes, sign;

	*seconds = 0;
	*zoned = r->at < r->end;
	if (!*zoned || accept_either(r, 'Z', 'z'))
		return NULL;
	sign = accept(r, '+') ? 1 : accept(r, '-') ? -1 : 0;
	if (sign == 0 || !read_number(r, 2, &hours))
		return malformed;
	accept(r, ':');
	if (!read_number(r, 2, &minutes))
		return malformed;
	if (hours > 23 || minutes > 59)
		return "there is no such zone";
	*seconds = sign * (hours * 3600 + minutes * 60);
	return NULL;
}

static const char *to_ns(int64_t seconds, uint64_t fraction, uint64_t *ns)
{
	if (seconds < 0 || (uint64_t)seconds > (UINT64_MAX - 1 - fraction) / PAWL_SECOND)
		return out_of_range;
	*ns = (uint64_t)seconds * PAWL_SECOND + fraction;
	return NULL;
}

static const char *parse_iso(struct reader *r, struct timestamp *stamp)
{
	int64_t days, seconds, offset;
	const char *wrong = read_date(r, &days);
	uint64_t fraction;

	if (wrong)
		return wrong;
	if (!accept_either(r, 'T', 't') && !accept(r, ' '))
		return malformed;
	wrong = read_time_of_day(r, &seconds, &fraction);
	if (wrong)
		return wrong;
	wrong = read_offset(r, &offset, &stamp->zoned);
	if (wrong)
		return wrong;
	if (r->at != r->end)
		return malformed;
	return to_ns(days * 86400 + seconds - offset, fraction, &stamp->ns);
}

/* The unit of a number since 1970, by its number of digits. 0: no unit has so many. */
static uint64_t unit_of(size_t digits)
{
	if (digits <= 11)
		return PAWL_SECOND;
	return digits == 13   ? PAWL_SECOND / 1000
	       : digits == 16 ? PAWL_SECOND / 1000000
	       : digits == 19 ? 1
	                      : 0;
}

static const char *parse_epoch(struct reader *r, size_t digits, struct timestamp *stamp)
{
	uint64_t unit = unit_of(digits), value = 0, fraction = 0;

	if (unit == 0)
		return "so many digits are no unit of time";
	for (; digits > 0; digits--)
		value = value * 10 + (uint64_t)(*r->at++ - '0');
	if (unit == PAWL_SECOND && !read_fraction(r, &fraction))
		return malformed;
	if (r->at != r->end)
		return malformed;
	if (value > (UINT64_MAX - 1 - fraction) / unit)
		return out_of_range;
	stamp->ns = value * unit + fraction;
	stamp->zoned = true;
	return NULL;
}

const char *timestamp_parse(const char *text, size_t length, struct timestamp *stamp)
{
	struct reader r = {text, text + length};
	struct timestamp found;
	size_t digits = 0;
	const char *wrong;

	while (digits < length && is_digit(text[digits]))
		digits++;
	if (digits == 0)
		return length == 0 ? "it is missing" : malformed;
	if (digits < length && text[digits] == '-')
		wrong = parse_iso(&r, &found);
	else
		wrong = parse_epoch(&r, digits, &found);
	if (!wrong)
		*stamp = found;
	return wrong;
}
