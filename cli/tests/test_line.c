/* SPDX-License-Identifier: MIT */
/* The input of `pawl run`: lines out of any pieces of input, their meaning, and the table of names. */
#define _POSIX_C_SOURCE 200809L
#include "../run/line.h"

#include <unistd.h>

#include "../../src/base/random.h"
#include "../../tests/support/test.h"
#include "../run/entries.h"
#include "../run/input.h"
#include "../run/zones.h"

static struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

static struct zones zones;

/* A copy of exactly its length, so that a sanitizer sees a byte read too many. */
static bool parse(const char *text, struct line *line, struct line_error *error, bool stamped)
{
	static char *copy;
	struct span source = {NULL, strlen(text)};

	free(copy);
	copy = malloc(source.length ? source.length : 1);
	memcpy(copy, text, source.length);
	source.text = copy;
	return stamped ? line_parse_stamped(source, line, error)
	               : line_parse(source, &zones, line, error);
}

static void expect_span(struct span span, const char *text)
{
	char copy[256];

	snprintf(copy, sizeof(copy), "%.*s", (int)span.length, span.text ? span.text : "");
	EXPECT_STR(copy, text);
}

/* If it is refused, that is a failure. */
static struct line parsed(const char *text)
{
	struct line_error error = {0};
	struct line line;

	if (!parse(text, &line, &error, false)) {
		fprintf(stderr, "'%s' is refused: %s\n", text, error.wrong);
		test_failed();
	}
	return line;
}

static void expect_line(const char *text, enum line_kind kind, uint64_t ns, const char *name,
                        const char *rest)
{
	struct line line = parsed(text);

	EXPECT_EQ(line.kind, kind);
	EXPECT_EQ(line.ns, ns);
	expect_span(line.name, name);
	expect_span(line.text, rest);
}

static void expect_refused(const char *text, const char *what, const char *value, const char *wrong)
{
	struct line_error error = {0};
	struct line line;

	EXPECT(!parse(text, &line, &error, false));
	EXPECT_STR(error.what, what);
	expect_span(error.value, value);
	EXPECT_STR(error.wrong, wrong);
	EXPECT(error.expected != NULL || strstr(error.wrong, "expected "));
}

static void every_kind_of_line_is_understood(void)
{
	expect_line("250ms hello", LINE_AFTER, 250000000, "", "hello");
	expect_line("1.5s two words", LINE_AFTER, 1500000000, "", "two words");
	expect_line("@1970-01-01T00:00:01Z x", LINE_AT, 1000000000, "", "x");
	expect_line("@2 x", LINE_AT, 2000000000, "", "x");
	expect_line("every 10s tick", LINE_EVERY, UINT64_C(10000000000), "", "tick");
	expect_line("=tea 3m ready", LINE_AFTER, UINT64_C(180000000000), "tea", "ready");
	expect_line("=beat every 1s x", LINE_EVERY, 1000000000, "beat", "x");
	expect_line("=dawn @2 x", LINE_AT, 2000000000, "dawn", "x");
	expect_line("!tea", LINE_CANCEL, 0, "tea", "");
}

static void expect_rule(const char *text, const char *name, const char *rest, int64_t after,
                        int64_t next)
{
	struct line line = parsed(text);

	EXPECT_EQ(line.kind, LINE_CALENDAR);
	expect_span(line.name, name);
	expect_span(line.text, rest);
	EXPECT_EQ(timetable_next(&line.timetable, (uint64_t)after * 1000000000),
	          (uint64_t)next * 1000000000);
}

