/* SPDX-License-Identifier: MIT */
/* Tasks that are armed for a time of the wall clock, which is set forwards and back. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "../../src/base/random.h"
#include "../support/services.h"

#define NOON INT64_C(1800000000) /* some time, in seconds since 1970 */

IN_EVERY_MODE(it_runs_when_the_wall_clock_says_so)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_at_time(note, at(NOON + 9, 500 * MS)), 0);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_RUNS_AFTER(9499 * MS, note, 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
	EXPECT_EQ(note->at[0], 9500 * MS);
	EXPECT_RUNS_AFTER(HOUR, note, 1);
	expect_counts(fixture->service, 1, 1, 0, 0); /* its looks at the clock do not count */
}

/* For arm_at and arm_at_time: a task that is armed by what the service says runs when it says so. */
IN_EVERY_MODE(the_service_tells_the_time_of_both_clocks)
{
	struct timespec time;
	struct note *by_clock = new_note(fixture), *by_wall = new_note(fixture);

	pawl_clock_manual_advance(&fixture->clock, 7 * SECOND + 1);
	EXPECT_EQ(pawl_service_now(fixture->service), 7 * SECOND + 1);
	set_wall_ns(fixture, NOON, 5);
	pawl_clock_manual_advance(&fixture->clock, SECOND - 2);
	time = pawl_service_wall(fixture->service);
	EXPECT_EQ(time.tv_sec, NOON + 1);
	EXPECT_EQ(time.tv_nsec, 3);
	arm_at(by_clock, pawl_service_now(fixture->service) + SECOND);
	time.tv_sec += 2;
	arm_at_time(by_wall, time);
	advance_and_settle(fixture, SECOND);
	EXPECT_RUNS_AFTER(SECOND + MS, by_clock, 1);
	EXPECT_EQ(by_wall->runs, 1);
	end(fixture);
	EXPECT_EQ(pawl_service_now(fixture->service), 10 * SECOND + MS - 1);
}

static void with_the_default_clock_it_tells_the_time_of_the_system(void)
{
	struct pawl_clock_system clock;
	struct pawl_service *service = service_with(&(struct pawl_service_options){0});
	uint64_t before, now;
	struct timespec wall;
	time_t earlier = time(NULL);

	pawl_clock_monotonic_init(&clock);
	before = clock.clock.now(&clock.clock);
	now = pawl_service_now(service);
	EXPECT(before <= now && now <= clock.clock.now(&clock.clock));
	wall = pawl_service_wall(service);
	EXPECT(earlier - 1 <= wall.tv_sec && wall.tv_sec <= time(NULL) + 1);
	EXPECT(wall.tv_nsec >= 0 && wall.tv_nsec < 1000000000);
	pawl_service_close(service, NULL);
}

IN_EVERY_MODE(it_is_not_early_after_the_clock_was_set_back)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(note, NOON + 10), 0);
	advance_and_settle(fixture, 5 * SECOND);
	set_wall(fixture, NOON - 3600);
	for (int i = 0; i < 3609; i++)
		advance_and_settle(fixture, SECOND);
	EXPECT_EQ(note->runs, 0);
	EXPECT_RUNS_AFTER(SECOND, note, 1);
	EXPECT_EQ(wall(fixture), (NOON + 10) * SECOND);
}

IN_EVERY_MODE(it_is_at_most_a_second_late_after_the_clock_was_set_forwards)
{
	struct note *note = new_note(fixture), *later = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(note, NOON + 3600), 0);
	EXPECT_EQ(arm_wall(later, NOON + 7200), 0);
	advance_and_settle(fixture, 10 * SECOND + 300 * MS);
	set_wall(fixture, NOON + 3600);
	EXPECT_RUNS_AFTER(SECOND + MS, note, 1);
	EXPECT_EQ(later->runs, 0);
	set_wall(fixture, NOON + 7200);
	EXPECT_RUNS_AFTER(SECOND + MS, later, 1);
}

