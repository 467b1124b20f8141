/* SPDX-License-Identifier: MIT */
/* "Is it pending, and until when?", and tasks that are initialised where they are defined. */
#define _GNU_SOURCE
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

IN_EVERY_MODE(an_initialised_task_runs)
{
	static struct note note;

	note_init(&note, fixture);
	note.task = (struct pawl_task)PAWL_TASK_INIT(note_run);
	EXPECT_EQ(arm(&note, 5 * PAWL_MS), 0);
	advance_and_settle(fixture, 5 * PAWL_MS);
	EXPECT_EQ(note.runs, 1);
	end(fixture);
}

IN_EVERY_MODE(a_pending_task_tells_until_when)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, PAWL_SECOND);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER); /* never armed */
	arm(note, PAWL_SECOND + 1);
	EXPECT_EQ(deadline_of(note), 2 * PAWL_SECOND + 1);
	touch(note, PAWL_HOUR);
	EXPECT_EQ(deadline_of(note), PAWL_SECOND + PAWL_HOUR);
	arm_at(note, 3 * PAWL_SECOND);
	EXPECT_EQ(deadline_of(note), 3 * PAWL_SECOND);
	EXPECT_RUNS_AFTER(2 * PAWL_SECOND, note, 1);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
}

IN_EVERY_MODE(a_cancelled_or_dropped_task_is_not_pending)
{
	struct note *note = new_note(fixture);

	arm(note, PAWL_SECOND);
	cancel(note);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	arm(note, PAWL_SECOND);
	pawl_service_stop(fixture->service, note_drop);
	EXPECT_EQ(note->drops, 1);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
}

IN_EVERY_MODE(a_time_beyond_the_end_is_the_last_moment)
{
	struct note *note = new_note(fixture);

	advance_and_settle(fixture, PAWL_SECOND);
	arm(note, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), LAST);
	arm_at(note, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), LAST);
}

IN_EVERY_MODE(a_task_that_waits_for_a_worker_is_pending)
{
	struct gates gates;
	struct note *note = new_note(fixture);

	shut_gates(&gates, fixture);
	arm(note, PAWL_SECOND);
	pawl_clock_manual_advance(&fixture->clock, PAWL_HOUR);
	EXPECT_EQ(deadline_of(note), PAWL_SECOND);
	open_gates(&gates, fixture);
	settle(fixture);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
}

IN_EVERY_MODE(a_running_task_is_pending_only_if_it_was_armed_again)
{
	struct note *note = new_note(fixture);

	hold(note);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	arm(note, PAWL_SECOND);
	EXPECT_EQ(deadline_of(note), PAWL_SECOND);
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
	arm_every(note, PAWL_SECOND, PAWL_SECOND, PAWL_SERVICE_SKIP);
	EXPECT_EQ(deadline_of(note), PAWL_SECOND);
	advance_and_settle(fixture, PAWL_SECOND);
	EXPECT_EQ(note->number, PAWL_NEVER);
	EXPECT_EQ(deadline_of(note), 2 * PAWL_SECOND);
}

IN_EVERY_MODE(a_window_tells_the_time_that_was_chosen)
{
	struct note *note = new_note(fixture);
	uint64_t deadline;

	pawl_service_arm_within(fixture->service, &note->task, 900 * PAWL_MS, 1100 * PAWL_MS);
	deadline = deadline_of(note);
	EXPECT_EQ(deadline, 1024 * PAWL_MS);
	EXPECT_RUNS_AFTER(deadline - 1, note, 0);
	EXPECT_RUNS_AFTER(1, note, 1);
}

static void a_task_of_another_service_is_not_pending_here(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL, .shards = 1};
	struct fixture here, there;
	struct note note;

	fixture_open(&here, &options);
	fixture_open(&there, &options);
	note_init(&note, &there);
	pawl_service_arm(there.service, &note.task, PAWL_SECOND);
	EXPECT_EQ(pawl_service_deadline(here.service, &note.task), PAWL_NEVER);
	EXPECT_EQ(pawl_service_deadline(there.service, &note.task), PAWL_SECOND);
	pawl_service_close(there.service, NULL);
	pawl_service_close(here.service, NULL);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_initialiser_equals_init),
	        TEST(an_initialised_task_runs),
	        TEST(a_pending_task_tells_until_when),
	        TEST(a_cancelled_or_dropped_task_is_not_pending),
	        TEST(a_time_beyond_the_end_is_the_last_moment),
	        TEST(a_task_that_waits_for_a_worker_is_pending),
	        TEST(a_running_task_is_pending_only_if_it_was_armed_again),
	        TEST(a_periodic_task_gets_its_next_time_when_it_has_returned),
	        TEST(a_window_tells_the_time_that_was_chosen),
	        TEST(a_task_of_another_service_is_not_pending_here),
	};

	return RUN_TESTS(tests);
}