static void lines_by_the_calendar_are_understood(void)
{
	/* 2026-03-28T12:00Z, and the morning after, on which clocks go forward in Berlin. */
	const int64_t noon = 1774699200, gap = 1774746000;

	expect_rule("daily[Europe/Berlin] 02:30 wake up", "", "wake up", noon, gap);
	expect_rule("daily[Europe/Berlin] 02:30", "", "", gap, gap + 84600);
	expect_rule("daily[UTC] 12:00:01  x", "", " x", noon, noon + 1);
	expect_rule("=job cron[Europe/Berlin] 30 2 * * * two words", "job", "two words", noon, gap);
	expect_rule("cron[UTC]   0\t12   *  MAR   MON-SUN  x", "", " x", noon, noon + 86400);
	expect_rule("cron[UTC] @hourly x", "", "x", noon, noon + 3600);
	expect_rule("cron[UTC] 0 0 * * * 30 lines", "", "30 lines", noon, noon + 43200);
}

static void local_times_are_understood(void)
{
	expect_line("@2026-03-29T01:59:59[Europe/Berlin] x", LINE_AT,
	            UINT64_C(1774745999) * 1000000000, "", "x");
	expect_line("@2026-03-29T02:30[Europe/Berlin] in a gap", LINE_AT,
	            UINT64_C(1774746000) * 1000000000, "", "in a gap");
	expect_line("@2026-03-29T02:30:00.75[Europe/Berlin] in a gap", LINE_AT,
	            UINT64_C(1774746000) * 1000000000, "", "in a gap");
	expect_line("@2026-10-25T02:30:00.5[Europe/Berlin] the first", LINE_AT,
	            UINT64_C(1792888200500000000), "", "the first");
	expect_line("@2026-11-16T02:30[UTC] x", LINE_AT, UINT64_C(1794796200) * 1000000000, "",
	            "x");
}

static void expect_resolved(const char *text, int64_t now, int64_t due)
{
	struct line line = parsed(text);

	line_resolve(&line, (uint64_t)now * 1000000000 + 1);
	EXPECT_EQ(line.kind, LINE_AT);
	EXPECT_EQ(line.ns, (uint64_t)due * 1000000000);
	expect_span(line.text, "x");
}

/* 2026-03-28T12:00Z in Berlin, where clocks go forward in the night after: 02:00 to 03:00. */
static void times_of_day_are_those_of_the_zone(void)
{
	const int64_t noon = 1774699200, midnight = noon + 39600;
	static struct pawl_zone berlin;

	expect_line("in 5m x", LINE_AFTER, UINT64_C(300000000000), "", "x");
	expect_line("=tea in   5m x", LINE_AFTER, UINT64_C(300000000000), "tea", "x");
	expect_resolved("18:00[UTC] x", noon, noon + 21600);
	expect_resolved("12:00[UTC] x", noon, noon + 86400);
	expect_resolved("12:00:01[UTC] x", noon, noon + 1);
	expect_resolved("=tea tomorrow[UTC] 09:00 x", noon, noon + 75600);
	expect_resolved("tomorrow[UTC]  00:00 x", noon, noon + 43200);
	expect_resolved("tomorrow[Europe/Berlin] 00:00 x", noon, midnight);
	expect_resolved("tomorrow[Europe/Berlin] 02:30 x", noon, midnight + 7200);
	expect_resolved("tomorrow[Europe/Berlin] 09:00 x", noon, midnight + 8 * 3600);
	expect_resolved("tomorrow[Europe/Berlin] 23:30 x", midnight - 1, midnight + 81000);
	expect_resolved("02:30[Europe/Berlin] x", noon, midnight + 7200);
	EXPECT_EQ(pawl_zone_load(&berlin, "Europe/Berlin", NULL), 0);
	zones.fallback = &berlin;
	expect_resolved("13:30 x", noon, noon + 1800);
	zones.fallback = NULL;
}

