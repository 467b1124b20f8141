/* SPDX-License-Identifier: MIT */
/* Arming and touching a task: when it runs, and in which order. */
#define _GNU_SOURCE
#include <errno.h>

#include "../../src/base/random.h"
#include "../support/services.h"

#define LONGEST UINT64_MAX

/* Arming */

IN_EVERY_MODE(a_task_runs_once_when_its_time_has_come)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm(note, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_RUNS_AFTER(5 * MS - 1, note, 0);
	EXPECT_RUNS_AFTER(1, note, 1);
	EXPECT_EQ(note->at[0], 5 * MS);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 1, 1, 0, 0);
}

IN_EVERY_MODE(a_deadline_is_rounded_up_to_the_tick)
{
	struct note *after = new_note(fixture), *at = new_note(fixture);

	advance_and_settle(fixture, 7);
	EXPECT_EQ(arm(after, MS), 0);
	EXPECT_EQ(arm_at(at, MS), 0);
	EXPECT_RUNS_AFTER(MS - 8, at, 0);
	EXPECT_RUNS_AFTER(1, at, 1);
	EXPECT_RUNS_AFTER(MS - 1, after, 0);
	EXPECT_RUNS_AFTER(1, after, 1);
}

IN_EVERY_MODE(no_task_is_early_and_none_is_more_than_a_tick_late)
{
	struct note *notes = new_notes(fixture, 200);
	struct random random = {1};
	uint64_t deadlines[200];

	advance_and_settle(fixture, 123456789);
	for (unsigned i = 0; i < 200; i++) {
		deadlines[i] = fixture_now(fixture) + random_below(&random, 500 * MS);
		arm_at(&notes[i], deadlines[i]);
	}
	for (unsigned i = 0; i < 2000; i++)
		advance_and_settle(fixture, MS / 4);
	for (unsigned i = 0; i < 200; i++) {
		EXPECT_EQ(notes[i].runs, 1);
		EXPECT(notes[i].at[0] >= deadlines[i]);
		EXPECT(notes[i].at[0] < deadlines[i] + MS + MS / 4);
	}
}

IN_EVERY_MODE(arming_a_pending_task_moves_it)
{
	struct note *later = new_note(fixture), *earlier = new_note(fixture);

	arm(later, 5 * MS);
	arm(earlier, HOUR);
	EXPECT_EQ(arm(later, HOUR), 0);
	EXPECT_EQ(arm(earlier, 3 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 2);
	EXPECT_RUNS_AFTER(3 * MS, earlier, 1);
	EXPECT_RUNS_AFTER(HOUR - 3 * MS - 1, later, 0);
	EXPECT_RUNS_AFTER(1, later, 1);
	EXPECT_RUNS_AFTER(HOUR, earlier, 1);
	EXPECT_EQ(later->runs, 1);
	expect_counts(fixture->service, 2, 2, 0, 0);
}

IN_EVERY_MODE(arm_at_takes_a_time_of_the_clock_and_the_past_is_now)
{
	struct note *future = new_note(fixture), *past = new_note(fixture);

	advance_and_settle(fixture, 10 * MS);
	EXPECT_EQ(arm_at(future, 12 * MS), 0);
	EXPECT_EQ(arm_at(past, 0), 0);
	settle(fixture);
	EXPECT_EQ(past->runs, 1);
	EXPECT_EQ(future->runs, 0);
	EXPECT_RUNS_AFTER(2 * MS, future, 1);
}

static void arm_for_5_ms(struct note *note)
{
	note->answer = arm(note, 5 * MS);
}

static void touch_for_20_ms(struct note *note)
{
	note->answer = touch(note, 20 * MS);
}

IN_EVERY_MODE(any_thread_arms_touches_and_cancels_any_task)
{
	struct note *note = new_note(fixture);

	on_another_thread(note, arm_for_5_ms);
	EXPECT_EQ(note->answer, 0);
	EXPECT_RUNS_AFTER(5 * MS, note, 1);
	arm(note, MS);
	on_another_thread(note, touch_for_20_ms);
	EXPECT_RUNS_AFTER(19 * MS, note, 1);
	on_another_thread(note, cancel_it);
	EXPECT_EQ(note->answer, PAWL_SERVICE_CANCELLED);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 2, 1, 1, 0);
}

