/* SPDX-License-Identifier: MIT */
/* When rules fire: the examples of the header and the manual, leap years, and the first and last year. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <time.h>

#include "../support/test.h"
#include "images.h"

#define BERLIN    "CET-1CEST,M3.5.0,M10.5.0/3"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define DUBLIN    "IST-1GMT0,M10.5.0,M3.5.0/1"
#define UTC       "UTC0"

/* "2026-03-29 02:30:00" as if it were UTC. */
static int64_t stamp(const char *text)
{
	struct tm tm = {0};

	if (sscanf(text, "%d-%d-%d %d:%d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	           &tm.tm_min, &tm.tm_sec) < 5) {
		fprintf(stderr, "no time: %s\n", text);
		exit(1);
	}
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm);
}

static void print(const char *what, int64_t time)
{
	time_t t = (time_t)time;
	struct tm tm;
	char text[64];

	if (time == PAWL_CALENDAR_NEVER || !gmtime_r(&t, &tm))
		snprintf(text, sizeof(text), "never");
	else
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(stderr, "    %s: %s UTC\n", what, text);
}

static struct pawl_zone zone_from(const char *footer)
{
	struct pawl_calendar_error error;
	struct pawl_zone zone;

	if (zone_of(&zone, footer, &error) != 0) {
		fprintf(stderr, "%s: %s\n", footer, error.text);
		exit(1);
	}
	return zone;
}

static struct pawl_calendar_rule rule_from(const char *text)
{
	struct pawl_calendar_error error;
	struct pawl_calendar_rule rule;

	if (pawl_calendar_parse(&rule, text, &error) != 0) {
		fprintf(stderr, "'%s' is refused: %s\n", text, error.text);
		exit(1);
	}
	return rule;
}

static void expect_time(const char *text, const char *side, int64_t from, int64_t actual,
                        int64_t expected)
{
	if (actual == expected)
		return;
	fprintf(stderr, "the rule '%s'\n", text);
	print(side, from);
	print("fires", actual);
	print("expected", expected);
	test_failed();
}

static void expect_next_in(const struct pawl_zone *zone, const char *text, int64_t after,
                           int64_t expected)
{
	struct pawl_calendar_rule rule = rule_from(text);

	expect_time(text, "after", after, pawl_calendar_next(&rule, zone, after), expected);
}

static void expect_prev_in(const struct pawl_zone *zone, const char *text, int64_t before,
                           int64_t expected)
{
	struct pawl_calendar_rule rule = rule_from(text);

	expect_time(text, "before", before, pawl_calendar_prev(&rule, zone, before), expected);
}

/* It fires at these times, in UTC, forwards and backwards; NULL ends the list. */
static void expect_fires(const char *footer, const char *rule, const char *after,
                         const char *const *times)
{
	struct pawl_zone zone = zone_from(footer);
	int64_t time = stamp(after);

	for (size_t i = 0; times[i]; i++) {
		expect_next_in(&zone, rule, time, stamp(times[i]));
		if (i > 0)
			expect_prev_in(&zone, rule, stamp(times[i]), time);
		time = stamp(times[i]);
		expect_prev_in(&zone, rule, time + 1, time);
	}
}

#define FIRES(footer, rule, after, ...) \
	expect_fires(footer, rule, after, (const char *const[]){__VA_ARGS__, NULL})

static void expect_never(const char *rule)
{
	struct pawl_zone zone = zone_from(BERLIN);

	expect_next_in(&zone, rule, stamp("2026-11-16 00:00"), PAWL_CALENDAR_NEVER);
	expect_prev_in(&zone, rule, stamp("2026-11-16 00:00"), PAWL_CALENDAR_NEVER);
}

static void a_fixed_time_in_a_gap_fires_at_its_end(void)
{
	FIRES(BERLIN, "30 2 * * *", "2026-03-28 00:00", "2026-03-28 01:30", "2026-03-29 01:00",
	      "2026-03-30 00:30");
	FIRES(BERLIN, "59 59 2 * * *", "2026-03-28 23:00", "2026-03-29 01:00",
	      "2026-03-30 00:59:59");
	FIRES(BERLIN, "0 2 29 3 *", "2026-03-01 00:00", "2026-03-29 01:00", "2027-03-29 00:00");
}

