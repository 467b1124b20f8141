/* SPDX-License-Identifier: MIT */
#include "../text/duration.h"

#include "../../src/base/random.h"
#include "../../tests/support/test.h"

#define UNTOUCHED 12345

static void expect_ns(const char *text, uint64_t ns)
{
	uint64_t actual = UNTOUCHED;
	const char *wrong = duration_parse(text, strlen(text), &actual);

	if (wrong)
		fprintf(stderr, "'%s': %s\n", text, wrong);
	EXPECT_STR(wrong, NULL);
	EXPECT_EQ(actual, ns);
}

static void expect_wrong(const char *text, const char *wrong)
{
	uint64_t actual = UNTOUCHED;

	EXPECT_STR(duration_parse(text, strlen(text), &actual), wrong);
	EXPECT_EQ(actual, UNTOUCHED);
}

static void every_unit_is_known(void)
{
	expect_ns("7ns", 7);
	expect_ns("7us", 7000);
	expect_ns("250ms", 250000000);
	expect_ns("1s", 1000000000);
	expect_ns("2m", UINT64_C(120) * 1000000000);
	expect_ns("2h", UINT64_C(7200) * 1000000000);
	expect_ns("3d", UINT64_C(259200) * 1000000000);
	expect_ns("0s", 0);
	expect_ns("000001ms", 1000000);
}

static void several_units_are_added(void)
{
	expect_ns("1h30m", UINT64_C(5400) * 1000000000);
	expect_ns("1d2h3m4s5ms6us7ns", UINT64_C(93784005006007));
	expect_ns("1m0.5s", UINT64_C(60500000000));
	expect_ns("0.5h30m", UINT64_C(3600) * 1000000000);
	expect_ns("0h0s", 0);
	expect_ns("18446744073s709551614ns", UINT64_MAX - 1);
	expect_wrong("18446744073s709551615ns", "it is too long");
}

static void decimals_are_exact_and_rounded_up(void)
{
	expect_ns("1.5s", 1500000000);
	expect_ns("0.000000001s", 1);
	expect_ns("0.0000000001s", 1);
	expect_ns("0.00000000010000000000000000000000000000000000001s", 1);
	expect_ns("1.0000000001s", 1000000001);
	expect_ns("0.1ns", 1);
	expect_ns("0.0ns", 0);
	expect_ns("0.3333333333333333333333333333333333333333s", 333333334);
	expect_ns("2.50000000000000000000000000000000000000000h", UINT64_C(9000) * 1000000000);
}

static void the_longest_is_all_but_never(void)
{
	expect_ns("18446744073709551614ns", UINT64_MAX - 1);
	expect_ns("18446744073.709551614s", UINT64_MAX - 1);
	expect_ns("213503d", UINT64_C(213503) * 86400 * 1000000000);
	expect_wrong("18446744073709551615ns", "it is too long");
	expect_wrong("18446744073709551616ns", "it is too long");
	expect_wrong("18446744073.709551615s", "it is too long");
	expect_wrong("18446744073.7095516141s", "it is too long");
	expect_wrong("213504d", "it is too long");
	expect_wrong("99999999999999999999999999999999999999999999d", "it is too long");
}

static void errors_are_named(void)
{
	expect_wrong("", "it is missing");
	expect_wrong("-5ms", "it is negative");
	expect_wrong("+5ms", "it does not begin with a digit");
	expect_wrong(" 5ms", "it does not begin with a digit");
	expect_wrong("ms", "it does not begin with a digit");
	expect_wrong(".5s", "it does not begin with a digit");
	expect_wrong("inf", "it does not begin with a digit");
	expect_wrong("5", "it has no unit");
	expect_wrong("5.5", "it has no unit");
	expect_wrong("5.", "there is no digit after the point");
	expect_wrong("5.s", "there is no digit after the point");
	expect_wrong("5x", "its unit is unknown");
	expect_wrong("5MS", "its unit is unknown");
	expect_wrong("5ms ", "its unit is unknown");
	expect_wrong("5 ms", "its unit is unknown");
	expect_wrong("5msec", "its unit is unknown");
	expect_wrong("1e3s", "its unit is unknown");
	expect_wrong("0x5s", "its unit is unknown");
	expect_wrong("1.5.5s", "its unit is unknown");
	expect_wrong("30m1h", "its units do not go from large to small");
	expect_wrong("1h1h", "its units do not go from large to small");
	expect_wrong("1h30", "it has no unit");
	expect_wrong("1h 30m", "its unit is unknown");
	expect_wrong("1h-30m", "its unit is unknown");
	expect_wrong("1h30.m", "there is no digit after the point");
	expect_wrong("1,5s", "its unit is unknown");
}

/* digits [. digits] unit, by hand, and so on with smaller units; `below` is the first that is too large. */
static bool is_rest(const char *text, size_t below)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "m", "h", "d"};
	size_t digits = strspn(text, "0123456789"), length;

	if (digits == 0)
		return false;
	text += digits;
	if (*text == '.') {
		digits = strspn(text + 1, "0123456789");
		if (digits == 0)
			return false;
		text += 1 + digits;
	}
	length = strcspn(text, "0123456789");
	for (size_t i = 0; i < below; i++)
		if (strlen(units[i]) == length && strncmp(text, units[i], length) == 0)
			return !text[length] || is_rest(text + length, i);
	return false;
}

static bool is_duration(const char *text)
{
	return is_rest(text, 7);
}

