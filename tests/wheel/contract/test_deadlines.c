/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: deadlines and ticks, up to the end of time. */
#include "contract.h"

static void never_is_taken_as_the_last_moment(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer armed = {0}, touched = {0};

	EXPECT(pawl_wheel_arm_at(wheel, &armed, PAWL_NEVER));
	EXPECT_EQ(armed.deadline, LAST);
	EXPECT(pawl_wheel_arm_at(wheel, &touched, 7));
	EXPECT(pawl_wheel_touch_at(wheel, &touched, PAWL_NEVER));
	EXPECT_EQ(touched.deadline, LAST);
	EXPECT_EQ(pawl_timer_deadline(&touched), LAST); /* so PAWL_NEVER always means idle */
	EXPECT(pawl_wheel_touch_at(wheel, &touched, PAWL_NEVER));
	expect_place(wheel, &touched, 0, 7, 7);
	pawl_wheel_advance(wheel, LAST - 1, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_next(wheel), LAST);
	pawl_wheel_advance(wheel, LAST, 0);
	EXPECT_EQ(pop_all(wheel), 2);
	finish(wheel);
}

static void no_timer_is_early_whatever_the_tick(void)
{
	static const uint64_t ticks[] = {1,
	                                 2,
	                                 3,
	                                 7,
	                                 16,
	                                 1000,
	                                 UINT32_MAX,
	                                 UINT64_C(1) << 32,
	                                 (UINT64_C(1) << 32) + 1,
	                                 UINT64_C(1) << 40};

	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		uint64_t tick = ticks[i];

		/* The deadlines are those around the edges of ticks, as far as level 2 reaches. */
		for (uint64_t edge = 1; edge < 450; edge++) {
			for (uint64_t early = 0; early < tick && early < 3; early++) {
				struct pawl_wheel *wheel = wheel_of_20_with_tick(tick);
				struct pawl_timer timer = {0};

				EXPECT(pawl_wheel_arm_at(wheel, &timer, edge * tick - early));
				pawl_wheel_advance(wheel, edge * tick - 1, 0);
				EXPECT(pawl_wheel_pop(wheel) == NULL);
				pawl_wheel_advance(wheel, edge * tick, 0);
				EXPECT(pawl_wheel_pop(wheel) == &timer);
				free(wheel);
			}
		}
	}
}

ON_A_WHEEL(a_deadline_just_after_an_edge_waits_for_the_next_tick, wheel_of_20_with_tick(10), timers)
{
	pawl_wheel_advance(wheel, 25, 0);
	EXPECT(pawl_wheel_arm_at(wheel, &timers[0], 26));
	expect_place(wheel, &timers[0], 0, 3, 30);
	EXPECT(pawl_wheel_arm_at(wheel, &timers[1], 31));
	expect_place(wheel, &timers[1], 0, 4, 40);
	EXPECT_EQ(pawl_wheel_next(wheel), 30);
	pawl_wheel_advance(wheel, 29, 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 29);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 39, 0);
	EXPECT_POPS(wheel, timers, 0);
	pawl_wheel_advance(wheel, 40, 0);
	EXPECT_POPS(wheel, timers, 1);
}

static void huge_ticks_saturate_at_the_last_moment(void)
{
	static const uint64_t ticks[] = {3,
	                                 7,
	                                 UINT64_C(1) << 32,
	                                 (UINT64_C(1) << 32) + 1,
	                                 UINT64_C(1) << 63,
	                                 (UINT64_C(1) << 63) + 1,
	                                 LAST,
	                                 UINT64_MAX};

	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		struct pawl_wheel *wheel = wheel_of_20_with_tick(ticks[i]);
		struct pawl_timer timers[2] = {{0}};

		EXPECT(pawl_wheel_arm_at(wheel, &timers[0], LAST));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[1], PAWL_NEVER));
		EXPECT_SOUND(wheel);
		EXPECT(pawl_wheel_next(wheel) <= LAST);
		pawl_wheel_advance(wheel, LAST - 1, 0);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
		EXPECT_EQ(pawl_wheel_next(wheel), LAST);
		EXPECT_SOUND(wheel);
		pawl_wheel_advance(wheel, LAST, 0);
		EXPECT_POPS(wheel, timers, 0, 1);
		finish(wheel);
	}
}

