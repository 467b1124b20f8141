/* SPDX-License-Identifier: MIT */
/*
 * Statistics as text: the text itself, how much of it fits, and which prefixes are names. openmetrics.py tests that the
 * text is OpenMetrics.
 */
#include <errno.h>
#include <pawl/metrics.h>

#include "../../src/inspect/metrics.h"
#include "../../src/service/stats.h"
#include "../../src/purgatory/stats.h"
#include "../support/test.h"

/* Numbers that no service reaches. */
static struct pawl_service_stats stats;
static struct service_buckets buckets;

static const char *service_text(void)
{
	static char text[32768];
	int length = pawl__metrics_format(pawl__service_statistics, &stats, &buckets, "p", text,
	                                  sizeof(text));

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

/* Nothing happens to these while their metrics are written. */
static struct pawl_clock_manual hands;
static struct pawl_service *service;
static struct pawl_purgatory *purgatory;
static struct pawl_wheel *wheel;

static void open_all(void)
{
	static _Alignas(max_align_t) char memory[64 * 1024];
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                             .clock = &hands.clock};

	pawl_clock_manual_init(&hands);
	EXPECT_EQ(pawl_service_open(&service, &options), 0);
	EXPECT_EQ(pawl_purgatory_open(&purgatory, service, NULL), 0);
	wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
}

static void close_all(void)
{
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
}

static void expect_all(const struct statistic *table, const char *text)
{
	for (const struct statistic *row = table; row->name; row++) {
		char line[200];

		snprintf(line, sizeof(line), "# TYPE p_%s", row->name);
		EXPECT(strstr(text, line) != NULL);
	}
}

static void every_statistic_is_a_metric(void)
{
	static char text[16384];

	open_all();
	EXPECT(pawl_service_metrics(service, "p", text, sizeof(text)) < (int)sizeof(text));
	expect_all(pawl__service_statistics, text);
	EXPECT(pawl_purgatory_metrics(purgatory, "p", text, sizeof(text)) < (int)sizeof(text));
	expect_all(pawl__purgatory_statistics, text);
	close_all();
}

/* Below, at and above each bound; in two histograms, as of two workers. */
static void a_bucket_counts_values_up_to_its_bound(void)
{
	static struct pawl_histogram one, other;

	for (unsigned power = 10; power <= 38; power += 2) {
		uint64_t bound = (UINT64_C(1) << power) - 1;
		char line[200];

		memset(&one, 0, sizeof(one));
		memset(&other, 0, sizeof(other));
		memset(&buckets, 0, sizeof(buckets));
		count(&one, bound - 1);
		count(&other, bound);
		count(&one, bound + 1);
		metric_buckets_add(&one, &buckets.lateness);
		metric_buckets_add(&other, &buckets.lateness);
		snprintf(line, sizeof(line),
		         "\np_lateness_seconds_bucket{le=\"%" PRIu64 ".%09" PRIu64 "\"} 2\n",
		         bound / PAWL_SECOND, bound % PAWL_SECOND);
		expect_line(line);
		expect_line("\np_lateness_seconds_bucket{le=\"+Inf\"} 3\n");
		expect_line("\np_lateness_seconds_count 3\n");
		snprintf(line, sizeof(line), "\np_lateness_seconds_sum %" PRIu64 ".%09" PRIu64 "\n",
		         3 * bound / PAWL_SECOND, 3 * bound % PAWL_SECOND);
		expect_line(line);
		expect_line("\np_run_time_seconds_count 0\n");
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

static int format_service(const char *prefix, char *text, size_t size)
{
	return pawl_service_metrics(service, prefix, text, size);
}

static int format_purgatory(const char *prefix, char *text, size_t size)
{
	return pawl_purgatory_metrics(purgatory, prefix, text, size);
}

static int format_wheel(const char *prefix, char *text, size_t size)
{
	return pawl_wheel_metrics(wheel, prefix, text, size);
}

typedef int format_fn(const char *prefix, char *text, size_t size);

static format_fn *const formats[] = {format_service, format_purgatory, format_wheel};

/* In memory of exactly that size, for an address sanitizer. */
static void expect_what_fits(format_fn *format)
{
	int length = format("pawl", NULL, 0);
	char *whole = malloc((size_t)length + 1);

	EXPECT_EQ(format("pawl", whole, (size_t)length + 1), length);
	EXPECT_EQ(strlen(whole), (size_t)length);
	EXPECT_EQ(whole[length - 1], '\n');
	for (size_t size = 1; size <= (size_t)length; size++) {
		char *part = malloc(size);

		EXPECT_EQ(format("pawl", part, size), length);
		EXPECT_EQ(strlen(part), size - 1);
		EXPECT(memcmp(part, whole, size - 1) == 0);
		free(part);
	}
	free(whole);
}

static void as_much_as_fits_is_written_and_the_whole_length_told(void)
{
	open_all();
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		expect_what_fits(formats[i]);
	close_all();
}

static void the_length_is_bounded(void)
{
	static const char longest[] =
	        "abcdefghijklmnopqrstuvwxyz_:ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	struct pawl_purgatory_stats op_stats;
	struct purgatory_buckets op_buckets;

	EXPECT_EQ(strlen(longest), 64);
	memset(&stats, 0xff, sizeof(stats));
	memset(&buckets, 0xff, sizeof(buckets));
	EXPECT(pawl__metrics_format(pawl__service_statistics, &stats, &buckets, longest, NULL, 0) <=
	       8000 + 60 * 64);
	memset(&op_stats, 0xff, sizeof(op_stats));
	memset(&op_buckets, 0xff, sizeof(op_buckets));
	EXPECT(pawl__metrics_format(pawl__purgatory_statistics, &op_stats, &op_buckets, longest,
	                            NULL, 0) <= 8000 + 60 * 64);
}

static void expect_refused(const char *prefix)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char text[] = "as it was";

		EXPECT_EQ(formats[i](prefix, text, sizeof(text)), -EINVAL);
		EXPECT_STR(text, "as it was");
	}
}

static void a_prefix_that_is_not_a_name_is_refused(void)
{
	static const char *const bad[] = {
	        NULL,       "",
	        "1a",       "a-b",
	        "a b",      "a{",
	        "\xc3\xa4", "a\n",
	        " a",       "abcdefghijklmnopqrstuvwxyz_:ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789x"};

	open_all();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused(bad[i]);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		EXPECT(formats[i]("_9:", NULL, 0) > 0);
	close_all();
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(numbers_have_all_their_digits),
	        TEST(every_statistic_is_a_metric),
	        TEST(a_bucket_counts_values_up_to_its_bound),
	        TEST(cells_follow_each_other_without_a_gap),
	        TEST(as_much_as_fits_is_written_and_the_whole_length_told),
	        TEST(the_length_is_bounded),
	        TEST(a_prefix_that_is_not_a_name_is_refused),
	};

	return RUN_TESTS(tests);
}
