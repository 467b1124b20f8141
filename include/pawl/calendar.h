/* SPDX-License-Identifier: MIT */
/*
 * pawl/calendar.h: calendar times, such as "every day at 02:30 in Berlin": cron expressions, time zones, and what
 * happens when clocks are put forward or back.
 *
 *	#include <pawl/calendar.h>
 *	#include <stdio.h>
 *	#include <time.h>
 *
 *	int main(void)
 *	{
 *		struct pawl_zone berlin;                       // nothing is allocated, nothing to close
 *		struct pawl_calendar_rule nightly;
 *		struct pawl_calendar_error wrong;
 *
 *		if (pawl_zone_load(&berlin, "Europe/Berlin", &wrong) != 0 ||
 *		    pawl_calendar_parse(&nightly, "30 2 * * MON-FRI", &wrong) != 0) {
 *			puts(wrong.text);
 *			return 1;
 *		}
 *		time_t now = time(NULL), next = (time_t)pawl_calendar_next(&nightly, &berlin, now);
 *		printf("in %ld seconds, %s", (long)(next - now), ctime(&next));
 *	}
 *
 * A time is the number of seconds since 1970-01-01T00:00:00Z, as in time(2), without leap seconds, from the year 1 to
 * the year 9999. A local time is the time that a zone's clocks show, as the number of seconds since they showed
 * 1970-01-01 00:00:00: local = time + pawl_zone_offset(zone, time). gmtime_r(3) converts either to a date.
 *
 * No function here allocates memory, keeps state, reads the environment or the locale, or changes its const arguments.
 * Any number of threads may use the same zone and rule. A zone, rule or text must not be NULL, unless said otherwise.
 *
 *
 * When clocks change
 *
 * When clocks are put forward, some local times do not exist: a gap. When they are put back, some exist twice: an
 * overlap. There are two kinds of rules.
 *
 * A rule at fixed times fires once for each local time: when the clocks first show that time or a later one. So a time
 * in a gap fires at the end of the gap, and a time in an overlap fires the first time.
 *
 * A rule with a wildcard has a second, minute or hour field that begins with *. It fires whenever the clocks show a
 * local time that matches. So it skips a gap, and fires both times in an overlap: "0/15 * * * *" always fires every 15
 * minutes.
 *
 *	Berlin, 29 March 2026: from 02:00 to 03:00      Berlin, 25 October 2026: from 03:00 to 02:00
 *
 *	UTC           00:00 00:30 01:00 01:30 02:00     UTC           00:00 00:30 01:00 01:30 02:00
 *	clocks        01:00 01:30|03:00 03:30 04:00     clocks        02:00 02:30|02:00 02:30 03:00
 *
 *	30 2 * * *                  x                   30 2 * * *            x
 *	0 2,3 * * *                 x                   0 2,3 * * *     x                       x
 *	0,30 * * * *    x     x     x     x     x       0,30 * * * *    x     x     x     x     x
 *
 * (In March, 02:00 and 03:00 of "0 2,3 * * *" fire at the same time: it fires once.) So a nightly job runs every night,
 * and never twice. Debian's cron does the same, except that it treats a change of three hours or more as a correction
 * of the clock. Here the length does not matter: Samoa skipped 30 December 2011, and jobs of that day run when the 31st
 * begins. Others, such as systemd's timers, skip a time in a gap.
 */
#ifndef PAWL_CALENDAR_H
#define PAWL_CALENDAR_H

#include <pawl/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence that names what is wrong, its value, and what is allowed. */
struct pawl_calendar_error {
	size_t position; /* of the wrong byte in the text or in the TZif data */
	char text[160];  /* zero-terminated printable ASCII, whatever the input is */
};

#define PAWL_ZONE_CHANGES 1024 /* the most changes of the offset in a zone; tzdata has up to 310 */

/* A yearly change of the clocks, by the rule at the end of TZif data. Its fields are private. */
struct pawl_zone_change {
	uint8_t form, month, week, weekday;
	int32_t day, second;
};

/* A time zone, about 12 KiB. It may be copied. Its fields are private. */
struct pawl_zone {
	int64_t at[PAWL_ZONE_CHANGES];
	int32_t offset[PAWL_ZONE_CHANGES];
	uint32_t count;
	int32_t before;
	int64_t yearly_from;
	int32_t standard, summer;
	struct pawl_zone_change yearly[2];
	bool changes_yearly;
};

/* Set the zone to UTC. */
PAWL_API void pawl_zone_utc(struct pawl_zone *zone);

