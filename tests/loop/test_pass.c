/* SPDX-License-Identifier: MIT */
/*
 * The passes of pass.h in a loop of the test's own, whose clock goes on only between passes: how many moves are left to
 * an opening, how much a pass does, and what the loop wakes up for.
 */
#define _GNU_SOURCE
#include "pass.h"

#include "../support/random.h"
#include "../tests/support/test.h"

#define MS     DEFAULT_TICK_NS /* a tick */
#define SECOND (UINT64_C(1000) * MS)
#define START  (1024 * MS) /* where a slot of level 1 begins */
#define TIMERS 100000u

static struct pawl_timer timers[TIMERS];

static struct {
	struct adapter adapter;
	uint64_t now, asleep;   /* by the clock, and how far CLOCK_BOOTTIME is ahead of it */
	size_t called, wakeups; /* passes before which the loop slept */
	size_t at_opening, most_at_opening, ahead, most_in_pass;
	size_t moves_of_pass, calls_of_pass;
} loop;

/* Linked with --wrap: the clock, and what a pass does with the wheel. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
size_t __real_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);
size_t __wrap_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);
size_t __real_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);
size_t __wrap_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t now = loop.now + (clock == CLOCK_BOOTTIME ? loop.asleep : 0);

	EXPECT(clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME);
	t->tv_sec = (time_t)(now / NS_PER_SECOND);
	t->tv_nsec = (long)(now % NS_PER_SECOND);
	return 0;
}

size_t __wrap_pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	size_t moves = __real_pawl_wheel_advance(wheel, now, max_moves);

	loop.at_opening += moves;
	loop.moves_of_pass += moves;
	if (moves > loop.most_at_opening)
		loop.most_at_opening = moves;
	return moves;
}

size_t __wrap_pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves)
{
	size_t moves = __real_pawl_wheel_ahead(wheel, max_moves);

	EXPECT(max_moves > 0); /* that would be no bound */
	EXPECT(moves <= AHEAD + loop.calls_of_pass);
	loop.ahead += moves;
	loop.moves_of_pass += moves;
	return moves;
}

static void set_nothing(struct adapter *adapter)
{
	(void)adapter;
}

static void free_wheel(struct adapter *adapter)
{
	free(adapter->wheel);
}

static const struct adapter_loop timerless = {monotonic_ns, set_nothing, free_wheel};

static void on_due(struct pawl_timer *timer, void *arg)
{
	(void)arg;
	EXPECT(timer->deadline <= loop.now + loop.asleep);
	loop.called++;
	loop.calls_of_pass++;
}

static void loop_open_with(pawl_due_fn *due, const struct pawl_loop_options *options)
{
	memset(&loop, 0, sizeof(loop));
	memset(timers, 0, sizeof(timers));
	loop.now = START;
	EXPECT_EQ(adapter_init(&loop.adapter, &timerless, due, NULL, options), 0);
}

static void loop_open(const struct pawl_loop_options *options)
{
	loop_open_with(on_due, options);
}

static void loop_close(void)
{
	EXPECT_SOUND(loop.adapter.wheel);
	adapter_close(&loop.adapter, NULL);
}

/* The loop sleeps until its timer fires, and makes a pass of this duration. */
static void pass(uint64_t takes)
{
	if (loop.adapter.wake > loop.now) {
		loop.now = loop.adapter.wake;
		loop.wakeups++;
	}
	loop.moves_of_pass = 0;
	loop.calls_of_pass = 0;
	adapter_pass(&loop.adapter, loop.now);
	if (loop.moves_of_pass > loop.most_in_pass)
		loop.most_in_pass = loop.moves_of_pass;
	loop.now += takes;
}

/* A hundred in each tick; the first ones after `first`. */
static void arm(size_t count, uint64_t first)
{
	for (size_t i = 0; i < count; i++)
		adapter_arm_at(&loop.adapter, &timers[i], loop.now + first + i / 100 * MS);
}

/* 40 slots of level 1, each of which would open with 25,600 timers. A slot of level 0 is one move as a whole. */
static void at_an_opening_nothing_is_left_to_move(void)
{
	loop_open(NULL);
	arm(TIMERS, 10 * SECOND);
	while (loop.called < TIMERS)
		pass(0);
	EXPECT(loop.ahead >= TIMERS);
	EXPECT_EQ(loop.most_at_opening, 1);
	loop_close();
}

