/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: arming, cancelling, and touching, by which a deadline is pushed back. */
#include "contract.h"

ON_A_WHEEL(a_zeroed_timer_is_idle, wheel_of_20(0), timer)
{
	EXPECT(!pawl_timer_armed(timer));
	EXPECT(!pawl_wheel_cancel(wheel, timer));
	expect_no_place(wheel, timer);
}

ON_A_WHEEL(an_armed_timer_waits_and_is_popped_once, wheel_of_20(0), timer)
{
	EXPECT(pawl_wheel_arm_at(wheel, timer, 5));
	EXPECT(pawl_timer_armed(timer));
	EXPECT_EQ(timer->deadline, 5);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_advance(wheel, 4, 0), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_advance(wheel, 5, 0), 1);
	EXPECT(pawl_timer_armed(timer));
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	EXPECT(pawl_wheel_pop(wheel) == timer);
	EXPECT(!pawl_timer_armed(timer));
	EXPECT_EQ(timer->deadline, 5);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
}

ON_A_WHEEL(arming_an_armed_timer_moves_it, wheel_of_20(0), timer)
{
	EXPECT(pawl_wheel_arm_at(wheel, timer, 5));
	EXPECT(pawl_wheel_arm_at(wheel, timer, 450));
	EXPECT_EQ(timer->deadline, 450);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT(pawl_wheel_arm_at(wheel, timer, 7));
	expect_place(wheel, timer, 0, 7, 7);
	EXPECT_EQ(pawl_wheel_advance(wheel, 6, 0), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 7, 0);
	EXPECT(pawl_wheel_pop(wheel) == timer);
}

ON_A_WHEEL(an_idle_timer_may_be_armed_as_such, wheel_of_20(0), timers)
{
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[0], 5));
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[1], 450));
	EXPECT(!pawl_wheel_arm_idle_at(wheel, &timers[2], 0));
	expect_place(wheel, &timers[0], 0, 5, 5);
	expect_place(wheel, &timers[1], 2, 1, 400);
	EXPECT_POPS(wheel, timers, 2);
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[2], 5)); /* popped */
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[0], PAWL_NEVER)); /* cancelled */
	EXPECT_EQ(timers[0].deadline, LAST);
	EXPECT_EQ(pawl_wheel_count(wheel), 3);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_POPS(wheel, timers, 2);
}

static void an_idle_timers_memory_may_be_used_before_it_is_armed_as_such(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm_at(wheel, &timers[0], 1);
	pawl_wheel_arm_at(wheel, &timers[1], 1);
	pawl_wheel_cancel(wheel, &timers[1]);
	pawl_wheel_advance(wheel, 1, 0);
	EXPECT_POPS(wheel, timers, 0);
	memset(timers, FILL, sizeof(timers));
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[0], 450));
	EXPECT(!pawl_wheel_arm_idle_at(wheel, &timers[1], 0));
	EXPECT_EQ(pawl_wheel_count(wheel), 2);
	EXPECT_SOUND(wheel);
	pawl_wheel_advance(wheel, 450, 0);
	EXPECT_POPS(wheel, timers, 1, 0);
	finish(wheel);
}

ON_A_WHEEL(arming_a_due_timer_makes_it_wait_again, wheel_of_20(0), timer)
{
	EXPECT(!pawl_wheel_arm_at(wheel, timer, 0));
	EXPECT(pawl_wheel_arm_at(wheel, timer, 3));
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	expect_place(wheel, timer, 0, 3, 3);
}

ON_A_WHEEL(a_deadline_not_after_now_is_due_at_once, wheel_of_20(100), timers)
{
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[0], 100));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[1], 0));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], 99));
	EXPECT_EQ(pawl_wheel_count(wheel), 3);
	EXPECT_EQ(timers[2].deadline, 99);
	for (int i = 0; i < 3; i++) {
		EXPECT(pawl_timer_armed(&timers[i]));
		expect_no_place(wheel, &timers[i]);
	}
	EXPECT_POPS(wheel, timers, 0, 1, 2);
}

ON_A_WHEEL(a_timer_armed_due_comes_after_all_that_were_due, wheel_of_20(0), timers)
{
	EXPECT(pawl_wheel_arm_at(wheel, &timers[0], 9));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[1], 0));
	pawl_wheel_advance(wheel, 9, 0);
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], 9));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[3], 0));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[4], 9));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], 9));
	EXPECT_POPS(wheel, timers, 1, 0, 3, 4, 2);
}

static void cancel_says_whether_the_timer_was_armed(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer waiting = {0}, due = {0}, popped = {0};

	pawl_wheel_arm_at(wheel, &popped, 0);
	EXPECT(pawl_wheel_pop(wheel) == &popped);
	pawl_wheel_arm_at(wheel, &waiting, 9);
	pawl_wheel_arm_at(wheel, &due, 0);
	EXPECT(pawl_wheel_cancel(wheel, &waiting));
	EXPECT(pawl_wheel_cancel(wheel, &due));
	EXPECT(!pawl_wheel_cancel(wheel, &waiting));
	EXPECT(!pawl_wheel_cancel(wheel, &due));
	EXPECT(!pawl_wheel_cancel(wheel, &popped));
	EXPECT(!pawl_timer_armed(&waiting));
	EXPECT(!pawl_timer_armed(&due));
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 100, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	finish(wheel);
}