static void every_short_text_is_one_or_is_refused(void)
{
	static const char letters[] = "09.-msnu \n";
	unsigned good = 0, bad = 0;

	for (unsigned number = 0; number < 11 * 11 * 11 * 11 * 11 * 11; number++) {
		char text[7] = "";
		unsigned rest = number, length = 0;
		uint64_t ns = UNTOUCHED;
		const char *wrong;

		for (; rest % 11 > 0 && length < 6; rest /= 11)
			text[length++] = letters[rest % 11 - 1];
		wrong = duration_parse(text, length, &ns);
		EXPECT_EQ(wrong == NULL, is_duration(text));
		EXPECT(wrong == NULL || ns == UNTOUCHED);
		good += wrong == NULL;
		bad += wrong != NULL;
	}
	EXPECT(good > 1000);
	EXPECT(bad > 1000000);
}

static void it_reads_no_byte_too_many(void)
{
	uint64_t ns = UNTOUCHED;

	EXPECT_STR(duration_parse("5msXXXX", 3, &ns), NULL);
	EXPECT_EQ(ns, 5000000);
	EXPECT_STR(duration_parse("5ms", 2, &ns), NULL);
	EXPECT_EQ(ns, UINT64_C(300) * 1000000000);
	EXPECT_STR(duration_parse("5s\0s", 4, &ns), "its unit is unknown");
	EXPECT_STR(duration_parse("1.5s", 2, &ns), "there is no digit after the point");
}

static void expect_text(uint64_t ns, const char *text)
{
	char actual[DURATION_TEXT];

	duration_format(ns, actual);
	EXPECT_STR(actual, text);
}

static void durations_are_written_with_three_digits(void)
{
	expect_text(0, "0 ns");
	expect_text(999, "999 ns");
	expect_text(1000, "1.00 us");
	expect_text(9994, "9.99 us");
	expect_text(9999, "10.0 us");
	expect_text(12340, "12.3 us");
	expect_text(999499, "999 us");
	expect_text(999999, "1.00 ms");
	expect_text(4560000, "4.56 ms");
	expect_text(UINT64_C(7890000000), "7.89 s");
	expect_text(UINT64_C(59940000000), "59.9 s");
}

static void from_a_minute_on_they_have_two_units(void)
{
	expect_text(UINT64_C(59950000000), "1 min");
	expect_text(UINT64_C(60000000000), "1 min");
	expect_text(UINT64_C(125900000000), "2 min 5 s");
	expect_text(UINT64_C(3600900000000), "1 h");
	expect_text(UINT64_C(21600000000000), "6 h");
	expect_text(UINT64_C(22000000000000), "6 h 6 min");
	expect_text(UINT64_C(86400000000000), "1 d");
	expect_text(UINT64_C(93784005006007), "1 d 2 h");
	expect_text(UINT64_MAX, "213503 d 23 h");
}

static void expect_exact(uint64_t ns, const char *text)
{
	char actual[DURATION_TEXT];

	duration_exact(ns, actual);
	EXPECT_STR(actual, text);
}

static void a_chosen_duration_is_written_exactly(void)
{
	expect_exact(0, "0 ms");
	expect_exact(1, "1 ns");
	expect_exact(999, "999 ns");
	expect_exact(1050, "1.05 us");
	expect_exact(2500000, "2.5 ms");
	expect_exact(450000000, "450 ms");
	expect_exact(1000000000, "1 s");
	expect_exact(1000000001, "1.000000001 s");
	expect_exact(UINT64_C(10100000000), "10.1 s");
	expect_exact(UINT64_C(60000000000), "1 min");
	expect_exact(UINT64_C(160000000000), "2 min 40 s");
	expect_exact(UINT64_C(3599999000000), "59 min 59.999 s");
	expect_exact(UINT64_C(3600000000000), "1 h");
	expect_exact(UINT64_C(3600001000000), "1 h 1 ms");
	expect_exact(UINT64_C(86401000000000), "1 d 1 s");
	expect_exact(UINT64_MAX, "213503 d 23 h 34 min 33.709551615 s");
}

/* Without its blanks, and with m for min, it is a duration that the command reads. */
static void an_exactly_written_duration_can_be_read(void)
{
	struct random random = {20};

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t ns = random_next(&random) >> random_below(&random, 64), read = UNTOUCHED;
		char text[DURATION_TEXT], *to = text;

		ns = ns == UINT64_MAX ? 0 : ns;
		duration_exact(ns, text);
		for (const char *from = text; *from; from++)
			if (strncmp(from, "min", 3) == 0)
				*to++ = 'm', from += 2;
			else if (*from != ' ')
				*to++ = *from;
		*to = '\0';
		EXPECT_STR(duration_parse(text, strlen(text), &read), NULL);
		EXPECT_EQ(read, ns);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_unit_is_known),
	        TEST(several_units_are_added),
	        TEST(decimals_are_exact_and_rounded_up),
	        TEST(the_longest_is_all_but_never),
	        TEST(errors_are_named),
	        TEST(every_short_text_is_one_or_is_refused),
	        TEST(it_reads_no_byte_too_many),
	        TEST(durations_are_written_with_three_digits),
	        TEST(from_a_minute_on_they_have_two_units),
	        TEST(a_chosen_duration_is_written_exactly),
	        TEST(an_exactly_written_duration_can_be_read),
	};

	return RUN_TESTS(tests);
}
