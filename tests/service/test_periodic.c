/* SPDX-License-Identifier: MIT */
/* Periodic tasks: their grid, and what becomes of missed periods. */
#define _GNU_SOURCE
#include <errno.h>

#include "../support/services.h"

#define LONGEST UINT64_MAX

IN_EVERY_MODE(a_periodic_task_runs_every_period_from_one_period_on)
{
	for (int missed = PAWL_SERVICE_SKIP; missed <= PAWL_SERVICE_DELAY; missed++) {
		uint64_t start = fixture_now(fixture);
		struct note *note = new_note(fixture);

		EXPECT_EQ(arm_every(note, 10 * MS, 10 * MS, (enum pawl_service_missed)missed), 0);
		EXPECT_RUNS_AFTER(10 * MS - 1, note, 0);
		advance_and_settle(fixture, 1);
		for (unsigned i = 1; i < 20; i++)
			advance_and_settle(fixture, 10 * MS);
		EXPECT_EQ(note->runs, 20);
		for (unsigned i = 0; i < 20; i++)
			EXPECT_EQ(note->at[i], start + (i + 1) * 10 * MS);
		EXPECT_EQ(pawl_service_pending(fixture->service), 1);
		EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
		EXPECT_RUNS_AFTER(HOUR, note, 20);
	}
	expect_counts(fixture->service, 63, 60, 3, 0);
}

IN_EVERY_MODE(the_first_run_has_a_delay_of_its_own)
{
	static const uint64_t firsts[] = {0, 3 * MS, 10 * MS, 27 * MS};

	for (size_t i = 0; i < COUNTOF(firsts); i++) {
		uint64_t start = fixture_now(fixture);
		struct note *note = new_note(fixture);

		EXPECT_EQ(arm_every(note, firsts[i], 10 * MS, PAWL_SERVICE_SKIP), 0);
		settle(fixture);
		for (unsigned passed = 0; passed < 60; passed++)
			advance_and_settle(fixture, MS);
		EXPECT_EQ(note->runs, (60 * MS - firsts[i]) / (10 * MS) + 1);
		for (unsigned run = 0; run < note->runs; run++)
			EXPECT_EQ(note->at[run], start + firsts[i] + run * 10 * MS);
		EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	}
}

/* The grid begins at the first deadline, not at the first run. */
IN_EVERY_MODE(a_first_run_that_is_late_does_not_move_the_grid)
{
	struct note *note = new_note(fixture);

	arm_every(note, 3 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	EXPECT_RUNS_AFTER(25 * MS, note, 1);
	EXPECT_EQ(deadline_of(note), 33 * MS);
}

/* Rounding to ticks does not add up. */
IN_EVERY_MODE(a_period_that_is_no_multiple_of_the_tick_does_not_drift)
{
	struct note *skip = new_note(fixture), *burst = new_note(fixture);

	advance_and_settle(fixture, 300);
	arm_every(skip, 3 * MS + MS / 2, 3 * MS + MS / 2, PAWL_SERVICE_SKIP);
	arm_every(burst, 3 * MS + MS / 2, 3 * MS + MS / 2, PAWL_SERVICE_BURST);
	advance_and_settle(fixture, MS - 300);
	for (unsigned i = 1; i < 200; i++)
		advance_and_settle(fixture, MS);
	EXPECT_EQ(skip->runs, 57);
	EXPECT_EQ(burst->runs, 57);
	for (unsigned i = 0; i < 57; i++) {
		uint64_t deadline = 300 + (i + 1) * (3 * MS + MS / 2);

		EXPECT_EQ(skip->at[i], (deadline + MS - 1) / MS * MS);
		EXPECT_EQ(burst->at[i], (deadline + MS - 1) / MS * MS);
	}
}

IN_EVERY_MODE(skip_leaves_missed_periods_out_and_stays_on_the_grid)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	EXPECT_RUNS_AFTER(35 * MS, note, 1);
	EXPECT_RUNS_AFTER(5 * MS - 1, note, 1);
	EXPECT_RUNS_AFTER(1, note, 2);
	EXPECT_RUNS_AFTER(9 * MS, note, 2);
	EXPECT_RUNS_AFTER(MS, note, 3);
	EXPECT_RUNS_AFTER(HOUR + 5 * MS, note, 4);
	EXPECT_RUNS_AFTER(5 * MS, note, 5);
	EXPECT_EQ(note->at[4], 50 * MS + HOUR + 10 * MS);
	expect_counts(fixture->service, 6, 5, 0, 0);
}