static void a_cancelled_timers_memory_is_free_at_once(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer *timers[3], first = {0}, last = {0};

	pawl_wheel_arm_at(wheel, &first, 5);
	for (int i = 0; i < 3; i++) {
		timers[i] = calloc(1, sizeof(*timers[i]));
		pawl_wheel_arm_at(wheel, timers[i], 5);
	}
	pawl_wheel_arm_at(wheel, &last, 5);
	for (int i = 0; i < 3; i++) {
		EXPECT(pawl_wheel_cancel(wheel, timers[i]));
		memset(timers[i], FILL, sizeof(*timers[i]));
		free(timers[i]);
	}
	EXPECT_SOUND(wheel);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT(pawl_wheel_pop(wheel) == &first);
	EXPECT(pawl_wheel_pop(wheel) == &last);
	finish(wheel);
}

/* Touching */

ON_A_WHEEL(a_touch_backwards_leaves_the_timer_in_its_slot, wheel_of_20(0), timer)
{
	EXPECT(pawl_wheel_arm_at(wheel, timer, 15));
	EXPECT(pawl_wheel_touch_at(wheel, timer, 15)); /* the same deadline */
	expect_place(wheel, timer, 0, 15, 15);
	EXPECT(pawl_wheel_touch_at(wheel, timer, 100));
	EXPECT(pawl_wheel_touch_at(wheel, timer, 450));
	EXPECT_EQ(timer->deadline, 450);
	expect_place(wheel, timer, 0, 15, 15);
	EXPECT_EQ(pawl_wheel_next(wheel), 15);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
}

ON_A_WHEEL(a_touched_timer_is_put_right_by_one_move_when_its_slot_opens, wheel_of_20(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 15);
	for (uint64_t deadline = 16; deadline <= 450; deadline++)
		EXPECT(pawl_wheel_touch_at(wheel, timer, deadline));
	EXPECT_EQ(pawl_wheel_advance(wheel, 15, 0), 1);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	expect_place(wheel, timer, 2, 1, 400);
	pawl_wheel_advance(wheel, 449, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 450, 0);
	EXPECT(pawl_wheel_pop(wheel) == timer);
}

ON_A_WHEEL(a_touched_timer_on_a_coarse_level_is_also_put_right, wheel_of_20(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 450);
	EXPECT(pawl_wheel_touch_at(wheel, timer, 9000));
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 1);
	expect_place(wheel, timer, 3, 1, 8000);
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

ON_A_WHEEL(an_earlier_touch_is_an_arm, wheel_of_20(10), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 450);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	pawl_wheel_arm_at(wheel, &timers[1], 450);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
}

ON_A_WHEEL(an_earlier_touch_puts_a_timer_last_within_its_tick, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 16);
	pawl_wheel_arm_at(wheel, &timers[1], 15);
	pawl_wheel_touch_at(wheel, &timers[0], 15);
	pawl_wheel_arm_at(wheel, &timers[2], 15);
	pawl_wheel_advance(wheel, 15, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
}

ON_A_WHEEL(a_touch_of_a_due_timer_is_an_arm, wheel_of_20(0), timers)
{
	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 6, 0);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 9));
	expect_place(wheel, &timers[0], 0, 9, 9);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 6));
	EXPECT_POPS(wheel, timers, 2, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
}

ON_A_WHEEL(a_touch_of_an_idle_timer_is_an_arm, wheel_of_20(10), timers)
{
	EXPECT(pawl_wheel_touch_at(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	EXPECT(!pawl_wheel_touch_at(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	pawl_wheel_arm_at(wheel, &timers[2], 300);
	pawl_wheel_cancel(wheel, &timers[2]);
	EXPECT(pawl_wheel_touch_at(wheel, &timers[2], 301));
	expect_place(wheel, &timers[2], 1, 15, 300);
	EXPECT_EQ(pawl_wheel_count(wheel), 2);
}

ON_A_WHEEL(arming_a_touched_timer_restores_its_order, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 5);
	pawl_wheel_touch_at(wheel, &timers[0], 30);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	pawl_wheel_arm_at(wheel, &timers[0], 30);
	pawl_wheel_arm_at(wheel, &timers[2], 30);
	pawl_wheel_advance(wheel, 30, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_zeroed_timer_is_idle),
	        TEST(an_armed_timer_waits_and_is_popped_once),
	        TEST(arming_an_armed_timer_moves_it),
	        TEST(an_idle_timer_may_be_armed_as_such),
	        TEST(an_idle_timers_memory_may_be_used_before_it_is_armed_as_such),
	        TEST(arming_a_due_timer_makes_it_wait_again),
	        TEST(a_deadline_not_after_now_is_due_at_once),
	        TEST(a_timer_armed_due_comes_after_all_that_were_due),
	        TEST(cancel_says_whether_the_timer_was_armed),
	        TEST(a_cancelled_timers_memory_is_free_at_once),
	        TEST(a_touch_backwards_leaves_the_timer_in_its_slot),
	        TEST(a_touched_timer_is_put_right_by_one_move_when_its_slot_opens),
	        TEST(a_touched_timer_on_a_coarse_level_is_also_put_right),
	        TEST(a_touched_timer_leaves_its_neighbours_on_time),
	        TEST(an_earlier_touch_is_an_arm),
	        TEST(an_earlier_touch_puts_a_timer_last_within_its_tick),
	        TEST(a_touch_of_a_due_timer_is_an_arm),
	        TEST(a_touch_of_an_idle_timer_is_an_arm),
	        TEST(arming_a_touched_timer_restores_its_order),
	};

	return RUN_TESTS(tests);
}