IN_EVERY_MODE(a_time_that_has_passed_is_now)
{
	struct note *notes = new_notes(fixture, 2);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(&notes[0], NOON - 1), 0);
	EXPECT_EQ(arm_at_time(&notes[1], at(-5, 7)), 0);
	settle(fixture);
	EXPECT_EQ(notes[0].runs, 1);
	EXPECT_EQ(notes[1].runs, 1);
}

IN_EVERY_MODE(a_time_beyond_the_end_of_time_waits)
{
	const struct timespec never = {
	        .tv_sec = (time_t)(sizeof(time_t) > 4 ? INT64_MAX : INT32_MAX), .tv_nsec = 0};
	struct note *note = new_note(fixture);

	EXPECT_EQ(arm_at_time(note, never), 0);
	EXPECT_RUNS_AFTER(3 * SECOND, note, 0);
	EXPECT(deadline_of(note) < PAWL_NEVER);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
}

/* Deadlines that never come are at the end of time. */
static void wait_until(uint64_t time, uint64_t tick_ns)
{
	const struct pawl_service_options options = {.tick_ns = tick_ns,
	                                             .workers = PAWL_SERVICE_MANUAL};
	struct fixture fixture;
	struct note note;

	fixture_open(&fixture, &options);
	note_init(&note, &fixture);
	set_wall(&fixture, NOON);
	EXPECT_EQ(arm_wall(&note, NOON + 1000), 0);
	pawl_clock_manual_advance(&fixture.clock, time);
	set_wall(&fixture, NOON);
	pawl_service_settle(fixture.service);
	EXPECT_EQ(note.runs, 0);
	EXPECT_EQ(pawl_service_next(fixture.service), PAWL_NEVER);
	set_wall(&fixture, NOON + 1000);
	EXPECT_EQ(pawl_service_pending(fixture.service), 1);
	pawl_service_close(fixture.service, NULL);
}

static void at_the_end_of_time_it_is_not_early(void)
{
	for (uint64_t time = PAWL_NEVER - 2; time != 0; time++) {
		wait_until(time, 1);
		wait_until(time, 3); /* divides 2^64-1 */
	}
}

/* The clock is set by a tick, which is more than the second after which the clocks are compared. */
IN_MODE(with_a_long_tick_it_is_at_most_a_second_and_a_tick_late, .tick_ns = 10 * SECOND,
        .workers = PAWL_SERVICE_MANUAL)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(note, NOON + 30), 0);
	set_wall(fixture, NOON + 10);
	for (unsigned i = 0; i < 30; i++)
		advance_and_settle(fixture, SECOND);
	EXPECT_EQ(note->runs, 1);
	EXPECT_EQ(note->at[0], 20 * SECOND);
}

/* Both are 2^64-1 ns then. */
IN_MODE(a_wall_clock_beyond_2554_makes_no_never_come, .workers = PAWL_SERVICE_MANUAL)
{
	struct note *note = new_note(fixture);

	if (sizeof(time_t) < 8)
		return;
	set_wall(fixture, UINT64_C(20000000000));
	EXPECT_EQ(arm_wall(note, UINT64_C(30000000000)), 0);
	pawl_service_settle(fixture->service);
	EXPECT_EQ(note->runs, 0);
}

IN_EVERY_MODE(wrong_nanoseconds_are_refused_and_change_nothing)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm(note, 5 * MS), 0);
	EXPECT_EQ(arm_at_time(note, at(NOON + 9, 1000 * MS)), -EINVAL);
	EXPECT_EQ(arm_at_time(note, (struct timespec){.tv_sec = (time_t)NOON, .tv_nsec = -1}),
	          -EINVAL);
	EXPECT_RUNS_AFTER(5 * MS, note, 1);
}