/* Against the definition: the first second, tried one by one in steps of a minute, whose clock shows the time. */
static void every_time_of_day_from_every_hour(void)
{
	static struct pawl_zone berlin;

	EXPECT_EQ(pawl_zone_load(&berlin, "Europe/Berlin", NULL), 0);
	for (int64_t now = 1774600200; now < 1774600200 + 4 * 86400; now += 5400)
		for (int64_t minute = 0; minute < 1440; minute += 15)
			for (int next_day = 0; next_day < 2; next_day++) {
				int64_t local = now + pawl_zone_offset(&berlin, now), due = now;
				int64_t day = local / 86400 + next_day,
				        wanted = day * 86400 + minute * 60;
				char text[64];

				if (!next_day && wanted <= local)
					wanted += 86400;
				while (due + pawl_zone_offset(&berlin, due) < wanted)
					due += 60;
				snprintf(text, sizeof(text), "%s%02d:%02d%s x",
				         next_day ? "tomorrow[Europe/Berlin] " : "",
				         (int)minute / 60, (int)minute % 60,
				         next_day ? "" : "[Europe/Berlin]");
				expect_resolved(text, now, due);
			}
}

static void errors_in_a_time_of_day_are_named(void)
{
	static const char wrong[] =
	        "the time of day is '%s'; expected hh:mm or hh:mm:ss, 00:00 to 23:59:59";
	static const char *const bad[] = {"24:00", "18:60", "1:00", "18:", "18:00:60", "18:00x"};
	char line[64], text[160];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), wrong, bad[i]);
		snprintf(line, sizeof(line), "%s x", bad[i]);
		expect_refused(line, "rule", bad[i], text);
		snprintf(line, sizeof(line), "tomorrow %s x", bad[i]);
		expect_refused(line, "rule", bad[i], text);
	}
	snprintf(text, sizeof(text), wrong, "");
	expect_refused("tomorrow", "rule", "", text);
	expect_refused("in", "delay", "", "it is missing");
	expect_refused("in 18:00 x", "delay", "18:00", "its unit is unknown");
}

static void the_fallback_is_the_zone_of_lines_that_name_none(void)
{
	static struct pawl_zone berlin;

	EXPECT_EQ(pawl_zone_load(&berlin, "Europe/Berlin", NULL), 0);
	expect_refused("daily 02:30 x", "rule", "daily", "it has no zone");
	expect_refused("cron 0 0 * * * x", "rule", "cron", "it has no zone");
	zones.fallback = &berlin;
	expect_rule("daily 02:30 x", "", "x", 1774699200, 1774746000);
	expect_rule("daily[UTC] 12:30 x", "", "x", 1774699200, 1774701000);
	expect_line("@2026-03-29T02:30 x", LINE_AT, UINT64_C(1774746000) * 1000000000, "", "x");
	expect_line("@2026-03-29T02:30Z x", LINE_AT, UINT64_C(1774751400) * 1000000000, "", "x");
	expect_refused("@1970-01-01T00:59:59 x", "time", "1970-01-01T00:59:59",
	               "it is before 1970 or after 2554");
	zones.fallback = NULL;
}

static void errors_in_a_calendar_rule_are_named(void)
{
	expect_refused(
	        "daily[Europe/Atlantis] 02:30 x", "zone", "Europe/Atlantis",
	        "the zone's file /usr/share/zoneinfo/Europe/Atlantis does not exist; expected "
	        "a name such as Europe/Berlin");
	expect_refused(
	        "@2026-03-29T02:30[../passwd] x", "zone", "../passwd",
	        "the zone is '../passwd'; expected a name such as Europe/Berlin, of 1 to 255 "
	        "bytes, below /usr/share/zoneinfo/");
	expect_refused("@2026-03-29T02:30Z[UTC] x", "time", "2026-03-29T02:30Z[UTC]",
	               "it has an offset and a zone");
	expect_refused("@5[UTC] x", "time", "5[UTC]", "it has an offset and a zone");
	expect_refused("daily[UTC] 25:00 x", "rule", "25:00",
	               "the time of day is '25:00'; expected hh:mm or hh:mm:ss, 00:00 to 23:59:59");
	expect_refused("daily[UTC]", "rule", "",
	               "the time of day is ''; expected hh:mm or hh:mm:ss, 00:00 to 23:59:59");
	expect_refused("cron[UTC] 0 25 * * * x", "rule", "0 25 * * *",
	               "the hour is '25'; expected 0 to 23");
	expect_refused(
	        "cron[UTC] 0 0", "rule", "0 0",
	        "there are 2 fields; expected 5: minute, hour, day of the month, month, day of "
	        "the week; or 6: the second before them");
	expect_refused("cron[UTC] 0 0 30 2 * x", "rule", "0 0 30 2 *", "it never fires");
	expect_refused("cron[UTC 0 0 1 1 * x", "delay", "cron[UTC",
	               "it does not begin with a digit");
	expect_refused(
	        "daily[] 02:30 x", "zone", "",
	        "the zone is ''; expected a name such as Europe/Berlin, of 1 to 255 bytes, below "
	        "/usr/share/zoneinfo/");
}

