/* SPDX-License-Identifier: MIT */
/* Statistics: the counts, and the histograms. */
#define _GNU_SOURCE
#include "../../src/service/stats.h"
#include "../support/services.h"

/* The histograms of a service, read now: 60 KiB, so not on a stack. */
static struct {
	struct pawl_histogram lateness, run_time;
} histograms;

static void read_histograms(struct fixture *fixture)
{
	memset(&histograms, 0xA5, sizeof(histograms));
	pawl_service_get_lateness(fixture->service, &histograms.lateness);
	pawl_service_get_run_time(fixture->service, &histograms.run_time);
}

IN_EVERY_MODE(a_new_service_has_counted_nothing)
{
	struct pawl_service_stats stats;

	memset(&stats, 0xA5, sizeof(stats));
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	read_histograms(fixture);
	EXPECT_EQ(stats.armed | stats.ran | stats.cancelled | stats.dropped, 0);
	EXPECT_EQ(stats.pending | stats.queued | stats.slowest_ns, 0);
	EXPECT_EQ(stats.wakeups | stats.empty_wakeups, 0);
	EXPECT(stats.slowest == NULL);
	EXPECT_EQ(histograms.lateness.count | histograms.lateness.max, 0);
	EXPECT_EQ(histograms.run_time.count | histograms.run_time.max, 0);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.lateness, 50), 0);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.lateness, 100), 0);
}

/* As a program has it that was compiled with an older header. */
IN_MODE(statistics_end_where_a_smaller_struct_does, .workers = PAWL_SERVICE_MANUAL)
{
	struct pawl_service_stats stats;

	memset(&stats, 0xA5, sizeof(stats));
	pawl_service_get_stats(fixture->service, &stats, offsetof(struct pawl_service_stats, ran));
	EXPECT_EQ(stats.armed, 0);
	EXPECT_EQ(stats.ran, UINT64_C(0xA5A5A5A5A5A5A5A5));
}

IN_EVERY_MODE(queued_counts_due_tasks_that_wait_for_a_worker)
{
	struct pawl_service_stats stats;
	struct note *notes = new_notes(fixture, 5);
	struct gates gates;

	shut_gates(&gates, fixture);
	for (unsigned i = 0; i < 5; i++)
		arm(&notes[i], i < 3 ? 5 * MS : HOUR);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	EXPECT_EQ(stats.queued, 0);
	pawl_clock_manual_advance(&fixture->clock, 5 * MS);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	EXPECT_EQ(stats.queued, 3);
	EXPECT_EQ(stats.pending, 5);
	cancel(&notes[0]);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	EXPECT_EQ(stats.queued, 2);
	EXPECT_EQ(stats.pending, 4);
	open_gates(&gates, fixture);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	EXPECT_EQ(stats.queued, 0);
	EXPECT_EQ(stats.pending, 2);
}

/* At least the value, and less than 1/64 more. */
static void expect_percentile(const struct pawl_histogram *histogram, double percent,
                              uint64_t value)
{
	uint64_t found = pawl_histogram_percentile(histogram, percent);

	EXPECT(found >= value);
	EXPECT(found - value <= value / 64);
	if (found < value || found - value > value / 64)
		fprintf(stderr, "the %g %% percentile is %" PRIu64 ", expected %" PRIu64 "\n",
		        percent, found, value);
}

IN_EVERY_MODE(lateness_is_the_time_from_the_deadline_to_the_call)
{
	struct note *notes = new_notes(fixture, 100);

	for (unsigned i = 0; i < 100; i++)
		arm(&notes[i], (i + 1) * MS);
	advance_and_settle(fixture, 100 * MS);
	read_histograms(fixture);
	EXPECT_EQ(histograms.lateness.count, 100);
	EXPECT_EQ(histograms.lateness.max, 99 * MS);
	EXPECT_EQ(histograms.lateness.sum, 99 * 100 / 2 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.lateness, 100), 99 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.lateness, 1), 0);
	expect_percentile(&histograms.lateness, 2, MS);
	expect_percentile(&histograms.lateness, 50, 49 * MS);
	expect_percentile(&histograms.lateness, 90, 89 * MS);
	expect_percentile(&histograms.lateness, 99, 98 * MS);
	expect_percentile(&histograms.lateness, 98.5, 98 * MS);
	EXPECT_EQ(histograms.run_time.count, 100);
	EXPECT_EQ(histograms.run_time.max, 0);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.run_time, 100), 0);
}

