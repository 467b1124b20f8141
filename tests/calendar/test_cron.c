/* SPDX-License-Identifier: MIT */
/* Parsing rules: which are accepted, and the errors of the others. */
#include <errno.h>
#include <pawl/calendar.h>

#include "../../src/base/random.h"
#include "../support/test.h"

static const struct {
	int min, max;
} fields[] = {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}};

static struct pawl_calendar_rule parsed(const char *text)
{
	struct pawl_calendar_rule rule = {0};
	struct pawl_calendar_error error = {0};

	if (pawl_calendar_parse(&rule, text, &error) != 0) {
		fprintf(stderr, "'%s' is refused: %s\n", text, error.text);
		test_failed();
	}
	return rule;
}

static uint64_t set_of(const struct pawl_calendar_rule *rule, int field)
{
	const uint64_t sets[] = {rule->seconds, rule->minutes, rule->hours,
	                         rule->days,    rule->months,  rule->weekdays};

	return sets[field];
}

static void expect_same(const char *a, const char *b)
{
	struct pawl_calendar_rule one = parsed(a), two = parsed(b);

	for (int i = 0; i < 6; i++)
		if (set_of(&one, i) != set_of(&two, i)) {
			fprintf(stderr, "'%s' and '%s' differ in field %d\n", a, b, i);
			test_failed();
		}
	EXPECT_EQ(one.either_day, two.either_day);
	EXPECT_EQ(one.wildcard, two.wildcard);
}

/* 6 fields, all * but one. */
static void with_field(char text[64], int field, const char *value)
{
	text[0] = '\0';
	for (int i = 0; i < 6; i++) {
		strcat(text, i == field ? value : "*");
		strcat(text, i < 5 ? " " : "");
	}
}

/* 7 is 0 among the days of the week. */
static uint64_t as_set(int field, int first, int last, int step)
{
	uint64_t set = 0;

	for (int value = first; value <= last; value += step)
		set |= UINT64_C(1) << (field == 5 ? value % 7 : value);
	return set;
}

static void every_range_and_step_of_every_field_is_understood(void)
{
	char value[32], text[64];
	struct pawl_calendar_rule rule;

	for (int f = 0; f < 6; f++)
		for (int first = fields[f].min; first <= fields[f].max; first++)
			for (int last = first; last <= fields[f].max; last++)
				for (int step = 1; step <= fields[f].max; step++) {
					snprintf(value, sizeof(value), "%d-%d/%d", first, last,
					         step);
					with_field(text, f, value);
					rule = parsed(text);
					EXPECT_EQ(set_of(&rule, f), as_set(f, first, last, step));
				}
}

static void every_value_alone_and_with_a_step_is_understood(void)
{
	char value[32], text[64];
	struct pawl_calendar_rule rule;

	for (int f = 0; f < 6; f++)
		for (int first = fields[f].min; first <= fields[f].max; first++) {
			snprintf(value, sizeof(value), "%d", first);
			with_field(text, f, value);
			rule = parsed(text);
			EXPECT_EQ(set_of(&rule, f), as_set(f, first, first, 1));
			snprintf(value, sizeof(value), "%d/3", first);
			with_field(text, f, value);
			rule = parsed(text);
			EXPECT_EQ(set_of(&rule, f), as_set(f, first, fields[f].max, 3));
		}
}