/* The task forgets the wall clock: setting that clock no longer moves it. */
IN_EVERY_MODE(arm_and_touch_make_it_an_ordinary_one)
{
	struct note *armed = new_note(fixture), *touched = new_note(fixture),
	            *periodic = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(armed, NOON + 100), 0);
	EXPECT_EQ(arm_wall(touched, NOON + 100), 0);
	EXPECT_EQ(arm_wall(periodic, NOON + 100), 0);
	EXPECT_EQ(arm(armed, 5 * SECOND), 0);
	EXPECT_EQ(touch(touched, 5 * SECOND), 0);
	EXPECT_EQ(arm_every(periodic, 5 * SECOND, 5 * SECOND, PAWL_SERVICE_BURST), 0);
	set_wall(fixture, NOON - 1000);
	EXPECT_RUNS_AFTER(5 * SECOND, armed, 1);
	EXPECT_EQ(touched->runs, 1);
	EXPECT_EQ(periodic->runs, 1);
	EXPECT_RUNS_AFTER(5 * SECOND, touched, 1);
	EXPECT_EQ(periodic->runs, 2);
	EXPECT_EQ(arm_wall(periodic, NOON - 980), 0); /* and back: without its period */
	EXPECT_RUNS_AFTER(30 * SECOND, periodic, 3);
}

static void arm_for_tomorrow(struct note *note)
{
	note->number += 86400;
	EXPECT_EQ(arm_wall(note, (int64_t)note->number), 0);
}

IN_EVERY_MODE(it_arms_itself_again_for_the_next_day)
{
	struct note *note = new_note(fixture);

	note->inside = arm_for_tomorrow;
	note->number = NOON;
	set_wall(fixture, NOON - 10);
	EXPECT_EQ(arm_wall(note, NOON), 0);
	EXPECT_RUNS_AFTER(10 * SECOND, note, 1);
	set_wall(fixture, NOON + 86400);
	EXPECT_RUNS_AFTER(SECOND + MS, note, 2);
	set_wall(fixture, NOON + 2 * 86400 - 2);
	EXPECT_RUNS_AFTER(SECOND, note, 2);
	EXPECT_RUNS_AFTER(SECOND, note, 3);
}

IN_EVERY_MODE(it_can_be_cancelled_and_says_until_when_it_is_pending)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(note, NOON + 3600), 0);
	EXPECT_EQ(deadline_of(note), HOUR);
	advance_and_settle(fixture, 10 * SECOND);
	EXPECT_EQ(deadline_of(note), HOUR);
	set_wall(fixture, NOON);
	EXPECT_EQ(deadline_of(note), HOUR + 10 * SECOND);
	EXPECT_EQ(cancel_wait(note), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(deadline_of(note), PAWL_NEVER);
	EXPECT_RUNS_AFTER(2 * HOUR, note, 0);
}

/* A wall-clock time is not a period: the task does not keep its quota while it runs. */
IN_EVERY_MODE_LIMITED(1, it_gives_its_quota_back)
{
	struct note *first = new_note(fixture), *second = new_note(fixture);

	EXPECT_EQ(arm_wall(first, 5), 0);
	EXPECT_EQ(arm_wall(second, 5), -EAGAIN);
	EXPECT_RUNS_AFTER(5 * SECOND, first, 1);
	EXPECT_EQ(arm_wall(second, 6), 0);
	EXPECT_RUNS_AFTER(SECOND, second, 1);
}

/* A loop of next and poll. One wake-up a second compares the clocks, for all of them. */
IN_MODE(a_thousand_of_them_take_no_more_wakeups_than_one, .workers = PAWL_SERVICE_MANUAL,
        .shards = 4)
{
	struct note *notes = new_notes(fixture, 1000);
	unsigned polls = 0;

	for (unsigned i = 0; i < 1000; i++) {
		EXPECT_EQ(arm_wall(&notes[i], 1000 + i), 0);
		if (i % 100 == 0)
			advance_and_settle(fixture, 7 * MS);
	}
	while (fixture_now(fixture) < 100 * SECOND) {
		pawl_clock_manual_advance(&fixture->clock, pawl_service_next(fixture->service) -
		                                                   fixture_now(fixture));
		pawl_service_poll(fixture->service, 0);
		polls++;
	}
	EXPECT(polls < 300); /* one a second, and slots that only move tasks down */
}

