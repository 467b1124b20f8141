/* SPDX-License-Identifier: MIT */
/*
 * Moving ahead: what pawl/wheel.h says of pawl_wheel_ahead, and the order of timers under all schedules of arming,
 * ticking and moving ahead on small wheels.
 */
#include "../../src/base/random.h"
#include "../../src/wheel/next.h"
#include "contract/contract.h"

#include <inttypes.h>

static struct pawl_wheel *wheel_of_20_ahead(uint64_t start)
{
	const struct pawl_wheel_options options = {.start = start, .wheel_size = 20, .ahead = true};

	return wheel_with(&options);
}

ON_A_WHEEL(ahead_moves_timers_down_before_their_slot_opens, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 25);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	expect_place(wheel, &timers[0], 1, 1, 20);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 2);
	expect_place(wheel, &timers[0], 0, 5, 25);
	expect_place(wheel, &timers[1], 0, 10, 30);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 24, 0), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 25, 0);
	EXPECT_POPS(wheel, timers, 0);
	pawl_wheel_advance(wheel, 30, 0);
	EXPECT_POPS(wheel, timers, 1);
}

ON_A_WHEEL(ahead_makes_no_more_moves_than_it_may_and_the_last_timer_goes_first,
           wheel_of_20_ahead(0), timers)
{
	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 25);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 2), 2);
	expect_place(wheel, &timers[0], 1, 1, 20);
	expect_place(wheel, &timers[1], 0, 5, 25);
	expect_place(wheel, &timers[2], 0, 5, 25);
	EXPECT_SOUND(wheel);
	EXPECT_EQ(pawl_wheel_advance(wheel, 20, 0), 1); /* the rest moves when the slot opens */
	pawl_wheel_advance(wheel, 25, 0);
	EXPECT_POPS(wheel, timers, 0, 1, 2);
}

ON_A_WHEEL(next_does_not_name_a_slot_that_ahead_has_emptied, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 25);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	EXPECT_EQ(pawl_wheel_next(wheel), 20);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 1), 1);
	EXPECT_EQ(pawl_wheel_next(wheel), 20); /* there is still one in it */
	EXPECT_EQ(pawl_wheel_ahead(wheel, 1), 1);
	EXPECT_EQ(pawl_wheel_next(wheel), 25);
	EXPECT_EQ(pawl__wheel_next_opening(wheel), 25);
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT_EQ(pawl_wheel_next(wheel), 30);
}

ON_A_WHEEL(a_timer_for_a_begun_slot_goes_to_the_finer_level, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 39);
	pawl_wheel_arm_at(wheel, &timers[1], 25);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 1), 1);
	pawl_wheel_arm_at(wheel, &timers[2], 39);
	pawl_wheel_arm_at(wheel, &timers[3], 40);
	expect_place(wheel, &timers[0], 1, 1, 20);
	expect_place(wheel, &timers[2], 0, 19, 39);
	expect_place(wheel, &timers[3], 1, 2, 40); /* not begun */
	pawl_wheel_advance(wheel, 38, 0);
	EXPECT_POPS(wheel, timers, 1);
	pawl_wheel_advance(wheel, 40, 0);
	EXPECT_POPS(wheel, timers, 0, 2, 3);
}

ON_A_WHEEL(while_ahead_is_not_called_timers_are_where_kafka_has_them, wheel_of_20_ahead(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 450);
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 1);
	expect_place(wheel, timer, 1, 2, 440);
	EXPECT_EQ(pawl_wheel_advance(wheel, 440, 0), 1);
	expect_place(wheel, timer, 0, 10, 450);
	pawl_wheel_advance(wheel, 450, 0);
	EXPECT(pawl_wheel_pop(wheel) == timer);
}

ON_A_WHEEL(a_slot_that_cancelling_emptied_is_not_begun, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 25);
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &timers[1], 25);
	expect_place(wheel, &timers[1], 1, 1, 20);
}

ON_A_WHEEL(ahead_does_nothing_on_a_wheel_made_without_it, wheel_of_20(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 25);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	expect_place(wheel, timer, 1, 1, 20);
}