/* With 100 calls in each pass, 64 moves would not be enough. */
static void a_loop_that_never_sleeps_keeps_up(void)
{
	loop_open(NULL);
	arm(TIMERS, 100 * MS);
	while (loop.called == 0)
		pass(MS);
	for (int i = 0; i < 600; i++)
		pass(MS);
	loop.wakeups = 0;
	loop.most_at_opening = 0;
	while (loop.called < TIMERS)
		pass(MS);
	EXPECT_EQ(loop.wakeups, 0);
	EXPECT_EQ(loop.most_at_opening, 1);
	loop_close();
}

static void a_pass_makes_at_most_max_moves(void)
{
	const struct pawl_loop_options options = {.max_moves = 10, .wheel_size = 8};

	loop_open(&options);
	arm(5000, 300 * MS);
	while (loop.called < 5000)
		pass(0);
	EXPECT_EQ(loop.most_in_pass, 10);
	EXPECT(loop.ahead > 0);
	loop_close();
}

static void many_timers_have_the_loop_wake_before_their_slot_opens(void)
{
	loop_open(NULL);
	arm(MANY, 10 * SECOND);
	EXPECT(pawl_wheel_next_ahead(loop.adapter.wheel) < pawl_wheel_next(loop.adapter.wheel));
	EXPECT_EQ(loop.adapter.wake, pawl_wheel_next_ahead(loop.adapter.wheel));
	while (loop.called == 0)
		pass(0);
	EXPECT_EQ(loop.ahead, MANY);
	EXPECT_EQ(loop.at_opening, 1);
	EXPECT_EQ(loop.wakeups, 2); /* to move ahead, and for the first that are due */
	loop_close();
}

static void expect_to_sleep_until_the_opening(void)
{
	EXPECT(pawl_wheel_next_ahead(loop.adapter.wheel) < pawl_wheel_next(loop.adapter.wheel));
	EXPECT_EQ(loop.adapter.wake, pawl_wheel_next(loop.adapter.wheel));
}

/* However often they are armed, and whatever a pass was made for. */
static void a_few_timers_are_no_reason_to_wake_early(void)
{
	loop_open(NULL);
	for (int i = 0; i < 3; i++)
		arm(MANY - 1, 10 * SECOND);
	expect_to_sleep_until_the_opening();
	adapter_arm_at(&loop.adapter, &timers[0], loop.now);
	pass(0);
	EXPECT_EQ(loop.called, 1);
	expect_to_sleep_until_the_opening();
	loop_close();
}

/* But a pass that is made anyway moves ahead for them, too. */
static void a_pass_moves_ahead_for_a_few_timers_too(void)
{
	loop_open(NULL);
	arm(50, 256 * MS);
	adapter_arm_at(&loop.adapter, &timers[50], loop.now);
	pass(0);
	EXPECT_EQ(loop.called, 1);
	EXPECT_EQ(loop.ahead, 50);
	loop_close();
}

/* If there were work that no pass does, the loop would make passes for ever without time going on. */
static void whatever_is_armed_the_loop_sleeps_in_the_end(void)
{
	const uint64_t span[] = {100 * MS, SECOND, 100 * SECOND, 100000 * SECOND};
	struct random random = {.state = 5};

	loop_open(&(struct pawl_loop_options){.wheel_size = 16, .max_moves = 40, .max_calls = 9});
	for (int i = 0; i < 200000; i++) {
		struct pawl_timer *timer = &timers[random_below(&random, 3000)];
		uint64_t delay = random_below(&random, span[random_below(&random, 4)]);

		if (random_below(&random, 3) == 0)
			adapter_cancel(&loop.adapter, timer);
		else
			adapter_arm_at(&loop.adapter, timer, loop.now + delay);
		if (random_below(&random, 50) == 0)
			pass(random_below(&random, 20 * MS));
	}
	for (int passes = 0; loop.adapter.wake != PAWL_NEVER && passes < 100000; passes++)
		pass(0);
	EXPECT_EQ(loop.adapter.wake, PAWL_NEVER);
	EXPECT_EQ(pawl_wheel_count(loop.adapter.wheel), 0);
	EXPECT(loop.ahead > 0);
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
				EXPECT_EQ(adapter_next_period(deadline, period, now),
				          naive_next_period(deadline, period, now));
	EXPECT_EQ(adapter_next_period(PAWL_NEVER - 10, 9, PAWL_NEVER - 10), PAWL_NEVER - 1);
	EXPECT_EQ(adapter_next_period(PAWL_NEVER - 10, 11, PAWL_NEVER - 10), PAWL_NEVER);
	EXPECT_EQ(adapter_next_period(5, PAWL_NEVER, 5), PAWL_NEVER);
}

