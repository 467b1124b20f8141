/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: touching: a deadline is pushed back. */
#include "contract.h"

static void a_touch_backwards_leaves_the_timer_in_its_slot(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm_at(wheel, &timer, 15));
	EXPECT(pawl_wheel_touch_at(wheel, &timer, 100));
	EXPECT(pawl_wheel_touch_at(wheel, &timer, 450));
	EXPECT_EQ(timer.deadline, 450);
	expect_place(wheel, &timer, 0, 15, 15);
	EXPECT_EQ(pawl_wheel_next(wheel), 15);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	finish(wheel);
}

static void a_touched_timer_is_put_right_by_one_move_when_its_slot_opens(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm_at(wheel, &timer, 15);
	for (uint64_t deadline = 16; deadline <= 450; deadline++)
		EXPECT(pawl_wheel_touch_at(wheel, &timer, deadline));
	EXPECT_EQ(pawl_wheel_advance(wheel, 15, 0), 1);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	expect_place(wheel, &timer, 2, 1, 400);
	pawl_wheel_advance(wheel, 449, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 450, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

static void a_touched_timer_on_a_coarse_level_is_also_put_right(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm_at(wheel, &timer, 450);
	EXPECT(pawl_wheel_touch_at(wheel, &timer, 9000));
	expect_place(wheel, &timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 1);
	expect_place(wheel, &timer, 3, 1, 8000);
	finish(wheel);
}

static void a_touch_to_the_same_deadline_is_due_on_time(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm_at(wheel, &timer, 15);
	EXPECT(pawl_wheel_touch_at(wheel, &timer, 15));
	expect_place(wheel, &timer, 0, 15, 15);
	pawl_wheel_advance(wheel, 15, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

static void a_touched_timer_leaves_its_neighbours_on_time(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_wheel *wheel = wheel_of_20_with_chains(all_chains[c]);
		static struct pawl_timer timers[100];
		size_t popped = 0;

		memset(timers, 0, sizeof(timers));
		for (int i = 0; i < 100; i++)
			pawl_wheel_arm_at(wheel, &timers[i], 15);
		for (int i = 0; i < 100; i += 3)
			EXPECT(pawl_wheel_touch_at(wheel, &timers[i], 19));
		pawl_wheel_advance(wheel, 15, 0);
		for (struct pawl_timer *timer; (timer = pawl_wheel_pop(wheel)) != NULL; popped++)
			EXPECT_EQ(timer->deadline, 15);
		EXPECT_EQ(popped, 66);
		EXPECT_EQ(pawl_wheel_next(wheel), 19);
		pawl_wheel_advance(wheel, 19, 0);
		EXPECT_EQ(pop_all(wheel), 34);
		finish(wheel);
	}
}

static void an_earlier_touch_is_an_arm(void)
{
	struct pawl_wheel *wheel = wheel_of_20(10);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], 450);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	pawl_wheel_arm_at(wheel, &timers[1], 450);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	finish(wheel);
}

static void an_earlier_touch_puts_a_timer_last_within_its_tick(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], 16);
	pawl_wheel_arm_at(wheel, &timers[1], 15);
	pawl_wheel_touch_at(wheel, &timers[0], 15);
	pawl_wheel_arm_at(wheel, &timers[2], 15);
	pawl_wheel_advance(wheel, 15, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
	finish(wheel);
}

static void a_touch_of_a_due_timer_is_an_arm(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 6, 0);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 9));
	expect_place(wheel, &timers[0], 0, 9, 9);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 6));
	EXPECT_POPS(wheel, timers, 2, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	finish(wheel);
}

static void a_touch_of_an_idle_timer_is_an_arm(void)
{
	struct pawl_wheel *wheel = wheel_of_20(10);
	struct pawl_timer timers[3] = {{0}};

	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	pawl_wheel_arm_at(wheel, &timers[2], 300);
	pawl_wheel_cancel(wheel, &timers[2]);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[2], 301));
	expect_place(wheel, &timers[2], 1, 15, 300);
	EXPECT_EQ(pawl_wheel_count(wheel), 2);
	finish(wheel);
}

static void arming_a_touched_timer_restores_its_order(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], 5);
	pawl_wheel_touch_at(wheel, &timers[0], 30);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	pawl_wheel_arm_at(wheel, &timers[0], 30);
	pawl_wheel_arm_at(wheel, &timers[2], 30);
	pawl_wheel_advance(wheel, 30, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
	finish(wheel);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_touch_backwards_leaves_the_timer_in_its_slot),
	        TEST(a_touched_timer_is_put_right_by_one_move_when_its_slot_opens),
	        TEST(a_touched_timer_on_a_coarse_level_is_also_put_right),
	        TEST(a_touch_to_the_same_deadline_is_due_on_time),
	        TEST(a_touched_timer_leaves_its_neighbours_on_time),
	        TEST(an_earlier_touch_is_an_arm),
	        TEST(an_earlier_touch_puts_a_timer_last_within_its_tick),
	        TEST(a_touch_of_a_due_timer_is_an_arm),
	        TEST(a_touch_of_an_idle_timer_is_an_arm),
	        TEST(arming_a_touched_timer_restores_its_order),
	};

	return RUN_TESTS(tests);
}