IN_EVERY_MODE_WITH_THREADS(delay_0_runs_soon_and_never_on_the_callers_thread)
{
	struct note *note = new_note(fixture);

	note->inside = stay;
	EXPECT_EQ(arm(note, 0), 0);
	sem_wait(&note->entered); /* without settle, and no time passes */
	sem_post(&note->leave);
	settle(fixture);
	EXPECT_EQ(note->runs, 1);
	EXPECT(!pthread_equal(note->thread, pthread_self()));
}

IN_EVERY_MODE_WITH_THREADS(settle_runs_nothing_on_the_callers_thread)
{
	struct note *note = new_note(fixture);

	for (unsigned i = 0; i < 100; i++) {
		arm(note, MS);
		EXPECT_RUNS_AFTER(MS, note, i + 1);
		EXPECT(!pthread_equal(note->thread, pthread_self()));
	}
}

static void arm_again_at_once(struct note *note)
{
	if (note->number) /* the other one is due later */
		pawl_clock_manual_advance(&note->fixture->clock, MS);
	if (!__atomic_load_n(&note->other->answer, __ATOMIC_ACQUIRE) && note->runs < 1000000)
		arm(note, 0);
}

static void say_so(struct note *note)
{
	__atomic_store_n(&note->answer, 1, __ATOMIC_RELEASE);
}

/* Tasks that are due now, or later. */
IN_EVERY_MODE(a_task_that_arms_itself_with_delay_0_starves_no_other)
{
	for (uint64_t delay = 0; delay <= 400 * MS; delay += 400 * MS) {
		struct note *greedy = new_note(fixture), *modest = new_note(fixture);

		greedy->inside = arm_again_at_once;
		greedy->other = modest;
		greedy->number = delay;
		modest->inside = say_so;
		arm(greedy, 0);
		arm(modest, delay);
		settle(fixture);
		EXPECT_EQ(modest->runs, 1);
		EXPECT(greedy->runs < 1000000);
	}
}

IN_EVERY_MODE(the_longest_delay_just_waits)
{
	struct note *first = new_note(fixture), *second = new_note(fixture),
	            *third = new_note(fixture);

	EXPECT_EQ(arm(first, LONGEST), 0);
	advance_and_settle(fixture, HOUR);
	EXPECT_EQ(arm(second, LONGEST), 0);
	EXPECT_EQ(touch(third, LONGEST), 0);
	EXPECT_EQ(arm_at(third, LONGEST), 0);
	advance_and_settle(fixture, LONGEST - HOUR - 1);
	EXPECT_EQ(first->runs + second->runs + third->runs, 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 3);
	EXPECT_EQ(cancel(first), PAWL_SERVICE_CANCELLED);
	expect_counts(fixture->service, 3, 0, 1, 0);
}

