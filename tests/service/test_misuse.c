/* SPDX-License-Identifier: MIT */
/* Calls that are not allowed: they are refused and change nothing, or they end the program. */
#define _GNU_SOURCE
#include "../support/last_words.h"
#include "../support/services.h"

#include <errno.h>

static const struct pawl_service_options manual = {.workers = PAWL_SERVICE_MANUAL};

IN_MODE(a_task_pending_in_one_service_is_refused_by_another, .workers = PAWL_SERVICE_MANUAL)
{
	struct note *note = new_note(fixture);
	struct fixture other;

	fixture_open(&other, &manual);
	EXPECT_EQ(arm(note, MS), 0);
	note->fixture = &other;
	EXPECT_EQ(arm(note, MS), -EBUSY);
	EXPECT_EQ(arm_at(note, MS), -EBUSY);
	EXPECT_EQ(arm_every(note, MS, MS, PAWL_SERVICE_SKIP), -EBUSY);
	EXPECT_EQ(touch(note, MS), -EBUSY);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_pending(other.service), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	advance_and_settle(fixture, MS);
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(arm(note, MS), 0);
	EXPECT_RUNS_AFTER(MS, note, 2);
	fixture_close(&other);
}

/* A task of one service that polls another, a task of which does something to the first. */
struct nested {
	struct pawl_task outer, inner;
	struct fixture outside, inside;
	void (*act)(struct nested *nested);
	enum pawl_service_found found;
};

static struct nested nested;

static void poll_inside(struct pawl_task *task)
{
	(void)task;
	advance_and_settle(&nested.inside, MS);
}

static void act_inside(struct pawl_task *task)
{
	(void)task;
	nested.act(&nested);
}

static void run_nested(void (*act)(struct nested *nested))
{
	fixture_open(&nested.outside, &manual);
	fixture_open(&nested.inside, &manual);
	nested.act = act;
	pawl_task_init(&nested.outer, poll_inside);
	pawl_task_init(&nested.inner, act_inside);
	pawl_service_arm(nested.outside.service, &nested.outer, MS);
	pawl_service_arm(nested.inside.service, &nested.inner, MS);
	advance_and_settle(&nested.outside, MS);
	pawl_service_close(nested.inside.service, NULL);
	pawl_service_close(nested.outside.service, NULL);
}

static void cancel_wait_outer(struct nested *self)
{
	self->found = pawl_service_cancel_wait(self->outside.service, &self->outer);
}

static void cancel_wait_of_a_task_further_out_on_the_same_thread_does_not_wait(void)
{
	run_nested(cancel_wait_outer);
	EXPECT_EQ(nested.found, PAWL_SERVICE_RUNNING);
}

static void stop_outer(struct nested *self)
{
	pawl_service_stop(self->outside.service, NULL);
}

static void stop_outer_nested(const void *unused)
{
	(void)unused;
	run_nested(stop_outer);
}

static void stop_of_a_service_further_out_on_the_same_thread_ends_the_program(void)
{
	EXPECT(strstr(last_words(stop_outer_nested, NULL), "pawl_service_stop"));
}

static void let_time_run(struct note *note)
{
	pawl_clock_manual_run(&note->fixture->clock, note->fixture->service, MS);
}

static void let_time_run_inside(const void *unused)
{
	struct fixture fixture;
	struct note *note;

	(void)unused;
	fixture_open(&fixture, &manual);
	note = new_note(&fixture);
	note->inside = let_time_run;
	arm(note, 0);
	settle(&fixture);
}

static void a_task_that_lets_time_run_ends_the_program(void)
{
	EXPECT(strstr(last_words(let_time_run_inside, NULL), "pawl_clock_manual_run"));
}

/* A second thread calls one of these while the loop's thread runs a task. */
static void poll_too(struct pawl_service *service)
{
	pawl_service_poll(service, 0);
}

static void next_too(struct pawl_service *service)
{
	pawl_service_next(service);
}

static void fd_too(struct pawl_service *service)
{
	EXPECT(pawl_service_fd(service) != 0);
}