IN_EVERY_MODE(the_clocks_are_compared_only_while_one_is_pending)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(note, NOON + 3600), 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	advance_and_settle(fixture, SECOND);
	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	EXPECT_EQ(arm_wall(note, NOON + 3600), 0); /* and again */
	set_wall(fixture, NOON + 3600);
	EXPECT_RUNS_AFTER(SECOND + MS, note, 1);
}

static void arm_by_the_wall_clock_inside(struct note *note)
{
	if (note->runs == 1)
		EXPECT_EQ(arm_wall(note, (int64_t)note->number), 0);
}

/* No clocks are compared when it runs, and it is not on the wheel when it is armed. */
IN_EVERY_MODE(armed_by_its_own_run_it_follows_the_clock)
{
	struct note *note = new_note(fixture);

	note->inside = arm_by_the_wall_clock_inside;
	note->number = NOON + 3600;
	set_wall(fixture, NOON);
	EXPECT_EQ(arm(note, MS), 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
	set_wall(fixture, NOON + 3600);
	EXPECT_RUNS_AFTER(SECOND + MS, note, 2);
}

static void arm_by_the_wall_clock_and_cancel(struct note *note)
{
	EXPECT_EQ(arm_wall(note, NOON + 3600), 0);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_RUNNING);
}

/* Its memory is used for something else then. */
IN_EVERY_MODE(cancelled_by_its_own_run_it_is_not_armed_again)
{
	struct note *note = new_note(fixture), *other = new_note(fixture);

	note->inside = arm_by_the_wall_clock_and_cancel;
	set_wall(fixture, NOON);
	EXPECT_EQ(arm_wall(other, NOON + 3600), 0);
	EXPECT_EQ(arm(note, 0), 0);
	EXPECT_RUNS_AFTER(MS, note, 1);
	memset(note, 0xff, sizeof(*note));
	set_wall(fixture, NOON + 3600);
	EXPECT_RUNS_AFTER(SECOND + MS, other, 1);
}