static void names_words_blanks_and_lists_stand_for_numbers(void)
{
	static const char *const same[][2] = {
	        {"0 0 * JAN-DEC *", "0 0 * 1-12 *"},
	        {"0 0 * feb,Mar,aPR *", "0 0 * 2,3,4 *"},
	        {"0 0 * may/2 *", "0 0 * 5-12/2 *"},
	        {"0 0 * jun,jul,aug,sep,oct,nov *", "0 0 * 6-11 *"},
	        {"0 0 * * SUN", "0 0 * * 0"},
	        {"0 0 * * MON,TUE,WED,THU,FRI,SAT", "0 0 * * 1-6"},
	        {"0 0 * * MON-SUN", "0 0 * * 1-7"},
	        {"0 0 * * SUN-SUN", "0 0 * * 0-7"},
	        {"0 0 * * fri-sun/2", "0 0 * * 5,0"},
	        {"0 0 * * 7", "0 0 * * 0"},
	        {"@yearly", "0 0 1 1 *"},
	        {"@annually", "0 0 1 1 *"},
	        {"@monthly", "0 0 1 * *"},
	        {"@weekly", "0 0 * * 0"},
	        {"@daily", "0 0 * * *"},
	        {"@midnight", "0 0 * * *"},
	        {" @Hourly\t", "0 * * * *"},
	        {"  1\t2   3 4 5 ", "1 2 3 4 5"},
	        {"\t0 1 2 3 4 5", "1 2 3 4 5"},
	        {"1,5-7,20-30/5,59 * * * *", "1,5,6,7,20,25,30,59 * * * *"},
	        {"0 0 31,1,1,2-4 * *", "0 0 1-4,31 * *"},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		expect_same(same[i][0], same[i][1]);
}

static void one_of_two_days_is_enough_unless_a_field_begins_with_a_star(void)
{
	EXPECT(parsed("0 0 13 * FRI").either_day);
	EXPECT(parsed("0 0 1-31 * 0-6").either_day);
	EXPECT(!parsed("0 0 13 * *").either_day);
	EXPECT(!parsed("0 0 * * FRI").either_day);
	EXPECT(!parsed("0 0 */2 * FRI").either_day);
	EXPECT(!parsed("0 0 13 * */2").either_day);
}

static void a_star_in_front_makes_a_wildcard(void)
{
	EXPECT(parsed("* 2 * * *").wildcard);
	EXPECT(parsed("30 * * * *").wildcard);
	EXPECT(parsed("*/15 2 * * *").wildcard);
	EXPECT(parsed("0 */6 * * *").wildcard);
	EXPECT(parsed("* 30 2 * * *").wildcard);
	EXPECT(!parsed("30 2 * * *").wildcard);
	EXPECT(!parsed("0,15,30,45 0-23 * * *").wildcard);
	EXPECT(!parsed("0 30 2 * * *").wildcard);
	EXPECT(!parsed("0/15 2 * * *").wildcard);
}

static void expect_refused(const char *text, size_t position, const char *wrong)
{
	struct pawl_calendar_rule rule, before;
	struct pawl_calendar_error error = {0};

	memset(&rule, 0x5a, sizeof(rule));
	before = rule;
	EXPECT_EQ(pawl_calendar_parse(&rule, text, &error), -EINVAL);
	EXPECT_STR(error.text, wrong);
	EXPECT_EQ(error.position, position);
	EXPECT(memcmp(&rule, &before, sizeof(rule)) == 0);
	EXPECT_EQ(pawl_calendar_parse(&rule, text, NULL), -EINVAL);
}

static void errors_are_named(void)
{
	static const char count[] =
	        "there are %d fields; expected 5: minute, hour, day of the month, "
	        "month, day of the week; or 6: the second before them";
	char text[200];

	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), count, i);
		expect_refused(&"* * * *"[7 - 2 * i + (i > 0)], i ? (size_t)(2 * i - 1) : 0, text);
	}
	snprintf(text, sizeof(text), count, 7);
	expect_refused("* * * * * * *", 13, text);
	expect_refused("60 * * * *", 0, "the minute is '60'; expected 0 to 59");
	expect_refused("0 25 * * *", 2, "the hour is '25'; expected 0 to 23");
	expect_refused("0 0 0 * *", 4, "the day of the month is '0'; expected 1 to 31");
	expect_refused("0 0 32 * *", 4, "the day of the month is '32'; expected 1 to 31");
	expect_refused("0 0 * 13 *", 6, "the month is '13'; expected 1 to 12 or JAN to DEC");
	expect_refused("0 0 * 0 *", 6, "the month is '0'; expected 1 to 12 or JAN to DEC");
	expect_refused("0 0 * FOO *", 6, "the month is 'FOO'; expected 1 to 12 or JAN to DEC");
	expect_refused("0 0 * JUNE *", 6, "the month is 'JUNE'; expected 1 to 12 or JAN to DEC");
	expect_refused("0 0 * * 8", 8, "the day of the week is '8'; expected 0 to 7 or SUN to SAT");
	expect_refused("0 0 * * MO", 8,
	               "the day of the week is 'MO'; expected 0 to 7 or SUN to SAT");
	expect_refused("60 * * * * *", 0, "the second is '60'; expected 0 to 59");
	expect_refused("99999999999999999999 * * * *", 0,
	               "the minute is '99999999999999999999'; expected 0 to 59");
	expect_refused("-1 * * * *", 0, "the minute is '-1'; expected 0 to 59");
	expect_refused("MON * * * *", 0, "the minute is 'MON'; expected 0 to 59");
	expect_refused("0 1, * * *", 4, "the hour is ''; expected 0 to 23");
	expect_refused("0 1,24 * * *", 4, "the hour is '24'; expected 0 to 23");
	expect_refused("0 1-24 * * *", 4, "the hour is '24'; expected 0 to 23");
	expect_refused("0 5-3 * * *", 2,
	               "the hour is the range '5-3', which runs backwards; expected the lower end "
	               "first, within 0 to 23");
	expect_refused("0 0 * * FRI-MON", 8,
	               "the day of the week is the range 'FRI-MON', which runs backwards; expected "
	               "the lower end first, within 0 to 7 or SUN to SAT");
	expect_refused("*/0 * * * *", 2, "the step of the minute is '0'; expected 1 to 59");
	expect_refused("*/90 * * * *", 2, "the step of the minute is '90'; expected 1 to 59");
	expect_refused("*/ * * * *", 2, "the step of the minute is ''; expected 1 to 59");
	expect_refused("*/x * * * *", 2, "the step of the minute is 'x'; expected 1 to 59");
	expect_refused("0 0 L * *", 4, "the day of the month is 'L'; expected 1 to 31");
	expect_refused("0 0 15W * *", 6,
	               "the day of the month is '15W', which goes on with 'W'; expected a list of "
	               "1 to 31, ranges, and *, with steps");
	expect_refused("0 0 * * \xff\x01", 8,
	               "the day of the week is '?\?'; expected 0 to 7 or SUN to SAT");
	expect_refused("@reboot", 0,
	               "the word is '@reboot'; expected @yearly, @annually, @monthly, @weekly, "
	               "@daily, @midnight or @hourly");
	expect_refused(" @daily 5", 1,
	               "the word is '@daily'; expected @yearly, @annually, @monthly, @weekly, "
	               "@daily, @midnight or @hourly");
}

