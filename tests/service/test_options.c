/* SPDX-License-Identifier: MIT */
/* The options of a service: ranges, defaults, and max_pending. */
#define _GNU_SOURCE
#include <errno.h>

#include "../../src/base/random.h"
#include "../support/services.h"

/* max_pending */

IN_EVERY_MODE_LIMITED(2, a_new_arming_beyond_max_pending_is_refused_and_changes_nothing)
{
	struct note *notes = new_notes(fixture, 3);

	EXPECT_EQ(arm(&notes[0], 5 * MS), 0);
	EXPECT_EQ(arm_every(&notes[1], HOUR, HOUR, PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(arm(&notes[2], 0), -EAGAIN);
	EXPECT_EQ(arm_at(&notes[2], 0), -EAGAIN);
	EXPECT_EQ(touch(&notes[2], 0), -EAGAIN);
	EXPECT_EQ(arm_every(&notes[2], MS, MS, PAWL_SERVICE_SKIP), -EAGAIN);
	EXPECT_EQ(cancel(&notes[2]), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 2, 0, 0, 0);
	advance_and_settle(fixture, 4 * MS);
	EXPECT_EQ(notes[2].runs, 0);
}

IN_EVERY_MODE_LIMITED(2, a_task_that_is_pending_may_always_be_moved)
{
	struct note *notes = new_notes(fixture, 2);

	for (unsigned i = 0; i < 2; i++)
		EXPECT_EQ(arm(&notes[i], 5 * MS), 0);
	EXPECT_EQ(arm(&notes[0], 7 * MS), 0);
	EXPECT_EQ(touch(&notes[1], 8 * MS), 0);
	EXPECT_EQ(arm_every(&notes[0], 9 * MS, 9 * MS, PAWL_SERVICE_SKIP), 0);
	advance_and_settle(fixture, 8 * MS);
	EXPECT_EQ(notes[1].runs, 1);
	advance_and_settle(fixture, MS);
	EXPECT_EQ(notes[0].runs, 1);
}

IN_EVERY_MODE_LIMITED(1, quota_is_free_after_a_run_and_after_a_cancel)
{
	struct note *note = new_note(fixture);

	for (unsigned i = 0; i < 20; i++) {
		EXPECT_EQ(arm(note, MS), 0);
		advance_and_settle(fixture, MS);
		EXPECT_EQ(arm(note, MS), 0);
		EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
		EXPECT_EQ(touch(note, MS), 0);
		advance_and_settle(fixture, MS);
	}
	EXPECT_EQ(note->runs, 40);
}

/* So many armings more succeed, and the next one is refused. */
static void expect_free_quota(struct fixture *fixture, unsigned quota)
{
	struct note *notes = new_notes(fixture, 3);

	for (unsigned i = 0; i <= quota; i++) {
		EXPECT_EQ(arm(&notes[i], HOUR), i < quota ? 0 : -EAGAIN);
	}
	for (unsigned i = 0; i < quota; i++)
		EXPECT_EQ(cancel(&notes[i]), PAWL_SERVICE_CANCELLED);
}

IN_EVERY_MODE_LIMITED(2, a_one_shot_task_has_no_quota_while_it_runs_unless_armed_again)
{
	struct note *note = new_note(fixture);

	hold(note);
	expect_free_quota(fixture, 2);
	EXPECT_EQ(arm(note, MS), 0);
	expect_free_quota(fixture, 1);
	EXPECT_EQ(arm(note, 2 * MS), 0);
	expect_free_quota(fixture, 1);
	let_go(note);
	expect_free_quota(fixture, 1);
	advance_and_settle(fixture, 2 * MS);
	expect_free_quota(fixture, 2);
	EXPECT_EQ(note->runs, 2);
}

IN_EVERY_MODE_LIMITED(1, a_running_task_is_refused_like_any_other)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	hold(note);
	EXPECT_EQ(arm(other, HOUR), 0);
	EXPECT_EQ(arm(note, 0), -EAGAIN);
	EXPECT_EQ(touch(note, 0), -EAGAIN);
	EXPECT_EQ(arm_every(note, MS, MS, PAWL_SERVICE_SKIP), -EAGAIN);
	let_go(note);
	EXPECT_RUNS_AFTER(10 * MS, note, 1);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 2, 1, 0, 0);
}

IN_EVERY_MODE_LIMITED(2, a_cancel_of_a_running_task_returns_its_quota_at_once)
{
	struct note *note = new_note(fixture);

	hold(note);
	arm(note, MS);
	cancel(note);
	expect_free_quota(fixture, 2);
	EXPECT_EQ(arm(note, MS), 0);
	expect_free_quota(fixture, 1);
	let_go(note);
	expect_free_quota(fixture, 1);
	advance_and_settle(fixture, MS);
	expect_free_quota(fixture, 2);
}