IN_EVERY_MODE(burst_makes_up_for_all_missed_periods)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_BURST);
	EXPECT_RUNS_AFTER(35 * MS, note, 3);
	EXPECT_RUNS_AFTER(4 * MS, note, 3);
	EXPECT_RUNS_AFTER(MS, note, 4);
	EXPECT_RUNS_AFTER(SECOND, note, 104);
	expect_counts(fixture->service, 105, 104, 0, 0);
}

IN_EVERY_MODE(delay_counts_a_period_from_the_end_of_each_run)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_DELAY);
	EXPECT_RUNS_AFTER(35 * MS, note, 1);
	EXPECT_RUNS_AFTER(10 * MS - 1, note, 1);
	EXPECT_RUNS_AFTER(1, note, 2);
	EXPECT_EQ(note->at[1], 45 * MS);
}

static void take_25_ms(struct note *note)
{
	if (note->runs == 1)
		pawl_clock_manual_advance(&note->fixture->clock, 25 * MS);
}

/* A run of 25 ms from 10 on, every 10. */
static void expect_after_a_long_run(struct fixture *fixture, enum pawl_service_missed missed,
                                    unsigned runs_at_35, unsigned runs_at_40, unsigned runs_at_45)
{
	uint64_t start = fixture_now(fixture);
	struct note *note = new_note(fixture);

	note->inside = take_25_ms;
	arm_every(note, 10 * MS, 10 * MS, missed);
	advance_and_settle(fixture, 10 * MS);
	EXPECT_EQ(fixture_now(fixture), start + 35 * MS);
	EXPECT_EQ(note->runs, runs_at_35);
	EXPECT_RUNS_AFTER(5 * MS, note, runs_at_40);
	EXPECT_RUNS_AFTER(5 * MS, note, runs_at_45);
	cancel(note);
}

IN_EVERY_MODE(a_run_longer_than_its_period_also_misses_periods)
{
	expect_after_a_long_run(fixture, PAWL_SERVICE_SKIP, 1, 2, 2);
	expect_after_a_long_run(fixture, PAWL_SERVICE_BURST, 3, 4, 4);
	expect_after_a_long_run(fixture, PAWL_SERVICE_DELAY, 1, 1, 2);
}

IN_EVERY_MODE(a_period_of_0_or_an_unknown_policy_is_refused)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_every(note, 0, 0, PAWL_SERVICE_SKIP), -EINVAL);
	EXPECT_EQ(arm_every(note, MS, MS, (enum pawl_service_missed)3), -EINVAL);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	arm(note, 5 * MS);
	EXPECT_EQ(arm_every(note, 0, 0, PAWL_SERVICE_SKIP), -EINVAL);
	advance_and_settle(fixture, 5 * MS);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 1, 1, 0, 0);
}

IN_EVERY_MODE(arm_makes_a_periodic_task_a_one_shot_one_and_back)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_BURST);
	arm(note, 5 * MS);
	advance_and_settle(fixture, 5 * MS);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	arm(note, 5 * MS);
	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_BURST);
	EXPECT_RUNS_AFTER(30 * MS, note, 4);
	arm_at(note, fixture_now(fixture) + MS);
	EXPECT_RUNS_AFTER(HOUR, note, 5);
}

static void arm_once_for_5_ms(struct note *note)
{
	arm(note, 5 * MS);
	note->inside = NULL;
}

IN_EVERY_MODE(arm_inside_a_periodic_task_makes_it_a_one_shot_one)
{
	struct note *note = new_note(fixture);

	note->inside = arm_once_for_5_ms;
	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_BURST);
	advance_and_settle(fixture, 10 * MS);
	advance_and_settle(fixture, 5 * MS);
	EXPECT_RUNS_AFTER(HOUR, note, 2);
	EXPECT_EQ(note->at[1], 15 * MS);
	expect_counts(fixture->service, 2, 2, 0, 0);
}

static void arm_every_7_ms(struct note *note)
{
	arm_every(note, 7 * MS, 7 * MS, PAWL_SERVICE_SKIP);
	note->inside = NULL;
}

IN_EVERY_MODE(arm_every_inside_a_task_makes_it_periodic)
{
	struct note *note = new_note(fixture);

	note->inside = arm_every_7_ms;
	arm(note, MS);
	advance_and_settle(fixture, MS);
	advance_and_settle(fixture, 7 * MS);
	EXPECT_RUNS_AFTER(7 * MS, note, 3);
	expect_counts(fixture->service, 4, 3, 0, 0);
}