static void a_wheel_may_start_near_the_end_of_time(void)
{
	for (uint64_t before = 1; before < 900; before++) {
		struct pawl_wheel *wheel = wheel_of_20(LAST - before);
		struct pawl_timer timers[3] = {{0}};

		EXPECT(pawl_wheel_arm_at(wheel, &timers[0], LAST));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[1], PAWL_NEVER));
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], LAST - before));
		EXPECT_POPS(wheel, timers, 2);
		while (pawl_wheel_next(wheel) < LAST) {
			pawl_wheel_advance(wheel, pawl_wheel_next(wheel), 0);
			EXPECT(pawl_wheel_pop(wheel) == NULL);
		}
		pawl_wheel_advance(wheel, LAST, 0);
		EXPECT_POPS(wheel, timers, 0, 1);
		finish(wheel);
	}
}

ON_A_WHEEL(at_the_end_of_time_everything_is_due_at_once, wheel_of_20(LAST), timers)
{
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[0], LAST));
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[1], PAWL_NEVER));
	EXPECT_EQ(pawl_wheel_next(wheel), LAST);
	EXPECT_POPS(wheel, timers, 0, 1);
}

ON_A_WHEEL(next_tells_due_from_never_even_after_the_end_of_time, wheel_of_20(0), timer)
{
	pawl_wheel_advance(wheel, PAWL_NEVER, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	EXPECT(!pawl_wheel_arm_at(wheel, timer, 5));
	EXPECT_EQ(pawl_wheel_next(wheel), LAST);
	EXPECT(pawl_wheel_pop(wheel) == timer);
}

/* Half of all time is where a distance into the past begins to look like one into the future. */
static void a_past_deadline_is_due_at_once_in_both_halves_of_time(void)
{
	const uint64_t half = UINT64_C(1) << 63;
	const uint64_t jumps[] = {1, 9, 10, 11, 300, 100000, half, LAST - half};

	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct pawl_wheel_options options = {.start = half - 10};
		struct pawl_wheel *wheel = wheel_with(&options);
		struct pawl_timer timers[4] = {{0}};
		uint64_t now = half - 10 + jumps[i];

		pawl_wheel_advance(wheel, now, 0);
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[0], 0));
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[1], now));
		EXPECT(!pawl_wheel_arm_at(wheel, &timers[2], now - 1));
		EXPECT(pawl_wheel_arm_at(wheel, &timers[3], now + 1));
		EXPECT_POPS(wheel, timers, 0, 1, 2);
		EXPECT_EQ(pawl_wheel_next(wheel), now + 1);
		pawl_wheel_advance(wheel, now + 1, 0);
		EXPECT_POPS(wheel, timers, 3);
		finish(wheel);
	}
}

/* It was lost once: the fast path of arming stored it as it is, and tick 2^64-1 means "no timer". */
static void never_is_not_lost_just_before_half_time(void)
{
	struct pawl_wheel_options options = {.start = INT64_MAX};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer far[7] = {{0}}, never = {0};

	for (unsigned i = 0; i < 7; i++) /* every level is in use */
		EXPECT(pawl_wheel_arm_at(wheel, &far[i],
		                         (uint64_t)INT64_MAX + (UINT64_C(2) << 8 * (i + 1))));
	EXPECT(pawl_wheel_arm_at(wheel, &never, PAWL_NEVER));
	EXPECT_EQ(never.deadline, LAST);
	pawl_wheel_advance(wheel, PAWL_NEVER, 0);
	for (unsigned i = 0; i < 7; i++)
		EXPECT(pawl_wheel_pop(wheel) == &far[i]);
	EXPECT(pawl_wheel_pop(wheel) == &never);
	finish(wheel);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(never_is_taken_as_the_last_moment),
	        TEST(no_timer_is_early_whatever_the_tick),
	        TEST(a_deadline_just_after_an_edge_waits_for_the_next_tick),
	        TEST(huge_ticks_saturate_at_the_last_moment),
	        TEST(a_wheel_may_start_near_the_end_of_time),
	        TEST(at_the_end_of_time_everything_is_due_at_once),
	        TEST(next_tells_due_from_never_even_after_the_end_of_time),
	        TEST(a_past_deadline_is_due_at_once_in_both_halves_of_time),
	        TEST(never_is_not_lost_just_before_half_time),
	};

	return RUN_TESTS(tests);
}