/* Set back and forth again before the clocks are compared: a task that was put back meanwhile is not forgotten. */
IN_EVERY_MODE(a_clock_that_is_set_twice_within_a_second_makes_it_hardly_late)
{
	struct note *note = new_note(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(arm_at_time(note, at(NOON, 100 * MS)), 0);
	set_wall(fixture, NOON - 3600);
	EXPECT_RUNS_AFTER(100 * MS, note, 0);
	set_wall_ns(fixture, NOON, 100 * MS);
	EXPECT_RUNS_AFTER(SECOND + MS, note, 1);
}

/* In the order in which they were armed, whatever the clock did. */
IN_MODE(those_of_one_time_keep_their_order_when_the_clock_is_set, .workers = PAWL_SERVICE_MANUAL,
        .shards = 1)
{
	enum { MANY = 1000 };
	struct note *notes = new_notes(fixture, MANY);

	set_wall(fixture, NOON);
	for (unsigned i = 0; i < MANY; i++)
		EXPECT_EQ(arm_wall(&notes[i], NOON + 3600), 0);
	for (unsigned i = 0; i < 3; i++) {
		set_wall(fixture, NOON - i);
		advance_and_settle(fixture, SECOND + MS);
	}
	set_wall(fixture, NOON + 3600);
	pawl_clock_manual_advance(&fixture->clock, SECOND + MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1); /* compares the clocks */
	for (unsigned i = 0; i < MANY; i++) {
		EXPECT_EQ(notes[i].runs, 0);
		EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
		EXPECT_EQ(notes[i].runs, 1);
	}
}

/* A user's clock that goes on by a step at each reading. The wall clock that goes with it is the system's. */
struct counting_clock {
	struct pawl_clock clock; /* first: a clock is its counting_clock */
	uint64_t time, step, readings;
};

static uint64_t count_reading(struct pawl_clock *clock)
{
	struct counting_clock *counting = (struct counting_clock *)(void *)clock;

	counting->readings++;
	return counting->time += counting->step;
}

static void sleep_by_it(struct pawl_clock *clock, uint64_t deadline)
{
	(void)clock;
	(void)deadline;
}

static void wake_it(struct pawl_clock *clock)
{
	(void)clock;
}

enum { MANY_TASKS = 10000 };

static struct counting_clock counting_clock;

static void on_counting_clock(void (*test)(struct fixture *fixture))
{
	counting_clock = (struct counting_clock){{count_reading, sleep_by_it, wake_it, NULL},
	                                         .time = SECOND};
	in_mode(&(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL,
	                                       .shards = 1,
	                                       .clock = &counting_clock.clock},
	        test);
}

#define ON_COUNTING_CLOCK(name) FIXTURE_TEST(name, on_counting_clock(name##_))

/* For tomorrow. */
static void arm_many(struct fixture *fixture)
{
	struct note *notes = new_notes(fixture, MANY_TASKS);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (unsigned i = 0; i < MANY_TASKS; i++)
		EXPECT_EQ(arm_wall(&notes[i], now.tv_sec + 86400), 0);
	counting_clock.readings = 0;
}

/* As if reading the clock took so long that all of them take more than a second. */
ON_COUNTING_CLOCK(a_poll_ends_however_many_there_are)
{
	arm_many(fixture);
	counting_clock.time += 86400 * SECOND + SECOND; /* all are due, and early */
	counting_clock.step = MS;
	pawl_service_poll(fixture->service, 0);
	EXPECT(counting_clock.readings < 3 * MANY_TASKS);
}

/* They are due by the clock, but not by the wall clock, and the clocks are not compared yet. */
IN_MODE(early_ones_do_not_keep_others_waiting, .workers = PAWL_SERVICE_MANUAL, .shards = 1)
{
	struct note *notes = new_notes(fixture, 1000), *plain = new_note(fixture);

	set_wall(fixture, NOON);
	for (unsigned i = 0; i < 1000; i++)
		EXPECT_EQ(arm_at_time(&notes[i], at(NOON, 400 * MS)), 0);
	EXPECT_EQ(arm(plain, 450 * MS), 0);
	set_wall(fixture, NOON - 3600);
	pawl_clock_manual_advance(&fixture->clock, 500 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(plain->runs, 1);
}

/* The clock is read once for each batch that is armed again. */
ON_COUNTING_CLOCK(when_the_clock_was_set_they_are_armed_again_in_batches)
{
	arm_many(fixture);
	counting_clock.time += 3600 * SECOND; /* the machine slept, say */
	pawl_service_poll(fixture->service, 0);
	EXPECT(counting_clock.readings > MANY_TASKS / 300);
}

/* Random steps of the clock against what must hold: never early, and late by a second and a tick at most. */
enum { TASKS = 8 };

static void expect_not_early(struct note *note)
{
	EXPECT(wall(note->fixture) >= note->number * SECOND);
	note->number = UINT64_MAX;
}

IN_EVERY_MODE(at_random_it_is_never_early_and_hardly_late)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random random = {seed};
		struct note *notes = new_notes(fixture, TASKS);
		unsigned before = test_failures;

		for (unsigned i = 0; i < TASKS; i++) {
			notes[i].inside = expect_not_early;
			notes[i].number = UINT64_MAX;
		}
		set_wall(fixture, NOON);
		for (int call = 0; call < 100; call++) {
			struct note *note = &notes[random_below(&random, TASKS)];
			int64_t time = (int64_t)(wall(fixture) / SECOND +
			                         random_below(&random, 200) - 100);

			if (random_below(&random, 3) == 0) {
				set_wall(fixture, time);
			} else if (random_below(&random, 2) == 0) {
				advance_and_settle(fixture, random_below(&random, 3 * SECOND));
			} else {
				cancel_wait(note);
				note->number = (uint64_t)time;
				EXPECT_EQ(arm_wall(note, time), 0);
				settle(fixture); /* or the clock might be set back during its run */
			}
			if (call % 10)
				continue;
			advance_and_settle(fixture, SECOND + 2 * MS);
			for (unsigned i = 0; i < TASKS; i++)
				EXPECT(notes[i].number == UINT64_MAX ||
				       notes[i].number * SECOND + SECOND + 2 * MS > wall(fixture));
		}
		for (unsigned i = 0; i < TASKS; i++)
			cancel_wait(&notes[i]);
		if (test_failures != before)
			fprintf(stderr, "    ^ with seed %" PRIu64 "\n", seed);
	}
}

