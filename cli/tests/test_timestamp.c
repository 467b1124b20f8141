/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "../text/timestamp.h"

#include <pawl/wheel.h>
#include <time.h>

#include "../../src/base/random.h"
#include "../../tests/support/test.h"

#define UNTOUCHED 12345

static const char malformed[] = "it is not of that form";
static const char out_of_range[] = "it is before 1970 or after 2554";

static void expect_ns(const char *text, uint64_t ns, bool zoned)
{
	struct timestamp stamp = {UNTOUCHED, !zoned};
	const char *wrong = timestamp_parse(text, strlen(text), &stamp);

	if (wrong)
		fprintf(stderr, "'%s': %s\n", text, wrong);
	EXPECT_STR(wrong, NULL);
	EXPECT_EQ(stamp.ns, ns);
	EXPECT_EQ(stamp.zoned, zoned);
}

static void expect_wrong(const char *text, const char *wrong)
{
	struct timestamp stamp = {UNTOUCHED, true};

	EXPECT_STR(timestamp_parse(text, strlen(text), &stamp), wrong);
	EXPECT_EQ(stamp.ns, UNTOUCHED);
}

static void iso_8601_with_every_zone(void)
{
	expect_ns("1970-01-01T00:00:00Z", 0, true);
	expect_ns("2026-12-01T09:00:00Z", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01t09:00:00z", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01T09:00Z", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01T10:00+01:00", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01 09:00", 1796115600 * PAWL_SECOND, false);
	expect_ns("2026-12-01 09:00:00Z", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01T10:00:00+01:00", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-12-01T10:00:00+0100", 1796115600 * PAWL_SECOND, true);
	expect_ns("2026-11-30T21:30:00-11:30", 1796115600 * PAWL_SECOND, true);
	expect_ns("1970-01-01T01:00:00+01:00", 0, true);
	expect_ns("2026-12-01T09:00:00", 1796115600 * PAWL_SECOND, false);
}

static void fractions_with_point_or_comma(void)
{
	expect_ns("1970-01-01T00:00:01.5Z", 1500000000, true);
	expect_ns("1970-01-01T00:00:01,25Z", 1250000000, true);
	expect_ns("1970-01-01T00:00:01.000000001Z", 1000000001, true);
	expect_ns("1970-01-01T00:00:01.0000000001Z", 1000000001, true);
	expect_ns("1970-01-01T00:00:01.0000000000Z", 1000000000, true);
	expect_ns("1970-01-01T00:00:01.999", 1999000000, false);
}

static void numbers_since_1970(void)
{
	expect_ns("0", 0, true);
	expect_ns("1796115600", 1796115600 * PAWL_SECOND, true);
	expect_ns("1796115600.5", 1796115600 * PAWL_SECOND + PAWL_SECOND / 2, true);
	expect_ns("1796115600123", 1796115600 * PAWL_SECOND + 123000000, true);
	expect_ns("1796115600123456", 1796115600 * PAWL_SECOND + 123456000, true);
	expect_ns("1796115600123456789", 1796115600 * PAWL_SECOND + 123456789, true);
}

static void the_range_ends_in_2554(void)
{
	expect_ns("2554-07-21T23:34:33Z", UINT64_C(18446744073) * PAWL_SECOND, true);
	expect_ns("2554-07-21T23:34:33.709551614Z", UINT64_MAX - 1, true);
	expect_wrong("2554-07-21T23:34:33.709551615Z", out_of_range);
	expect_wrong("2554-07-21T23:34:34Z", out_of_range);
	expect_wrong("9999-12-31T23:59:59Z", out_of_range);
	expect_wrong("1969-12-31T23:59:59Z", out_of_range);
	expect_wrong("1970-01-01T00:00:00+00:01", out_of_range);
	expect_wrong("0000-01-01T00:00:00Z", out_of_range);
	expect_ns("18446744073", UINT64_C(18446744073) * PAWL_SECOND, true);
	expect_wrong("18446744074", out_of_range);
	expect_wrong("99999999999", out_of_range);
}

static void the_calendar_is_kept(void)
{
	expect_ns("2024-02-29T00:00:00Z", 1709164800 * PAWL_SECOND, true);
	expect_ns("2000-02-29T00:00:00Z", 951782400 * PAWL_SECOND, true);
	expect_wrong("2023-02-29T00:00:00Z", "that month has no such day");
	expect_wrong("2100-02-29T00:00:00Z", "that month has no such day");
	expect_wrong("2026-04-31T00:00:00Z", "that month has no such day");
	expect_wrong("2026-01-32T00:00:00Z", "that month has no such day");
	expect_wrong("2026-01-00T00:00:00Z", "that month has no such day");
	expect_wrong("2026-00-01T00:00:00Z", "there is no such month");
	expect_wrong("2026-13-01T00:00:00Z", "there is no such month");
	expect_wrong("2026-01-01T24:00:00Z", "there is no such time of day");
	expect_wrong("2026-01-01T00:60:00Z", "there is no such time of day");
	expect_wrong("2026-01-01T00:00:61Z", "there is no such time of day");
	expect_ns("2016-12-31T23:59:60Z", 1483228800 * PAWL_SECOND, true);
	expect_wrong("2026-01-01T00:00:00+24:00", "there is no such zone");
	expect_wrong("2026-01-01T00:00:00+00:60", "there is no such zone");
}

