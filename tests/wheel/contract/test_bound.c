/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: advancing with a bound on the moves. */
#include "contract.h"

/* Ten timers in the slot that opens at 400. */
#define BATCH 10

static struct pawl_wheel *wheel_with_ten_at_400(struct pawl_timer *timers, uint32_t chains)
{
	struct pawl_wheel *wheel = wheel_of_20_with_chains(chains);

	memset(timers, 0, BATCH * sizeof(*timers));
	for (uint64_t i = 0; i < BATCH; i++)
		EXPECT(pawl_wheel_arm_at(wheel, &timers[i], 450 + i));
	return wheel;
}

static unsigned level_of(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct pawl_wheel_place place = {99, 99, 99};

	pawl_wheel_get_place(wheel, timer, &place, sizeof(place));
	return place.level;
}

static void a_touch_of_a_far_timer_does_not_slow_the_near_ones(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer far = {0}, near[3] = {{0}};

	pawl_wheel_arm_at(wheel, &far, 100000);
	pawl_wheel_touch_at(wheel, &far, 200000);
	for (unsigned i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &near[i], 5);
	EXPECT_EQ(pawl_wheel_advance(wheel, 5, 0), 1); /* made due as a whole */
	EXPECT_POPS(wheel, near, 0, 1, 2);
	pawl_wheel_cancel(wheel, &far);
	finish(wheel);
}

static void a_bound_stops_advance_in_the_midst_of_a_slot(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_timer timers[BATCH];
		struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, all_chains[c]);
		int moved = 0;

		EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 4), 4);
		EXPECT_EQ(pawl_wheel_now(wheel), 399);
		EXPECT_EQ(pawl_wheel_next(wheel), 400);
		EXPECT_EQ(pawl_wheel_count(wheel), BATCH);
		for (int i = 0; i < BATCH; i++) {
			if (level_of(wheel, &timers[i]) == 2) {
				expect_place(wheel, &timers[i], 2, 1, 400);
			} else {
				expect_place(wheel, &timers[i], 1, 2, 440);
				moved++;
			}
		}
		EXPECT_EQ(moved, 4);
		finish(wheel);
	}
}

static void a_stopped_advance_goes_on_where_it_stopped(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		for (size_t bound = 1; bound <= 31; bound++) {
			struct pawl_timer timers[BATCH];
			struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, all_chains[c]);
			size_t moves, total = 0;

			do {
				moves = pawl_wheel_advance(wheel, 1000, bound);
				EXPECT(moves <= bound);
				EXPECT(moves > 0);
				total += moves;
				EXPECT_SOUND(wheel);
			} while (pawl_wheel_now(wheel) < 1000 && total < 100);
			EXPECT_EQ(total, 3 * BATCH);
			EXPECT_EQ(pawl_wheel_now(wheel), 1000);
			if (all_chains[c] == 1)
				EXPECT_POPS(wheel, timers, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
			else
				EXPECT_EQ(pop_all(wheel), BATCH);
			finish(wheel);
		}
	}
}

ON_A_WHEEL(a_bound_that_is_just_enough_stops_nothing, wheel_of_20(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 5);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 10);
	EXPECT(pawl_wheel_pop(wheel) == timer);
	pawl_wheel_arm_at(wheel, timer, 450);
	EXPECT_EQ(pawl_wheel_advance(wheel, 500, 3), 3);
	EXPECT_EQ(pawl_wheel_now(wheel), 500);
}

ON_A_WHEEL(a_bound_stops_advance_between_two_slots, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 5);
	pawl_wheel_arm_at(wheel, &timers[1], 8);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 7);
	EXPECT_EQ(pawl_wheel_next(wheel), 7); /* for something is due */
	EXPECT_POPS(wheel, timers, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 8);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 10);
	EXPECT_POPS(wheel, timers, 1);
}

