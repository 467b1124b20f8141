/* SPDX-License-Identifier: MIT */
/* "Is it pending, and until when?", windows, and tasks that are initialised where they are defined. */
#define _GNU_SOURCE
#include <errno.h>

#include "../support/services.h"

#define LAST (PAWL_NEVER - 1)

static void run_nothing(struct pawl_task *task)
{
	(void)task;
}

static struct pawl_task defined = PAWL_TASK_INIT(run_nothing);

static void an_initialiser_equals_init(void)
{
	struct pawl_task made;

	memset(&made, 0xA5, sizeof(made));
	pawl_task_init(&made, run_nothing);
	EXPECT_EQ(pawl_timer_armed(&defined.timer), pawl_timer_armed(&made.timer));
	EXPECT_EQ(defined.timer.deadline, made.timer.deadline);
	EXPECT_EQ(defined.deadline_ns, made.deadline_ns);
	EXPECT_EQ(defined.period_ns, made.period_ns);
	EXPECT(defined.run == made.run);
	EXPECT(defined.home == made.home);
	EXPECT_EQ(defined.runner, made.runner);
	EXPECT_EQ(defined.refusing, made.refusing);
	EXPECT_EQ(defined.missed, made.missed);
	EXPECT_EQ(defined.internal, made.internal);
}

IN_EVERY_MODE(a_pending_task_tells_until_when)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER); /* never armed */
	arm(note, SECOND + 1);
	EXPECT_EQ(deadline_of(note), 2 * SECOND + 1);
	touch(note, HOUR);
	EXPECT_EQ(deadline_of(note), SECOND + HOUR);
	arm_at(note, 3 * SECOND);
	EXPECT_EQ(deadline_of(note), 3 * SECOND);
	EXPECT_RUNS_AFTER(2 * SECOND, note, 1);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
}

IN_EVERY_MODE(a_cancelled_or_dropped_task_is_not_pending)
{
	struct note *note = new_note(fixture);

	arm(note, SECOND);
	cancel(note);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	arm(note, SECOND);
	pawl_service_stop(fixture->service, note_drop);
	EXPECT_EQ(note->drops, 1);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
}

IN_EVERY_MODE(a_time_beyond_the_end_is_the_last_moment)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, SECOND);
	arm(note, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), LAST);
	arm_at(note, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), LAST);
}

IN_EVERY_MODE(a_running_task_is_pending_only_if_it_was_armed_again)
{
	struct note *note = new_note(fixture);

	hold(note);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	arm(note, SECOND);
	EXPECT_EQ(deadline_of(note), SECOND);
	cancel(note);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	arm(note, PAWL_MINUTE);
	let_go(note);
	EXPECT_EQ(deadline_of(note), PAWL_MINUTE);
}

static void ask_from_inside(struct note *note)
{
	note->number = deadline_of(note);
}

IN_EVERY_MODE(a_periodic_task_gets_its_next_time_when_it_has_returned)
{
	struct note *note = new_note(fixture);

	note->inside = ask_from_inside;
	arm_every(note, SECOND, SECOND, PAWL_SERVICE_SKIP);
	EXPECT_EQ(deadline_of(note), SECOND);
	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(note->number, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), 2 * SECOND);
}

static void a_task_of_another_service_is_not_pending_here(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL, .shards = 1};
	struct fixture here, there;
	struct note note;

	fixture_open(&here, &options);
	fixture_open(&there, &options);
	note_init(&note, &there);
	pawl_service_arm(there.service, &note.task, SECOND);
	EXPECT_EQ(pawl_service_deadline(here.service, &note.task), PAWL_NEVER);
	EXPECT_EQ(pawl_service_deadline(there.service, &note.task), SECOND);
	pawl_service_close(there.service, NULL);
	pawl_service_close(here.service, NULL);
}

/* Windows: a task runs within its window, at a tick that other tasks share */

static int arm_within(struct note *note, uint64_t earliest, uint64_t latest)
{
	return pawl_service_arm_within(note->fixture->service, &note->task, earliest, latest);
}

IN_EVERY_MODE(it_runs_within_its_window)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, 3 * MS);
	EXPECT_EQ(arm_within(note, 1000 * MS, 1100 * MS), 0);
	EXPECT_EQ(deadline_of(note), 1024 * MS); /* the time that was chosen */
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_RUNS_AFTER(999 * MS, note, 0);
	EXPECT_RUNS_AFTER(101 * MS, note, 1);
}

IN_EVERY_MODE(tasks_whose_windows_overlap_run_together)
{
	struct note *notes = new_notes(fixture, 3);

	for (uint64_t i = 0; i < 3; i++) {
		EXPECT_EQ(arm_within(&notes[i], (1000 + 10 * i) * MS, (1100 + 10 * i) * MS), 0);
	}
	for (int i = 0; i < 1200; i++)
		advance_and_settle(fixture, MS);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(notes[i].at[0], 1024 * MS);
}

IN_EVERY_MODE(a_window_of_no_length_is_a_deadline)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_within(note, 7 * MS, 7 * MS), 0);
	EXPECT_RUNS_AFTER(6 * MS, note, 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
}

/* No tick is in the window: the task runs at the next one. */
IN_EVERY_MODE(a_window_between_two_ticks_is_the_tick_after_it)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_within(note, 5 * MS + 100, 5 * MS + 200), 0);
	EXPECT_RUNS_AFTER(5 * MS + 300, note, 0);
	EXPECT_RUNS_AFTER(MS - 300, note, 1);
}

IN_EVERY_MODE(a_window_that_ends_before_it_begins_is_refused)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm(note, 5 * MS), 0);
	EXPECT_EQ(arm_within(note, 9 * MS, 8 * MS), -EINVAL);
	EXPECT_RUNS_AFTER(5 * MS, note, 1); /* as it was armed before */
}

IN_EVERY_MODE(a_window_beyond_the_end_of_time_waits)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_within(note, INT64_MAX, UINT64_MAX), 0);
	EXPECT_RUNS_AFTER(1000 * HOUR, note, 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_initialiser_equals_init),
	        TEST(a_pending_task_tells_until_when),
	        TEST(a_cancelled_or_dropped_task_is_not_pending),
	        TEST(a_time_beyond_the_end_is_the_last_moment),
	        TEST(a_running_task_is_pending_only_if_it_was_armed_again),
	        TEST(a_periodic_task_gets_its_next_time_when_it_has_returned),
	        TEST(a_task_of_another_service_is_not_pending_here),
	        TEST(it_runs_within_its_window),
	        TEST(tasks_whose_windows_overlap_run_together),
	        TEST(a_window_of_no_length_is_a_deadline),
	        TEST(a_window_between_two_ticks_is_the_tick_after_it),
	        TEST(a_window_that_ends_before_it_begins_is_refused),
	        TEST(a_window_beyond_the_end_of_time_waits),
	};

	return RUN_TESTS(tests);
}
