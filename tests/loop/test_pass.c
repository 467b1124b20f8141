/* SPDX-License-Identifier: MIT */
/*
 * The passes of src/loop in a loop of the test's own, whose clock goes on only between passes: how many moves are left
 * to an opening, how much a pass does, and what the loop wakes up for.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../../src/loop/layout.h"
#include "../../src/loop/sleep.h"
#include "../support/test.h"

#include <errno.h>
#include <pawl/epoll.h>

#define MS     DEFAULT_TICK_NS /* a tick */
#define SECOND (UINT64_C(1000) * MS)
#define START  (1024 * MS) /* where a slot of level 1 begins */
#define TIMERS 100000u

static struct pawl_loop_timer timers[TIMERS];

static struct {
	struct pawl_loop *loop;
	uint64_t now;  /* by the clock */
	uint64_t wake; /* that the timer is set to */
	bool released;
	size_t called, wakeups; /* passes before which the loop slept */
	size_t at_opening, most_at_opening, ahead, most_in_pass;
	size_t moves_of_pass, calls_of_pass;
} own;

/* Linked with --wrap: what a pass does with the wheel. */
size_t __real_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);
size_t __wrap_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);
size_t __real_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);
size_t __wrap_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);

size_t __wrap_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	size_t moves = __real_pawl_wheel_advance(wheel, now, max_moves);

	own.at_opening += moves;
	own.moves_of_pass += moves;
	if (moves > own.most_at_opening)
		own.most_at_opening = moves;
	return moves;
}

size_t __wrap_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves)
{
	size_t moves = __real_pawl_wheel_ahead(wheel, max_moves);

	EXPECT(max_moves > 0); /* that would be no bound */
	EXPECT(moves <= MOVES_AHEAD + own.calls_of_pass);
	own.ahead += moves;
	own.moves_of_pass += moves;
	return moves;
}

static uint64_t own_now(void *self)
{
	EXPECT(self == &own);
	return own.now;
}

static void set_own_timer(void *self, uint64_t at_ns)
{
	EXPECT(self == &own);
	own.wake = at_ns;
}

static void release_own(void *self)
{
	EXPECT(self == &own);
	EXPECT(!own.released);
	own.released = true;
}

static const struct pawl_loop_adapter adapter = {own_now, set_own_timer, release_own, {0}};

static void on_due(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	EXPECT(timer->timer.deadline <= own.now);
	own.called++;
	own.calls_of_pass++;
}

static void loop_open(const struct pawl_loop_options *given)
{
	struct pawl_loop_options options = given ? *given : (struct pawl_loop_options){0};

	memset(&own, 0, sizeof(own));
	memset(timers, 0, sizeof(timers));
	own.now = START;
	own.wake = PAWL_NEVER;
	options.due = on_due;
	EXPECT_EQ(pawl_loop_open(&own.loop, &adapter, &own, &options), 0);
}

static void loop_close(void)
{
	EXPECT_SOUND(pawl_loop_wheel(own.loop));
	pawl_loop_close(own.loop, NULL);
	EXPECT(own.released);
}

/* The loop sleeps until its timer fires, and makes a pass of this duration. */
static void pass(uint64_t takes)
{
	if (own.wake > own.now) {
		own.now = own.wake;
		own.wakeups++;
	}
	own.moves_of_pass = 0;
	own.calls_of_pass = 0;
	pawl_loop_pass(own.loop);
	if (own.moves_of_pass > own.most_in_pass)
		own.most_in_pass = own.moves_of_pass;
	own.now += takes;
}

/* A hundred in each tick; the first ones after `first`. */
static void arm(size_t count, uint64_t first)
{
	for (size_t i = 0; i < count; i++)
		pawl_loop_arm_at(own.loop, &timers[i], own.now + first + i / 100 * MS);
}

/* 40 slots of level 1, each of which would open with 25,600 timers. A slot of level 0 is one move as a whole. */
static void at_an_opening_nothing_is_left_to_move(void)
{
	loop_open(NULL);
	arm(TIMERS, 10 * SECOND);
	while (own.called < TIMERS)
		pass(0);
	EXPECT(own.ahead >= TIMERS);
	EXPECT_EQ(own.most_at_opening, 1);
	loop_close();
}