ON_A_WHEEL(ahead_does_nothing_while_a_bounded_advance_is_stopped, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 25);
	pawl_wheel_arm_at(wheel, &timers[1], 26);
	pawl_wheel_arm_at(wheel, &timers[2], 45);
	EXPECT_EQ(pawl_wheel_advance(wheel, 20, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 19);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	expect_place(wheel, &timers[2], 1, 2, 40);
	EXPECT_EQ(pawl_wheel_advance(wheel, 20, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 20);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 1);
	expect_place(wheel, &timers[2], 0, 5, 45);
}

/* All for 401: armed on level 2, on level 1 and, when that is begun, on level 0. */
ON_A_WHEEL(the_finest_of_slots_that_open_together_is_begun_first, wheel_of_20_ahead(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 401);
	pawl_wheel_advance(wheel, 380, 0);
	pawl_wheel_arm_at(wheel, &timers[1], 401);
	pawl_wheel_arm_at(wheel, &timers[2], 401);
	expect_place(wheel, &timers[0], 2, 1, 400);
	expect_place(wheel, &timers[1], 1, 0, 400);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 1), 1);
	expect_place(wheel, &timers[0], 2, 1, 400);
	expect_place(wheel, &timers[1], 1, 0, 400);
	expect_place(wheel, &timers[2], 0, 1, 401);
	pawl_wheel_arm_at(wheel, &timers[3], 401);
	expect_place(wheel, &timers[3], 0, 1, 401);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 2);
	expect_place(wheel, &timers[0], 0, 1, 401);
	pawl_wheel_advance(wheel, 401, 0);
	EXPECT_POPS(wheel, timers, 0, 1, 2, 3);
}

/* Level 2's slots are 400 wide. */
ON_A_WHEEL(a_slot_is_begun_at_most_an_eighth_of_its_width_early, wheel_of_20_ahead(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 450);
	pawl_wheel_advance(wheel, 349, 0);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	expect_place(wheel, timer, 2, 1, 400);
	pawl_wheel_advance(wheel, 350, 0);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 1);
	expect_place(wheel, timer, 1, 2, 440);
	EXPECT_EQ(pawl_wheel_next(wheel), 440);
}

/* Level 0 holds ticks beyond its window then: 39 is 35 ticks away, and its slot must be looked through. */
ON_A_WHEEL(a_timer_touched_beyond_the_window_is_not_made_due_early, wheel_of_20_ahead(4), timer)
{
	pawl_wheel_arm_at(wheel, timer, 39);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 1);
	expect_place(wheel, timer, 0, 19, 39);
	EXPECT(pawl_wheel_touch_at(wheel, timer, 50));
	expect_place(wheel, timer, 0, 19, 39);
	pawl_wheel_advance(wheel, 39, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 50, 0);
	EXPECT(pawl_wheel_pop(wheel) == timer);
}

/* In a slot that is begun, a touched timer moves to where it now belongs: a coarser level than before. */
ON_A_WHEEL(a_touched_timer_is_put_right_by_one_move_ahead, wheel_of_20_ahead(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 25);
	pawl_wheel_touch_at(wheel, timer, 500);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 1);
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
}

static void at_the_end_of_time_ahead_begins_nothing(void)
{
	const struct pawl_wheel_options options = {
	        .start = LAST - 200, .wheel_size = 16, .ahead = true};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], LAST);
	pawl_wheel_arm_at(wheel, &timers[1], LAST - 180);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 1); /* the second, whose slot ends before */
	pawl_wheel_advance(wheel, LAST - 20, 0);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	pawl_wheel_advance(wheel, LAST, 0);
	EXPECT_POPS(wheel, timers, 1, 0);
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), 0);
	finish(wheel);
}

/* 4,096 slots twice: the last words of the bitmap are in use as well. */
static void the_largest_wheel_moves_ahead(void)
{
	enum { TIMERS = 2048 };
	const struct pawl_wheel_options options = {.wheel_size = 4096, .ahead = true};
	struct pawl_wheel *wheel = wheel_with(&options);
	static struct pawl_timer timers[TIMERS];
	uint64_t expected = 0;

	memset(timers, 0, sizeof(timers));
	for (uint64_t i = 0; i < TIMERS; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 4 * i + 1); /* the last one is 8189 */
	EXPECT_EQ(pawl_wheel_ahead(wheel, 0), TIMERS / 2);
	EXPECT_SOUND(wheel);
	while (expected < TIMERS) {
		EXPECT_EQ(pawl_wheel_next(wheel), 4 * expected + 1);
		EXPECT_EQ(pawl_wheel_advance(wheel, pawl_wheel_next(wheel), 0), 1);
		EXPECT(pawl_wheel_pop(wheel) == &timers[expected++]);
	}
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	finish(wheel);
}

