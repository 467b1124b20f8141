/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: looking at a wheel: every timer, and whether all is well. */
#include "contract.h"

struct walk {
	struct pawl_wheel *wheel;
	struct pawl_timer *seen[16];
	size_t count, stop_after;
	bool cancels;
};

static bool note(struct pawl_timer *timer, void *arg)
{
	struct walk *walk = arg;

	walk->seen[walk->count++] = timer;
	if (walk->cancels)
		EXPECT(pawl_wheel_cancel(walk->wheel, timer));
	return walk->count < walk->stop_after;
}

static struct walk walk_wheel(struct pawl_wheel *wheel, size_t stop_after, bool cancels)
{
	struct walk walk = {.wheel = wheel, .stop_after = stop_after, .cancels = cancels};

	pawl_wheel_each(wheel, note, &walk);
	return walk;
}

/* Timers 0 and 1 are due; the others wait on levels 0 to 3. */
static struct pawl_wheel *wheel_for_each(struct pawl_timer *timers)
{
	static const uint64_t deadlines[] = {3, 0, 9000, 450, 399, 21, 23, 19, 19};
	static const size_t order_of_arming[] = {5, 6, 0, 1, 4, 7, 8, 2, 3};
	struct pawl_wheel *wheel = wheel_of_20(3);

	for (size_t i = 0; i < 9; i++) {
		size_t k = order_of_arming[i];

		pawl_wheel_arm_at(wheel, &timers[k], deadlines[k]);
	}
	return wheel;
}

static void each_gives_due_timers_then_the_levels_from_the_coarsest(void)
{
	struct pawl_timer timers[9] = {{0}};
	struct pawl_wheel *wheel = wheel_for_each(timers);
	struct walk walk = walk_wheel(wheel, 16, false);
	/* 23 is on level 1 as seen from 3; 21 and 19 are on level 0. */
	static const size_t order[] = {0, 1, 2, 3, 6, 4, 7, 8, 5};

	EXPECT_EQ(walk.count, 9);
	for (size_t i = 0; i < walk.count && i < 9; i++)
		EXPECT_EQ(walk.seen[i] - timers, order[i]);
	finish(wheel);
}

/* Later versions may add fields: a program built before them has a smaller struct, one built after this a larger one. */
struct larger_place {
	struct pawl_wheel_place place;
	uint64_t later;
};

static void a_place_is_written_as_far_as_the_caller_has_room(void)
{
	struct pawl_timer timer = {0};
	struct pawl_wheel *wheel = wheel_of_20(1);
	struct larger_place larger;
	struct pawl_wheel_place place = {98, 98, 98};

	pawl_wheel_arm_at(wheel, &timer, 450);
	memset(&larger, 0xff, sizeof(larger));
	EXPECT(pawl_wheel_get_place(wheel, &timer, &larger.place, sizeof(larger)));
	EXPECT_EQ(larger.place.level, 2);
	EXPECT_EQ(larger.place.opens, 400);
	EXPECT_EQ(larger.later, 0);
	EXPECT(pawl_wheel_get_place(wheel, &timer, &place,
	                            offsetof(struct pawl_wheel_place, opens)));
	EXPECT_EQ(place.level, 2);
	EXPECT_EQ(place.slot, 1);
	EXPECT_EQ(place.opens, 98);
	finish(wheel);
}

static void each_stops_when_it_is_told_to(void)
{
	for (size_t stop_after = 1; stop_after <= 9; stop_after++) {
		struct pawl_timer timers[9] = {{0}};
		struct pawl_wheel *wheel = wheel_for_each(timers);

		EXPECT_EQ(walk_wheel(wheel, stop_after, false).count, stop_after);
		EXPECT_EQ(pawl_wheel_count(wheel), 9);
		finish(wheel);
	}
}

static void each_may_cancel_every_timer_that_it_gives(void)
{
	struct pawl_timer timers[9] = {{0}};
	struct pawl_wheel *wheel = wheel_for_each(timers);

	EXPECT_EQ(walk_wheel(wheel, 4, true).count, 4);
	EXPECT_EQ(pawl_wheel_count(wheel), 5);
	EXPECT_SOUND(wheel);
	EXPECT_EQ(walk_wheel(wheel, 16, true).count, 5);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	EXPECT_EQ(walk_wheel(wheel, 16, false).count, 0);
	finish(wheel);
}

static void each_gives_the_timers_of_every_chain(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_wheel *wheel = wheel_of_20_with_chains(all_chains[c]);
		static struct pawl_timer timers[700], strangers[700];

		memset(timers, 0, sizeof(timers));
		memset(strangers, 0, sizeof(strangers));
		/* Timers that come and go between them, so that all chains have their turn. */
		for (int i = 0; i < 700; i++) {
			pawl_wheel_arm_at(wheel, &strangers[i], 5);
			if (i % 50 == 0)
				pawl_wheel_arm_at(wheel, &timers[i], 5);
		}
		for (int i = 0; i < 700; i++)
			pawl_wheel_cancel(wheel, &strangers[i]);
		EXPECT_EQ(walk_wheel(wheel, 16, false).count, 14);
		EXPECT_EQ(pawl_wheel_count(wheel), 14);
		EXPECT_EQ(walk_wheel(wheel, 16, true).count, 14);
		finish(wheel);
	}
}

