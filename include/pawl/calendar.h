/* SPDX-License-Identifier: MIT */
/*
 * pawl/calendar.h: times of the calendar: "every day at 02:30 in Berlin", cron expressions, and what happens to them
 * when a zone puts its clocks forward or back.
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
 * A time is a number of seconds since 1970-01-01T00:00:00Z, as of time(2), without leap seconds; from the year 1 to the
 * year 9999. A local time is what the clocks of a zone show, as the number of seconds since they showed 1970-01-01
 * 00:00:00: local = time + pawl_zone_offset(zone, time). gmtime_r(3) turns either into a date.
 *
 *
 * When clocks change
 *
 * Where clocks are put forward, some local times do not exist: a gap. Where they are put back, some come twice: an
 * overlap. There are two kinds of rules.
 *
 * A rule at fixed times fires once for each of them: at the first moment at which the clocks show that local time or a
 * later one. So a time in a gap fires at the end of the gap, and a time in an overlap fires when it comes first.
 *
 * A rule with a wildcard, whose second, minute or hour field begins with *, fires at every moment at which the clocks
 * show a local time that matches. So it skips a gap, and fires both times in an overlap: a quarter of an hour in
 * "0/15 * * * *" is always a quarter of an hour.
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
 * (02:00 and 03:00 of "0 2,3 * * *" are one moment in March: it fires once.) This is what Debian's cron does, so that a
 * nightly job runs every night and never twice, but for its limit: there a change of three hours or more counts as a
 * correction of the clock. Here length does not matter: Samoa left out 30 December 2011, and what was to run on that
 * day runs at the first moment of the 31st. Others, as systemd's timers, skip a time in a gap.
 *
 * No function here allocates, keeps anything, looks at the environment or the locale, or changes its const arguments:
 * any number of threads may call them with the same zone and rule. NULL is no zone, no rule and no text.
 */
#ifndef PAWL_CALENDAR_H
#define PAWL_CALENDAR_H

#include <pawl/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was wrong, in one sentence that names the thing, its value, and what is allowed. */
struct pawl_calendar_error {
	size_t position; /* of the byte in the text, or in the TZif data, where it was found */
	char text[160];  /* zero-terminated; printable ASCII, whatever the input was */
};

#define PAWL_ZONE_CHANGES 1024 /* of its offset that a zone has room for; tzdata has at most 310 */

/* A day of the year on which clocks change, by the rule at the end of TZif data. Its fields are private. */
struct pawl_zone_turn {
	uint8_t form, month, week, weekday;
	int32_t day, second;
};

/* The clocks of a time zone, some 12 KiB. Copy it as you like; its fields are private. */
struct pawl_zone {
	int64_t at[PAWL_ZONE_CHANGES];
	int32_t offset[PAWL_ZONE_CHANGES];
	uint32_t count;
	int32_t before;
	int64_t yearly_from;
	int32_t standard, summer;
	struct pawl_zone_turn turns[2];
	bool changes_yearly;
};

/* UTC. */
PAWL_API void pawl_zone_utc(struct pawl_zone *zone);

/*
 * The zone of that name, as Europe/Berlin, from the file of that name in /usr/share/zoneinfo. NULL is the machine's own
 * zone, /etc/localtime, and UTC where that is missing. "UTC" needs no file. `error` may be NULL. Windows has neither file:
 * there, give pawl_zone_parse the data.
 *
 * 0         *zone is that zone.
 * -EINVAL   the name has 0 or more than 255 bytes, begins with '/' has a part that begins with '.', or a backslash or
 *           a colon in it; or the file is not what pawl_zone_parse takes.
 * -ENOENT   there is no such file. Another error: what open(2) or read(2) failed with.
 * After an error *zone is as it was.
 */
PAWL_API int pawl_zone_load(struct pawl_zone *zone, const char *name,
                            struct pawl_calendar_error *error);

/*
 * A zone from TZif data in memory (RFC 9636, versions 1 to 4), as that of a file in /usr/share/zoneinfo; borrowed for
 * the time of the call. Nothing in it is trusted. Returns 0; or -EINVAL, and *zone is as it was: the data is cut off or
 * not TZif; contradicts itself; counts leap seconds, as those of zoneinfo/right do; or has more than PAWL_ZONE_CHANGES
 * changes. `error` may be NULL.
 */
PAWL_API int pawl_zone_parse(struct pawl_zone *zone, const void *data, size_t size,
                             struct pawl_calendar_error *error);

/* The seconds that the zone's clocks are ahead of UTC at that time, -89999 to 93599. Before the year 1 and after the
 * year 9999 as at the beginning and the end. */
PAWL_API int32_t pawl_zone_offset(const struct pawl_zone *zone, int64_t time);

/* The first time at which the zone's clocks show that local time or a later one: see "When clocks change". Local times
 * before the year 1 and after the year 9999 count as its first and last second. */
PAWL_API int64_t pawl_zone_time(const struct pawl_zone *zone, int64_t local);

/* The local times at which something fires. Its fields are private. */
struct pawl_calendar_rule {
	uint64_t seconds, minutes;
	uint32_t hours, days;
	uint16_t months;
	uint8_t weekdays;
	bool either_day, wildcard;
};

/*
 * A rule from a cron expression: five fields with blanks between them, or six with the seconds in front.
 *
 *	second (0-59)  minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12)  day of the week (0-7)
 *
 * A field is a list, as 0,15,30, of values, ranges as 9-17, and all values, *. A step after a range or *, as 9-17/2,
 * takes every second value of it; after a value it goes on to the last one, as 5/15. A step is from 1 to the field's
 * largest value: there is no "every 90 minutes". Months have names, JAN to DEC, and days of the week too, SUN to SAT; 0
 * and 7 are both Sunday, and at the end of a range SUN is 7. Upper and lower case are one. Without seconds it fires at
 * second 0.
 *
 * If the day of the month and the day of the week both begin with something else than *, one of the two is enough, as
 * in every cron: "0 0 13 * FRI" is every 13th and every Friday. Else both must match.
 *
 * Or one of the words @yearly, @annually (both 0 0 1 1 *), @monthly (0 0 1 * *), @weekly (0 0 * * 0), @daily, @midnight
 * (both 0 0 * * *), @hourly (0 * * * *).
 *
 * Returns 0; or -EINVAL, and *rule is as it was. `error` may be NULL. A rule may match nothing, as 30 February.
 */
PAWL_API int pawl_calendar_parse(struct pawl_calendar_rule *rule, const char *text,
                                 struct pawl_calendar_error *error);

/* Every day at a time like 02:30 or 02:30:15, from 00:00 to 23:59:59. Returns as pawl_calendar_parse. */
PAWL_API int pawl_calendar_daily(struct pawl_calendar_rule *rule, const char *text,
                                 struct pawl_calendar_error *error);

#define PAWL_CALENDAR_NEVER INT64_MAX

/*
 * The first time after `after` at which the rule fires in the zone; PAWL_CALENDAR_NEVER if there is none within 400
 * years, when all dates have come again, or none by the end of the year 9999. For a rule that never fires it looks at
 * the months of these years once.
 *
 * Give it the time of the last firing, and it names what was missed meanwhile, one after the other; give it the
 * present, and that is left out.
 */
PAWL_API int64_t pawl_calendar_next(const struct pawl_calendar_rule *rule,
                                    const struct pawl_zone *zone, int64_t after);

#ifdef __cplusplus
}
#endif

#endif
