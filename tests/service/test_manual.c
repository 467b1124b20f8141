/* SPDX-License-Identifier: MIT */
/* The manual mode: a service in the caller's own loop. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/services.h"

static void open_manual(struct fixture *fixture)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL, .shards = 4};

	fixture_open(fixture, &options);
}

static void poll_runs_due_tasks_on_this_thread(void)
{
	struct note notes[5];
	struct fixture fixture;

	open_manual(&fixture);
	for (unsigned i = 0; i < 5; i++) {
		note_init(&notes[i], &fixture);
		pawl_service_arm(fixture.service, &notes[i].task, i * MS);
	}
	EXPECT_EQ(notes[0].runs, 0);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 1);
	EXPECT_EQ(notes[0].runs, 1);
	EXPECT(pthread_equal(notes[0].thread, pthread_self()));
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 0);
	pawl_clock_manual_advance(&fixture.clock, 4 * MS);
	EXPECT_EQ(notes[1].runs, 0); /* nothing happens by itself */
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 4);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 0);
	pawl_service_close(fixture.service, NULL);
}

static void poll_runs_at_most_so_many(void)
{
	struct note notes[10];
	unsigned ran = 0;
	struct fixture fixture;

	open_manual(&fixture);
	for (unsigned i = 0; i < 10; i++) {
		note_init(&notes[i], &fixture);
		pawl_service_arm(fixture.service, &notes[i].task, 0);
	}
	EXPECT_EQ(pawl_service_poll(fixture.service, 1), 1);
	EXPECT_EQ(pawl_service_poll(fixture.service, 3), 3);
	EXPECT_EQ(pawl_service_pending(fixture.service), 6);
	EXPECT_EQ(pawl_service_poll(fixture.service, 100), 6);
	for (unsigned i = 0; i < 10; i++)
		ran += notes[i].runs;
	EXPECT_EQ(ran, 10);
	pawl_service_close(fixture.service, NULL);
}

/* More than any batch. */
static void poll_without_a_bound_runs_ten_thousand(void)
{
	struct fixture fixture;

	open_manual(&fixture);
	for (unsigned i = 0; i < 10000; i++) {
		struct pawl_task *task = malloc(sizeof(*task));

		pawl_task_init(task, free_it);
		pawl_service_arm(fixture.service, task, i % 700 * MS);
	}
	pawl_clock_manual_advance(&fixture.clock, 700 * MS);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 10000);
	pawl_service_close(fixture.service, NULL);
}

static void arm_a_thousand_times(struct note *note)
{
	if (note->runs < 1000)
		pawl_service_arm(note->fixture->service, &note->task, 0);
}

static void a_task_that_arms_itself_with_delay_0_does_not_keep_poll_from_returning(void)
{
	struct note note;
	struct fixture fixture;

	open_manual(&fixture);
	note_init(&note, &fixture);
	note.inside = arm_a_thousand_times;
	pawl_service_arm(fixture.service, &note.task, 0);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 1);
	EXPECT_EQ(pawl_service_poll(fixture.service, 100), 1);
	EXPECT_EQ(note.runs, 2);
	pawl_service_close(fixture.service, NULL);
}

static void poll_inside(struct note *note)
{
	note->answer = (int)pawl_service_poll(note->fixture->service, 0);
}

static void a_poll_inside_a_task_returns_0(void)
{
	struct note inside, other;
	struct fixture fixture;

	open_manual(&fixture);
	note_init(&inside, &fixture);
	note_init(&other, &fixture);
	inside.inside = poll_inside;
	inside.answer = -1;
	pawl_service_arm(fixture.service, &inside.task, 0);
	pawl_service_arm(fixture.service, &other.task, 0);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 2);
	EXPECT_EQ(inside.answer, 0);
	EXPECT_EQ(other.runs, 1);
	pawl_service_close(fixture.service, NULL);
}

static void look_inside(struct note *note)
{
	note->number = pawl_service_next(note->fixture->service);
}

static void a_task_may_ask_for_the_next_time(void)
{
	struct note note, other;
	struct fixture fixture;

	open_manual(&fixture);
	note_init(&note, &fixture);
	note_init(&other, &fixture);
	note.inside = look_inside;
	pawl_service_arm(fixture.service, &note.task, 0);
	pawl_service_arm(fixture.service, &other.task, 5 * MS);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 1);
	EXPECT_EQ(note.number, 5 * MS);
	pawl_service_close(fixture.service, NULL);
}

static void poll_by_thread(struct note *note)
{
	note->answer = (int)pawl_service_poll(note->fixture->service, 0);
	note->number = pawl_service_next(note->fixture->service);
}