IN_EVERY_MODE(a_task_without_a_function_is_refused)
{
	struct pawl_task task;

	pawl_task_init(&task, NULL);
	EXPECT_EQ(pawl_service_arm(fixture->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_arm_at(fixture->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_arm_every(fixture->service, &task, MS, MS, PAWL_SERVICE_SKIP),
	          -EINVAL);
	EXPECT_EQ(pawl_service_touch(fixture->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_cancel(fixture->service, &task), PAWL_SERVICE_IDLE);
	expect_counts(fixture->service, 0, 0, 0, 0);
}

IN_EVERY_MODE(a_task_armed_or_touched_while_it_runs_runs_again_when_its_time_has_come)
{
	struct note *note = new_note(fixture);

	hold(note);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(touch(note, 9 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_EQ(arm(note, 7 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_EQ(touch(note, 5 * MS), 0);
	let_go(note);
	EXPECT_EQ(note->runs, 1);
	EXPECT_RUNS_AFTER(5 * MS - 1, note, 1);
	EXPECT_RUNS_AFTER(1, note, 2);
	EXPECT_RUNS_AFTER(HOUR, note, 2);
	expect_counts(fixture->service, 2, 2, 0, 0);
}

IN_EVERY_MODE(a_task_armed_while_it_runs_and_due_meanwhile_runs_after_it_has_returned)
{
	struct note *note = new_note(fixture);

	hold(note);
	EXPECT_EQ(arm(note, 5 * MS), 0);
	pawl_clock_manual_advance(&fixture->clock, HOUR);
	sem_post(&note->leave); /* the first run, and the second one before it begins */
	let_go(note);
	EXPECT_EQ(note->runs, 2);
	EXPECT_EQ(note->at[1], HOUR);
	expect_counts(fixture->service, 2, 2, 0, 0);
}

/* Touch */

IN_EVERY_MODE(touch_pushes_the_next_run_back)
{
	struct note *note = new_note(fixture);

	arm(note, 5 * MS);
	for (unsigned i = 0; i < 50; i++) {
		advance_and_settle(fixture, 4 * MS);
		EXPECT_EQ(touch(note, 5 * MS), 0);
	}
	EXPECT_EQ(note->runs, 0);
	EXPECT_RUNS_AFTER(5 * MS - 1, note, 0);
	EXPECT_RUNS_AFTER(1, note, 1);
	EXPECT_EQ(note->at[0], 205 * MS);
	expect_counts(fixture->service, 1, 1, 0, 0);
}

IN_EVERY_MODE(touch_also_brings_forward_and_arms_idle_timers)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(touch(note, HOUR), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_EQ(touch(note, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_RUNS_AFTER(5 * MS, note, 1);
	EXPECT_EQ(touch(note, 0), 0);
	settle(fixture);
	EXPECT_EQ(note->runs, 2);
	EXPECT_RUNS_AFTER(2 * HOUR, note, 2);
}

IN_EVERY_MODE(touch_moves_a_periodic_tasks_grid_along)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	advance_and_settle(fixture, 10 * MS);
	advance_and_settle(fixture, 4 * MS);
	EXPECT_EQ(touch(note, 9 * MS), 0);
	for (unsigned i = 0; i < 40; i++)
		advance_and_settle(fixture, MS);
	EXPECT_EQ(note->runs, 5);
	for (unsigned i = 1; i < 5; i++)
		EXPECT_EQ(note->at[i], (13 + 10 * i) * MS);
}

static void touch_once_for_3_ms(struct note *note)
{
	if (note->runs == 1)
		note->answer = touch(note, 3 * MS);
}

IN_EVERY_MODE(touch_inside_a_periodic_task_moves_its_grid_along)
{
	struct note *note = new_note(fixture);

	note->inside = touch_once_for_3_ms;
	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	for (unsigned i = 0; i < 33; i++)
		advance_and_settle(fixture, MS);
	EXPECT_EQ(note->answer, 0);
	EXPECT_EQ(note->runs, 4);
	EXPECT_EQ(note->at[1], 13 * MS);
	EXPECT_EQ(note->at[2], 23 * MS);
	EXPECT_EQ(note->at[3], 33 * MS);
	expect_counts(fixture->service, 5, 4, 0, 0);
}

IN_EVERY_MODE(touch_of_a_cancelled_periodic_task_arms_it_once)
{
	struct note *note = new_note(fixture);

	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	touch(note, 10 * MS);
	advance_and_settle(fixture, 10 * MS);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 2, 1, 1, 0);
}

static void cancel_then_touch_for_5_ms(struct note *note)
{
	cancel(note);
	note->answer = touch(note, 5 * MS);
	note->inside = NULL;
}

IN_EVERY_MODE(touch_of_a_periodic_task_cancelled_while_it_runs_arms_it_once)
{
	struct note *note = new_note(fixture);

	note->inside = cancel_then_touch_for_5_ms;
	arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
	advance_and_settle(fixture, 10 * MS);
	EXPECT_RUNS_AFTER(5 * MS, note, 2);
	EXPECT_RUNS_AFTER(HOUR, note, 2);
}

/* Unless pending */

static int arm_unless_pending(struct note *note, uint64_t delay)
{
	return pawl_service_arm_unless_pending(note->fixture->service, &note->task, delay);
}

IN_EVERY_MODE(a_pending_task_keeps_its_deadline_if_it_is_armed_unless_pending)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_unless_pending(note, 5 * MS), 0);
	EXPECT_EQ(arm_unless_pending(note, MS), -EALREADY);
	advance_and_settle(fixture, 4 * MS);
	EXPECT_EQ(arm_unless_pending(note, HOUR), -EALREADY);
	EXPECT_EQ(deadline_of(note), 5 * MS);
	EXPECT_EQ(note->runs, 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
	EXPECT_EQ(arm_unless_pending(note, MS), 0);
	EXPECT_RUNS_AFTER(MS, note, 2);
	expect_counts(fixture->service, 2, 2, 0, 0);
}

/* It is asked for, moved away, and cancelled: then its memory may be used. */
IN_EVERY_MODE(a_due_task_that_waits_for_a_worker_is_pending)
{
	struct note *armed = new_note(fixture), *touched = new_note(fixture);
	struct note *cancelled = new_note(fixture), *kept = new_note(fixture);
	struct gates gates;

	shut_gates(&gates, fixture);
	arm(armed, 0);
	arm(touched, 0);
	arm(cancelled, 0);
	arm(kept, MS);
	pawl_clock_manual_advance(&fixture->clock, 2 * MS);
	EXPECT_EQ(pawl_service_pending(fixture->service), 4);
	EXPECT_EQ(deadline_of(kept), MS);
	EXPECT_EQ(arm_unless_pending(kept, 0), -EALREADY);
	EXPECT_EQ(arm(armed, 5 * MS), 0);
	EXPECT_EQ(touch(touched, 6 * MS), 0);
	EXPECT_EQ(cancel(cancelled), PAWL_SERVICE_CANCELLED);
	memset(cancelled, 0xA5, sizeof(*cancelled));
	open_gates(&gates, fixture);
	EXPECT_RUNS_AFTER(0, kept, 1);
	EXPECT_EQ(deadline_of(kept), PAWL_NEVER);
	EXPECT_EQ(armed->runs + touched->runs, 0);
	EXPECT_RUNS_AFTER(5 * MS, armed, 1);
	EXPECT_RUNS_AFTER(MS, touched, 1);
	expect_counts(fixture->service, workers_of(fixture) + 4, workers_of(fixture) + 3, 1, 0);
}

IN_EVERY_MODE(a_running_task_is_armed_once_unless_pending)
{
	struct note *note = new_note(fixture);

	hold(note);
	EXPECT_EQ(arm_unless_pending(note, 5 * MS), 0);
	EXPECT_EQ(arm_unless_pending(note, MS), -EALREADY);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(arm_unless_pending(note, 3 * MS), 0);
	let_go(note);
	EXPECT_RUNS_AFTER(3 * MS, note, 2);
	EXPECT_RUNS_AFTER(HOUR, note, 2);
	expect_counts(fixture->service, 3, 2, 1, 0);
}

IN_EVERY_MODE(a_running_periodic_task_is_armed_unless_pending_only_if_it_was_cancelled)
{
	struct note *note = new_note(fixture);

	hold_periodic(note, 10 * MS, PAWL_SERVICE_SKIP, 10 * MS);
	EXPECT_EQ(arm_unless_pending(note, MS), -EALREADY);
	let_go(note);
	EXPECT_EQ(arm_unless_pending(note, MS), -EALREADY);
	EXPECT_EQ(deadline_of(note), 20 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	hold_periodic(note, 10 * MS, PAWL_SERVICE_SKIP, 10 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
	EXPECT_EQ(arm_unless_pending(note, MS), 0);
	let_go(note);
	EXPECT_RUNS_AFTER(MS, note, 3);
	EXPECT_RUNS_AFTER(HOUR, note, 3);
}

IN_EVERY_MODE(a_task_that_waits_for_the_wall_clock_is_pending)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_wall(note, 3600), 0);
	EXPECT_EQ(arm_unless_pending(note, MS), -EALREADY);
	EXPECT_EQ(deadline_of(note), HOUR);
	end(fixture);
	EXPECT_EQ(arm_unless_pending(note, MS), -ECANCELED);
}

/* Order */

#define ORDERED 600

static struct {
	unsigned numbers[ORDERED];
	size_t count;
} order;

static void note_order(struct note *note)
{
	if (order.count < ORDERED)
		order.numbers[order.count] = (unsigned)note->number;
	order.count++;
}

static uint64_t tick_of(uint64_t ns)
{
	return (ns + MS - 1) / MS;
}

/* By tick, and within a tick as armed: each comes after the one before it. */
static void expect_order(const uint64_t *deadlines, const unsigned *armed)
{
	EXPECT_EQ(order.count, ORDERED);
	for (size_t i = 1; i < order.count && i < ORDERED; i++) {
		unsigned before = order.numbers[i - 1], after = order.numbers[i];
		uint64_t tick = tick_of(deadlines[before]), next = tick_of(deadlines[after]);

		EXPECT(tick < next || (tick == next && armed[before] < armed[after]));
	}
}

/* In one step of the clock or in many, and some are armed twice: then the second time counts. */
static void expect_order_with(unsigned workers, uint32_t wheel_size, uint64_t step)
{
	const struct pawl_service_options options = {
	        .workers = workers, .shards = 1, .wheel_size = wheel_size};
	struct note *notes = malloc(ORDERED * sizeof(*notes));
	struct random random = {wheel_size + step};
	uint64_t deadlines[ORDERED];
	unsigned armed[ORDERED], sequence = 0;
	struct fixture fixture;

	fixture_open(&fixture, &options);
	order.count = 0;
	for (unsigned i = 0; i < 2 * ORDERED; i++) {
		unsigned n = i < ORDERED ? i : (unsigned)random_below(&random, ORDERED);

		if (i < ORDERED) {
			note_init(&notes[n], &fixture);
			notes[n].inside = note_order;
			notes[n].number = n;
		}
		deadlines[n] = 1 + random_below(&random, 100 * MS);
		armed[n] = sequence++;
		arm_at(&notes[n], deadlines[n]);
	}
	while (fixture_now(&fixture) < 100 * MS)
		advance_and_settle(&fixture, step);
	expect_order(deadlines, armed);
	pawl_service_close(fixture.service, NULL);
	free(notes);
}

static void one_shard_and_one_worker_run_by_tick_and_within_a_tick_as_armed(void)
{
	static const unsigned workers[] = {1, PAWL_SERVICE_MANUAL};
	static const uint32_t sizes[] = {0, 2, 16};
	static const uint64_t steps[] = {100 * MS, 7 * MS, MS};

	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 3; j++)
			for (unsigned k = 0; k < 3; k++)
				expect_order_with(workers[i], sizes[j], steps[k]);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_runs_once_when_its_time_has_come),
	        TEST(a_deadline_is_rounded_up_to_the_tick),
	        TEST(no_task_is_early_and_none_is_more_than_a_tick_late),
	        TEST(arming_a_pending_task_moves_it),
	        TEST(arm_at_takes_a_time_of_the_clock_and_the_past_is_now),
	        TEST(any_thread_arms_touches_and_cancels_any_task),
	        TEST(delay_0_runs_soon_and_never_on_the_callers_thread),
	        TEST(settle_runs_nothing_on_the_callers_thread),
	        TEST(a_task_that_arms_itself_with_delay_0_starves_no_other),
	        TEST(the_longest_delay_just_waits),
	        TEST(a_task_without_a_function_is_refused),
	        TEST(a_task_armed_or_touched_while_it_runs_runs_again_when_its_time_has_come),
	        TEST(a_task_armed_while_it_runs_and_due_meanwhile_runs_after_it_has_returned),
	        TEST(touch_pushes_the_next_run_back),
	        TEST(touch_also_brings_forward_and_arms_idle_timers),
	        TEST(touch_moves_a_periodic_tasks_grid_along),
	        TEST(touch_inside_a_periodic_task_moves_its_grid_along),
	        TEST(touch_of_a_cancelled_periodic_task_arms_it_once),
	        TEST(touch_of_a_periodic_task_cancelled_while_it_runs_arms_it_once),
	        TEST(a_pending_task_keeps_its_deadline_if_it_is_armed_unless_pending),
	        TEST(a_due_task_that_waits_for_a_worker_is_pending),
	        TEST(a_running_task_is_armed_once_unless_pending),
	        TEST(a_running_periodic_task_is_armed_unless_pending_only_if_it_was_cancelled),
	        TEST(a_task_that_waits_for_the_wall_clock_is_pending),
	        TEST(one_shard_and_one_worker_run_by_tick_and_within_a_tick_as_armed),
	};

	return RUN_TESTS(tests);
}
