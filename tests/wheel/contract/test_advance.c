/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: advancing without a bound, popping, and the order in which timers come out. */
#include "contract.h"

ON_A_WHEEL(time_never_goes_back, wheel_of_20(50), timer)
{
	pawl_wheel_arm_at(wheel, timer, 101);
	pawl_wheel_advance(wheel, 100, 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 99, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 0, 1), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 100, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_next(wheel), 101);
}

static void an_advance_to_the_end_of_time_makes_everything_due(void)
{
	for (uint64_t end = LAST; end != 0; end++) {
		struct pawl_wheel *wheel = wheel_of_20(0);
		struct pawl_timer timers[65] = {{0}};

		for (unsigned i = 0; i < 64; i++)
			EXPECT(pawl_wheel_arm_at(wheel, &timers[i], UINT64_C(1) << i));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[64], PAWL_NEVER));
		EXPECT(pawl_wheel_advance(wheel, end, 0) <= 65 * 16); /* a move a level */
		EXPECT_EQ(pawl_wheel_now(wheel), end);
		for (unsigned i = 0; i < 65; i++)
			EXPECT(pawl_wheel_pop(wheel) == &timers[i]);
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		finish(wheel);
	}
}

ON_A_WHEEL(advance_counts_the_timers_it_moves, wheel_of_20(0), timers)
{
	size_t moves;

	for (uint64_t i = 0; i < 7; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 450 + i);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 7);
	EXPECT_EQ(pawl_wheel_advance(wheel, 439, 0), 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 440, 0), 7);
	moves = pawl_wheel_advance(wheel, 450, 0);
	EXPECT_EQ(moves, 1);
	moves = pawl_wheel_advance(wheel, 456, 0);
	EXPECT_EQ(moves, 6);
	EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 0), 0);
	EXPECT_EQ(pop_all(wheel), 7);
}

static void a_slot_made_due_as_a_whole_is_one_move(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_wheel *wheel = wheel_of_20_with_chains(all_chains[c]);
		static struct pawl_timer timers[1000];

		memset(timers, 0, sizeof(timers));
		for (int i = 0; i < 1000; i++)
			pawl_wheel_arm_at(wheel, &timers[i], 5);
		EXPECT_EQ(pawl_wheel_advance(wheel, 10, 0), 1);
		EXPECT_EQ(pop_all(wheel), 1000);
		finish(wheel);
	}
}

ON_A_WHEEL(between_two_pops_anything_may_be_done, wheel_of_20(0), timers)
{
	for (int i = 0; i < 5; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timers[0]);
	EXPECT(pawl_wheel_arm_at(wheel, &timers[0], 6));
	EXPECT(pawl_wheel_cancel(wheel, &timers[1]));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], 5));
	EXPECT(pawl_wheel_touch_at(wheel, &timers[3], 9));
	EXPECT_POPS(wheel, timers, 4, 2);
	pawl_wheel_advance(wheel, 9, 0);
	EXPECT_POPS(wheel, timers, 0, 3);
}

/* Order */

ON_A_WHEEL(timers_come_out_by_tick_and_within_a_tick_as_they_were_armed, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 450);
	pawl_wheel_arm_at(wheel, &timers[1], 449);
	pawl_wheel_advance(wheel, 60, 0);
	pawl_wheel_arm_at(wheel, &timers[2], 450); /* on level 1 by now */
	pawl_wheel_advance(wheel, 435, 0);
	pawl_wheel_arm_at(wheel, &timers[3], 450); /* on level 0 */
	pawl_wheel_arm_at(wheel, &timers[4], 449);
	pawl_wheel_arm_at(wheel, &timers[5], 450);
	pawl_wheel_advance(wheel, 1000, 0);
	EXPECT_POPS(wheel, timers, 1, 4, 0, 2, 3, 5);
}

