/* SPDX-License-Identifier: MIT */
/* Windows: a task runs within its window, at a tick that other tasks share. */
#define _GNU_SOURCE
#include "../support/services.h"

#include <errno.h>

IN_EVERY_MODE(it_runs_within_its_window)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, 3 * MS);
	EXPECT_EQ(pawl_service_arm_within(fixture->service, &note->task, 1000 * MS, 1100 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_RUNS_AFTER(999 * MS, note, 0);
	EXPECT_RUNS_AFTER(101 * MS, note, 1);
}

IN_EVERY_MODE(tasks_whose_windows_overlap_run_together)
{
	struct note *notes = new_notes(fixture, 3);

	for (uint64_t i = 0; i < 3; i++) {
		EXPECT_EQ(pawl_service_arm_within(fixture->service, &notes[i].task,
		                                  (1000 + 10 * i) * MS, (1100 + 10 * i) * MS),
		          0);
	}
	for (int i = 0; i < 1200; i++)
		advance_and_settle(fixture, MS);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(notes[i].at[0], 1024 * MS);
}

IN_EVERY_MODE(a_window_of_no_length_is_a_deadline)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(pawl_service_arm_within(fixture->service, &note->task, 7 * MS, 7 * MS), 0);
	EXPECT_RUNS_AFTER(6 * MS, note, 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
}

/* No tick is in the window: the task runs at the next one. */
IN_EVERY_MODE(a_window_between_two_ticks_is_the_tick_after_it)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(
	        pawl_service_arm_within(fixture->service, &note->task, 5 * MS + 100, 5 * MS + 200),
	        0);
	EXPECT_RUNS_AFTER(5 * MS + 300, note, 0);
	EXPECT_RUNS_AFTER(MS - 300, note, 1);
}

IN_EVERY_MODE(a_window_that_ends_before_it_begins_is_refused)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm(note, 5 * MS), 0);
	EXPECT_EQ(pawl_service_arm_within(fixture->service, &note->task, 9 * MS, 8 * MS), -EINVAL);
	EXPECT_RUNS_AFTER(5 * MS, note, 1); /* as it was armed before */
}

IN_EVERY_MODE(a_window_beyond_the_end_of_time_waits)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(pawl_service_arm_within(fixture->service, &note->task, INT64_MAX, UINT64_MAX), 0);
	EXPECT_RUNS_AFTER(1000 * HOUR, note, 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(it_runs_within_its_window),
	        TEST(tasks_whose_windows_overlap_run_together),
	        TEST(a_window_of_no_length_is_a_deadline),
	        TEST(a_window_between_two_ticks_is_the_tick_after_it),
	        TEST(a_window_that_ends_before_it_begins_is_refused),
	        TEST(a_window_beyond_the_end_of_time_waits),
	};

	return RUN_TESTS(tests);
}
