/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: the order in which timers come out. */
#include "contract.h"

static void timers_come_out_by_tick_and_within_a_tick_as_they_were_armed(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[6] = {{0}};

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
	finish(wheel);
}

static void order_holds_where_the_slots_of_several_levels_open_together(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[4] = {{0}};

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
	finish(wheel);
}

static void arming_anew_puts_a_timer_last_within_its_tick(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_arm_at(wheel, &timers[0], 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_POPS(wheel, timers, 1, 2, 0);
	finish(wheel);
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
	        TEST(timers_come_out_by_tick_and_within_a_tick_as_they_were_armed),
	        TEST(order_holds_where_the_slots_of_several_levels_open_together),
	        TEST(arming_anew_puts_a_timer_last_within_its_tick),
	        TEST(a_mark_that_is_armed_for_0_ends_a_loop_that_arms_for_now),
	        TEST(as_many_pops_as_there_are_timers_end_such_a_loop_with_chains),
	        TEST(with_chains_every_timer_comes_out_in_its_tick),
	};

	return RUN_TESTS(tests);
}
