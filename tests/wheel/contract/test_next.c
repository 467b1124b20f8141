/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: when to advance next. */
#include "../../../src/wheel/next.h"
#include "contract.h"

static void next_is_never_without_timers(void)
{
	struct pawl_wheel *wheel = wheel_of_20(7);

	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	pawl_wheel_advance(wheel, 1000, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	finish(wheel);
}

static void next_is_now_when_something_is_due(void)
{
	struct pawl_wheel *wheel = wheel_of_20(7);
	struct pawl_timer due = {0}, waiting = {0};

	pawl_wheel_arm_at(wheel, &waiting, 9);
	pawl_wheel_arm_at(wheel, &due, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 7);
	EXPECT(pawl_wheel_cancel(wheel, &due));
	EXPECT_EQ(pawl_wheel_next(wheel), 9);
	finish(wheel);
}

ON_A_WHEEL(next_opening_ignores_due_timers, wheel_of_20(0), timers)
{
	EXPECT_EQ(pawl__wheel_next_opening(wheel), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &timers[0], 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 0);
	EXPECT_EQ(pawl__wheel_next_opening(wheel), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &timers[1], 7);
	EXPECT_EQ(pawl__wheel_next_opening(wheel), 7);
	pawl_wheel_cancel(wheel, &timers[1]);
	EXPECT_EQ(pawl__wheel_next_opening(wheel), PAWL_NEVER);
	EXPECT_EQ(pawl_wheel_next(wheel), 0);
	EXPECT_POPS(wheel, timers, 0);
}

ON_A_WHEEL(next_is_when_the_first_slot_with_a_timer_opens, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 450);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	pawl_wheel_arm_at(wheel, &timers[1], 399);
	EXPECT_EQ(pawl_wheel_next(wheel), 380);
	pawl_wheel_arm_at(wheel, &timers[2], 13);
	EXPECT_EQ(pawl_wheel_next(wheel), 13);
}

ON_A_WHEEL(next_forgets_slots_whose_timers_were_cancelled, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 13);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	pawl_wheel_arm_at(wheel, &timers[2], 450);
	pawl_wheel_arm_at(wheel, &timers[3], 9000);
	EXPECT_EQ(pawl_wheel_next(wheel), 13);
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT_EQ(pawl_wheel_next(wheel), 20);
	pawl_wheel_cancel(wheel, &timers[1]);
	pawl_wheel_cancel(wheel, &timers[2]);
	EXPECT_EQ(pawl_wheel_next(wheel), 8000);
	pawl_wheel_cancel(wheel, &timers[3]);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
}

ON_A_WHEEL(next_finds_a_slot_again_that_it_forgot, wheel_of_20(0), timer)
{
	for (uint64_t deadline = 1; deadline < 500; deadline++) {
		pawl_wheel_arm_at(wheel, timer, deadline);
		pawl_wheel_cancel(wheel, timer);
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		pawl_wheel_arm_at(wheel, timer, deadline);
		EXPECT(pawl_wheel_next(wheel) <= deadline);
		EXPECT_SOUND(wheel);
		pawl_wheel_cancel(wheel, timer);
	}
}

ON_A_WHEEL(next_is_rounded_up_to_the_tick, wheel_of_20_with_tick(10), timer)
{
	pawl_wheel_arm_at(wheel, timer, 41);
	EXPECT_EQ(pawl_wheel_next(wheel), 50);
	pawl_wheel_arm_at(wheel, timer, 40);
	EXPECT_EQ(pawl_wheel_next(wheel), 40);
}

ON_A_WHEEL(next_of_a_touched_timer_is_when_its_slot_opens, wheel_of_20(0), timer)
{
	pawl_wheel_arm_at(wheel, timer, 5);
	pawl_wheel_touch_at(wheel, timer, 9);
	EXPECT_EQ(pawl_wheel_next(wheel), 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 9);
}

static void earliest_is_never_without_timers_and_now_when_one_is_due(void)
{
	struct pawl_wheel *wheel = wheel_of_20(7);
	struct pawl_timer due = {0}, waiting = {0};

	EXPECT_EQ(pawl_wheel_earliest(wheel), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &waiting, 450);
	pawl_wheel_arm_at(wheel, &due, 0);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 7);
	EXPECT(pawl_wheel_cancel(wheel, &due));
	EXPECT_EQ(pawl_wheel_earliest(wheel), 450);
	EXPECT(pawl_wheel_cancel(wheel, &waiting));
	EXPECT_EQ(pawl_wheel_earliest(wheel), PAWL_NEVER);
	finish(wheel);
}

ON_A_WHEEL(earliest_is_exact_where_next_names_an_opening, wheel_of_20_with_tick(10), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 90000);
	EXPECT_EQ(pawl_wheel_next(wheel), 80000);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 90000);
	pawl_wheel_arm_at(wheel, &timers[1], 90005);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 90000);
	pawl_wheel_arm_at(wheel, &timers[2], 88881);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 88890);
	EXPECT_EQ(pawl_wheel_next(wheel), 80000);
}

/* Level 1 may hold an earlier timer than level 0: 25 was armed when level 0 ended at 19. */
ON_A_WHEEL(earliest_looks_into_coarse_slots_that_open_before, wheel_of_20(0), timers)
{
	pawl_wheel_arm_at(wheel, &timers[0], 25);
	pawl_wheel_advance(wheel, 19, 0);
	pawl_wheel_arm_at(wheel, &timers[1], 30);
	expect_place(wheel, &timers[0], 1, 1, 20);
	expect_place(wheel, &timers[1], 0, 10, 30);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 25);
	pawl_wheel_arm_at(wheel, &timers[2], 21);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 21);
}

ON_A_WHEEL(earliest_passes_over_touched_timers_and_emptied_slots, wheel_of_20(0), timers)
{
	for (size_t i = 0; i < 4; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5 + i);
	pawl_wheel_touch_at(wheel, &timers[0], 11);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 6);
	pawl_wheel_cancel(wheel, &timers[1]);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 7);
	pawl_wheel_touch_at(wheel, &timers[2], 400);
	pawl_wheel_touch_at(wheel, &timers[3], 300);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 11);
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT_EQ(pawl_wheel_earliest(wheel), 300);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(next_is_never_without_timers),
	        TEST(next_is_now_when_something_is_due),
	        TEST(next_opening_ignores_due_timers),
	        TEST(next_is_when_the_first_slot_with_a_timer_opens),
	        TEST(next_forgets_slots_whose_timers_were_cancelled),
	        TEST(next_finds_a_slot_again_that_it_forgot),
	        TEST(next_is_rounded_up_to_the_tick),
	        TEST(next_of_a_touched_timer_is_when_its_slot_opens),
	        TEST(earliest_is_never_without_timers_and_now_when_one_is_due),
	        TEST(earliest_is_exact_where_next_names_an_opening),
	        TEST(earliest_looks_into_coarse_slots_that_open_before),
	        TEST(earliest_passes_over_touched_timers_and_emptied_slots),
	};

	return RUN_TESTS(tests);
}
