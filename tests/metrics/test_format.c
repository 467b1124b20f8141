/* SPDX-License-Identifier: MIT */
/*
 * Statistics as text: what is written, what fits, and which prefixes are names. openmetrics.py tests that the text is
 * OpenMetrics.
 */
#include <errno.h>
#include <pawl/metrics.h>

#include "../support/test.h"

static struct pawl_stats stats;
static struct pawl_op_stats op_stats;

static const char *service_text(void)
{
	static char text[32768];
	int length = pawl_stats_format(&stats, "p", text, sizeof(text));

	EXPECT_EQ((size_t)length, strlen(text));
	return text;
}

static void expect_line(const char *line)
{
	const char *found = strstr(service_text(), line);

	EXPECT(found != NULL);
	if (!found)
		fprintf(stderr, "there is no line %s", line);
}

static void count(struct pawl_histogram *histogram, uint64_t ns)
{
	unsigned cell = 0;

	while (pawl_histogram_bound(cell) < ns)
		cell++;
	histogram->cells[cell]++;
	histogram->count++;
	histogram->sum += ns;
}

static void numbers_have_all_their_digits(void)
{
	memset(&stats, 0, sizeof(stats));
	expect_line("\np_armed_total 0\n");
	stats.armed = UINT64_MAX;
	stats.pending = 1000;
	stats.slowest_ns = 1;
	expect_line("\np_armed_total 18446744073709551615\n");
	expect_line("\np_pending 1000\n");
	expect_line("\np_slowest_seconds 0.000000001\n");
	stats.slowest_ns = UINT64_MAX;
	expect_line("\np_slowest_seconds 18446744073.709551615\n");
	expect_line(
	        "# TYPE p_armed counter\n# HELP p_armed Armings of tasks that were not pending.\n");
}

/* Below, at and above each bound. */
static void a_bucket_counts_what_does_not_exceed_its_bound(void)
{
	for (unsigned power = 10; power <= 38; power += 2) {
		uint64_t bound = (UINT64_C(1) << power) - 1;
		char line[200];

		memset(&stats, 0, sizeof(stats));
		count(&stats.lateness, bound - 1);
		count(&stats.lateness, bound);
		count(&stats.lateness, bound + 1);
		snprintf(line, sizeof(line),
		         "\np_lateness_seconds_bucket{le=\"%" PRIu64 ".%09" PRIu64 "\"} 2\n",
		         bound / PAWL_SECOND, bound % PAWL_SECOND);
		expect_line(line);
		expect_line("\np_lateness_seconds_bucket{le=\"+Inf\"} 3\n");
		expect_line("\np_lateness_seconds_count 3\n");
		snprintf(line, sizeof(line), "\np_lateness_seconds_sum %" PRIu64 ".%09" PRIu64 "\n",
		         3 * bound / PAWL_SECOND, 3 * bound % PAWL_SECOND);
		expect_line(line);
	}
}

static void cells_follow_each_other_without_a_gap(void)
{
	EXPECT_EQ(pawl_histogram_bound(0), 0);
	for (unsigned cell = 1; cell < PAWL_HISTOGRAM_CELLS; cell++) {
		uint64_t first = pawl_histogram_bound(cell - 1) + 1,
		         last = pawl_histogram_bound(cell);

		EXPECT(first <= last);
		EXPECT(last - first <= first / 64);
	}
	EXPECT_EQ(pawl_histogram_bound(PAWL_HISTOGRAM_CELLS - 1), UINT64_MAX);
	EXPECT_EQ(pawl_histogram_bound(PAWL_HISTOGRAM_CELLS), UINT64_MAX);
	EXPECT_EQ(pawl_histogram_bound(~0u), UINT64_MAX);
}

static int format_stats(char *text, size_t size)
{
	return pawl_stats_format(&stats, "pawl", text, size);
}

static int format_op_stats(char *text, size_t size)
{
	return pawl_op_stats_format(&op_stats, "pawl", text, size);
}

/* In memory of exactly that size, for an address sanitizer. */
static void expect_what_fits(int (*format)(char *text, size_t size))
{
	int length = format(NULL, 0);
	char *whole = malloc((size_t)length + 1);

	EXPECT_EQ(format(whole, (size_t)length + 1), length);
	EXPECT_EQ(strlen(whole), (size_t)length);
	EXPECT_EQ(whole[length - 1], '\n');
	for (size_t size = 1; size <= (size_t)length; size++) {
		char *part = malloc(size);

		EXPECT_EQ(format(part, size), length);
		EXPECT_EQ(strlen(part), size - 1);
		EXPECT(memcmp(part, whole, size - 1) == 0);
		free(part);
	}
	free(whole);
}

static void as_much_as_fits_is_written_and_the_whole_length_told(void)
{
	expect_what_fits(format_stats);
	expect_what_fits(format_op_stats);
}

static void the_length_is_bounded(void)
{
	static const char longest[] =
	        "abcdefghijklmnopqrstuvwxyz_:ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	EXPECT_EQ(strlen(longest), 64);
	memset(&stats, 0xff, sizeof(stats));
	EXPECT(pawl_stats_format(&stats, longest, NULL, 0) <= 8000 + 60 * 64);
	memset(&op_stats, 0xff, sizeof(op_stats));
	EXPECT(pawl_op_stats_format(&op_stats, longest, NULL, 0) <= 8000 + 60 * 64);
}

static void what_is_no_name_is_refused(void)
{
	static const char *const bad[] = {
	        "",    "1a", "a-b",
	        "a b", "a{", "\xc3\xa4",
	        "a\n", " a", "abcdefghijklmnopqrstuvwxyz_:ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789x"};
	static _Alignas(max_align_t) char memory[64 * 1024];
	struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
	char text[] = "as it was";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(pawl_stats_format(&stats, bad[i], text, sizeof(text)), -EINVAL);
		EXPECT_EQ(pawl_op_stats_format(&op_stats, bad[i], text, sizeof(text)), -EINVAL);
		EXPECT_EQ(pawl_wheel_format(wheel, bad[i], text, sizeof(text)), -EINVAL);
	}
	EXPECT_EQ(pawl_stats_format(&stats, NULL, text, sizeof(text)), -EINVAL);
	EXPECT_STR(text, "as it was");
	EXPECT(pawl_wheel_format(wheel, "_9:", text, sizeof(text)) > 0);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(numbers_have_all_their_digits),
	        TEST(a_bucket_counts_what_does_not_exceed_its_bound),
	        TEST(cells_follow_each_other_without_a_gap),
	        TEST(as_much_as_fits_is_written_and_the_whole_length_told),
	        TEST(the_length_is_bounded),
	        TEST(what_is_no_name_is_refused),
	};

	return RUN_TESTS(tests);
}