static void several_fixed_times_in_a_gap_fire_once(void)
{
	FIRES(BERLIN, "0 2,3 * * *", "2026-03-29 00:00", "2026-03-29 01:00", "2026-03-30 00:00",
	      "2026-03-30 01:00");
	FIRES(BERLIN, "0,15,30,45 2 * * *", "2026-03-29 00:00", "2026-03-29 01:00",
	      "2026-03-30 00:00", "2026-03-30 00:15");
}

static void a_fixed_time_in_an_overlap_fires_the_first_time(void)
{
	FIRES(BERLIN, "30 2 * * *", "2026-10-24 12:00", "2026-10-25 00:30", "2026-10-26 01:30");
	FIRES(BERLIN, "0 2,3 * * *", "2026-10-24 12:00", "2026-10-25 00:00", "2026-10-25 02:00",
	      "2026-10-26 01:00");
	/* Also if the question is asked in the second hour. */
	FIRES(BERLIN, "30 2 * * *", "2026-10-25 00:30", "2026-10-26 01:30");
	FIRES(BERLIN, "30 2 * * *", "2026-10-25 01:00", "2026-10-26 01:30");
	FIRES(BERLIN, "30 2 * * *", "2026-10-25 01:10", "2026-10-26 01:30");
}

static void a_wildcard_fires_at_every_time_that_matches(void)
{
	FIRES(BERLIN, "0,30 * * * *", "2026-03-28 23:59", "2026-03-29 00:00", "2026-03-29 00:30",
	      "2026-03-29 01:00", "2026-03-29 01:30", "2026-03-29 02:00");
	FIRES(BERLIN, "0,30 * * * *", "2026-10-24 23:59", "2026-10-25 00:00", "2026-10-25 00:30",
	      "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-25 02:00");
	FIRES(BERLIN, "*/15 2 * * *", "2026-03-29 00:00", "2026-03-30 00:00", "2026-03-30 00:15");
	FIRES(BERLIN, "*/30 2 * * *", "2026-10-24 23:59", "2026-10-25 00:00", "2026-10-25 00:30",
	      "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-26 01:00");
	FIRES(BERLIN, "*/20 59 1 * * *", "2026-03-29 00:00", "2026-03-29 00:59",
	      "2026-03-29 00:59:20", "2026-03-29 00:59:40", "2026-03-29 23:59");
}

static void clocks_may_change_by_half_an_hour(void)
{
	/* 4 October 2026, 02:00 to 02:30; 5 April 2026, 02:00 to 01:30. */
	FIRES(LORD_HOWE, "15 2 * * *", "2026-10-03 00:00", "2026-10-03 15:30", "2026-10-04 15:15");
	FIRES(LORD_HOWE, "*/15 * * * *", "2026-10-03 15:00", "2026-10-03 15:15", "2026-10-03 15:30",
	      "2026-10-03 15:45");
	FIRES(LORD_HOWE, "45 1 * * *", "2026-04-04 12:00", "2026-04-04 14:45", "2026-04-05 15:15");
	FIRES(LORD_HOWE, "*/15 1 * * *", "2026-04-04 14:15", "2026-04-04 14:30", "2026-04-04 14:45",
	      "2026-04-04 15:00", "2026-04-04 15:15", "2026-04-05 14:30");
}

static void winter_may_be_the_exception(void)
{
	FIRES(DUBLIN, "30 1 * * *", "2026-03-28 12:00", "2026-03-29 01:00", "2026-03-30 00:30");
	FIRES(DUBLIN, "30 1 * * *", "2026-10-24 12:00", "2026-10-25 00:30", "2026-10-26 01:30");
}

static void summer_may_last_all_year(void)
{
	struct pawl_zone zone = zone_from("EST5EDT4,0/0,J365/25");

	for (int day = 0; day < 800; day++)
		EXPECT_EQ(pawl_zone_offset(&zone, stamp("2025-01-01 03:59:59") + 86400 * day),
		          -4 * 3600);
	FIRES("EST5EDT4,0/0,J365/25", "0 0 * * *", "2025-12-31 12:00", "2026-01-01 04:00",
	      "2026-01-02 04:00");
}

