/* SPDX-License-Identifier: MIT */
/* The manual mode: a service in the caller's own loop. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/services.h"

#define IN_MANUAL_MODE(name) IN_MODE(name, .workers = PAWL_SERVICE_MANUAL, .shards = 4)

IN_MANUAL_MODE(poll_runs_due_tasks_on_this_thread)
{
	struct note *notes = new_notes(fixture, 5);

	for (unsigned i = 0; i < 5; i++)
		arm(&notes[i], i * MS);
	EXPECT_EQ(notes[0].runs, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(notes[0].runs, 1);
	EXPECT(pthread_equal(notes[0].thread, pthread_self()));
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	pawl_clock_manual_advance(&fixture->clock, 4 * MS);
	EXPECT_EQ(notes[1].runs, 0); /* nothing happens by itself */
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 4);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
}

IN_MANUAL_MODE(poll_runs_at_most_so_many)
{
	struct note *notes = new_notes(fixture, 10);
	unsigned ran = 0;

	for (unsigned i = 0; i < 10; i++)
		arm(&notes[i], 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	EXPECT_EQ(pawl_service_poll(fixture->service, 3), 3);
	EXPECT_EQ(pawl_service_pending(fixture->service), 6);
	EXPECT_EQ(pawl_service_poll(fixture->service, 100), 6);
	for (unsigned i = 0; i < 10; i++)
		ran += notes[i].runs;
	EXPECT_EQ(ran, 10);
}

/* More than any batch. */
IN_MANUAL_MODE(poll_without_a_bound_runs_ten_thousand)
{
	for (unsigned i = 0; i < 10000; i++) {
		struct pawl_task *task = malloc(sizeof(*task));

		pawl_task_init(task, free_it);
		pawl_service_arm(fixture->service, task, i % 700 * MS);
	}
	pawl_clock_manual_advance(&fixture->clock, 700 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 10000);
}

static void arm_a_thousand_times(struct note *note)
{
	if (note->runs < 1000)
		arm(note, 0);
}

IN_MANUAL_MODE(a_task_that_arms_itself_with_delay_0_does_not_keep_poll_from_returning)
{
	struct note *note = new_note(fixture);

	note->inside = arm_a_thousand_times;
	arm(note, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(pawl_service_poll(fixture->service, 100), 1);
	EXPECT_EQ(note->runs, 2);
}

static void poll_and_ask(struct note *note)
{
	note->answer = (int)pawl_service_poll(note->fixture->service, 0);
	note->number = pawl_service_next(note->fixture->service);
}

IN_MANUAL_MODE(a_poll_inside_a_task_returns_0)
{
	struct note *inside = new_note(fixture), *other = new_note(fixture);

	inside->inside = poll_and_ask;
	inside->answer = -1;
	arm(inside, 0);
	arm(other, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 2);
	EXPECT_EQ(inside->answer, 0);
	EXPECT_EQ(other->runs, 1);
}

IN_MANUAL_MODE(a_task_may_ask_for_the_next_time)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	note->inside = poll_and_ask;
	arm(note, 0);
	arm(other, 5 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(note->number, 5 * MS);
}

/* The loop may move to another thread between two polls. */
IN_MANUAL_MODE(threads_that_poll_one_after_the_other_run_everything)
{
	struct note *notes = new_notes(fixture, 4);

	for (unsigned i = 0; i < 4; i++)
		arm(&notes[i], (i + 1) * MS);
	for (unsigned i = 0; i < 4; i++) {
		struct note *thread = new_note(fixture);

		pawl_clock_manual_advance(&fixture->clock, MS);
		on_another_thread(thread, poll_and_ask);
		EXPECT_EQ(thread->answer, 1);
		EXPECT_EQ(thread->number, i < 3 ? (i + 2) * MS : PAWL_NEVER);
	}
}

static void expect_poll_to_do_nothing(struct fixture *fixture)
{
	struct note *note = new_note(fixture);

	arm(note, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	settle(fixture);
	EXPECT_EQ(note->runs, 1);
}

/* Its own threads. With a pool, whose threads poll, this poll may run the task. */
static void poll_does_nothing_where_there_are_threads(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		if (every_mode[i].workers != PAWL_SERVICE_MANUAL)
			in_mode(&every_mode[i], expect_poll_to_do_nothing);
}

IN_EVERY_MODE(next_is_never_after_the_first_deadline)
{
	struct note *notes = new_notes(fixture, 3);

	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	arm(&notes[0], 10000 * HOUR);
	EXPECT(pawl_service_next(fixture->service) <= 10000 * HOUR);
	arm(&notes[1], 700 * MS + 1);
	EXPECT(pawl_service_next(fixture->service) <= 701 * MS);
	arm(&notes[2], 5 * MS - 1);
	EXPECT_EQ(pawl_service_next(fixture->service), 5 * MS);
	cancel(&notes[0]);
	cancel(&notes[1]);
	cancel(&notes[2]);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
}

/*
 * It came late: settle opened a slot for itself, and so visit_by of the shard moved from the first task's deadline to
 * its slot's opening; but the leader slept on until that deadline.
 */
static void arm_after_a_settle(struct fixture *fixture)
{
	struct note *far = new_note(fixture), *near = new_note(fixture);

	near->inside = say_entered;
	EXPECT_EQ(arm(far, 1000 * MS), 0);
	for (int i = 0; i < 1000; i++)
		sched_yield(); /* most likely the leader sleeps by then, until 1000 ms */
	settle(fixture);
	EXPECT_EQ(arm(near, 900 * MS), 0);
	pawl_clock_manual_advance(&fixture->clock, 900 * MS);
	sem_wait(&near->entered); /* forever, if it waits for the other one's time */
	EXPECT_EQ(far->runs, 0);
}

static void a_task_armed_after_a_settle_is_not_late(void)
{
	for (int i = 0; i < 20; i++)
		in_mode(&(struct pawl_service_options){.shards = 1}, arm_after_a_settle);
}

/* The loop that the manual mode is for. */
IN_MANUAL_MODE(a_loop_of_next_and_poll_runs_everything_on_time)
{
	struct note *notes = new_notes(fixture, 300);
	struct random random = {3};
	unsigned polls = 0;

	for (unsigned i = 0; i < 300; i++) {
		notes[i].number = 1 + random_below(&random, HOUR);
		arm(&notes[i], notes[i].number);
	}
	for (uint64_t next; (next = pawl_service_next(fixture->service)) != PAWL_NEVER; polls++) {
		EXPECT(next > fixture_now(fixture) || polls == 0);
		pawl_clock_manual_advance(&fixture->clock, next - fixture_now(fixture));
		pawl_service_poll(fixture->service, 0);
	}
	for (unsigned i = 0; i < 300; i++)
		EXPECT_EQ(notes[i].at[0], (notes[i].number + MS - 1) / MS * MS);
	EXPECT(polls < 5 * 300);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(poll_runs_due_tasks_on_this_thread),
	        TEST(poll_runs_at_most_so_many),
	        TEST(poll_without_a_bound_runs_ten_thousand),
	        TEST(a_task_that_arms_itself_with_delay_0_does_not_keep_poll_from_returning),
	        TEST(a_poll_inside_a_task_returns_0),
	        TEST(a_task_may_ask_for_the_next_time),
	        TEST(threads_that_poll_one_after_the_other_run_everything),
	        TEST(poll_does_nothing_where_there_are_threads),
	        TEST(next_is_never_after_the_first_deadline),
	        TEST(a_task_armed_after_a_settle_is_not_late),
	        TEST(a_loop_of_next_and_poll_runs_everything_on_time),
	};

	return RUN_TESTS(tests);
}
