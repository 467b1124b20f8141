/* SPDX-License-Identifier: MIT */
#include "calendar_property.h"

#include <pawl/calendar.h>
#include <string.h>

#define FIRES 20

/* Around these: the ends of the years 1 and 9999, some changes that tzdata has, and those of the corpus. */
static const int64_t times[] = {INT64_MIN,  -62135596801, -4000000000,  -1,
                                0,          1000000000,   1774745999,   1792889999,
                                4294967296, 253402300000, 253402300799, INT64_MAX};

static const char *clocks_agree(const struct pawl_zone *zone, int64_t time)
{
	int32_t offset = pawl_zone_offset(zone, time);
	int64_t first;

	if (offset < -89999 || offset > 93599)
		return "an offset is out of range";
	if (time < -62135596800 + 100000 || time > 253402300799 - 100000)
		return NULL;
	first = pawl_zone_time(zone, time + offset);
	if (first > time)
		return "clocks first show a local time after they have shown it";
	if (first + pawl_zone_offset(zone, first) < time + offset)
		return "clocks do not show the local time yet";
	if (first - 1 + pawl_zone_offset(zone, first - 1) >= time + offset)
		return "clocks have shown the local time before";
	return NULL;
}

static int64_t fire(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                    int64_t from, int direction)
{
	return direction > 0 ? pawl_calendar_next(rule, zone, from)
	                     : pawl_calendar_prev(rule, zone, from);
}

/* direction: 1 for the next fires, -1 for the previous ones. */
static const char *fires_agree(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                               int64_t from, int direction)
{
	for (int i = 0; i < FIRES; i++) {
		int64_t found = fire(rule, zone, from, direction);

		if (found == PAWL_CALENDAR_NEVER)
			return NULL;
		if (direction > 0 ? found <= from : found >= from)
			return "the next time is not after, or the previous one not before";
		if (found < -62135596800 || found > 253402300799)
			return "a time is outside the years 1 to 9999";
		if (found - direction != from &&
		    fire(rule, zone, found - direction, direction) != found)
			return "from a moment nearer another time is found";
		if (fire(rule, zone, found + direction, -direction) != found)
			return "from the moment behind it another time is found";
		if (i > 0 && fire(rule, zone, found, -direction) != from)
			return "the way back leads to another time";
		from = found;
	}
	return NULL;
}

const char *calendar_property(const uint8_t *data, size_t size)
{
	size_t length = size > 0 && data[0] < size ? data[0] : 0;
	struct pawl_calendar_error error;
	struct pawl_calendar_rule rule;
	struct pawl_zone zone;
	const char *wrong = NULL;
	char text[256] = "";

	if (size == 0)
		return NULL;
	memcpy(text, data + 1, length);
	if (pawl_calendar_parse(&rule, text, &error) != 0) {
		if (error.position > strlen(text))
			return "the error is behind the text";
		if (pawl_calendar_parse(&rule, "30 2 * * *", NULL) != 0)
			return "a rule is refused";
	}
	if (pawl_zone_parse(&zone, data + 1 + length, size - 1 - length, &error) != 0) {
		if (error.position > size - 1 - length)
			return "the error is behind the data";
		pawl_zone_utc(&zone);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && !wrong; i++)
		wrong = clocks_agree(&zone, times[i]);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && !wrong; i++)
		wrong = fires_agree(&rule, &zone, times[i], 1);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && !wrong; i++)
		wrong = fires_agree(&rule, &zone, times[i], -1);
	return wrong;
}