/* An error shows the beginning of a long value, so that there is room for the allowed ones. */
static void a_long_value_does_not_hide_what_is_allowed(void)
{
	char zeroes[161], text[400];

	memset(zeroes, '0', sizeof(zeroes) - 1);
	zeroes[sizeof(zeroes) - 1] = '\0';
	snprintf(text, sizeof(text), "%s60 * * * *", zeroes);
	expect_refused(text, 0, "the minute is '000000000000000000000000'; expected 0 to 59");
	snprintf(text, sizeof(text), "*/%s60 * * * *", zeroes);
	expect_refused(text, 2,
	               "the step of the minute is '000000000000000000000000'; expected 1 to 59");
	snprintf(text, sizeof(text), "0 %s5-3 * * *", zeroes);
	expect_refused(text, 2,
	               "the hour is the range '000000000000000000000000', which runs backwards; "
	               "expected the lower end first, within 0 to 23");
}

static void a_time_of_day_is_a_rule(void)
{
	struct pawl_calendar_rule rule, same;
	char text[32];

	for (int second = 0; second < 86400; second += 59) {
		snprintf(text, sizeof(text), "%02d:%02d:%02d", second / 3600, second / 60 % 60,
		         second % 60);
		EXPECT_EQ(pawl_calendar_daily(&rule, text, NULL), 0);
		snprintf(text, sizeof(text), "%d %d %d * * *", second % 60, second / 60 % 60,
		         second / 3600);
		same = parsed(text);
		for (int i = 0; i < 6; i++)
			EXPECT_EQ(set_of(&rule, i), set_of(&same, i));
		EXPECT(!rule.wildcard && !rule.either_day);
	}
	EXPECT_EQ(pawl_calendar_daily(&rule, "02:30", NULL), 0);
	EXPECT_EQ(rule.seconds, 1);
}