/* With 100 calls in each pass, 64 moves would not be enough. */
static void a_loop_that_never_sleeps_keeps_up(void)
{
	loop_open(NULL);
	arm(TIMERS, 100 * MS);
	while (own.called == 0)
		pass(MS);
	for (int i = 0; i < 600; i++)
		pass(MS);
	own.wakeups = 0;
	own.most_at_opening = 0;
	while (own.called < TIMERS)
		pass(MS);
	EXPECT_EQ(own.wakeups, 0);
	EXPECT_EQ(own.most_at_opening, 1);
	loop_close();
}

static void a_pass_makes_at_most_max_moves(void)
{
	const struct pawl_loop_options options = {.max_moves = 10, .wheel_size = 8};

	loop_open(&options);
	arm(5000, 300 * MS);
	while (own.called < 5000)
		pass(0);
	EXPECT_EQ(own.most_in_pass, 10);
	EXPECT(own.ahead > 0);
	loop_close();
}

static void many_timers_have_the_loop_wake_before_their_slot_opens(void)
{
	loop_open(NULL);
	arm(WHEEL_MANY, 10 * SECOND);
	EXPECT(pawl__wheel_next_ahead(pawl_loop_wheel(own.loop)) <
	       pawl__wheel_next_opening(pawl_loop_wheel(own.loop)));
	EXPECT_EQ(own.wake, pawl__wheel_next_ahead(pawl_loop_wheel(own.loop)));
	while (own.called == 0)
		pass(0);
	EXPECT_EQ(own.ahead, WHEEL_MANY);
	EXPECT_EQ(own.at_opening, 1);
	EXPECT_EQ(own.wakeups, 2); /* to move ahead, and for the first that are due */
	loop_close();
}

static void expect_to_sleep_until_the_opening(void)
{
	EXPECT(pawl__wheel_next_ahead(pawl_loop_wheel(own.loop)) <
	       pawl__wheel_next_opening(pawl_loop_wheel(own.loop)));
	EXPECT_EQ(own.wake, pawl_wheel_next(pawl_loop_wheel(own.loop)));
}

/* However often they are armed, and whatever a pass was made for. */
static void a_few_timers_are_no_reason_to_wake_early(void)
{
	loop_open(NULL);
	for (int i = 0; i < 3; i++)
		arm(WHEEL_MANY - 1, 10 * SECOND);
	expect_to_sleep_until_the_opening();
	pawl_loop_arm_at(own.loop, &timers[0], own.now);
	pass(0);
	EXPECT_EQ(own.called, 1);
	expect_to_sleep_until_the_opening();
	loop_close();
}

/* But a pass that is made anyway also moves ahead for them. */
static void a_pass_also_moves_ahead_for_a_few_timers(void)
{
	loop_open(NULL);
	arm(50, 256 * MS);
	pawl_loop_arm_at(own.loop, &timers[50], own.now);
	pass(0);
	EXPECT_EQ(own.called, 1);
	EXPECT_EQ(own.ahead, 50);
	loop_close();
}

/*
 * Each timer is called or cancelled. If there were work that no pass does, the loop would make passes forever without
 * time going on.
 */