ON_A_WHEEL(order_holds_where_the_slots_of_several_levels_open_together, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 8000); /* level 3 */
	pawl_wheel_advance(wheel, 405, 0);
	pawl_wheel_arm_at(wheel, &timers[1], 8000); /* level 2 */
	pawl_wheel_advance(wheel, 7650, 0);
	pawl_wheel_arm_at(wheel, &timers[2], 8000); /* level 1 */
	pawl_wheel_advance(wheel, 7985, 0);
	pawl_wheel_arm_at(wheel, &timers[3], 8000); /* level 0 */
	expect_place(wheel, &timers[0], 3, 1, 8000);
	expect_place(wheel, &timers[1], 2, 0, 8000);
	expect_place(wheel, &timers[2], 1, 0, 8000);
	expect_place(wheel, &timers[3], 0, 0, 8000);
	pawl_wheel_advance(wheel, 8000, 0);
	EXPECT_POPS(wheel, timers, 0, 1, 2, 3);
}

ON_A_WHEEL(arming_anew_puts_a_timer_last_within_its_tick, wheel_of_20(0), timers)
{
	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_arm_at(wheel, &timers[0], 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_POPS(wheel, timers, 1, 2, 0);
}

static void with_chains_every_timer_comes_out_in_its_tick(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_wheel *wheel = wheel_of_20_with_chains(all_chains[c]);
		static struct pawl_timer timers[2000];
		struct pawl_timer *timer;

		memset(timers, 0, sizeof(timers));
		for (uint64_t i = 0; i < 2000; i++)
			EXPECT(pawl_wheel_arm_at(wheel, &timers[i], 1 + i * 7919 % 500));
		for (uint64_t now = 1; now <= 500; now++) {
			size_t popped = 0;

			pawl_wheel_advance(wheel, now, 0);
			while ((timer = pawl_wheel_pop(wheel)) != NULL) {
				EXPECT_EQ(timer->deadline, now);
				popped++;
			}
			EXPECT_EQ(popped, 4);
		}
		EXPECT_EQ(pawl_wheel_count(wheel), 0);
		finish(wheel);
	}
}

/* Each timer that comes out is armed for now again. */
static void a_mark_that_is_armed_for_0_ends_a_loop_that_arms_for_now(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}}, mark = {0}, *timer;
	size_t pops = 0;

	for (size_t i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 5, 0);
	for (int pass = 0; pass < 3; pass++) {
		EXPECT(!pawl_wheel_arm_at(wheel, &mark, 0));
		while (pops < 100 && (timer = pawl_wheel_pop(wheel)) != &mark) {
			EXPECT_EQ(timer - timers, pops++ % 3);
			EXPECT(!pawl_wheel_arm_at(wheel, timer, 5));
		}
	}
	EXPECT_EQ(pops, 9);
	EXPECT(!pawl_timer_armed(&mark));
	EXPECT_POPS(wheel, timers, 0, 1, 2);
	finish(wheel);
}

static void as_many_pops_as_there_are_timers_end_such_a_loop_with_chains(void)
{
	struct pawl_wheel *wheel = wheel_of_20_with_chains(8);
	static struct pawl_timer timers[700];
	size_t popped = 0, count;

	memset(timers, 0, sizeof(timers));
	for (size_t i = 0; i < 700; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 1 + i % 2 * 400);
	pawl_wheel_advance(wheel, 5, 0);
	for (count = pawl_wheel_count(wheel); count > 0; count--) {
		struct pawl_timer *timer = pawl_wheel_pop(wheel);

		EXPECT(timer && timer->deadline <= 5);
		popped++;
		pawl_wheel_arm_at(wheel, timer, 5);
	}
	EXPECT_EQ(popped, 700);
	EXPECT_EQ(pop_all(wheel), 350);
	finish(wheel);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(time_never_goes_back),
	        TEST(an_advance_to_the_end_of_time_makes_everything_due),
	        TEST(advance_counts_the_timers_it_moves),
	        TEST(a_slot_made_due_as_a_whole_is_one_move),
	        TEST(between_two_pops_anything_may_be_done),
	        TEST(timers_come_out_by_tick_and_within_a_tick_as_they_were_armed),
	        TEST(order_holds_where_the_slots_of_several_levels_open_together),
	        TEST(arming_anew_puts_a_timer_last_within_its_tick),
	        TEST(a_mark_that_is_armed_for_0_ends_a_loop_that_arms_for_now),
	        TEST(as_many_pops_as_there_are_timers_end_such_a_loop_with_chains),
	        TEST(with_chains_every_timer_comes_out_in_its_tick),
	};

	return RUN_TESTS(tests);
}