/* Samoa, 2011: from 29 December 23:59:59 at -10:00 to 31 December 00:00 at +14:00. */
static void a_whole_day_may_be_left_out(void)
{
	static const struct change changes[] = {{1325239200, 14 * 3600}};
	struct pawl_calendar_rule rule;
	static struct image image;
	struct pawl_zone zone;

	image_make(&image, -10 * 3600, changes, 1, "<+14>-14");
	EXPECT_EQ(pawl_zone_parse(&zone, image.data, image.size, NULL), 0);
	EXPECT_EQ(pawl_calendar_daily(&rule, "02:30", NULL), 0);
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, stamp("2011-12-29 00:00")),
	          stamp("2011-12-29 12:30"));
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, stamp("2011-12-29 12:30")),
	          stamp("2011-12-30 10:00"));
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, stamp("2011-12-30 10:00")),
	          stamp("2011-12-30 12:30"));
	/* And back: a day exists twice, and the second one does not count. */
	image_make(&image, 14 * 3600, (const struct change[]){{1325239200, -10 * 3600}}, 1,
	           "<-10>10");
	EXPECT_EQ(pawl_zone_parse(&zone, image.data, image.size, NULL), 0);
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, stamp("2011-12-29 12:30")),
	          stamp("2011-12-31 12:30"));
}

/* Forward at noon, and back a quarter of an hour later: 12:30 was skipped, and is shown afterwards. */
static void a_time_that_was_skipped_and_shown_later_fires_once(void)
{
	const int64_t noon = stamp("2026-06-01 12:00");
	const struct change changes[] = {{noon, 3600}, {noon + 900, 0}};
	struct pawl_calendar_rule rule;
	static struct image image;
	struct pawl_zone zone;

	image_make(&image, 0, changes, 2, "UTC0");
	EXPECT_EQ(pawl_zone_parse(&zone, image.data, image.size, NULL), 0);
	EXPECT_EQ(pawl_calendar_daily(&rule, "12:30", NULL), 0);
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, noon - 1), noon);
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, noon), noon + 86400 + 1800);
	EXPECT_EQ(pawl_calendar_next(&rule, &zone, noon + 1000), noon + 86400 + 1800);
	EXPECT_EQ(pawl_zone_time(&zone, noon + 1800), noon);
}

static void leap_years_have_a_29_february(void)
{
	FIRES(UTC, "0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00", "2032-02-29 00:00");
	FIRES(UTC, "0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00");
	FIRES(UTC, "0 0 29 2 *", "1996-02-29 00:00", "2000-02-29 00:00", "2004-02-29 00:00");
	/* The day of the week is every seventh, so Sunday; it begins with a star, so both must match. */
	FIRES(UTC, "0 0 29 2 */7", "2004-02-29 00:00", "2032-02-29 00:00");
	FIRES(UTC, "0 0 29 2 */7", "2088-02-29 00:00", "2128-02-29 00:00");
}

static void months_end_when_they_end(void)
{
	FIRES(UTC, "0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00", "2026-05-31 00:00",
	      "2026-07-31 00:00", "2026-08-31 00:00", "2026-10-31 00:00", "2026-12-31 00:00",
	      "2027-01-31 00:00");
	FIRES(UTC, "59 59 23 31 12 *", "2026-12-31 23:59:58", "2026-12-31 23:59:59",
	      "2027-12-31 23:59:59");
	FIRES(UTC, "0 0 30 2,4 *", "2026-01-01 00:00", "2026-04-30 00:00", "2027-04-30 00:00");
}

static void one_of_two_days_is_enough(void)
{
	FIRES(UTC, "0 0 13 * FRI", "2026-11-01 00:00", "2026-11-06 00:00", "2026-11-13 00:00",
	      "2026-11-20 00:00", "2026-11-27 00:00", "2026-12-04 00:00", "2026-12-11 00:00",
	      "2026-12-13 00:00");
	FIRES(UTC, "0 0 */2 * FRI", "2026-11-01 00:00", "2026-11-13 00:00", "2026-11-27 00:00",
	      "2026-12-11 00:00");
}

static void a_rule_that_matches_nothing_never_fires(void)
{
	expect_never("0 0 30 2 *");
	expect_never("0 0 31 2,4,6,9,11 *");
	expect_never("* * 30,31 2 *");
	expect_never("0 0 31 APR */2");
	/* But one of two days is enough. */
	FIRES(UTC, "0 0 30 2 MON", "2026-11-16 00:00", "2027-02-01 00:00");
}