static void whatever_is_armed_the_loop_sleeps_in_the_end(void)
{
	const uint64_t span[] = {100 * MS, SECOND, 100 * SECOND, 100000 * SECOND};
	struct random random = {.state = 5};
	size_t armed = 0, cancelled = 0;

	loop_open(&(struct pawl_loop_options){.wheel_size = 16, .max_moves = 40, .max_calls = 9});
	for (int i = 0; i < 200000; i++) {
		struct pawl_loop_timer *timer = &timers[random_below(&random, 3000)];
		uint64_t delay = random_below(&random, span[random_below(&random, 4)]);

		if (random_below(&random, 3) == 0) {
			cancelled += pawl_loop_cancel(own.loop, timer);
		} else {
			armed += !pawl_timer_armed(&timer->timer);
			if (i % 2)
				pawl_loop_arm_at(own.loop, timer, own.now + delay);
			else
				pawl_loop_touch(own.loop, timer, delay);
		}
		if (random_below(&random, 50) == 0)
			pass(random_below(&random, 20 * MS));
	}
	for (int passes = 0; own.wake != PAWL_NEVER && passes < 100000; passes++)
		pass(0);
	EXPECT_EQ(own.wake, PAWL_NEVER);
	EXPECT_EQ(pawl_loop_count(own.loop), 0);
	EXPECT_EQ(own.called + cancelled, armed);
	EXPECT(own.ahead > 0);
	loop_close();
}

/* Periodic timers. */

static uint64_t naive_next_period(uint64_t deadline, uint64_t period, uint64_t now)
{
	do
		deadline += period;
	while (deadline <= now);
	return deadline;
}

static void the_next_period_is_the_first_on_the_grid_after_now(void)
{
	for (uint64_t deadline = 0; deadline < 40; deadline++)
		for (uint64_t period = 1; period < 40; period++)
			for (uint64_t now = deadline; now < 130; now++)
				EXPECT_EQ(next_period(deadline, period, now),
				          naive_next_period(deadline, period, now));
	EXPECT_EQ(next_period(PAWL_NEVER - 10, 9, PAWL_NEVER - 10), PAWL_NEVER - 1);
	EXPECT_EQ(next_period(PAWL_NEVER - 10, 11, PAWL_NEVER - 10), PAWL_NEVER);
	EXPECT_EQ(next_period(5, PAWL_NEVER, 5), PAWL_NEVER);
}

static void count_beat(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	EXPECT(timer->timer.deadline > own.now);
	own.called++;
}

/* A day of seconds without drift; then an hour in which the loop makes no pass: that is one call. */
static void a_periodic_timer_does_not_drift(void)
{
	struct pawl_loop_timer beat = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &beat, PAWL_SECOND, PAWL_SECOND), 0);
	while (own.called < 86400)
		pass(3 * MS);
	EXPECT_EQ(beat.timer.deadline, START + 86401 * PAWL_SECOND);
	own.now += PAWL_HOUR;
	pass(0);
	EXPECT_EQ(own.called, 86401);
	EXPECT_EQ((beat.timer.deadline - START) % PAWL_SECOND, 0);
	EXPECT(beat.timer.deadline > own.now);
	EXPECT(beat.timer.deadline <= own.now + PAWL_SECOND);
	loop_close();
}

static void count_once(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	EXPECT(!pawl_timer_armed(&timer->timer));
	own.called++;
}

static uint64_t next_call_of(const struct pawl_loop_timer *timer)
{
	return pawl_timer_deadline(&timer->timer);
}

static void the_first_call_has_a_delay_of_its_own(void)
{
	struct pawl_loop_timer beat = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &beat, PAWL_HOUR, 3 * MS), 0);
	EXPECT_EQ(next_call_of(&beat), START + PAWL_HOUR);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &beat, 0, 3 * MS), 0);
	pass(0);
	EXPECT_EQ(own.called, 1);
	EXPECT_EQ(next_call_of(&beat), START + 3 * MS);
	loop_close();
}

static void touch_keeps_the_period_and_arm_and_cancel_end_it(void)
{
	struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, PAWL_HOUR, PAWL_HOUR), 0);
	pawl_loop_touch(own.loop, &timer, MS);
	pass(0); /* the touch moves it */
	EXPECT_EQ(own.called, 1);
	EXPECT_EQ(next_call_of(&timer), START + MS + PAWL_HOUR); /* the grid has moved */
	timer.due = count_once;
	pawl_loop_arm(own.loop, &timer, MS);
	pass(0);
	EXPECT_EQ(own.called, 2);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, PAWL_HOUR, PAWL_HOUR), 0);
	EXPECT(pawl_loop_cancel(own.loop, &timer));
	pawl_loop_touch(own.loop, &timer, 0); /* idle: armed once */
	pass(0);
	EXPECT_EQ(own.called, 3);
	loop_close();
}