/*
 * Every schedule. Three timers are armed for the same tick, each at any tick before it and in this order. At every
 * tick, before the arming and after it, a move ahead is made or not. And an advance is done at once, or a move at a
 * time with a try to move ahead after each. In every case they come out as they were armed.
 */
enum { ARMED = 3 };

struct schedule {
	uint32_t wheel_size;
	uint64_t start, ticks;
	uint64_t armed_at[ARMED]; /* ticks after the start */
	unsigned before, after;   /* a bit a tick: a move ahead before, and after, arming */
	bool bounded;
};

static void tick_to(struct pawl_wheel *wheel, uint64_t now, bool bounded)
{
	if (!bounded) {
		pawl_wheel_advance(wheel, now, 0);
		return;
	}
	do {
		pawl_wheel_advance(wheel, now, 1);
		pawl_wheel_ahead(wheel, 1);
	} while (pawl_wheel_now(wheel) < now);
}

static void play(struct pawl_wheel *wheel, const struct schedule *schedule,
                 struct pawl_timer *timers)
{
	uint64_t due = schedule->start + schedule->ticks;

	for (uint64_t tick = 0; tick < schedule->ticks; tick++) {
		if (tick > 0)
			tick_to(wheel, schedule->start + tick, schedule->bounded);
		if (schedule->before >> tick & 1)
			pawl_wheel_ahead(wheel, 1);
		for (size_t i = 0; i < ARMED; i++)
			if (schedule->armed_at[i] == tick)
				pawl_wheel_arm_at(wheel, &timers[i], due);
		if (schedule->after >> tick & 1)
			pawl_wheel_ahead(wheel, 1);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
	}
	tick_to(wheel, due, schedule->bounded);
}

static void expect_order(const struct schedule *schedule)
{
	const struct pawl_wheel_options options = {
	        .start = schedule->start, .wheel_size = schedule->wheel_size, .ahead = true};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer timers[ARMED] = {{0}};

	play(wheel, schedule, timers);
	EXPECT_POPS(wheel, timers, 0, 1, 2);
	finish(wheel);
}

static void every_way_to_move_ahead(struct schedule *schedule)
{
	for (schedule->before = 0; schedule->before < 1u << schedule->ticks; schedule->before++)
		for (schedule->after = 0; schedule->after < 1u << schedule->ticks;
		     schedule->after++)
			for (int bounded = 0; bounded < 2; bounded++) {
				schedule->bounded = bounded;
				expect_order(schedule);
			}
}

static void every_way_to_arm(struct schedule *schedule)
{
	uint64_t *at = schedule->armed_at;

	for (at[0] = 0; at[0] < schedule->ticks; at[0]++)
		for (at[1] = at[0]; at[1] < schedule->ticks; at[1]++)
			for (at[2] = at[1]; at[2] < schedule->ticks; at[2]++)
				every_way_to_move_ahead(schedule);
}

static void every_schedule_keeps_the_order(void)
{
	static const struct schedule small[] = {{.wheel_size = 2, .ticks = 5},
	                                        {.wheel_size = 3, .ticks = 5}};

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		for (uint64_t start = 0; start < 8; start++) {
			struct schedule schedule = small[i];

			schedule.start = start;
			every_way_to_arm(&schedule);
		}
}

/*
 * pawl__wheel_next_ahead() compared with trying: until that time a call has nothing to do and no slot opens; at that
 * time one or the other does. On wheels of 2 to 20 slots, with timers on several levels, some of them cancelled.
 */
static void expect_nothing_until(struct pawl_wheel *wheel, uint64_t next)
{
	while (pawl_wheel_now(wheel) + 1 < next) {
		EXPECT_EQ(pawl_wheel_advance(wheel, pawl_wheel_now(wheel) + 1, 0), 0);
		EXPECT_EQ(pawl_wheel_ahead(wheel, 1), 0);
	}
}