static void count_beat(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	EXPECT(timer->timer.deadline > loop.now);
	loop.called++;
}

/* A day of seconds without drift; then an hour in which the loop makes no pass: that is one call. */
static void a_periodic_timer_does_not_drift(void)
{
	struct pawl_loop_timer beat = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open_with(pawl_loop_due, NULL);
	EXPECT_EQ(adapter_arm_every(&loop.adapter, &beat, NS_PER_SECOND), 0);
	while (loop.called < 86400)
		pass(3 * MS);
	EXPECT_EQ(beat.timer.deadline, START + 86401 * NS_PER_SECOND);
	loop.now += PAWL_HOUR;
	pass(0);
	EXPECT_EQ(loop.called, 86401);
	EXPECT_EQ((beat.timer.deadline - START) % NS_PER_SECOND, 0);
	EXPECT(beat.timer.deadline > loop.now);
	EXPECT(beat.timer.deadline <= loop.now + NS_PER_SECOND);
	loop_close();
}

/* A period of less than a tick fires once a tick; it does not keep the loop in its pass. */
static void a_period_of_a_nanosecond_ends_the_pass(void)
{
	struct pawl_loop_timer beat = PAWL_LOOP_TIMER_INIT(count_beat);

	loop_open_with(pawl_loop_due, NULL);
	EXPECT_EQ(adapter_arm_every(&loop.adapter, &beat, 1), 0);
	for (int i = 0; i < 100; i++) {
		pass(0);
		EXPECT(loop.adapter.wake > loop.now);
	}
	EXPECT_EQ(loop.called, 100);
	EXPECT_EQ(loop.now, START + 100 * MS);
	loop_close();
}

/* Time asleep. */

static void a_loop_whose_timers_stand_still_wakes_up_once_a_second(void)
{
	loop_open(&(struct pawl_loop_options){.count_sleep = true});
	adapter_arm(&loop.adapter, &timers[0], 10 * PAWL_SECOND);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake), 0);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake + 1), 0);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake - 7), 7);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake - PAWL_SECOND), PAWL_SECOND);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake - PAWL_SECOND - 1),
	          PAWL_SECOND);
	loop_close();
	loop_open(NULL);
	adapter_arm(&loop.adapter, &timers[0], 10 * PAWL_SECOND);
	EXPECT_EQ(adapter_sleep_ns(&loop.adapter, loop.adapter.wake - 5 * PAWL_SECOND),
	          5 * PAWL_SECOND);
	loop_close();
}

static void time_asleep_counts_only_if_that_is_asked_for(void)
{
	for (int counts = 0; counts < 2; counts++) {
		loop_open(&(struct pawl_loop_options){.count_sleep = counts});
		adapter_arm(&loop.adapter, &timers[0], PAWL_HOUR);
		loop.asleep = PAWL_HOUR + MS;
		adapter_pass(&loop.adapter, loop.adapter.now());
		EXPECT_EQ(pawl_timer_armed(&timers[0]), !counts);
		loop_close();
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(at_an_opening_nothing_is_left_to_move),
	        TEST(a_loop_that_never_sleeps_keeps_up),
	        TEST(a_pass_makes_at_most_max_moves),
	        TEST(many_timers_have_the_loop_wake_before_their_slot_opens),
	        TEST(a_few_timers_are_no_reason_to_wake_early),
	        TEST(a_pass_moves_ahead_for_a_few_timers_too),
	        TEST(whatever_is_armed_the_loop_sleeps_in_the_end),
	        TEST(the_next_period_is_the_first_on_the_grid_after_now),
	        TEST(a_periodic_timer_does_not_drift),
	        TEST(a_period_of_a_nanosecond_ends_the_pass),
	        TEST(a_loop_whose_timers_stand_still_wakes_up_once_a_second),
	        TEST(time_asleep_counts_only_if_that_is_asked_for),
	};

	return RUN_TESTS(tests);
}