/* It may go on in another loop, where touch arms an idle timer once. */
static void a_dropped_timer_becomes_one_shot(void)
{
	struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(count_once);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, PAWL_HOUR, PAWL_HOUR), 0);
	pawl_loop_close(own.loop, count_once);
	EXPECT_EQ(own.called, 1);
	loop_open(NULL);
	pawl_loop_touch(own.loop, &timer, 0);
	pass(0);
	EXPECT_EQ(own.called, 1);
	loop_close();
}

static void a_bad_period_is_refused_and_changes_nothing(void)
{
	struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, MS, 0), -EINVAL);
	EXPECT(!pawl_timer_armed(&timer.timer));
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, PAWL_NEVER, PAWL_NEVER), 0);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &timer, MS, 0), -EINVAL);
	EXPECT_EQ(next_call_of(&timer), PAWL_NEVER - 1);
	loop_close();
}

/* A period of less than a tick fires once a tick; it does not keep the loop in its pass. */
static void a_period_of_a_nanosecond_ends_the_pass(void)
{
	struct pawl_loop_timer beat = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open(NULL);
	EXPECT_EQ(pawl_loop_arm_every(own.loop, &beat, 1, 1), 0);
	for (int i = 0; i < 100; i++) {
		pass(0);
		EXPECT(own.wake > own.now);
	}
	EXPECT_EQ(own.called, 100);
	EXPECT_EQ(own.now, START + 100 * MS);
	loop_close();
}

/* With count_sleep the event loop's timer stands still in a suspension. */
static void an_event_loop_sleeps_for_a_day_at_most_or_for_a_second(void)
{
	const struct pawl_loop_options counting = {.count_sleep = true}, plain = {0};
	const uint64_t day = 24 * PAWL_HOUR, at = 10 * day;

	EXPECT_EQ(longest_delay(&plain), day);
	EXPECT_EQ(longest_delay(NULL), day);
	EXPECT_EQ(longest_delay(&counting), PAWL_SECOND);
	EXPECT_EQ(delay_until(at, at, day), 0);
	EXPECT_EQ(delay_until(at, at + 1, day), 0);
	EXPECT_EQ(delay_until(at, at - 7, day), 7);
	EXPECT_EQ(delay_until(at, at - PAWL_SECOND - 1, day), PAWL_SECOND + 1);
	EXPECT_EQ(delay_until(at, at - PAWL_SECOND - 1, PAWL_SECOND), PAWL_SECOND);
	EXPECT_EQ(delay_until(PAWL_NEVER, 0, day), day);
}

static void time_asleep_counts_only_if_that_is_asked_for(void)
{
	const struct pawl_loop_options counting = {.count_sleep = true}, plain = {0};

	EXPECT_EQ(loop_clock(&counting), BOOTTIME);
	EXPECT_EQ(loop_clock(&plain), MONOTONIC);
	EXPECT_EQ(loop_clock(NULL), MONOTONIC);
}

/* The wheel. */

/* Otherwise its slot would be chosen by an old time, and it would be moved once more. */
static void after_a_sleep_a_timer_goes_to_the_slot_of_the_present(void)
{
	loop_open(NULL);
	own.now += 3 * MS;
	pawl_loop_arm(own.loop, &timers[0], PAWL_HOUR);
	EXPECT_EQ(pawl_wheel_now(pawl_loop_wheel(own.loop)), own.now);
	loop_close();
}

static void the_options_are_those_of_the_wheel(void)
{
	const struct pawl_loop_options options = {.tick_ns = 7 * SECOND, .wheel_size = 9};
	struct pawl_wheel_place place;

	loop_open(&options);
	pawl_loop_arm_at(own.loop, &timers[0], 15 * 7 * SECOND);
	EXPECT(pawl_wheel_get_place(pawl_loop_wheel(own.loop), &timers[0].timer, &place,
	                            sizeof(place)));
	EXPECT_EQ(place.level, 1);
	EXPECT_EQ(place.slot, 1);
	EXPECT_EQ(place.opens, 9 * 7 * SECOND);
	loop_close();
}