static void cancel_at_the_third_run(struct note *note)
{
	if (note->runs == 3)
		note->answer = (int)cancel(note);
}

IN_EVERY_MODE(a_periodic_task_ends_with_a_cancel_from_inside)
{
	for (int missed = PAWL_SERVICE_SKIP; missed <= PAWL_SERVICE_DELAY; missed++) {
		struct note *note = new_note(fixture);

		note->inside = cancel_at_the_third_run;
		arm_every(note, 10 * MS, 10 * MS, (enum pawl_service_missed)missed);
		for (unsigned i = 0; i < 10; i++)
			advance_and_settle(fixture, 10 * MS);
		EXPECT_EQ(note->runs, 3);
		EXPECT_EQ(note->answer, PAWL_SERVICE_RUNNING);
		EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	}
	expect_counts(fixture->service, 9, 9, 0, 0);
}

IN_EVERY_MODE(the_longest_period_just_waits)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, 5 * MS);
	EXPECT_EQ(arm_every(note, LONGEST, LONGEST, PAWL_SERVICE_BURST), 0);
	EXPECT_RUNS_AFTER(LONGEST - HOUR, note, 0);
	EXPECT_EQ(touch(note, MS), 0);
	advance_and_settle(fixture, 2 * MS); /* it is between two ticks */
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
}

/* A deadline that never comes is at the end of time. */
static void end_time(uint64_t tick_ns, unsigned workers, enum pawl_service_missed missed,
                     uint64_t end, unsigned expected)
{
	const struct pawl_service_options options = {
	        .tick_ns = tick_ns, .workers = workers, .shards = 1};
	struct note periodic, never;
	struct fixture fixture;

	fixture_open(&fixture, &options);
	note_init(&periodic, &fixture);
	note_init(&never, &fixture);
	EXPECT_EQ(arm_every(&periodic, UINT64_C(1) << 62, UINT64_C(1) << 62, missed), 0);
	EXPECT_EQ(arm_at(&never, PAWL_NEVER), 0);
	advance_and_settle(&fixture, end);
	EXPECT_EQ(periodic.runs, expected);
	EXPECT_EQ(never.runs, 0);
	EXPECT_EQ(pawl_service_next(fixture.service), PAWL_NEVER);
	EXPECT_EQ(pawl_service_pending(fixture.service), 2);
	pawl_service_close(fixture.service, NULL);
}

static void at_the_end_of_time_it_stops_running(void)
{
	const uint64_t ticks[] = {1, 2, 3, 5, 15, PAWL_MS}; /* 3, 5 and 15 divide 2^64-1 */

	for (unsigned i = 0; i < 2 * COUNTOF(ticks); i++)
		for (uint64_t end = PAWL_NEVER - 2; end != 0; end++) {
			unsigned workers = i % 2 ? PAWL_SERVICE_MANUAL : 1;

			end_time(ticks[i / 2], workers, PAWL_SERVICE_SKIP, end, 1);
			end_time(ticks[i / 2], workers, PAWL_SERVICE_BURST, end, 3);
			end_time(ticks[i / 2], workers, PAWL_SERVICE_DELAY, end, 1);
		}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_periodic_task_runs_every_period_from_one_period_on),
	        TEST(the_first_run_has_a_delay_of_its_own),
	        TEST(a_first_run_that_is_late_does_not_move_the_grid),
	        TEST(a_period_that_is_no_multiple_of_the_tick_does_not_drift),
	        TEST(skip_leaves_missed_periods_out_and_stays_on_the_grid),
	        TEST(burst_makes_up_for_all_missed_periods),
	        TEST(delay_counts_a_period_from_the_end_of_each_run),
	        TEST(a_run_longer_than_its_period_also_misses_periods),
	        TEST(a_period_of_0_or_an_unknown_policy_is_refused),
	        TEST(arm_makes_a_periodic_task_a_one_shot_one_and_back),
	        TEST(arm_inside_a_periodic_task_makes_it_a_one_shot_one),
	        TEST(arm_every_inside_a_task_makes_it_periodic),
	        TEST(a_periodic_task_ends_with_a_cancel_from_inside),
	        TEST(the_longest_period_just_waits),
	        TEST(at_the_end_of_time_it_stops_running),
	};

	return RUN_TESTS(tests);
}