static void the_next_is_after_and_never_the_same(void)
{
	FIRES(UTC, "* * * * * *", "2026-11-16 00:00", "2026-11-16 00:00:01", "2026-11-16 00:00:02");
	FIRES(UTC, "0 0 1 1 *", "2025-12-31 23:59:59", "2026-01-01 00:00", "2027-01-01 00:00");
	FIRES(UTC, "59 59 23 * * *", "1969-12-30 00:00", "1969-12-30 23:59:59",
	      "1969-12-31 23:59:59", "1970-01-01 23:59:59");
}

static void time_begins_in_year_1_and_ends_with_year_9999(void)
{
	static const char *const footers[] = {UTC, BERLIN, "<+14>-14", "<-12>12"};
	const int64_t first = stamp("1-01-01 00:00"), last = stamp("9999-12-31 23:59:59");
	struct pawl_zone utc = zone_from(UTC);

	for (size_t i = 0; i < sizeof(footers) / sizeof(footers[0]); i++) {
		struct pawl_zone zone = zone_from(footers[i]);
		int64_t west = -(int64_t)pawl_zone_offset(&zone, first);
		int64_t lowest = west > 0 ? first + west : first;

		expect_next_in(&zone, "* * * * * *", INT64_MIN, lowest);
		expect_next_in(&zone, "* * * * * *", first - 1, lowest);
		expect_next_in(&zone, "0-59 0-59 0-23 * * *", INT64_MIN, lowest);
		expect_next_in(&zone, "* * * * * *", last, PAWL_CALENDAR_NEVER);
		expect_next_in(&zone, "* * * * * *", INT64_MAX, PAWL_CALENDAR_NEVER);
		expect_next_in(&zone, "0 0 29 2 *", last - 86400, PAWL_CALENDAR_NEVER);
		expect_prev_in(&zone, "* * * * * *", lowest + 1, lowest);
		expect_prev_in(&zone, "* * * * * *", lowest, PAWL_CALENDAR_NEVER);
		expect_prev_in(&zone, "* * * * * *", INT64_MIN, PAWL_CALENDAR_NEVER);
		expect_prev_in(&zone, "0-59 0-59 0-23 * * *", lowest, PAWL_CALENDAR_NEVER);
		expect_prev_in(&zone, "0 0 29 2 *", first + 86400, PAWL_CALENDAR_NEVER);
		EXPECT_EQ(pawl_zone_offset(&zone, INT64_MIN), pawl_zone_offset(&zone, first));
		EXPECT_EQ(pawl_zone_offset(&zone, INT64_MAX), pawl_zone_offset(&zone, last));
		EXPECT_EQ(pawl_zone_time(&zone, INT64_MIN), pawl_zone_time(&zone, first));
		EXPECT_EQ(pawl_zone_time(&zone, INT64_MAX), pawl_zone_time(&zone, last));
	}
	FIRES(UTC, "59 59 23 31 12 *", "9998-12-31 23:59:59", "9999-12-31 23:59:59");
	expect_prev_in(&utc, "59 59 23 31 12 *", INT64_MAX, last);
}

#define GRID   300 /* all times of the next test are multiples of it */
#define WINDOW (4 * 86400)

/* Whether the rule fires at the time: both must say the same. */
static bool fires_at(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                     int64_t time)
{
	bool fires = pawl_calendar_next(rule, zone, time - 1) == time;

	EXPECT_EQ(pawl_calendar_prev(rule, zone, time + 1) == time, fires);
	return fires;
}

/* In between, the one is always next and the other one always the previous one. */
static void expect_neighbours(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                              int64_t prev, int64_t next)
{
	const int64_t between[] = {prev, (prev + next) / 2, next - 1};

	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		EXPECT_EQ(pawl_calendar_next(rule, zone, between[i]), next);
		EXPECT_EQ(pawl_calendar_prev(rule, zone, between[i] + 1), prev);
	}
}

static void expect_agreement(const char *footer, const char *text, int64_t from)
{
	const int64_t first = stamp("1-01-01 00:00"), last = stamp("9999-12-31 23:59:59");
	struct pawl_calendar_rule rule = rule_from(text);
	struct pawl_zone zone = zone_from(footer);
	int64_t prev = PAWL_CALENDAR_NEVER;
	unsigned failures = test_failures;

	for (int64_t time = from; time < from + WINDOW; time += GRID) {
		if (!fires_at(&rule, &zone, time))
			continue;
		if (prev != PAWL_CALENDAR_NEVER)
			expect_neighbours(&rule, &zone, prev, time);
		else if (from <= first)
			EXPECT_EQ(pawl_calendar_prev(&rule, &zone, time), PAWL_CALENDAR_NEVER);
		prev = time;
	}
	if (from + WINDOW > last && prev != PAWL_CALENDAR_NEVER)
		EXPECT_EQ(pawl_calendar_next(&rule, &zone, prev), PAWL_CALENDAR_NEVER);
	EXPECT(prev != PAWL_CALENDAR_NEVER || strcmp(text, "0 0 1 1 *") == 0);
	if (test_failures != failures)
		fprintf(stderr, "    ^ the rule '%s' in '%s'\n", text, footer);
}

