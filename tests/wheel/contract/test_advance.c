/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: advancing without a bound, and popping. */
#include "contract.h"

static void time_never_goes_back(void)
{
	struct pawl_wheel *wheel = wheel_of_20(50);
	struct pawl_timer timer = {0};

	pawl_wheel_arm_at(wheel, &timer, 101);
	pawl_wheel_advance(wheel, 100, 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 99, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 0, 1), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 100, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_next(wheel), 101);
	finish(wheel);
}

static void a_jump_of_centuries_is_one_call(void)
{
	const uint64_t century = UINT64_C(1000000000) * 86400 * 36525; /* in ns */
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], 5 * century);
	pawl_wheel_arm_at(wheel, &timers[1], 2 * century);
	pawl_wheel_arm_at(wheel, &timers[2], 5 * century + 1);
	EXPECT(pawl_wheel_advance(wheel, 5 * century, 0) <= 3 * 16);
	EXPECT_EQ(pawl_wheel_now(wheel), 5 * century);
	EXPECT_POPS(wheel, timers, 1, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 5 * century + 1);
	finish(wheel);
}

static void an_advance_to_the_end_of_time_makes_everything_due(void)
{
	for (uint64_t end = LAST; end != 0; end++) {
		struct pawl_wheel *wheel = wheel_of_20(0);
		struct pawl_timer timers[65] = {{0}};

		for (unsigned i = 0; i < 64; i++)
			EXPECT(pawl_wheel_arm_at(wheel, &timers[i], UINT64_C(1) << i));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[64], PAWL_NEVER));
		pawl_wheel_advance(wheel, end, 0);
		EXPECT_EQ(pawl_wheel_now(wheel), end);
		for (unsigned i = 0; i < 65; i++)
			EXPECT(pawl_wheel_pop(wheel) == &timers[i]);
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		finish(wheel);
	}
}

static void advance_counts_the_timers_it_moves(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[7] = {{0}};
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
	finish(wheel);
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

static void between_two_pops_anything_may_be_done(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[5] = {{0}};

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
	finish(wheel);
}

static void a_popped_timer_may_be_armed_again(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	for (uint64_t now = 0; now < 10000; now += 37) {
		pawl_wheel_advance(wheel, now, 0);
		if (now > 0)
			EXPECT(pawl_wheel_pop(wheel) == &timer);
		EXPECT(pawl_wheel_arm_at(wheel, &timer, now + 37));
		EXPECT_EQ(pawl_wheel_count(wheel), 1);
	}
	finish(wheel);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(time_never_goes_back),
	        TEST(a_jump_of_centuries_is_one_call),
	        TEST(an_advance_to_the_end_of_time_makes_everything_due),
	        TEST(advance_counts_the_timers_it_moves),
	        TEST(a_slot_made_due_as_a_whole_is_one_move),
	        TEST(between_two_pops_anything_may_be_done),
	        TEST(a_popped_timer_may_be_armed_again),
	};

	return RUN_TESTS(tests);
}
