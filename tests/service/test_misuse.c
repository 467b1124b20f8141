/* SPDX-License-Identifier: MIT */
/* Calls that are not allowed: they are refused and change nothing, or they end the program. */
#define _GNU_SOURCE
#include "../support/last_words.h"
#include "../support/services.h"

#include <errno.h>

static void a_task_pending_in_one_service_is_refused_by_another(void)
{
	const struct pawl_service_options options = {.workers = PAWL_MANUAL};
	struct fixture one, other;
	struct note note;

	fixture_open(&one, &options);
	fixture_open(&other, &options);
	note_init(&note, &one);
	EXPECT_EQ(pawl_service_arm(one.service, &note.task, MS), 0);
	EXPECT_EQ(pawl_service_arm(other.service, &note.task, MS), -EBUSY);
	EXPECT_EQ(pawl_service_arm_at(other.service, &note.task, MS), -EBUSY);
	EXPECT_EQ(pawl_service_arm_every(other.service, &note.task, MS, PAWL_SKIP), -EBUSY);
	EXPECT_EQ(pawl_service_touch(other.service, &note.task, MS), -EBUSY);
	EXPECT_EQ(pawl_service_cancel(other.service, &note.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_pending(other.service), 0);
	EXPECT_EQ(pawl_service_pending(one.service), 1);
	advance_and_settle(&one, MS);
	EXPECT_EQ(note.runs, 1);
	note.fixture = &other;
	EXPECT_EQ(pawl_service_arm(other.service, &note.task, MS), 0);
	advance_and_settle(&other, MS);
	EXPECT_EQ(note.runs, 2);
	pawl_service_close(other.service, NULL);
	pawl_service_close(one.service, NULL);
}

/* A task of one service that polls another, a task of which does something to the first. */
struct nested {
	struct pawl_task outer, inner;
	struct fixture outside, inside;
	void (*act)(struct nested *nested);
	enum pawl_cancel found;
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
	const struct pawl_service_options options = {.workers = PAWL_MANUAL};

	fixture_open(&nested.outside, &options);
	fixture_open(&nested.inside, &options);
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
	EXPECT_EQ(nested.found, PAWL_RUNNING);
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

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_pending_in_one_service_is_refused_by_another),
	        TEST(cancel_wait_of_a_task_further_out_on_the_same_thread_does_not_wait),
	        TEST(stop_of_a_service_further_out_on_the_same_thread_ends_the_program),
	};

	return RUN_TESTS(tests);
}