static void a_bad_time_of_day_is_refused_and_pointed_at(void)
{
	static const struct {
		const char *text;
		size_t position;
	} bad[] = {{"", 0},       {"2:30", 0},   {"02:60", 3},     {"24:00", 0}, {"02:30:60", 6},
	           {"02:30:", 6}, {"02:30 ", 5}, {"02:30:15 ", 8}, {"-2:30", 0}, {"02:30:15:00", 8},
	           {"0230", 2},   {"02.30", 2},  {"02:3", 3},      {"xx", 0},    {"25:00", 0}};
	struct pawl_calendar_error error;
	struct pawl_calendar_rule rule;
	char text[200];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
		         "the time of day is '%s'; expected hh:mm or hh:mm:ss, 00:00 to 23:59:59",
		         bad[i].text);
		EXPECT_EQ(pawl_calendar_daily(&rule, bad[i].text, &error), -EINVAL);
		EXPECT_STR(error.text, text);
		EXPECT_EQ(error.position, bad[i].position);
		EXPECT_EQ(pawl_calendar_daily(&rule, bad[i].text, NULL), -EINVAL);
	}
}

/* In memory of exactly its length, so that a sanitizer notices a read beyond its end. */
static void any_text_is_a_rule_or_an_error(void)
{
	static const char letters[] = "0123456789*/-,@ \tJANFRIdaily\xff";
	struct random random = {1};

	for (int i = 0; i < 200000; i++) {
		size_t length = (size_t)random_below(&random, 24);
		char *text = malloc(length + 1);
		struct pawl_calendar_rule rule;
		struct pawl_calendar_error error = {.position = 0};
		int code;

		for (size_t k = 0; k < length; k++)
			text[k] = letters[random_below(&random, sizeof(letters) - 1)];
		text[length] = '\0';
		code = pawl_calendar_parse(&rule, text, &error);
		EXPECT(code == 0 || code == -EINVAL);
		if (code != 0) {
			EXPECT(error.position <= length);
			EXPECT(memchr(error.text, '\0', sizeof(error.text)) != NULL);
		} else {
			EXPECT(rule.seconds && rule.minutes && rule.hours && rule.days &&
			       rule.months && rule.weekdays);
		}
		free(text);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_range_and_step_of_every_field_is_understood),
	        TEST(every_value_alone_and_with_a_step_is_understood),
	        TEST(names_words_blanks_and_lists_stand_for_numbers),
	        TEST(one_of_two_days_is_enough_unless_a_field_begins_with_a_star),
	        TEST(a_star_in_front_makes_a_wildcard),
	        TEST(errors_are_named),
	        TEST(a_long_value_does_not_hide_what_is_allowed),
	        TEST(a_time_of_day_is_a_rule),
	        TEST(a_bad_time_of_day_is_refused_and_pointed_at),
	        TEST(any_text_is_a_rule_or_an_error),
	};

	return RUN_TESTS(tests);
}
