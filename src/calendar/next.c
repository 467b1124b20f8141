/* SPDX-License-Identifier: MIT */
/*
 * The next and the previous time at which a rule fires. A rule is a set of dates and a set of times of day, both local.
 * The zone says when its clocks show them. The two searches mirror each other: each function of the first half has its
 * counterpart in the second.
 */
#include "date.h"
#include "zone.h"

#define NEVER PAWL_CALENDAR_NEVER

/*
 * Two offsets differ by less than this. So a local time that clocks showed longer ago is less than what they show now.
 */
#define OFFSET_SPAN (OFFSET_MAX - OFFSET_MIN + 1)

/* The first bit of the set that is `from` or higher; -1: none. */
static int next_in(uint64_t set, int from)
{
	for (int bit = from; bit < 64; bit++)
		if (set >> bit & 1)
			return bit;
	return -1;
}

/* The first second of the day at which the rule fires, not before `from`; -1: none. */
static int time_of_day(const struct pawl_calendar_rule *rule, int from)
{
	int hour = next_in(rule->hours, from / 3600), minute, second;

	if (hour < 0)
		return -1;
	if (hour > from / 3600)
		from = hour * 3600;
	minute = next_in(rule->minutes, from / 60 % 60);
	if (minute < 0)
		return time_of_day(rule, (hour + 1) * 3600);
	if (minute > from / 60 % 60)
		from = hour * 3600 + minute * 60;
	second = next_in(rule->seconds, from % 60);
	if (second < 0)
		return time_of_day(rule, hour * 3600 + (minute + 1) * 60);
	return hour * 3600 + minute * 60 + second;
}

static bool day_matches(const struct pawl_calendar_rule *rule, int64_t day, int of_month)
{
	bool by_month = rule->days >> of_month & 1;
	bool by_week = rule->weekdays >> date_weekday(day) & 1;

	return rule->either_day ? by_month || by_week : by_month && by_week;
}

/* The first day on which the rule fires, not before `day`. NEVER: not in 400 years, after which all dates repeat. */
static int64_t next_day(const struct pawl_calendar_rule *rule, int64_t day)
{
	int64_t end = day + DAYS_400_YEARS;
	struct date date = date_of(day);

	while (day < end) {
		int days = date_month_days(date.year, date.month);

		if (rule->months >> date.month & 1) {
			for (; date.day <= days; date.day++, day++)
				if (day_matches(rule, day, date.day))
					return day;
		} else {
			day += days + 1 - date.day;
		}
		date.day = 1;
		date.year += date.month == 12;
		date.month = date.month % 12 + 1;
	}
	return NEVER;
}

/* The first local time that matches, not before `from`; or NEVER. */
static int64_t next_match(const struct pawl_calendar_rule *rule, int64_t from)
{
	int64_t today = floor_div(from, DAY_SECONDS), day = next_day(rule, today);
	int second = time_of_day(rule, day == today ? (int)(from - today * DAY_SECONDS) : 0);

	if (day == today && second < 0) {
		day = next_day(rule, today + 1);
		second = time_of_day(rule, 0);
	}
	return day == NEVER || second < 0 ? NEVER : day * DAY_SECONDS + second;
}

/* The same, not before the year 1. */
static int64_t next_local(const struct pawl_calendar_rule *rule, int64_t from)
{
	return next_match(rule, from < TIME_FIRST ? TIME_FIRST : from);
}

/*
 * Fires at every time that matches: so search one stretch after the other. A local time after the year 9999 does not end
 * the search: clocks may be put back before they show it.
 */
static int64_t next_by_wildcard(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                                int64_t from)
{
	while (from <= TIME_LAST) {
		struct stretch stretch = pawl__zone_stretch(zone, from);
		int64_t local = next_local(rule, from + stretch.offset);

		if (local == NEVER)
			return NEVER;
		if (local <= TIME_LAST && local - stretch.offset < stretch.end)
			return local - stretch.offset;
		from = stretch.end;
	}
	return NEVER;
}

/* The latest local time that clocks have shown up to `time`. If they were put back, it was before that. */
static int64_t latest_shown(const struct pawl_zone *zone, int64_t time)
{
	struct stretch stretch = pawl__zone_stretch(zone, time);
	int64_t latest = time + stretch.offset;

	while (stretch.start > time - OFFSET_SPAN) {
		stretch = pawl__zone_stretch(zone, stretch.start - 1);
		if (stretch.end - 1 + stretch.offset > latest)
			latest = stretch.end - 1 + stretch.offset;
	}
	return latest;
}