IN_EVERY_MODE_LIMITED(2, a_periodic_task_keeps_its_quota_while_it_runs)
{
	struct note *note = new_note(fixture);

	hold_periodic(note, 10 * MS, PAWL_SERVICE_SKIP, 10 * MS);
	expect_free_quota(fixture, 1);
	EXPECT_EQ(touch(note, 10 * MS), 0);
	expect_free_quota(fixture, 1);
	let_go(note);
	expect_free_quota(fixture, 1);
	for (unsigned i = 0; i < 5; i++)
		advance_and_settle(fixture, 10 * MS);
	EXPECT_EQ(note->runs, 6);
	expect_free_quota(fixture, 1);
	cancel(note);
	expect_free_quota(fixture, 2);
}

IN_EVERY_MODE_LIMITED(2, a_periodic_task_that_has_ended_has_no_quota)
{
	struct note *inside = new_note(fixture), *outside = new_note(fixture);

	inside->inside = cancel_it;
	arm_every(inside, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	advance_and_settle(fixture, 10 * MS);
	expect_free_quota(fixture, 2);

	hold_periodic(outside, 10 * MS, PAWL_SERVICE_SKIP, 10 * MS);
	EXPECT_EQ(cancel(outside), PAWL_SERVICE_RUNNING);
	expect_free_quota(fixture, 2);
	EXPECT_EQ(cancel(outside), PAWL_SERVICE_RUNNING);
	let_go(outside);
	expect_free_quota(fixture, 2);
}

/* Open */

static void null_options_mean_the_defaults(void)
{
	struct pawl_service *service = service_with(NULL);
	struct note note;

	note_init_posting(&note);
	EXPECT_EQ(pawl_service_arm(service, &note.task, 0), 0);
	sem_wait(&note.entered);
	pawl_service_settle(service);
	expect_counts(service, 1, 1, 0, 0);
	pawl_service_close(service, NULL);
}

static void options_out_of_range_are_refused(void)
{
	static const struct pawl_service_options invalid[] = {
	        {.wheel_size = 1},
	        {.wheel_size = 4097},
	        {.wheel_size = UINT32_MAX},
	        {.workers = 1025},
	        {.workers = ~0u - 2},
	        {.shards = 1025},
	        {.shards = ~0u},
	        {.workers = ~0u},
	        {.workers = PAWL_SERVICE_MANUAL, .wheel_size = 1},
	        {.stack_size = 1},
	        {.stack_size = 65535},
	        {.stack_size = SIZE_MAX / 2 + 1},
	        {.stack_size = SIZE_MAX},
	        {.workers = PAWL_SERVICE_MANUAL, .stack_size = 65535},
	        {.workers = PAWL_SERVICE_MANUAL, .dispatch = pool_dispatch},
	        {.reserved = {1}},
	        {.reserved = {0, 1}},
	        {.reserved = {0, 0, 1}},
	        {.reserved = {0, 0, 0, UINT64_C(1) << 63}},
	};

	for (size_t i = 0; i < COUNTOF(invalid); i++) {
		struct pawl_service_options options = invalid[i];
		struct pawl_service *service = (struct pawl_service *)&options;
		struct pawl_clock_manual clock;

		pawl_clock_manual_init(&clock);
		options.clock = &clock.clock;
		EXPECT_EQ(pawl_service_open(&service, &options), -EINVAL);
		EXPECT(service == (struct pawl_service *)&options);
		EXPECT(clock.clock.service == NULL);
	}
}

static void wake_nothing(struct pawl_clock *clock)
{
	(void)clock;
}

static uint64_t zero(struct pawl_clock *clock)
{
	(void)clock;
	return 0;
}

static void wait_not(struct pawl_clock *clock, uint64_t deadline)
{
	(void)clock;
	(void)deadline;
}

/* As a manual clock is, if its init was forgotten. */
static void a_clock_without_a_function_is_refused(void)
{
	static const struct pawl_clock incomplete[] = {
	        {NULL, NULL, NULL, NULL},
	        {NULL, wait_not, wake_nothing, NULL},
	        {zero, NULL, wake_nothing, NULL},
	        {zero, wait_not, NULL, NULL},
	};

	for (size_t i = 0; i < COUNTOF(incomplete) * COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i % COUNTOF(every_mode)];
		struct pawl_clock clock = incomplete[i / COUNTOF(every_mode)];
		struct pawl_service *service = NULL;

		options.clock = &clock;
		EXPECT_EQ(pawl_service_open(&service, &options), -EINVAL);
		EXPECT(service == NULL);
		EXPECT(clock.service == NULL);
	}
}

static void expect_that_it_works(struct fixture *fixture)
{
	struct note *note = new_note(fixture);

	arm(note, 0);
	EXPECT_RUNS_AFTER(0, note, 1);
	arm(note, 12345);
	EXPECT_RUNS_AFTER(12344, note, 1);
}

static void options_at_the_ends_of_their_ranges_are_taken(void)
{
	static const struct pawl_service_options valid[] = {
	        {.wheel_size = 2, .shards = 1},
	        {.wheel_size = 4096, .shards = 1},
	        {.shards = 1024, .wheel_size = 2},
	        {.shards = 1024, .wheel_size = 2, .workers = PAWL_SERVICE_MANUAL},
	        {.tick_ns = 1},
	        {.tick_ns = 2},
	        {.tick_ns = 3},
	        {.tick_ns = UINT64_MAX},
	        {.workers = 32, .shards = 3},
	        {.max_pending = SIZE_MAX},
	        {.stack_size = 65536},
	};

	for (size_t i = 0; i < COUNTOF(valid); i++)
		in_mode(&valid[i], expect_that_it_works);
}