/*
 * Load a zone by its name, such as Europe/Berlin, from the file of that name in /usr/share/zoneinfo. "UTC" needs no
 * file. NULL means the machine's own zone, /etc/localtime, or UTC if that is missing. `error` may be NULL.
 *
 * 0         *zone is that zone.
 * -EINVAL   the name has 0 or more than 255 bytes, begins with '/', has a part that begins with '.', or contains a
 *           backslash or a colon; or the file has more than 16 KiB, or pawl_zone_parse() refuses it.
 * -ENOENT   there is no such file.
 * -errno    another error of open(2) or read(2).
 *
 * After an error *zone is unchanged. Windows has neither file: there, pass the data to pawl_zone_parse().
 */
PAWL_API PAWL_MUST_USE int pawl_zone_load(struct pawl_zone *zone, const char *name,
                                          struct pawl_calendar_error *error);

/*
 * Parse a zone from TZif data in memory (RFC 9636, versions 1 to 4), such as a file of /usr/share/zoneinfo. The data is
 * borrowed during the call, and not trusted. `error` may be NULL.
 *
 * 0         *zone is that zone.
 * -EINVAL   the data is cut off, is not TZif, contradicts itself, counts leap seconds (as in zoneinfo/right), or has
 *           more than PAWL_ZONE_CHANGES changes. *zone is unchanged.
 */
PAWL_API PAWL_MUST_USE int pawl_zone_parse(struct pawl_zone *zone, const void *data, size_t size,
                                           struct pawl_calendar_error *error);

/*
 * The number of seconds by which the zone's clocks are ahead of UTC at `time`, -89999 to 93599. Times before the year 1
 * count as its first second, times after the year 9999 as its last one.
 */
PAWL_API int32_t pawl_zone_offset(const struct pawl_zone *zone, int64_t time);

/*
 * The first time at which the zone's clocks show `local` or a later local time: see "When clocks change". Local times
 * before the year 1 count as its first second, those after the year 9999 as its last one.
 */
PAWL_API int64_t pawl_zone_time(const struct pawl_zone *zone, int64_t local);

/* A rule: the local times at which it fires. Its fields are private. */
struct pawl_calendar_rule {
	uint64_t seconds, minutes;
	uint32_t hours, days;
	uint16_t months;
	uint8_t weekdays;
	bool either_day, wildcard;
};

/*
 * Parse a rule from a cron expression: five fields with blanks between them, or six with the second first.
 *
 *	second (0-59)  minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12)  day of the week (0-7)
 *
 * A field is a list, such as 0,15,30, of values, ranges (9-17) and * (all values). A step after a range or * selects
 * some of its values: 9-17/2 is every second hour. A step after a value goes on to the last value: 5/15 is 5,20,35,50.
 * A step is from 1 to the field's largest value: there is no "every 90 minutes". Without seconds a rule fires at second
 * 0.
 *
 * Months have names, JAN to DEC, and so have days of the week, SUN to SAT, in upper or lower case. 0 and 7 are both
 * Sunday; at the end of a range SUN is 7.
 *
 * If neither the day of the month nor the day of the week begins with *, one of the two is enough, as in most crons:
 * "0 0 13 * FRI" is every 13th and every Friday. Otherwise both must match.
 *
 * Or the text is a word: @yearly or @annually (0 0 1 1 *), @monthly (0 0 1 * *), @weekly (0 0 * * 0), @daily or
 * @midnight (0 0 * * *), @hourly (0 * * * *).
 *
 * 0         *rule is that rule. It may match nothing, such as 30 February.
 * -EINVAL   the text is not a rule. *rule is unchanged. `error` may be NULL.
 */
PAWL_API PAWL_MUST_USE int pawl_calendar_parse(struct pawl_calendar_rule *rule, const char *text,
                                               struct pawl_calendar_error *error);

/* Parse a rule for every day at a time, 00:00 to 23:59 or 00:00:00 to 23:59:59. Returns as pawl_calendar_parse(). */
PAWL_API PAWL_MUST_USE int pawl_calendar_daily(struct pawl_calendar_rule *rule, const char *text,
                                               struct pawl_calendar_error *error);

#define PAWL_CALENDAR_NEVER INT64_MAX

/*
 * The first time after `after` at which the rule fires in the zone. PAWL_CALENDAR_NEVER: the rule does not fire within
 * 400 years, after which all dates repeat, or not before the year 9999 ends. For a rule that never fires, the call
 * examines each month of these years once.
 *
 * Pass the time of the last run to get each missed time, one after the other. Pass the present to skip them.
 */
PAWL_API int64_t pawl_calendar_next(const struct pawl_calendar_rule *rule,
                                    const struct pawl_zone *zone, int64_t after);

/*
 * The last time before `before` at which the rule fires in the zone: the same times as those of pawl_calendar_next(),
 * in reverse order. PAWL_CALENDAR_NEVER: it did not fire within 400 years, or not since the year 1 began.
 */
PAWL_API int64_t pawl_calendar_prev(const struct pawl_calendar_rule *rule,
                                    const struct pawl_zone *zone, int64_t before);

#ifdef __cplusplus
}
#endif

#endif