/* Clocks that change on the first or the last day of the year, by up to two days. */
static void next_and_prev_agree_at_both_ends_of_time(void)
{
	static const char *const footers[] = {UTC,
	                                      BERLIN,
	                                      "<+14>-14",
	                                      "<-12>12",
	                                      "XXX-14YYY12,J365/20,J1/30",
	                                      "XXX12YYY-14,J365/20,J1/30",
	                                      "XXX-24YYY24,0/12,J365/-30",
	                                      "XXX24YYY-24,0/12,J365/50"};
	static const char *const rules[] = {"*/5 * * * *", "0/5 0-23 * * *",       "0,30 0 * * *",
	                                    "*/5 1 * * *", "15 0,6,12 1-31/2 * *", "0 0 1 1 *"};

	for (size_t i = 0; i < sizeof(footers) / sizeof(footers[0]); i++)
		for (size_t j = 0; j < sizeof(rules) / sizeof(rules[0]); j++) {
			expect_agreement(footers[i], rules[j], stamp("1-01-01 00:00"));
			expect_agreement(footers[i], rules[j], stamp("2026-12-30 00:00"));
			expect_agreement(footers[i], rules[j], stamp("9999-12-28 00:00"));
		}
}

/* A date with its day of the week, and with any, is after the day before, and before the day after. */
static void expect_date(struct pawl_calendar_rule *rule, const struct pawl_zone *zone, int weekday,
                        int64_t time)
{
	const uint8_t weekdays[] = {(uint8_t)(1 << weekday), 0x7f};

	for (int i = 0; i < 2; i++) {
		rule->weekdays = weekdays[i];
		EXPECT_EQ(pawl_calendar_next(rule, zone, time - 86400), time);
		EXPECT_EQ(pawl_calendar_prev(rule, zone, time + 86400), time);
	}
}

/* The test counts the days itself. */
static void every_date_of_1600_years_is_found(void)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct pawl_zone zone = zone_from(UTC);
	struct pawl_calendar_rule rules[12][32];
	int64_t time = stamp("1200-12-31 00:00");
	int weekday = 0; /* a Sunday */
	char text[32];

	for (int month = 0; month < 12; month++)
		for (int day = 1; day <= 31; day++) {
			snprintf(text, sizeof(text), "0 0 %d %d *", day, month + 1);
			EXPECT_EQ(pawl_calendar_parse(&rules[month][day], text, NULL), 0);
		}
	for (int year = 1201; year <= 2800; year++)
		for (int month = 0; month < 12; month++) {
			bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

			for (int day = 1; day <= lengths[month] + (month == 1 && leap); day++) {
				weekday = (weekday + 1) % 7;
				time += 86400;
				expect_date(&rules[month][day], &zone, weekday, time);
			}
		}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_fixed_time_in_a_gap_fires_at_its_end),
	        TEST(several_fixed_times_in_a_gap_fire_once),
	        TEST(a_fixed_time_in_an_overlap_fires_the_first_time),
	        TEST(a_wildcard_fires_at_every_time_that_matches),
	        TEST(clocks_may_change_by_half_an_hour),
	        TEST(winter_may_be_the_exception),
	        TEST(summer_may_last_all_year),
	        TEST(a_whole_day_may_be_left_out),
	        TEST(a_time_that_was_skipped_and_shown_later_fires_once),
	        TEST(leap_years_have_a_29_february),
	        TEST(months_end_when_they_end),
	        TEST(one_of_two_days_is_enough),
	        TEST(a_rule_that_matches_nothing_never_fires),
	        TEST(the_next_is_after_and_never_the_same),
	        TEST(time_begins_in_year_1_and_ends_with_year_9999),
	        TEST(next_and_prev_agree_at_both_ends_of_time),
	        TEST(every_date_of_1600_years_is_found),
	};

	return RUN_TESTS(tests);
}