/*
 * Fires when clocks first show a matching local time or a later one. Local times that they have shown before have fired
 * already.
 */
static int64_t next_fixed(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                          int64_t after)
{
	int64_t local = next_local(rule, latest_shown(zone, after) + 1);

	return local > TIME_LAST ? NEVER : pawl_zone_time(zone, local);
}

int64_t pawl_calendar_next(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                           int64_t after)
{
	int64_t time;

	if (after >= TIME_LAST)
		return NEVER;
	if (after < TIME_FIRST)
		after = TIME_FIRST - 1;
	time = rule->wildcard ? next_by_wildcard(rule, zone, after + 1)
	                      : next_fixed(rule, zone, after);
	return time > TIME_LAST ? NEVER : time;
}

/* The last bit of the set that is `from` or lower; -1: none. */
static int prev_in(uint64_t set, int from)
{
	while (from >= 0 && !(set >> from & 1))
		from--;
	return from;
}

/* The last second of the day at which the rule fires, not after `from`; -1: none. */
static int prev_time_of_day(const struct pawl_calendar_rule *rule, int from)
{
	int hour = from < 0 ? -1 : prev_in(rule->hours, from / 3600), minute, second;

	if (hour < 0)
		return -1;
	if (hour < from / 3600)
		from = hour * 3600 + 3599;
	minute = prev_in(rule->minutes, from / 60 % 60);
	if (minute < 0)
		return prev_time_of_day(rule, hour * 3600 - 1);
	if (minute < from / 60 % 60)
		from = hour * 3600 + minute * 60 + 59;
	second = prev_in(rule->seconds, from % 60);
	if (second < 0)
		return prev_time_of_day(rule, hour * 3600 + minute * 60 - 1);
	return hour * 3600 + minute * 60 + second;
}

/* The last day on which the rule fires, not after `day`. NEVER: not in 400 years. */
static int64_t prev_day(const struct pawl_calendar_rule *rule, int64_t day)
{
	int64_t end = day - DAYS_400_YEARS;
	struct date date = date_of(day);

	while (day > end) {
		if (rule->months >> date.month & 1) {
			for (; date.day > 0; date.day--, day--)
				if (day_matches(rule, day, date.day))
					return day;
		} else {
			day -= date.day;
		}
		date.year -= date.month == 1;
		date.month = date.month == 1 ? 12 : date.month - 1;
		date.day = date_month_days(date.year, date.month);
	}
	return NEVER;
}

/* The last local time that matches, not after `from`; or NEVER. */
static int64_t prev_match(const struct pawl_calendar_rule *rule, int64_t from)
{
	int64_t today = floor_div(from, DAY_SECONDS), day = prev_day(rule, today);
	int second = prev_time_of_day(rule, day == today ? (int)(from - today * DAY_SECONDS)
	                                                 : DAY_SECONDS - 1);

	if (day == today && second < 0) {
		day = prev_day(rule, today - 1);
		second = prev_time_of_day(rule, DAY_SECONDS - 1);
	}
	return day == NEVER || second < 0 ? NEVER : day * DAY_SECONDS + second;
}

/* The same, not after the year 9999. */
static int64_t prev_local(const struct pawl_calendar_rule *rule, int64_t from)
{
	return prev_match(rule, from > TIME_LAST ? TIME_LAST : from);
}

static int64_t prev_by_wildcard(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                                int64_t from)
{
	while (from >= TIME_FIRST) {
		struct stretch stretch = pawl__zone_stretch(zone, from);
		int64_t local = prev_local(rule, from + stretch.offset);

		if (local == NEVER)
			return NEVER;
		if (local >= TIME_FIRST && local - stretch.offset >= stretch.start)
			return local - stretch.offset;
		from = stretch.start - 1;
	}
	return NEVER;
}

/* Clocks first show a local time before `before` if they have shown it, or a later one, a second earlier. */
static int64_t prev_fixed(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                          int64_t before)
{
	int64_t local = prev_local(rule, latest_shown(zone, before - 1));

	return local == NEVER || local < TIME_FIRST ? NEVER : pawl_zone_time(zone, local);
}

int64_t pawl_calendar_prev(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                           int64_t before)
{
	int64_t time;

	if (before <= TIME_FIRST)
		return NEVER;
	if (before > TIME_LAST)
		before = TIME_LAST + 1;
	time = rule->wildcard ? prev_by_wildcard(rule, zone, before - 1)
	                      : prev_fixed(rule, zone, before);
	return time < TIME_FIRST ? NEVER : time;
}