/* The loop may move to another thread between two polls. */
static void threads_that_poll_one_after_the_other_run_everything(void)
{
	struct note notes[4];
	struct fixture fixture;

	open_manual(&fixture);
	for (unsigned i = 0; i < 4; i++)
		note_init(&notes[i], &fixture);
	for (unsigned i = 0; i < 4; i++)
		pawl_service_arm(fixture.service, &notes[i].task, (i + 1) * MS);
	for (unsigned i = 0; i < 4; i++) {
		struct note thread;

		note_init(&thread, &fixture);
		pawl_clock_manual_advance(&fixture.clock, MS);
		on_another_thread(&thread, poll_by_thread);
		EXPECT_EQ(thread.answer, 1);
		EXPECT_EQ(thread.number, i < 3 ? (i + 2) * MS : PAWL_NEVER);
	}
	pawl_service_close(fixture.service, NULL);
}

static void expect_poll_to_do_nothing(struct fixture *fixture)
{
	struct note note;

	note_init(&note, fixture);
	pawl_service_arm(fixture->service, &note.task, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	settle(fixture);
	EXPECT_EQ(note.runs, 1);
	end(fixture);
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
	struct note notes[3];

	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	for (unsigned i = 0; i < 3; i++)
		note_init(&notes[i], fixture);
	pawl_service_arm(fixture->service, &notes[0].task, 10000 * HOUR);
	EXPECT(pawl_service_next(fixture->service) <= 10000 * HOUR);
	pawl_service_arm(fixture->service, &notes[1].task, 700 * MS + 1);
	EXPECT(pawl_service_next(fixture->service) <= 701 * MS);
	pawl_service_arm(fixture->service, &notes[2].task, 5 * MS - 1);
	EXPECT_EQ(pawl_service_next(fixture->service), 5 * MS);
	pawl_service_cancel(fixture->service, &notes[0].task);
	pawl_service_cancel(fixture->service, &notes[1].task);
	pawl_service_cancel(fixture->service, &notes[2].task);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	end(fixture);
}

static void tell_the_semaphore(struct note *note)
{
	sem_post(&note->entered);
}

/*
 * It came late: settle opened a slot for itself, and so visit_by of the shard moved from the first task's deadline to
 * its slot's opening; but the leader slept on until that deadline.
 */
static void a_task_armed_after_a_settle_is_not_late(void)
{
	for (int i = 0; i < 20; i++) {
		const struct pawl_service_options options = {.shards = 1};
		struct fixture fixture;
		struct note far, near;

		fixture_open(&fixture, &options);
		note_init(&far, &fixture);
		note_init(&near, &fixture);
		near.inside = tell_the_semaphore;
		EXPECT_EQ(pawl_service_arm(fixture.service, &far.task, 1000 * MS), 0);
		for (int j = 0; j < 1000; j++)
			sched_yield(); /* most likely the leader sleeps by then, until 1000 ms */
		pawl_service_settle(fixture.service);
		EXPECT_EQ(pawl_service_arm(fixture.service, &near.task, 900 * MS), 0);
		pawl_clock_manual_advance(&fixture.clock, 900 * MS);
		sem_wait(&near.entered); /* forever, if it waits for the other one's time */
		EXPECT_EQ(far.runs, 0);
		pawl_service_close(fixture.service, NULL);
	}
}

/* The loop that the manual mode is for. */
static void a_loop_of_next_and_poll_runs_everything_on_time(void)
{
	struct note *notes = malloc(300 * sizeof(*notes));
	struct random random = {3};
	unsigned polls = 0;
	struct fixture fixture;

	open_manual(&fixture);
	for (unsigned i = 0; i < 300; i++) {
		note_init(&notes[i], &fixture);
		notes[i].number = 1 + random_below(&random, HOUR);
		pawl_service_arm(fixture.service, &notes[i].task, notes[i].number);
	}
	for (uint64_t next; (next = pawl_service_next(fixture.service)) != PAWL_NEVER; polls++) {
		EXPECT(next > fixture_now(&fixture) || polls == 0);
		pawl_clock_manual_advance(&fixture.clock, next - fixture_now(&fixture));
		pawl_service_poll(fixture.service, 0);
	}
	for (unsigned i = 0; i < 300; i++)
		EXPECT_EQ(notes[i].at[0], (notes[i].number + MS - 1) / MS * MS);
	EXPECT(polls < 5 * 300);
	pawl_service_close(fixture.service, NULL);
	free(notes);
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