static void errors_are_named(void)
{
	static const char *const texts[] = {
	        "tomorrow",
	        "-5",
	        "+5",
	        " 5",
	        "5 ",
	        "5.",
	        "5.x",
	        "0x10",
	        "1e9",
	        "12:00",
	        "2026-12-01",
	        "2026-12-01T",
	        "2026-12-01T09:00.5Z",
	        "2026-12-01T09Z",
	        "2026-12-01T09:00:Z",
	        "2026-12-01T09:00:00.Z",
	        "2026-12-01T09:00:00+",
	        "2026-12-01T09:00:00+1",
	        "2026-12-01T09:00:00+01:",
	        "2026-12-01T09:00:00+01:0",
	        "2026-12-01T09:00:00ZZ",
	        "2026-12-01T09:00:00Z ",
	        "2026-12-01T09:00:00 Z",
	        "2026-12-01T09:00:00UTC",
	        "26-12-01T09:00:00Z",
	        "20266-12-01T09:00:00Z",
	        "2026-1-01T09:00:00Z",
	        "1796115600123.5",
	};

	expect_wrong("", "it is missing");
	expect_wrong("123456789012", "so many digits are no unit of time");
	expect_wrong("12345678901234567890", "so many digits are no unit of time");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_wrong(texts[i], malformed);
}

static bool is_separator(char pattern, int c)
{
	return c == pattern || (pattern == 'T' && (c == 't' || c == ' ')) ||
	       (pattern == 'Z' && c == 'z') || (pattern == '.' && c == ',');
}

static void any_other_byte_in_any_place_is_refused(void)
{
	static const char pattern[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	static const char good[] = "2026-12-01T09:00:00.123Z";

	for (size_t i = 0; i < strlen(good); i++)
		for (int c = 0; c < 256; c++) {
			bool digit = c >= '0' && c <= '9';
			struct timestamp stamp = {UNTOUCHED, true};
			char text[sizeof(good)];
			const char *wrong;

			memcpy(text, good, sizeof(good));
			text[i] = (char)c;
			wrong = timestamp_parse(text, strlen(good), &stamp);
			if (pattern[i] == 'd' ? !digit : !is_separator(pattern[i], c) && !digit)
				EXPECT(wrong != NULL);
			if (pattern[i] != 'd' && is_separator(pattern[i], c))
				EXPECT_STR(wrong, NULL);
			EXPECT(wrong == NULL || stamp.ns == UNTOUCHED);
		}
}

static void every_beginning_of_one_is_read_within_its_length(void)
{
	static const char good[] = "2026-12-01T09:00:00.123+01:00";

	for (size_t length = 0; length <= strlen(good); length++) {
		char *exact = malloc(length + 1); /* of no byte more, for the sanitizer */
		struct timestamp stamp;
		const char *wrong;

		memcpy(exact, good, length);
		exact = realloc(exact, length ? length : 1);
		wrong = timestamp_parse(exact, length, &stamp);
		EXPECT_EQ(wrong == NULL, length == 4 || length == strlen(good) || length == 16 ||
		                                 length == 19 || (length >= 21 && length <= 23) ||
		                                 (length > 0 && length < 4));
		free(exact);
	}
}

static void any_time_agrees_with_the_c_library(void)
{
	struct random random = {7};

	for (unsigned run = 0; run < 100000; run++) {
		time_t seconds = (time_t)random_below(&random, UINT64_C(18446744073));
		struct timestamp stamp = {0, false};
		struct tm tm;
		char text[64];

		gmtime_r(&seconds, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		EXPECT_STR(timestamp_parse(text, strlen(text), &stamp), NULL);
		EXPECT_EQ(stamp.ns, (uint64_t)seconds * PAWL_SECOND);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(iso_8601_with_every_zone),
	        TEST(fractions_with_point_or_comma),
	        TEST(numbers_since_1970),
	        TEST(the_range_ends_in_2554),
	        TEST(the_calendar_is_kept),
	        TEST(errors_are_named),
	        TEST(any_other_byte_in_any_place_is_refused),
	        TEST(every_beginning_of_one_is_read_within_its_length),
	        TEST(any_time_agrees_with_the_c_library),
	};

	return RUN_TESTS(tests);
}