static void blanks_matter_in_the_text_only(void)
{
	expect_line("  \t250ms hello", LINE_AFTER, 250000000, "", "hello");
	expect_line("250ms   three before, two after  ", LINE_AFTER, 250000000, "",
	            "  three before, two after  ");
	expect_line("250ms\ttab", LINE_AFTER, 250000000, "", "tab");
	expect_line("=a   250ms x", LINE_AFTER, 250000000, "a", "x");
	expect_line("every   250ms x", LINE_EVERY, 250000000, "", "x");
	expect_line("!a  ", LINE_CANCEL, 0, "a", "");
}

static void the_text_may_be_anything(void)
{
	expect_line("250ms", LINE_AFTER, 250000000, "", "");
	expect_line("250ms ", LINE_AFTER, 250000000, "", "");
	expect_line("250ms every 10s", LINE_AFTER, 250000000, "", "every 10s");
	expect_line("250ms # no comment", LINE_AFTER, 250000000, "", "# no comment");
	expect_line("every 1s", LINE_EVERY, 1000000000, "", "");
	expect_line("0s \xff\xfe", LINE_AFTER, 0, "", "\xff\xfe");
}

static void some_lines_say_nothing(void)
{
	expect_line("", LINE_NOTHING, 0, "", "");
	expect_line(" \t ", LINE_NOTHING, 0, "", "");
	expect_line("# 250ms hello", LINE_NOTHING, 0, "", "");
	expect_line("  #", LINE_NOTHING, 0, "", "");
}

static void errors_are_named(void)
{
	expect_refused("hello", "delay", "hello", "it does not begin with a digit");
	expect_refused("5 minutes", "delay", "5", "it has no unit");
	expect_refused("=tea", "delay", "", "it is missing");
	expect_refused("=tea hello", "delay", "hello", "it does not begin with a digit");
	expect_refused("= 5s x", "name", "", "it is too short or too long");
	expect_refused("!", "name", "", "it is too short or too long");
	expect_refused("!a b", "text after !NAME", "b", "it is not allowed");
	expect_refused("every", "period", "", "it is missing");
	expect_refused("every hello", "period", "hello", "it does not begin with a digit");
	expect_refused("every 0s x", "period", "0s", "it is 0");
	expect_refused("every 0.0ns x", "period", "0.0ns", "it is 0");
	expect_refused("Every 1s x", "delay", "Every", "it does not begin with a digit");
	expect_refused("@ x", "time", "", "it is missing");
	expect_refused("@soon x", "time", "soon", "it is not of that form");
	expect_refused("@2026-12-01T09:00:00 x", "time", "2026-12-01T09:00:00", "it has no zone");
	expect_refused("5s\r", "delay", "5s\r", "its unit is unknown");
}

static void names_have_at_most_255_bytes(void)
{
	char text[300] = "!";
	struct line_error error;
	struct line line;

	memset(text + 1, 'n', 255);
	EXPECT(parse(text, &line, &error, false));
	EXPECT_EQ(line.name.length, 255);
	text[256] = 'n';
	EXPECT(!parse(text, &line, &error, false));
}

static void a_zero_byte_is_refused(void)
{
	struct line_error error;
	struct line line;

	EXPECT(!line_parse((struct span){"5s a\0b", 6}, &zones, &line, &error));
	EXPECT_STR(error.wrong, "it contains a zero byte");
	EXPECT(!line_parse_stamped((struct span){"5 a\0b", 5}, &line, &error));
}

