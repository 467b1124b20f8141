/* SPDX-License-Identifier: MIT */
/* Stop and close: the tasks that run, the tasks that are dropped, and the state afterwards. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../support/last_words.h"
#include "../support/services.h"

#define LONGEST UINT64_MAX

IN_EVERY_MODE(stop_hands_each_pending_task_to_dropped_exactly_once)
{
	static const uint64_t delays[] = {0, MS, 5 * MS, 300 * MS, HOUR, 20000 * HOUR, LONGEST};
	struct note *notes = new_notes(fixture, COUNTOF(delays)), *never = new_note(fixture);
	struct note *periodic = new_note(fixture), *gone = new_note(fixture);
	struct gates gates;
	unsigned others = workers_of(fixture);

	shut_gates(&gates, fixture);
	for (unsigned i = 0; i < COUNTOF(delays); i++)
		arm(&notes[i], delays[i]);
	arm(gone, MS);
	arm_every(periodic, MS, MS, PAWL_SERVICE_BURST);
	EXPECT_EQ(cancel(gone), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(cancel(&notes[0]), PAWL_SERVICE_CANCELLED);
	open_gates(&gates, fixture);
	pawl_service_stop(fixture->service, note_drop);
	EXPECT_EQ(notes[0].drops + never->drops + gone->drops, 0);
	for (unsigned i = 1; i < COUNTOF(delays); i++)
		EXPECT_EQ(notes[i].drops, 1);
	EXPECT_EQ(periodic->drops, 1);
	expect_counts(fixture->service, others + 9, others, 2, 7);
}

static void free_dropped(struct pawl_task *task)
{
	struct note *note = note_from(task);
	struct pawl_service *service = note->fixture->service;

	EXPECT_EQ(pawl_service_arm(service, task, 0), -ECANCELED);
	EXPECT_EQ(pawl_service_cancel(service, task), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_cancel_wait(service, task), PAWL_SERVICE_IDLE);
	EXPECT(pthread_equal(note->thread, pthread_self()));
	EXPECT_EQ(pawl_service_cancel(service, &note->other->task),
	          note->other->number ? PAWL_SERVICE_IDLE : PAWL_SERVICE_CANCELLED);
	note->other->number = 1;
	memset(note, 0xA5, sizeof(*note));
	free(note);
}

IN_EVERY_MODE(dropped_is_called_on_the_stopping_thread_and_may_free_and_cancel)
{
	struct note *other = new_note(fixture);

	for (unsigned i = 0; i < 20; i++) {
		struct note *note = malloc(sizeof(*note));

		note_init(note, fixture);
		note->thread = pthread_self();
		note->other = other;
		arm(note, (i + 1) * MS);
	}
	arm(other, LONGEST);
	pawl_service_stop(fixture->service, free_dropped);
	EXPECT_EQ(other->drops, 0);
	expect_counts(fixture->service, 21, 0, 1, 20);
}

static void *stop_run(void *arg)
{
	struct note *note = arg;

	pawl_service_stop(note->fixture->service, note_drop);
	EXPECT(note->left || !note->runs); /* the run is over */
	return NULL;
}

/* Arm until the service refuses. The task is running, so this arming never leads to a run. */
static void await_refusal(struct note *note)
{
	while (touch(note, HOUR) != -ECANCELED)
		sched_yield();
}

IN_EVERY_MODE(stop_waits_for_running_tasks_and_refuses_meanwhile)
{
	struct note *note = new_note(fixture), *pending = new_note(fixture),
	            *fresh = new_note(fixture);
	pthread_t stopper;

	arm(pending, HOUR);
	hold(note);
	pthread_create(&stopper, NULL, stop_run, note);
	await_refusal(note);
	while (arm(fresh, HOUR) != -ECANCELED)
		sched_yield();
	EXPECT_EQ(arm_every(fresh, MS, MS, PAWL_SERVICE_SKIP), -ECANCELED);
	EXPECT_EQ(arm_at(fresh, MS), -ECANCELED);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	while (arm(pending, MS) != -ECANCELED)
		sched_yield();
	EXPECT_EQ(cancel(pending), PAWL_SERVICE_CANCELLED);
	sem_post(&note->leave);
	pthread_join(stopper, NULL);
	end_driving(fixture);
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(note->drops + pending->drops, 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
}

IN_EVERY_MODE(a_running_task_armed_again_is_dropped_by_stop)
{
	struct note *note = new_note(fixture);
	pthread_t stopper;

	hold(note);
	EXPECT_EQ(arm(note, 0), 0);
	pthread_create(&stopper, NULL, stop_run, note);
	await_refusal(note);
	sem_post(&note->leave);
	pthread_join(stopper, NULL);
	end_driving(fixture);
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(note->drops, 1);
	expect_counts(fixture->service, 2, 1, 0, 1);
}

IN_EVERY_MODE(tasks_due_when_stop_begins_are_dropped_and_not_run)
{
	struct note *due = new_notes(fixture, 3);
	struct gates gates;
	pthread_t stopper;

	shut_gates(&gates, fixture);
	for (unsigned i = 0; i < 3; i++)
		arm(&due[i], 0);
	pthread_create(&stopper, NULL, stop_run, &due[0]);
	for (unsigned i = 0; i < 3; i++)
		await_refusal(&due[i]);
	for (unsigned i = 0; i < workers_of(fixture); i++)
		await_refusal(&gates.notes[i]);
	open_gates(&gates, fixture);
	pthread_join(stopper, NULL);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(due[i].runs, 0);
		EXPECT_EQ(due[i].drops, 1);
	}
}

