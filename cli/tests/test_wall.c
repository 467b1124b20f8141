/* SPDX-License-Identifier: MIT */
/* The wall clock is set while lines wait: simulated, by the time that `pawl run` is given. */
#include "../run/wall.h"

#include "../../tests/support/test.h"
#include "../../tests/support/wheels.h"

static struct entry *waiting(struct pawl_wheel *wheel, enum line_kind kind, uint64_t ns,
                             uint64_t deadline)
{
	struct line line = {.kind = kind, .ns = ns, .text = {"x", 1}};
	struct entry *entry = entry_new(&line, 1);

	pawl_wheel_arm_at(wheel, &entry->timer, deadline);
	return entry;
}

static void only_wall_clock_times_move_with_the_wall_clock(void)
{
	static const struct {
		uint64_t wall, soon, late;
	} cases[] = {
	        {100000, 2000, 10000}, /* not set at all */
	        {101500, 1000, 8500},  /* forward, beyond the first: that is due now */
	        {105000, 1000, 5000},  {200000, 1000, 1000}, {50000, 52000, 60000}, /* back */
	        {0, 102000, 110000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pawl_wheel *wheel = wheel_of_20(1000);
		/* At 1000 the wall shows 100000. */
		struct entry *soon = waiting(wheel, LINE_AT, 101000, 2000);
		struct entry *late = waiting(wheel, LINE_AT, 109000, 10000);
		struct entry *after = waiting(wheel, LINE_AFTER, 101000, 3000);
		struct entry *every = waiting(wheel, LINE_EVERY, 101000, 4000);

		EXPECT(wall_rearm(wheel, 1000, cases[i].wall));
		EXPECT_EQ(soon->timer.deadline, cases[i].soon);
		EXPECT_EQ(late->timer.deadline, cases[i].late);
		EXPECT_EQ(after->timer.deadline, 3000);
		EXPECT_EQ(every->timer.deadline, 4000);
		EXPECT_EQ(pawl_wheel_count(wheel), 4);
		EXPECT_SOUND(wheel);
		free(soon);
		free(late);
		free(after);
		free(every);
		free(wheel);
	}
}

static void equal_times_keep_their_order(void)
{
	enum { COUNT = 100 };
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct entry *entries[COUNT];

	/* Read one after the other: some before a slot of level 1 was near, some after. */
	for (unsigned i = 0; i < COUNT; i++) {
		pawl_wheel_advance(wheel, i, 0);
		entries[i] = waiting(wheel, LINE_AT, 1500, 500);
	}
	EXPECT(wall_rearm(wheel, COUNT, 1200));
	pawl_wheel_advance(wheel, COUNT + 300, 0);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(pawl_wheel_pop(wheel) == &entries[i]->timer);
		free(entries[i]);
	}
	free(wheel);
}

static void an_empty_wheel_has_nothing_to_put_right(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);

	EXPECT(wall_rearm(wheel, 5, 5));
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	free(wheel);
}

static void deadlines_do_not_wrap(void)
{
	EXPECT_EQ(wall_deadline(10, 5, 20), 5);
	EXPECT_EQ(wall_deadline(20, 5, 20), 5);
	EXPECT_EQ(wall_deadline(21, 5, 20), 6);
	EXPECT_EQ(wall_deadline(PAWL_NEVER - 1, 5, 0), PAWL_NEVER - 1);
	EXPECT_EQ(wall_deadline(PAWL_NEVER - 1, PAWL_NEVER - 1, 0), PAWL_NEVER - 1);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(only_wall_clock_times_move_with_the_wall_clock),
	        TEST(equal_times_keep_their_order),
	        TEST(an_empty_wheel_has_nothing_to_put_right),
	        TEST(deadlines_do_not_wrap),
	};

	return RUN_TESTS(tests);
}