static void check_names_the_broken_invariant(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}}, kept;

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	EXPECT_SOUND(wheel);
	kept = timers[1];
	timers[1].prev = &timers[1];
	EXPECT_STR(pawl_wheel_check(wheel), "neighbours point at each other");
	timers[1] = kept;
	timers[1].deadline = 4;
	EXPECT_STR(pawl_wheel_check(wheel), "a timer's slot opens no later than its tick");
	timers[1] = kept;
	timers[1].deadline = 6;
	EXPECT_STR(pawl_wheel_check(wheel),
	           "a timer that was not touched is in the slot of its tick");
	timers[1] = kept;
	timers[1].deadline = 0;
	EXPECT_STR(pawl_wheel_check(wheel), "a timer that waits has a deadline after 0");
	timers[1] = kept;
	timers[0].next = &timers[2]; /* as if another thread had taken one out */
	timers[2].prev = &timers[0];
	EXPECT_STR(pawl_wheel_check(wheel), "the lists hold as many timers as are counted");
	free(wheel);
}

static void wheels_know_nothing_of_each_other(void)
{
	struct pawl_wheel *one = wheel_of_20(0), *other = wheel_of_20(0);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm_at(one, &timers[0], 5);
	pawl_wheel_arm_at(other, &timers[1], 5);
	pawl_wheel_advance(one, 5, 0);
	EXPECT_EQ(pawl_wheel_now(other), 0);
	EXPECT(pawl_wheel_pop(other) == NULL);
	EXPECT(pawl_wheel_pop(one) == &timers[0]);
	EXPECT(pawl_wheel_arm_at(other, &timers[0], 5)); /* idle, so it may change wheels */
	pawl_wheel_advance(other, 5, 0);
	EXPECT_POPS(other, timers, 1, 0);
	finish(one);
	finish(other);
}

ON_A_WHEEL(due_tells_a_due_timer_from_one_that_waits, wheel_of_20(7), timers)
{
	EXPECT(!pawl_wheel_due(wheel, &timers[0])); /* idle */
	pawl_wheel_arm_at(wheel, &timers[0], 0);
	pawl_wheel_arm_at(wheel, &timers[1], 8);
	pawl_wheel_arm_at(wheel, &timers[2], 450);
	EXPECT(pawl_wheel_due(wheel, &timers[0]));
	EXPECT(!pawl_wheel_due(wheel, &timers[1]));
	pawl_wheel_touch_at(wheel, &timers[1], 9);
	pawl_wheel_advance(wheel, 8, 0);
	EXPECT(!pawl_wheel_due(
	        wheel, &timers[1])); /* touched: its slot has opened, its deadline is to come */
	pawl_wheel_advance(wheel, 9, 0);
	EXPECT(pawl_wheel_due(wheel, &timers[1]));
	pawl_wheel_advance(wheel, 440, 0);
	EXPECT(!pawl_wheel_due(wheel, &timers[2]));
	EXPECT_POPS(wheel, timers, 0, 1);
	EXPECT(!pawl_wheel_due(wheel, &timers[1])); /* popped */
}

/* At 15 the tick of 13 is still to come: what was armed before 13 waits, what is armed now is due. */
ON_A_WHEEL(due_tells_timers_of_the_same_deadline_apart, wheel_of_20_with_tick(10), timers)
{
	EXPECT(pawl_wheel_arm_at(wheel, &timers[0], 13));
	pawl_wheel_advance(wheel, 15, 0);
	EXPECT(!pawl_wheel_arm_at(wheel, &timers[1], 13));
	EXPECT(!pawl_wheel_due(wheel, &timers[0]));
	EXPECT(pawl_wheel_due(wheel, &timers[1]));
	pawl_wheel_advance(wheel, 20, 0);
	EXPECT(pawl_wheel_due(wheel, &timers[0]));
	EXPECT_POPS(wheel, timers, 1, 0);
}

/* The touch makes the slot of 5 open timer by timer, and the bound stops in the middle of it. */
ON_A_WHEEL(due_is_exact_within_a_tick_that_is_half_done, wheel_of_20(0), timers)
{
	for (size_t i = 0; i < 4; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 5);
	pawl_wheel_touch_at(wheel, &timers[3], 9);
	EXPECT_EQ(pawl_wheel_advance(wheel, 7, 2), 2);
	EXPECT_EQ(pawl_wheel_now(wheel), 4);
	EXPECT(pawl_wheel_due(wheel, &timers[0]));
	EXPECT(pawl_wheel_due(wheel, &timers[1]));
	EXPECT(!pawl_wheel_due(wheel, &timers[2]));
	EXPECT(!pawl_wheel_due(wheel, &timers[3]));
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(each_gives_due_timers_then_the_levels_from_the_coarsest),
	        TEST(each_stops_when_it_is_told_to),
	        TEST(a_place_is_written_as_far_as_the_caller_has_room),
	        TEST(each_may_cancel_every_timer_that_it_gives),
	        TEST(each_gives_the_timers_of_every_chain),
	        TEST(due_tells_a_due_timer_from_one_that_waits),
	        TEST(due_tells_timers_of_the_same_deadline_apart),
	        TEST(due_is_exact_within_a_tick_that_is_half_done),
	        TEST(check_names_the_broken_invariant),
	        TEST(wheels_know_nothing_of_each_other),
	};

	return RUN_TESTS(tests);
}
