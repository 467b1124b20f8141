/* SPDX-License-Identifier: MIT */
/*
 * Cancel and cancel_wait: what they return and what holds then; and what a task may do inside its run.
 */
#define _GNU_SOURCE
#include <errno.h>

#include <sched.h>

#include "../support/services.h"

/* One that the test frees. */
static struct note *heap_note(struct fixture *fixture)
{
	struct note *note = malloc(sizeof(*note));

	note_init(note, fixture);
	return note;
}

/* Cancel */

IN_EVERY_MODE(cancel_of_an_idle_task_says_idle)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_EQ(cancel_wait(note), PAWL_SERVICE_IDLE);
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	arm(note, HOUR);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_EQ(cancel_wait(note), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 2, 1, 1, 0);
}

IN_EVERY_MODE(a_cancelled_task_does_not_run_and_its_memory_is_free)
{
	struct note *note = heap_note(fixture), *waited = heap_note(fixture);

	arm(note, 5 * MS);
	arm(waited, 5 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(cancel_wait(waited), PAWL_SERVICE_CANCELLED);
	free(note);
	free(waited);
	advance_and_settle(fixture, HOUR);
	expect_counts(fixture->service, 2, 0, 2, 0);
}

/* It says that the task runs, and does not wait. */
IN_EVERY_MODE(cancel_of_a_running_task_takes_away_an_arming_made_meanwhile)
{
	struct note *note = new_note(fixture);

	hold(note);
	arm(note, 5 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	expect_counts(fixture->service, 2, 1, 1, 0);
	let_go(note);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 2, 1, 1, 0);
}

IN_EVERY_MODE(a_running_task_cancelled_and_armed_once_more_runs_again)
{
	struct note *note = new_note(fixture);

	hold(note);
	arm(note, HOUR);
	cancel(note);
	EXPECT_EQ(arm(note, 5 * MS), 0);
	let_go(note);
	EXPECT_RUNS_AFTER(5 * MS, note, 2);
	expect_counts(fixture->service, 3, 2, 1, 0);
}

IN_EVERY_MODE(cancel_of_a_running_periodic_task_ends_it_with_this_run)
{
	struct note *note = new_note(fixture);

	hold_periodic(note, 10 * MS, PAWL_SERVICE_BURST, 25 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	let_go(note);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 1, 1, 0, 0);
}

IN_EVERY_MODE(a_periodic_task_cancelled_and_armed_again_while_it_runs_is_periodic_again)
{
	struct note *note = new_note(fixture);

	hold_periodic(note, 10 * MS, PAWL_SERVICE_SKIP, 10 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(arm_every(note, 7 * MS, 7 * MS, PAWL_SERVICE_SKIP), 0);
	let_go(note);
	for (unsigned i = 0; i < 14; i++)
		advance_and_settle(fixture, MS);
	EXPECT_EQ(note->runs, 3);
	EXPECT_EQ(note->at[1], 17 * MS);
	EXPECT_EQ(note->at[2], 24 * MS);
}

static void *cancel_wait_run(void *arg)
{
	struct note *note = arg;
	enum pawl_service_found found = cancel_wait(note);

	EXPECT(note->left); /* the run is over */
	note->answer = (int)found;
	return NULL;
}

/* The wait has begun when its cancel has ended the arming. */
static void let_go_when_cancelled(struct note *note, pthread_t waiter)
{
	while (pawl_service_pending(note->fixture->service))
		sched_yield();
	sem_post(&note->leave);
	pthread_join(waiter, NULL);
	end_driving(note->fixture);
}

IN_EVERY_MODE(cancel_wait_of_a_running_task_returns_after_the_run)
{
	for (unsigned i = 0; i < 20; i++) {
		struct note *note = heap_note(fixture);
		pthread_t waiter;

		hold(note);
		arm(note, 5 * MS);
		pthread_create(&waiter, NULL, cancel_wait_run, note);
		let_go_when_cancelled(note, waiter);
		EXPECT_EQ(note->answer, PAWL_SERVICE_RUNNING);
		EXPECT_EQ(note->runs, 1);
		free(note);
	}
	advance_and_settle(fixture, HOUR);
	expect_counts(fixture->service, 40, 20, 20, 0);
}

/* Inside */

static void cancel_wait_itself(struct note *note)
{
	note->answer = (int)cancel_wait(note);
}

IN_EVERY_MODE(cancel_wait_inside_the_task_itself_does_not_wait)
{
	struct note *note = new_note(fixture);

	note->inside = cancel_wait_itself;
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(note->answer, PAWL_SERVICE_RUNNING);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
}

static void cancel_wait_the_other(struct note *note)
{
	note->answer = (int)pawl_service_cancel_wait(note->fixture->service, &note->other->task);
}

IN_EVERY_MODE(a_task_may_cancel_wait_another_one)
{
	struct note *note = new_note(fixture), *pending = new_note(fixture);

	note->inside = cancel_wait_the_other;
	note->other = pending;
	arm(pending, 5 * MS);
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(note->answer, PAWL_SERVICE_CANCELLED);
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(note->answer, PAWL_SERVICE_IDLE);
	EXPECT_RUNS_AFTER(HOUR, pending, 0);
}

IN_MODE(a_task_may_cancel_wait_another_one_that_runs, .workers = 2, .shards = 1)
{
	struct note *note = new_note(fixture), *running = new_note(fixture);

	note->inside = cancel_wait_the_other;
	note->other = running;
	running->inside = stay;
	arm(running, 0);
	sem_wait(&running->entered);
	arm(running, HOUR);
	arm(note, 0);
	while (pawl_service_pending(fixture->service))
		sched_yield();
	sem_post(&running->leave);
	settle(fixture);
	EXPECT_EQ(note->answer, PAWL_SERVICE_RUNNING);
	EXPECT(running->left);
	expect_counts(fixture->service, 3, 2, 1, 0);
}

static void cancel_both(struct note *one, struct note *other)
{
	struct pawl_task *tasks[] = {&one->task, &other->task, &one->task};

	pawl_service_cancel_wait_all(one->fixture->service, tasks, 3);
}

static void arm_both_until_refused(struct note *note)
{
	struct pawl_service *service = note->fixture->service;

	sem_post(&note->entered);
	while (pawl_service_arm(service, &note->other->task, HOUR) != -ECANCELED)
		;
	while (pawl_service_arm(service, &note->task, HOUR) != -ECANCELED)
		;
	EXPECT_EQ(pawl_service_touch(service, &note->task, 0), -ECANCELED);
	EXPECT_EQ(pawl_service_arm_every(service, &note->task, 0, MS, PAWL_SERVICE_SKIP),
	          -ECANCELED);
	EXPECT_EQ(pawl_service_arm_unless_pending(service, &note->task, 0), -ECANCELED);
	note->number = 1;
}

/* Whichever of the two is named first. */
static void expect_refused_until_all_have_ended(struct fixture *fixture, bool running_first)
{
	struct note *running = new_note(fixture), *other = new_note(fixture);

	running->inside = arm_both_until_refused;
	running->other = other;
	EXPECT_EQ(arm(running, 0), 0);
	begin_driving(fixture);
	sem_wait(&running->entered);
	if (running_first)
		cancel_both(running, other);
	else
		cancel_both(other, running);
	EXPECT_EQ(running->number, 1);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(cancel(running), PAWL_SERVICE_IDLE);
	EXPECT_EQ(cancel(other), PAWL_SERVICE_IDLE);
	end_driving(fixture);
	EXPECT_EQ(arm(other, 0), 0);
	settle(fixture);
	EXPECT_EQ(running->runs, 1);
	EXPECT_EQ(other->runs, 1);
}

IN_EVERY_MODE(while_cancel_wait_all_waits_its_tasks_cannot_be_armed)
{
	expect_refused_until_all_have_ended(fixture, true);
	expect_refused_until_all_have_ended(fixture, false);
}

static void cancel_both_from_inside(struct note *note)
{
	struct pawl_service *service = note->fixture->service;

	EXPECT_EQ(pawl_service_arm(service, &note->task, 0), 0);
	EXPECT_EQ(pawl_service_arm(service, &note->other->task, HOUR), 0);
	cancel_both(note, note->other);
	EXPECT_EQ(pawl_service_pending(service), 0);
	EXPECT_EQ(pawl_service_cancel(service, &note->task), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(pawl_service_cancel(service, &note->other->task), PAWL_SERVICE_IDLE);
	note->inside = NULL;
}

IN_EVERY_MODE(cancel_wait_all_inside_one_of_the_tasks_does_not_wait_for_that_one)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	note->inside = cancel_both_from_inside;
	note->other = other;
	arm_every(note, 0, MS, PAWL_SERVICE_SKIP);
	settle(fixture);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	EXPECT_EQ(other->runs, 0);
	expect_counts(fixture->service, 3, 1, 2, 0);
}

IN_EVERY_MODE(cancel_wait_all_of_idle_and_of_no_tasks_changes_nothing)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	pawl_service_cancel_wait_all(fixture->service, NULL, 0);
	cancel_both(note, other);
	EXPECT_EQ(arm(note, 0), 0);
	settle(fixture);
	cancel_both(note, other);
	EXPECT_EQ(note->runs, 1);
	expect_counts(fixture->service, 1, 1, 0, 0);
	end(fixture);
	cancel_both(note, other);
}

static void call_everything(struct note *note)
{
	struct pawl_service *service = note->fixture->service;
	struct pawl_task *other = &note->other->task;

	EXPECT_EQ(pawl_service_pending(service), 0);
	EXPECT_EQ(pawl_service_arm(service, other, HOUR), 0);
	EXPECT_EQ(pawl_service_touch(service, other, 2 * HOUR), 0);
	EXPECT_EQ(pawl_service_arm_at(service, other, HOUR), 0);
	EXPECT_EQ(pawl_service_arm_every(service, other, HOUR, HOUR, PAWL_SERVICE_BURST), 0);
	EXPECT_EQ(pawl_service_cancel(service, other), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(pawl_service_cancel_wait(service, other), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_cancel(service, &note->task), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(pawl_service_arm(service, &note->task, HOUR), 0);
	EXPECT_EQ(pawl_service_touch(service, &note->task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(service), 1);
	EXPECT_EQ(pawl_service_arm(service, other, 2 * MS), 0);
	EXPECT_EQ(pawl_service_poll(service, 0), 0);
	EXPECT(pawl_service_next(service) <= 2 * MS);
	expect_counts(service, 4, 1, 1, 0);
	note->inside = NULL;
}

IN_EVERY_MODE(every_call_is_legal_inside_a_task)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	note->inside = call_everything;
	note->other = other;
	arm(note, 0);
	settle(fixture);
	EXPECT_RUNS_AFTER(2 * MS, other, 1);
	EXPECT_RUNS_AFTER(3 * MS, note, 2);
	expect_counts(fixture->service, 4, 3, 1, 0);
}

IN_EVERY_MODE(a_task_may_free_itself)
{
	for (unsigned i = 0; i < 100; i++) {
		struct pawl_task *task = malloc(sizeof(*task));

		pawl_task_init(task, free_it);
		pawl_service_arm(fixture->service, task, i % 3 * MS);
	}
	advance_and_settle(fixture, 2 * MS);
	expect_counts(fixture->service, 100, 100, 0, 0);
}

static void cancel_and_free_it(struct pawl_task *task)
{
	struct note *note = note_from(task);

	EXPECT_EQ(pawl_service_cancel(note->fixture->service, task), PAWL_SERVICE_RUNNING);
	memset(note, 0xA5, sizeof(*note));
	free(note);
}

IN_EVERY_MODE(a_periodic_task_may_cancel_and_free_itself)
{
	for (unsigned i = 0; i < 100; i++) {
		struct note *note = heap_note(fixture);

		pawl_task_init(&note->task, cancel_and_free_it);
		arm_every(note, MS, MS, (enum pawl_service_missed)(i % 3));
	}
	advance_and_settle(fixture, MS);
	advance_and_settle(fixture, HOUR);
	expect_counts(fixture->service, 100, 100, 0, 0);
}

/* The memory is a new task before the old one's function has returned. */
static void become_another_task(struct note *note)
{
	pawl_task_init(&note->task, note_run);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_EQ(arm(note, 5 * MS), 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(arm(note, 7 * MS), 0);
	note->inside = NULL;
}

IN_EVERY_MODE(a_task_may_use_its_memory_for_another_one)
{
	struct note *note = new_note(fixture);

	note->inside = become_another_task;
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(note->runs, 1);
	EXPECT_RUNS_AFTER(6 * MS, note, 1);
	EXPECT_RUNS_AFTER(MS, note, 2);
	expect_counts(fixture->service, 3, 2, 1, 0);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(cancel_of_an_idle_task_says_idle),
	        TEST(a_cancelled_task_does_not_run_and_its_memory_is_free),
	        TEST(cancel_of_a_running_task_takes_away_an_arming_made_meanwhile),
	        TEST(a_running_task_cancelled_and_armed_once_more_runs_again),
	        TEST(cancel_of_a_running_periodic_task_ends_it_with_this_run),
	        TEST(a_periodic_task_cancelled_and_armed_again_while_it_runs_is_periodic_again),
	        TEST(cancel_wait_of_a_running_task_returns_after_the_run),
	        TEST(cancel_wait_inside_the_task_itself_does_not_wait),
	        TEST(a_task_may_cancel_wait_another_one),
	        TEST(a_task_may_cancel_wait_another_one_that_runs),
	        TEST(while_cancel_wait_all_waits_its_tasks_cannot_be_armed),
	        TEST(cancel_wait_all_inside_one_of_the_tasks_does_not_wait_for_that_one),
	        TEST(cancel_wait_all_of_idle_and_of_no_tasks_changes_nothing),
	        TEST(every_call_is_legal_inside_a_task),
	        TEST(a_task_may_free_itself),
	        TEST(a_periodic_task_may_cancel_and_free_itself),
	        TEST(a_task_may_use_its_memory_for_another_one),
	};

	return RUN_TESTS(tests);
}