IN_EVERY_MODE(after_stop_the_service_refuses_and_tells_the_truth)
{
	struct note *ran = new_note(fixture), *dropped = new_note(fixture),
	            *fresh = new_note(fixture);

	arm(ran, 0);
	arm(dropped, MS);
	settle(fixture);
	pawl_service_stop(fixture->service, note_drop);
	EXPECT_EQ(arm(ran, 0), -ECANCELED);
	EXPECT_EQ(arm(fresh, 0), -ECANCELED);
	EXPECT_EQ(touch(fresh, 0), -ECANCELED);
	EXPECT_EQ(arm_at(dropped, 0), -ECANCELED);
	EXPECT_EQ(arm_every(fresh, 1, 1, PAWL_SERVICE_SKIP), -ECANCELED);
	EXPECT_EQ(cancel(ran), PAWL_SERVICE_IDLE);
	EXPECT_EQ(cancel(dropped), PAWL_SERVICE_IDLE);
	EXPECT_EQ(cancel_wait(fresh), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	EXPECT_RUNS_AFTER(HOUR, ran, 1);
	EXPECT_EQ(dropped->runs + fresh->runs, 0);
	expect_counts(fixture->service, 2, 1, 0, 1);
}

IN_EVERY_MODE(a_second_stop_does_nothing)
{
	struct note *note = new_note(fixture);

	arm(note, MS);
	pawl_service_stop(fixture->service, note_drop);
	pawl_service_stop(fixture->service, note_drop);
	pawl_service_stop(fixture->service, NULL);
	EXPECT_EQ(note->drops, 1);
	expect_counts(fixture->service, 1, 0, 0, 1);
}

IN_EVERY_MODE(dropped_may_be_null)
{
	struct note *note = new_note(fixture);

	arm(note, MS);
	pawl_service_stop(fixture->service, NULL);
	EXPECT_EQ(note->runs + note->drops, 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 1, 0, 0, 1);
}

static void close_also_stops(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct note note;
		struct fixture fixture;

		fixture_open(&fixture, &every_mode[i]);
		note_init(&note, &fixture);
		arm(&note, MS);
		pawl_service_close(fixture.service, note_drop);
		EXPECT_EQ(note.drops, 1);
	}
	pawl_service_close(NULL, NULL);
	pawl_service_close(NULL, note_drop);
}

static void stop_it(struct note *note)
{
	pawl_service_stop(note->fixture->service, NULL);
}

static void close_it(struct note *note)
{
	pawl_service_close(note->fixture->service, NULL);
}

struct mistake {
	const struct pawl_service_options *options;
	void (*inside)(struct note *note);
};

static void make_mistake(const void *arg)
{
	const struct mistake *mistake = arg;
	struct fixture fixture;
	struct note *note;

	fixture_open(&fixture, mistake->options);
	note = new_note(&fixture);
	note->inside = mistake->inside;
	arm(note, 0);
	settle(&fixture);
}

static void stop_inside_a_task_ends_the_program_with_a_message(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		const struct mistake stopping = {&every_mode[i], stop_it};
		const struct mistake closing = {&every_mode[i], close_it};

		EXPECT(strstr(last_words(make_mistake, &stopping), "pawl_service_stop"));
		EXPECT(strstr(last_words(make_mistake, &closing), "pawl_service_close"));
	}
}

static void stop_the_others_service(struct note *note)
{
	pawl_service_stop(note->other->fixture->service, note_drop);
}

IN_MODE(a_task_may_stop_another_service, .workers = 1)
{
	struct note *note = new_note(fixture), other;
	struct fixture its;

	fixture_open(&its, &(struct pawl_service_options){.workers = 1});
	note_init(&other, &its);
	note->inside = stop_the_others_service;
	note->other = &other;
	arm(&other, MS);
	arm(note, 0);
	settle(fixture);
	EXPECT_EQ(other.drops, 1);
	fixture_close(&its);
}

/* While `dropped` has a task, the task counts as running: a thread that wants to free it has to wait. */

static void drop_slowly(struct pawl_task *task)
{
	stay(note_from(task));
}

static void *stop_dropping_slowly(void *fixture)
{
	pawl_service_stop(((struct fixture *)fixture)->service, drop_slowly);
	return NULL;
}

static void *cancel_wait_for_the_end(void *arg)
{
	struct note *note = arg;

	cancel_wait(note);
	EXPECT(note->left);
	return NULL;
}

IN_EVERY_MODE(a_task_that_is_being_dropped_is_running_for_other_threads)
{
	pthread_t stopping, waiting;
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm(note, HOUR), 0);
	pthread_create(&stopping, NULL, stop_dropping_slowly, fixture);
	sem_wait(&note->entered);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	pthread_create(&waiting, NULL, cancel_wait_for_the_end, note);
	sem_post(&note->leave);
	pthread_join(waiting, NULL);
	pthread_join(stopping, NULL);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 1, 0, 0, 1);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(stop_hands_each_pending_task_to_dropped_exactly_once),
	        TEST(dropped_is_called_on_the_stopping_thread_and_may_free_and_cancel),
	        TEST(stop_waits_for_running_tasks_and_refuses_meanwhile),
	        TEST(a_running_task_armed_again_is_dropped_by_stop),
	        TEST(tasks_due_when_stop_begins_are_dropped_and_not_run),
	        TEST(after_stop_the_service_refuses_and_tells_the_truth),
	        TEST(a_second_stop_does_nothing),
	        TEST(dropped_may_be_null),
	        TEST(close_also_stops),
	        TEST(stop_inside_a_task_ends_the_program_with_a_message),
	        TEST(a_task_may_stop_another_service),
	        TEST(a_task_that_is_being_dropped_is_running_for_other_threads),
	};

	return RUN_TESTS(tests);
}