/* The system's wall clock: some time ago, and shortly ahead. */
static void it_also_runs_by_the_wall_clock_of_the_system(void)
{
	struct pawl_service *service = service_with(NULL);
	struct timespec now;
	struct note note;

	note_init_posting(&note);
	for (long ahead = 0; ahead <= 20000000; ahead += 20000000) {
		clock_gettime(CLOCK_REALTIME, &now);
		now.tv_nsec += now.tv_nsec < 900000000 ? ahead : 0;
		EXPECT_EQ(pawl_service_arm_at_time(service, &note.task, now), 0);
		sem_wait(&note.entered);
		pawl_service_settle(service);
	}
	now.tv_sec += 86400;
	EXPECT_EQ(pawl_service_arm_at_time(service, &note.task, now), 0);
	EXPECT_EQ(pawl_service_cancel(service, &note.task), PAWL_SERVICE_CANCELLED);
	pawl_service_close(service, NULL);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(it_runs_when_the_wall_clock_says_so),
	        TEST(the_service_tells_the_time_of_both_clocks),
	        TEST(with_the_default_clock_it_tells_the_time_of_the_system),
	        TEST(it_is_not_early_after_the_clock_was_set_back),
	        TEST(it_is_at_most_a_second_late_after_the_clock_was_set_forwards),
	        TEST(a_time_that_has_passed_is_now),
	        TEST(a_time_beyond_the_end_of_time_waits),
	        TEST(at_the_end_of_time_it_is_not_early),
	        TEST(with_a_long_tick_it_is_at_most_a_second_and_a_tick_late),
	        TEST(a_wall_clock_beyond_2554_makes_no_never_come),
	        TEST(wrong_nanoseconds_are_refused_and_change_nothing),
	        TEST(arm_and_touch_make_it_an_ordinary_one),
	        TEST(it_arms_itself_again_for_the_next_day),
	        TEST(it_can_be_cancelled_and_says_until_when_it_is_pending),
	        TEST(it_gives_its_quota_back),
	        TEST(a_thousand_of_them_take_no_more_wakeups_than_one),
	        TEST(the_clocks_are_compared_only_while_one_is_pending),
	        TEST(armed_by_its_own_run_it_follows_the_clock),
	        TEST(cancelled_by_its_own_run_it_is_not_armed_again),
	        TEST(a_clock_that_is_set_twice_within_a_second_makes_it_hardly_late),
	        TEST(those_of_one_time_keep_their_order_when_the_clock_is_set),
	        TEST(a_poll_ends_however_many_there_are),
	        TEST(early_ones_do_not_keep_others_waiting),
	        TEST(when_the_clock_was_set_they_are_armed_again_in_batches),
	        TEST(at_random_it_is_never_early_and_hardly_late),
	        TEST(it_also_runs_by_the_wall_clock_of_the_system),
	};

	return RUN_TESTS(tests);
}