static void a_stamped_line_is_kept_whole(void)
{
	struct line_error error;
	struct line line;

	EXPECT(parse("2026-12-01T09:00:00 GET /", &line, &error, true));
	EXPECT_EQ(line.kind, LINE_AT);
	EXPECT_EQ(line.ns, UINT64_C(1796115600000000000));
	expect_span(line.text, "2026-12-01T09:00:00 GET /");
	EXPECT(parse("2026-12-01 09:00:00,5 INFO up", &line, &error, true));
	EXPECT_EQ(line.ns, UINT64_C(1796115600500000000));
	expect_span(line.text, "2026-12-01 09:00:00,5 INFO up");
	EXPECT(!parse("2026-12-01 INFO up", &line, &error, true));
	expect_span(error.value, "2026-12-01 INFO");
	EXPECT(!parse("2026-12-01", &line, &error, true));
	expect_span(error.value, "2026-12-01");
	EXPECT(!parse("2026-12-01 ", &line, &error, true));
	EXPECT(parse(" 5.25 x", &line, &error, true));
	EXPECT_EQ(line.ns, 5250000000);
	expect_span(line.text, " 5.25 x");
	EXPECT(parse("", &line, &error, true));
	EXPECT_EQ(line.kind, LINE_NOTHING);
	EXPECT(!parse("GET /", &line, &error, true));
	EXPECT_STR(error.what, "timestamp");
	expect_span(error.value, "GET");
}

/* Through a pipe in pieces of at most `piece` bytes; each line is told by its length and last byte. */
static void expect_lines(const char *bytes, size_t size, size_t piece, const size_t *lengths,
                         size_t count)
{
	struct input *input = malloc(sizeof(*input));
	size_t line = 0, sent = 0;
	struct span span;
	int ends[2];

	EXPECT_EQ(pipe(ends), 0);
	EXPECT_EQ(input_open(input, NULL), 0);
	input->fd = ends[0];
	while (!input->ended) {
		size_t part = size - sent < piece ? size - sent : piece;
		enum input_result result;

		if (part > 0)
			EXPECT_EQ(write(ends[1], bytes + sent, part), part);
		else
			close(ends[1]);
		sent += part;
		EXPECT_EQ(input_read(input), 0);
		while ((result = input_next(input, &span)) != INPUT_NONE) {
			EXPECT(line < count);
			EXPECT_EQ(result == INPUT_TOO_LONG, lengths[line] > INPUT_LINE_MAX);
			if (result == INPUT_LINE)
				EXPECT_EQ(span.length, lengths[line]);
			EXPECT_EQ(input->number, ++line);
		}
	}
	EXPECT_EQ(line, count);
	input_close(input);
	free(input);
}

static void lines_are_found_however_they_arrive(void)
{
	static const size_t lengths[] = {3, 0, 5, 1};
	static const char bytes[] = "abc\n\nhello\nx"; /* the last one has no newline */

	for (size_t piece = 1; piece <= sizeof(bytes); piece++)
		expect_lines(bytes, strlen(bytes), piece, lengths, 4);
	expect_lines("", 0, 1, NULL, 0);
	expect_lines("\n", 1, 1, (size_t[]){0}, 1);
}

static void too_long_lines_are_passed_over_however_they_arrive(void)
{
	static const size_t lengths[] = {65536, 65537, 2, 300000, 1, 65537};
	static const size_t pieces[] = {1000, 4096, 60000, 65536};
	char *bytes = malloc(1000000);
	size_t size = 0;

	for (size_t i = 0; i < 6; i++) {
		memset(bytes + size, 'x', lengths[i]);
		size += lengths[i];
		bytes[size++] = '\n';
	}
	for (size_t i = 0; i < 4; i++) {
		expect_lines(bytes, size, pieces[i], lengths, 6);
		expect_lines(bytes, size - 1, pieces[i], lengths, 6);
	}
	free(bytes);
}