static void walk_from_next_to_next(uint64_t seed)
{
	enum { TIMERS = 12 };
	struct random random = {seed};
	const struct pawl_wheel_options options = {
	        .wheel_size = (uint32_t)(2 + random_below(&random, 19)), .ahead = true};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer timers[TIMERS] = {0};
	uint64_t next;

	for (size_t i = 0; i < TIMERS; i++)
		pawl_wheel_arm_at(wheel, &timers[i], random_below(&random, UINT64_C(1) << (4 + i)));
	for (size_t i = 0; i < 3; i++)
		pawl_wheel_cancel(wheel, &timers[random_below(&random, TIMERS)]);
	while (pawl_wheel_pop(wheel))
		;
	while ((next = pawl__wheel_next_ahead(wheel)) != PAWL_NEVER) {
		size_t moves;

		EXPECT(next <= pawl__wheel_next_opening(wheel));
		expect_nothing_until(wheel, next);
		moves = pawl_wheel_advance(wheel, next, 0);
		moves += pawl_wheel_ahead(wheel, 1);
		if (moves == 0)
			fprintf(stderr, "seed %" PRIu64 ", at %" PRIu64 "\n", seed, next);
		EXPECT(moves > 0);
		while (pawl_wheel_pop(wheel))
			;
	}
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	finish(wheel);
}

static void next_ahead_names_the_first_time_at_which_there_is_something_to_do(void)
{
	for (uint64_t seed = 1; seed <= 3000; seed++)
		walk_from_next_to_next(seed);
}

/* All of them in one slot of level 1, which opens at 512. */
static void next_counts_moving_ahead_from_1024_timers_on(void)
{
	for (int ahead = 0; ahead <= 1; ahead++) {
		const struct pawl_wheel_options options = {.ahead = ahead};
		struct pawl_wheel *wheel = wheel_with(&options);
		static struct pawl_timer timers[1024], due;

		memset(timers, 0, sizeof(timers));
		for (size_t i = 0; i < 1023; i++)
			pawl_wheel_arm_at(wheel, &timers[i], 600 + i % 100);
		EXPECT_EQ(pawl_wheel_next(wheel), 512);
		pawl_wheel_arm_at(wheel, &timers[1023], 700);
		EXPECT_EQ(pawl_wheel_next(wheel), ahead ? 256 : 512);
		pawl_wheel_arm_at(wheel, &due, 0); /* what is due comes first */
		EXPECT_EQ(pawl_wheel_next(wheel), 0);
		pawl_wheel_cancel(wheel, &due);
		pawl_wheel_advance(wheel, 300, 0);
		EXPECT_EQ(pawl_wheel_next(wheel), ahead ? 300 : 512);
		pawl_wheel_ahead(wheel, 0); /* with it, what is next is the first timer itself */
		EXPECT_EQ(pawl_wheel_next(wheel), ahead ? 600 : 512);
		EXPECT_EQ(pawl_wheel_earliest(wheel), 600);
		finish(wheel);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(ahead_moves_timers_down_before_their_slot_opens),
	        TEST(ahead_makes_no_more_moves_than_it_may_and_the_last_timer_goes_first),
	        TEST(next_does_not_name_a_slot_that_ahead_has_emptied),
	        TEST(a_timer_for_a_begun_slot_goes_to_the_finer_level),
	        TEST(while_ahead_is_not_called_timers_are_where_kafka_has_them),
	        TEST(a_slot_that_cancelling_emptied_is_not_begun),
	        TEST(ahead_does_nothing_on_a_wheel_made_without_it),
	        TEST(ahead_does_nothing_while_a_bounded_advance_is_stopped),
	        TEST(the_finest_of_slots_that_open_together_is_begun_first),
	        TEST(a_slot_is_begun_at_most_an_eighth_of_its_width_early),
	        TEST(a_timer_touched_beyond_the_window_is_not_made_due_early),
	        TEST(a_touched_timer_is_put_right_by_one_move_ahead),
	        TEST(at_the_end_of_time_ahead_begins_nothing),
	        TEST(the_largest_wheel_moves_ahead),
	        TEST(every_schedule_keeps_the_order),
	        TEST(next_counts_moving_ahead_from_1024_timers_on),
	        TEST(next_ahead_names_the_first_time_at_which_there_is_something_to_do),
	};

	return RUN_TESTS(tests);
}