/* Counted from a deadline between two ticks, not from the tick. */
IN_EVERY_MODE(lateness_counts_from_the_deadline_as_it_was_given)
{
	struct note *note = new_note(fixture);

	arm(note, 5 * MS - 300);
	advance_and_settle(fixture, 5 * MS);
	read_histograms(fixture);
	EXPECT_EQ(histograms.lateness.max, 300);
	arm(note, 5 * MS);
	touch(note, 7 * MS - 1000);
	advance_and_settle(fixture, 7 * MS);
	read_histograms(fixture);
	EXPECT_EQ(histograms.lateness.max, 1000);
	EXPECT_EQ(histograms.lateness.count, 2);
	expect_percentile(&histograms.lateness, 50, 300);
}

/* A value from the smallest to hours comes back with two digits. */
static uint64_t two_digits;

static void expect_two_digits(struct fixture *fixture)
{
	struct note *note = new_note(fixture), *late = new_note(fixture);
	uint64_t value = two_digits;

	advance_and_settle(fixture, value * 3);
	arm_at(note, fixture_now(fixture) - value);
	arm_at(late, 0);
	settle(fixture);
	read_histograms(fixture);
	expect_percentile(&histograms.lateness, 50, value);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.lateness, 100), 3 * value);
	EXPECT_EQ(histograms.lateness.max, 3 * value);
}

static void histograms_are_good_to_two_digits(void)
{
	for (unsigned shift = 1; shift < 45; shift++)
		for (two_digits = (UINT64_C(1) << shift) - 1;
		     two_digits <= (UINT64_C(1) << shift) + 1; two_digits++)
			in_mode(&(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL,
			                                       .shards = 1,
			                                       .tick_ns = 1},
			        expect_two_digits);
}

static void take_some_time(struct pawl_task *task)
{
	struct note *note = note_from(task);

	pawl_clock_manual_advance(&note->fixture->clock, note->number);
}

static void take_more_time(struct pawl_task *task)
{
	take_some_time(task);
}

static void run_for(struct fixture *fixture, pawl_task_fn *run, uint64_t ns)
{
	struct note *note = new_note(fixture);

	pawl_task_init(&note->task, run);
	note->number = ns;
	arm(note, 0);
	settle(fixture);
}

IN_EVERY_MODE(run_time_is_measured_and_the_slowest_function_is_known)
{
	struct pawl_service_stats stats;

	run_for(fixture, take_some_time, 0);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	read_histograms(fixture);
	EXPECT(stats.slowest == take_some_time);
	EXPECT_EQ(stats.slowest_ns, 0);
	for (unsigned i = 0; i < 8; i++)
		run_for(fixture, take_some_time, 3 * MS);
	run_for(fixture, take_more_time, 5 * MS);
	run_for(fixture, take_some_time, 4 * MS);
	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	read_histograms(fixture);
	EXPECT(stats.slowest == take_more_time);
	EXPECT_EQ(stats.slowest_ns, 5 * MS);
	EXPECT_EQ(histograms.run_time.count, 11);
	EXPECT_EQ(histograms.run_time.max, 5 * MS);
	expect_percentile(&histograms.run_time, 50, 3 * MS);
	expect_percentile(&histograms.run_time, 90, 4 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&histograms.run_time, 100), 5 * MS);
}

/* A field without a row would be 0 in every metric and missing in the live view. `slowest` is not a number. */
static void every_number_of_the_struct_has_a_row_in_the_table(void)
{
	bool listed[sizeof(struct pawl_service_stats)] = {false};
	size_t missing = 0;

	for (size_t i = offsetof(struct pawl_service_stats, slowest);
	     i < offsetof(struct pawl_service_stats, slowest_ns); i++)
		listed[i] = true;
	for (const struct statistic *row = pawl__service_statistics; row->name; row++)
		if (row->kind != HISTOGRAM)
			memset(&listed[row->offset], true, sizeof(uint64_t));
	while (missing < sizeof(listed) && listed[missing])
		missing++;
	EXPECT_EQ(missing, sizeof(listed)); /* the offset of a field without a row; or the end */
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_new_service_has_counted_nothing),
	        TEST(statistics_end_where_a_smaller_struct_does),
	        TEST(queued_counts_due_tasks_that_wait_for_a_worker),
	        TEST(lateness_is_the_time_from_the_deadline_to_the_call),
	        TEST(lateness_counts_from_the_deadline_as_it_was_given),
	        TEST(histograms_are_good_to_two_digits),
	        TEST(every_number_of_the_struct_has_a_row_in_the_table),
	        TEST(run_time_is_measured_and_the_slowest_function_is_known),
	};

	return RUN_TESTS(tests);
}