static const struct second {
	const char *name, *says;
	void (*call)(struct pawl_service *service);
} seconds[] = {
        {"poll", "pawl_service_poll", poll_too},
        {"next", "pawl_service_next", next_too},
        {"fd", "pawl_service_fd", fd_too},
        {"settle", "pawl_service_poll", pawl_service_settle},
};

static void call_beside_a_poll(const void *second)
{
	struct note *held, *other;
	struct fixture fixture;

	fixture_open(&fixture, &manual);
	held = new_note(&fixture);
	other = new_note(&fixture);
	hold(held);
	EXPECT_EQ(arm(other, 0), 0);
	((const struct second *)second)->call(fixture.service);
	EXPECT_EQ(other->runs, 0);
	let_go(held);
	EXPECT_EQ(held->runs, 1);
	EXPECT_EQ(other->runs, 1);
	fixture_close(&fixture);
}

/* A development build ends the program. In a release build the second call does nothing wrong, and runs nothing. */
static void a_second_thread_that_polls_a_manual_service_ends_the_program(void)
{
	for (size_t i = 0; i < COUNTOF(seconds); i++) {
#ifdef PAWL_ASSERT
		const char *words = last_words(call_beside_a_poll, &seconds[i]);

		if (!strstr(words, seconds[i].says) || !strstr(words, "one thread"))
			fprintf(stderr, "%s: \"%s\"\n", seconds[i].name, words);
		EXPECT(strstr(words, seconds[i].says));
		EXPECT(strstr(words, "one thread"));
#else
		call_beside_a_poll(&seconds[i]);
#endif
	}
}

/* The queue of a pool. Here the test itself is the pool. */
static sem_t jobs;

static void queue_job(struct pawl_service *service, void *unused)
{
	(void)service;
	(void)unused;
	sem_post(&jobs);
}

static void answer_second_call(struct note *note)
{
	EXPECT_EQ(arm(note->other, 0), 0);
	sem_wait(&jobs); /* its job */
	EXPECT_EQ(pawl_service_poll(note->fixture->service, 0), 1);
	EXPECT_EQ(note->other->runs, 1);
}

/* A task has answered the second of two calls. So the second job, which has not polled yet, will find none. */
static void open_pool_with_late_job(struct fixture *fixture)
{
	const struct pawl_service_options options = {.workers = 2, .dispatch = queue_job};
	struct note *note;

	sem_init(&jobs, 0, 0);
	fixture_open(fixture, &options);
	note = new_note(fixture);
	note->inside = answer_second_call;
	note->other = new_note(fixture);
	arm(note, 0);
	sem_wait(&jobs);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
}

static void close_pool_at_once(const void *unused)
{
	struct fixture fixture;

	(void)unused;
	open_pool_with_late_job(&fixture);
	pawl_service_close(fixture.service, NULL);
}

static void close_without_stop_after_a_task_has_polled_a_pool_ends_the_program(void)
{
	const char *words = last_words(close_pool_at_once, NULL);

	EXPECT(strstr(words, "pawl_service_close"));
	EXPECT(strstr(words, "end the pool"));
}

/* Stop, end the pool, close. */
static void a_job_whose_call_a_task_has_answered_may_poll_after_stop(void)
{
	struct fixture fixture;

	open_pool_with_late_job(&fixture);
	end(&fixture);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 0); /* the second job */
	fixture_close(&fixture);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_pending_in_one_service_is_refused_by_another),
	        TEST(cancel_wait_of_a_task_further_out_on_the_same_thread_does_not_wait),
	        TEST(close_without_stop_after_a_task_has_polled_a_pool_ends_the_program),
	        TEST(a_job_whose_call_a_task_has_answered_may_poll_after_stop),
	        TEST(stop_of_a_service_further_out_on_the_same_thread_ends_the_program),
	        TEST(a_task_that_lets_time_run_ends_the_program),
	        TEST(a_second_thread_that_polls_a_manual_service_ends_the_program),
	};

	return RUN_TESTS(tests);
}