/* Adapters. */

/* The wheel knows a later time already, from arm: a pass does not go back. */
static void a_pass_may_be_at_an_earlier_time_than_the_clock(void)
{
	loop_open(NULL);
	pawl_loop_arm(own.loop, &timers[0], 10 * MS);
	own.now += 20 * MS;
	EXPECT_EQ(pawl_loop_pass_at(own.loop, START + 5 * MS), 0);
	EXPECT_EQ(own.called, 0);
	EXPECT_EQ(pawl_loop_pass_at(own.loop, START + 11 * MS), 1);
	EXPECT_EQ(pawl_loop_pass_at(own.loop, START), 0);
	EXPECT_EQ(own.wake, PAWL_NEVER);
	loop_close();
}

static void expect_refused(const struct pawl_loop_adapter *bad)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *loop = NULL;

	own.released = false;
	EXPECT_EQ(pawl_loop_open(&loop, bad, &own, &options), -EINVAL);
	EXPECT(loop == NULL);
	EXPECT(!own.released);
}

static void an_adapter_that_lacks_a_function_is_refused(void)
{
	struct pawl_loop_adapter bad = adapter;

	bad.now = NULL;
	expect_refused(&bad);
	bad = adapter;
	bad.set_timer = NULL;
	expect_refused(&bad);
	bad = adapter;
	bad.release = NULL;
	expect_refused(&bad);
	for (size_t i = 0; i < 4; i++) {
		bad = adapter;
		bad.reserved[i] = &own;
		expect_refused(&bad);
	}
}

static void a_loop_of_another_kind_has_no_descriptor(void)
{
	loop_open(NULL);
	EXPECT_EQ(pawl_epoll_fd(own.loop), -EINVAL);
	loop_close();
}

/* With PAWL_POSIX, Linux is built as a system without timerfds. */
static void without_timerfds_open_says_so(void)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *loop = NULL;
	int error = pawl_epoll_open(&loop, &options);

#ifdef PAWL_ON_LINUX
	EXPECT_EQ(error, 0);
	EXPECT(pawl_epoll_fd(loop) >= 0);
#else
	EXPECT_EQ(error, -ENOTSUP);
	EXPECT(loop == NULL);
#endif
	pawl_loop_close(loop, NULL);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(at_an_opening_nothing_is_left_to_move),
	        TEST(a_loop_that_never_sleeps_keeps_up),
	        TEST(a_pass_makes_at_most_max_moves),
	        TEST(many_timers_have_the_loop_wake_before_their_slot_opens),
	        TEST(a_few_timers_are_no_reason_to_wake_early),
	        TEST(a_pass_also_moves_ahead_for_a_few_timers),
	        TEST(whatever_is_armed_the_loop_sleeps_in_the_end),
	        TEST(the_next_period_is_the_first_on_the_grid_after_now),
	        TEST(a_periodic_timer_does_not_drift),
	        TEST(the_first_call_has_a_delay_of_its_own),
	        TEST(touch_keeps_the_period_and_arm_and_cancel_end_it),
	        TEST(a_dropped_timer_becomes_one_shot),
	        TEST(a_bad_period_is_refused_and_changes_nothing),
	        TEST(a_period_of_a_nanosecond_ends_the_pass),
	        TEST(after_a_sleep_a_timer_goes_to_the_slot_of_the_present),
	        TEST(the_options_are_those_of_the_wheel),
	        TEST(an_event_loop_sleeps_for_a_day_at_most_or_for_a_second),
	        TEST(time_asleep_counts_only_if_that_is_asked_for),
	        TEST(a_pass_may_be_at_an_earlier_time_than_the_clock),
	        TEST(an_adapter_that_lacks_a_function_is_refused),
	        TEST(a_loop_of_another_kind_has_no_descriptor),
	        TEST(without_timerfds_open_says_so),
	};

	return RUN_TESTS(tests);
}