/* With glibc a thread's stack holds them. */
static _Thread_local volatile char thread_local_variables[1 << 20];

static void use_stack(size_t size)
{
	volatile char part[16 * 1024];

	part[0] = part[sizeof(part) - 1] = 1;
	if (size > sizeof(part))
		use_stack(size - sizeof(part));
	part[0] = 2; /* no tail call */
}

static void use_half_of_the_stack(struct note *note)
{
	size_t size = note->fixture->options.stack_size;

	thread_local_variables[note->runs] = 1;
	use_stack((size ? size : 64 * 1024) / 2);
}

static void run_with_half_of_the_stack(struct fixture *fixture)
{
	struct note *note = new_note(fixture);

	note->inside = use_half_of_the_stack;
	EXPECT_EQ(arm(note, 0), 0);
	EXPECT_RUNS_AFTER(0, note, 1);
}

/* 64 KiB is the least of these sizes, 1.25 MiB is more than the variables need, and 0 is the default. */
static void thread_local_variables_take_nothing_from_stack_size(void)
{
	static const size_t sizes[] = {64 * 1024, 512 * 1024, 1 << 20, 5 << 18, 0};

	for (size_t i = 0; i < COUNTOF(sizes); i++)
		in_mode(&(struct pawl_service_options){.stack_size = sizes[i]},
		        run_with_half_of_the_stack);
}

/* The run is at the first multiple of the tick that is not early. */
static void arm_at_random(struct fixture *fixture)
{
	uint64_t tick = fixture->options.tick_ns;
	struct random random = {tick};

	for (unsigned i = 0; i < 200; i++) {
		uint64_t deadline = fixture_now(fixture) + random_below(&random, 9 * tick);
		uint64_t due = (deadline + tick - 1) / tick * tick;
		struct note *note = new_note(fixture);

		arm_at(note, deadline);
		if (due > fixture_now(fixture)) {
			EXPECT_RUNS_AFTER(due - fixture_now(fixture) - 1, note, 0);
			advance_and_settle(fixture, 1);
		}
		/* now may be between two ticks: then what is due now waits for the next */
		EXPECT_RUNS_AFTER(note->runs ? 0 : tick, note, 1);
		EXPECT(note->at[0] >= deadline);
		EXPECT(note->at[0] < deadline + 2 * tick);
		advance_and_settle(fixture, random_below(&random, tick));
	}
}

static void deadlines_are_rounded_up_whatever_the_tick(void)
{
	static const uint64_t ticks[] = {1, 2, 3, 7, 1000, 4096, 999983, 50000, 1 << 20};

	for (size_t i = 0; i < COUNTOF(ticks); i++)
		in_mode(&(struct pawl_service_options){.tick_ns = ticks[i],
		                                       .workers = PAWL_SERVICE_MANUAL,
		                                       .shards = 1},
		        arm_at_random);
}

static void a_clock_has_one_service_at_a_time(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service *service = NULL, *second = NULL;
		struct pawl_service_options options = every_mode[i];
		struct pawl_clock_manual clock;

		pawl_clock_manual_init(&clock);
		options.clock = &clock.clock;
		EXPECT_EQ(pawl_service_open(&service, &options), 0);
		EXPECT_EQ(pawl_service_open(&second, &options), -EBUSY);
		EXPECT(second == NULL);
		pawl_service_stop(service, NULL);
		EXPECT_EQ(pawl_service_open(&second, &options), -EBUSY);
		pawl_service_close(service, NULL);
		EXPECT_EQ(pawl_service_open(&second, &options), 0);
		pawl_service_close(second, NULL);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_new_arming_beyond_max_pending_is_refused_and_changes_nothing),
	        TEST(a_task_that_is_pending_may_always_be_moved),
	        TEST(quota_is_free_after_a_run_and_after_a_cancel),
	        TEST(a_one_shot_task_has_no_quota_while_it_runs_unless_armed_again),
	        TEST(a_running_task_is_refused_like_any_other),
	        TEST(a_cancel_of_a_running_task_returns_its_quota_at_once),
	        TEST(a_periodic_task_keeps_its_quota_while_it_runs),
	        TEST(a_periodic_task_that_has_ended_has_no_quota),
	        TEST(null_options_mean_the_defaults),
	        TEST(options_out_of_range_are_refused),
	        TEST(a_clock_without_a_function_is_refused),
	        TEST(options_at_the_ends_of_their_ranges_are_taken),
	        TEST(thread_local_variables_take_nothing_from_stack_size),
	        TEST(deadlines_are_rounded_up_whatever_the_tick),
	        TEST(a_clock_has_one_service_at_a_time),
	};

	return RUN_TESTS(tests);
}
