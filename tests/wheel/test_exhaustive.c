/* SPDX-License-Identifier: MIT */
/*
 * Small wheels, every start within two levels, every delay to a little beyond them: each timer is due at exactly its
 * tick, whether the clock ticks or jumps.
 */
#include "../support/test.h"
#include "../support/wheels.h"

struct size {
	uint32_t wheel_size;
	uint64_t tick;
};

/* Ticks and wheel sizes that are powers of two, and that are not, in all combinations. */
static const struct size sizes[] = {
        {2, 1}, {3, 1}, {4, 1}, {8, 1}, {20, 1}, {2, 3}, {3, 3}, {4, 3}, {2, 4}, {3, 4}, {4, 4},
};

#define DELAYS_MAX 512

static uint64_t two_levels(const struct size *size)
{
	return (uint64_t)size->wheel_size * size->wheel_size * size->tick;
}

static uint64_t longest_delay(const struct size *size)
{
	return two_levels(size) + (2 * size->wheel_size + 2) * size->tick;
}

static uint64_t due_time(const struct size *size, uint64_t start, uint64_t deadline)
{
	uint64_t rounded_up = (deadline + size->tick - 1) / size->tick * size->tick;

	return deadline <= start ? start : rounded_up;
}

static struct pawl_wheel *wheel_of(const struct size *size, uint64_t start, uint32_t chains)
{
	const struct pawl_wheel_options options = {.start = start,
	                                           .tick = size->tick,
	                                           .wheel_size = size->wheel_size,
	                                           .chains = chains};

	return wheel_with(&options);
}

/*
 * Timers for the delays from `first` to `last`, armed in descending order, so that it is the wheel that sorts them. The
 * clock ticks, or jumps to what the wheel names as next.
 */
static void expect_on_time(const struct size *size, uint64_t start, uint64_t first, uint64_t last,
                           bool jumps)
{
	struct pawl_wheel *wheel = wheel_of(size, start, jumps ? 2 : 1);
	struct pawl_timer timers[DELAYS_MAX], *timer;
	uint64_t now = start, end = due_time(size, start, start + last);
	unsigned advances = 0;

	memset(&timers[first], 0, (size_t)(last - first + 1) * sizeof(timers[0]));
	for (uint64_t delay = last + 1; delay-- > first;)
		EXPECT_EQ(pawl_wheel_arm_at(wheel, &timers[delay], start + delay), delay > 0);
	for (;;) {
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			EXPECT_EQ(due_time(size, start, timer->deadline), now);
		if (now >= end)
			break;
		EXPECT(pawl_wheel_next(wheel) > now);
		now = jumps ? pawl_wheel_next(wheel) : now + 1;
		pawl_wheel_advance(wheel, now, 0);
		advances++;
	}
	EXPECT_EQ(now, end);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	if (jumps && first == last)
		EXPECT(advances <= 3); /* it moves down twice at most */
	free(wheel);
}

static void for_every_start(bool together, bool jumps)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (uint64_t start = 0; start < two_levels(&sizes[i]); start++) {
			uint64_t longest = longest_delay(&sizes[i]);

			if (together)
				expect_on_time(&sizes[i], start, 0, longest, jumps);
			for (uint64_t delay = 0; !together && delay <= longest; delay++)
				expect_on_time(&sizes[i], start, delay, delay, jumps);
		}
}

static void every_timer_alone_is_due_at_its_tick_when_the_clock_ticks(void)
{
	for_every_start(false, false);
}

static void every_timer_alone_is_due_at_its_tick_when_the_clock_jumps(void)
{
	for_every_start(false, true);
}

static void all_timers_together_are_due_at_their_ticks_when_the_clock_ticks(void)
{
	for_every_start(true, false);
}

static void all_timers_together_are_due_at_their_ticks_when_the_clock_jumps(void)
{
	for_every_start(true, true);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_timer_alone_is_due_at_its_tick_when_the_clock_ticks),
	        TEST(every_timer_alone_is_due_at_its_tick_when_the_clock_jumps),
	        TEST(all_timers_together_are_due_at_their_ticks_when_the_clock_ticks),
	        TEST(all_timers_together_are_due_at_their_ticks_when_the_clock_jumps),
	};

	return RUN_TESTS(tests);
}