static void a_stopped_wheel_places_as_seen_from_the_slot_it_stopped_at(void)
{
	struct pawl_timer timers[BATCH], armed[4] = {{0}};
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	EXPECT(pawl_wheel_arm_at(wheel, &armed[0], 419));
	expect_place(wheel, &armed[0], 0, 19, 419); /* from 399 it would be level 1 */
	EXPECT(pawl_wheel_arm_at(wheel, &armed[1], 400));
	expect_place(wheel, &armed[1], 0, 0, 400);
	EXPECT(!pawl_wheel_arm_at(wheel, &armed[2], 399));
	EXPECT(!pawl_wheel_arm_at(wheel, &armed[3], 0));
	EXPECT_POPS(wheel, armed, 2, 3);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	EXPECT_SOUND(wheel);
	pawl_wheel_advance(wheel, 400, 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 400);
	EXPECT_POPS(wheel, armed, 1);
	pawl_wheel_advance(wheel, 419, 0);
	EXPECT_POPS(wheel, armed, 0);
	pawl_wheel_advance(wheel, 1000, 0);
	EXPECT_POPS(wheel, timers, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	finish(wheel);
}

static void timers_may_be_cancelled_touched_and_armed_between_two_bounded_advances(void)
{
	for (size_t bound = 1; bound < BATCH; bound++) {
		struct pawl_timer timers[BATCH];
		struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

		EXPECT_EQ(pawl_wheel_advance(wheel, 1000, bound), bound);
		EXPECT(pawl_wheel_cancel(wheel, &timers[0]));
		EXPECT(pawl_wheel_cancel(wheel, &timers[9]));
		EXPECT(pawl_wheel_touch_at(wheel, &timers[1], 2000));
		EXPECT(pawl_wheel_touch_at(wheel, &timers[8], 2001));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[2], 454));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[7], 453));
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[3], 1));
		EXPECT(pawl_wheel_pop(wheel) == &timers[3]);
		EXPECT_SOUND(wheel);
		pawl_wheel_advance(wheel, 1000, 0);
		EXPECT_EQ(pawl_wheel_now(wheel), 1000);
		EXPECT_POPS(wheel, timers, 7, 4, 2, 5, 6);
		pawl_wheel_advance(wheel, 1999, 0);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
		pawl_wheel_advance(wheel, 2001, 0);
		EXPECT_POPS(wheel, timers, 1, 8);
		finish(wheel);
	}
}

static void a_stopped_wheel_stays_stopped_while_time_does_not_go_on(void)
{
	struct pawl_timer timers[BATCH];
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	EXPECT_EQ(pawl_wheel_advance(wheel, 399, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 399);
	EXPECT_EQ(pawl_wheel_advance(wheel, 0, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 399);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 6);
	EXPECT_EQ(pawl_wheel_now(wheel), 400);
	EXPECT_EQ(pawl_wheel_next(wheel), 440);
	finish(wheel);
}

static void a_stopped_wheel_goes_on_when_all_it_left_was_cancelled(void)
{
	static const uint64_t later[] = {1001, 5000}; /* in slots that open before 1000 and after */

	for (size_t i = 0; i < 2; i++) {
		struct pawl_timer timers[BATCH], timer = {0};
		struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

		pawl_wheel_advance(wheel, 1000, 4);
		for (int j = 0; j < BATCH; j++)
			EXPECT(pawl_wheel_cancel(wheel, &timers[j]));
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		EXPECT(pawl_wheel_arm_at(wheel, &timer, later[i]));
		EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 3), i == 0 ? 2 : 0);
		EXPECT_EQ(pawl_wheel_now(wheel), 1000);
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[0], 1000));
		finish(wheel);
	}
}

ON_A_WHEEL(a_bound_holds_for_touched_timers_that_are_looked_at_one_by_one, wheel_of_20(0), timers)
{
	size_t moves, total = 0;

	for (int i = 0; i < 6; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[2], 7));
	do {
		moves = pawl_wheel_advance(wheel, 6, 1);
		EXPECT_EQ(moves, 1);
		EXPECT_SOUND(wheel);
		total += moves;
	} while (pawl_wheel_now(wheel) < 6 && total < 100);
	EXPECT(total >= 2);
	EXPECT(total <= 6);
	EXPECT_POPS(wheel, timers, 0, 1, 3, 4, 5);
	expect_place(wheel, &timers[2], 0, 7, 7);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_touch_of_a_far_timer_does_not_slow_the_near_ones),
	        TEST(a_bound_stops_advance_in_the_midst_of_a_slot),
	        TEST(a_stopped_advance_goes_on_where_it_stopped),
	        TEST(a_bound_that_is_just_enough_stops_nothing),
	        TEST(a_bound_stops_advance_between_two_slots),
	        TEST(a_stopped_wheel_places_as_seen_from_the_slot_it_stopped_at),
	        TEST(timers_may_be_cancelled_touched_and_armed_between_two_bounded_advances),
	        TEST(a_stopped_wheel_stays_stopped_while_time_does_not_go_on),
	        TEST(a_stopped_wheel_goes_on_when_all_it_left_was_cancelled),
	        TEST(a_bound_holds_for_touched_timers_that_are_looked_at_one_by_one),
	};

	return RUN_TESTS(tests);
}