/* One of the last lines has no newline after its carriage return, and one has two carriage returns. */
static void a_carriage_return_at_the_end_of_a_line_is_no_part_of_it(void)
{
	static const size_t lengths[] = {3, 0, 3, 2, 1};
	static const char bytes[] = "abc\r\n\r\na\rb\nx\r\r\n!\r";

	for (size_t piece = 1; piece <= sizeof(bytes); piece++)
		expect_lines(bytes, strlen(bytes), piece, lengths, 5);
	expect_lines("\r\n", 2, 1, (size_t[]){0}, 1);
	expect_lines("\r", 1, 1, (size_t[]){0}, 1);
}

static void a_carriage_return_does_not_make_a_line_too_long(void)
{
	static const size_t lengths[] = {65536, 65537, 65536};
	static const size_t pieces[] = {1000, 65535, 65536};
	char *bytes = malloc(200000);
	size_t size = 0;

	for (size_t i = 0; i < 3; i++) {
		memset(bytes + size, 'x', lengths[i]);
		memcpy(bytes + size + lengths[i], "\r\n", 2);
		size += lengths[i] + 2;
	}
	for (size_t i = 0; i < 3; i++) {
		expect_lines(bytes, size, pieces[i], lengths, 3);
		expect_lines(bytes, size - 1, pieces[i], lengths, 3);
		expect_lines(bytes, size - 2, pieces[i], lengths, 3);
	}
	bytes[65537] = 'y'; /* the first line goes on after its carriage return */
	expect_lines(bytes, 65536, 65536, lengths, 1);
	expect_lines(bytes, 65538, 65536, (size_t[]){65538}, 1);
	free(bytes);
}

/* A table of numbers is the model. */
static void names_are_found_until_they_are_removed(void)
{
	enum { NAMES = 500 };
	struct entry *model[NAMES] = {NULL};
	struct names names = {0};
	struct random random = {3};
	size_t count = 0;

	for (unsigned run = 0; run < 20000; run++) {
		unsigned i = (unsigned)random_below(&random, NAMES);
		struct line line = {.kind = LINE_AFTER, .text = span_of("text")};
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		line.name = span_of(name);
		EXPECT(names_find(&names, line.name) == model[i]);
		if (model[i]) {
			names_remove(&names, model[i]);
			free(model[i]);
			model[i] = NULL;
			count--;
		} else {
			model[i] = entry_new(&line, run);
			EXPECT(names_add(&names, model[i]));
			EXPECT_STR(entry_text(model[i]), "text\n");
			count++;
		}
		EXPECT_EQ(names.count, count);
	}
	for (unsigned i = 0; i < NAMES; i++)
		free(model[i]);
	names_close(&names);
}

static void an_entry_takes_56_bytes_and_its_text(void)
{
	EXPECT(sizeof(struct entry) <= 56);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_kind_of_line_is_understood),
	        TEST(lines_by_the_calendar_are_understood),
	        TEST(local_times_are_understood),
	        TEST(times_of_day_are_those_of_the_zone),
	        TEST(every_time_of_day_from_every_hour),
	        TEST(errors_in_a_time_of_day_are_named),
	        TEST(the_fallback_is_the_zone_of_lines_that_name_none),
	        TEST(errors_in_a_calendar_rule_are_named),
	        TEST(blanks_matter_in_the_text_only),
	        TEST(the_text_may_be_anything),
	        TEST(some_lines_say_nothing),
	        TEST(errors_are_named),
	        TEST(names_have_at_most_255_bytes),
	        TEST(a_zero_byte_is_refused),
	        TEST(a_stamped_line_is_kept_whole),
	        TEST(lines_are_found_however_they_arrive),
	        TEST(too_long_lines_are_passed_over_however_they_arrive),
	        TEST(a_carriage_return_at_the_end_of_a_line_is_no_part_of_it),
	        TEST(a_carriage_return_does_not_make_a_line_too_long),
	        TEST(names_are_found_until_they_are_removed),
	        TEST(an_entry_takes_56_bytes_and_its_text),
	};

	return RUN_TESTS(tests);
}
