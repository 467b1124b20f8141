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

static void for_every_start(void (*run)(const struct size *size, uint64_t start))
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (uint64_t start = 0; start < two_levels(&sizes[i]); start++)
			run(&sizes[i], start);
}

/* Due at `time`, and not before, as far as the wheel has come. */
static void expect_due_at(struct pawl_wheel *wheel, const struct pawl_timer *timer, uint64_t time)
{
	if (pawl_wheel_now(wheel) < time)
		EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, time, 0);
	EXPECT(pawl_wheel_pop(wheel) == timer);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
}

static void tick_alone(const struct size *size, uint64_t start)
{
	for (uint64_t delay = 0; delay <= longest_delay(size); delay++) {
		struct pawl_wheel *wheel = wheel_of(size, start, 1);
		struct pawl_timer timer = {0};
		uint64_t due = due_time(size, start, start + delay);

		EXPECT_EQ(pawl_wheel_arm_at(wheel, &timer, start + delay), delay > 0);
		for (uint64_t now = start; now < due; now++) {
			pawl_wheel_advance(wheel, now, 0);
			if (pawl_wheel_pop(wheel))
				EXPECT_EQ(now, due);
		}
		expect_due_at(wheel, &timer, due);
		free(wheel);
	}
}

static void jump_alone(const struct size *size, uint64_t start)
{
	for (uint64_t delay = 0; delay <= longest_delay(size); delay++) {
		struct pawl_wheel *wheel = wheel_of(size, start, 4);
		struct pawl_timer timer = {0};
		uint64_t due = due_time(size, start, start + delay);
		uint64_t next;
		int jumps = 0;

		pawl_wheel_arm_at(wheel, &timer, start + delay);
		while ((next = pawl_wheel_next(wheel)) < due && jumps++ < 3) {
			EXPECT(pawl_wheel_pop(wheel) == NULL);
			EXPECT(next > pawl_wheel_now(wheel));
			pawl_wheel_advance(wheel, next, 0);
		}
		EXPECT_EQ(next, due);
		EXPECT(jumps <= 2);
		expect_due_at(wheel, &timer, due);
		free(wheel);
	}
}

/* All delays on one wheel, armed in descending order, so that it is the wheel that sorts them. */
static void tick_together(const struct size *size, uint64_t start)
{
	struct pawl_wheel *wheel = wheel_of(size, start, 1);
	struct pawl_timer timers[DELAYS_MAX] = {{0}};
	uint64_t longest = longest_delay(size);
	uint64_t end = due_time(size, start, start + longest);

	for (uint64_t delay = longest + 1; delay-- > 0;)
		pawl_wheel_arm_at(wheel, &timers[delay], start + delay);
	for (uint64_t now = start; now <= end; now++) {
		struct pawl_timer *timer;

		pawl_wheel_advance(wheel, now, 0);
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			EXPECT_EQ(due_time(size, start, timer->deadline), now);
	}
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	free(wheel);
}

static void jump_together(const struct size *size, uint64_t start)
{
	struct pawl_wheel *wheel = wheel_of(size, start, 2);
	struct pawl_timer timers[DELAYS_MAX] = {{0}};
	uint64_t next;

	for (uint64_t delay = 0; delay <= longest_delay(size); delay++)
		pawl_wheel_arm_at(wheel, &timers[delay], start + delay);
	while ((next = pawl_wheel_next(wheel)) != PAWL_NEVER) {
		struct pawl_timer *timer;

		pawl_wheel_advance(wheel, next, 0);
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			EXPECT_EQ(due_time(size, start, timer->deadline), next);
	}
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	free(wheel);
}

static void every_timer_alone_is_due_at_its_tick_when_the_clock_ticks(void)
{
	for_every_start(tick_alone);
}

static void every_timer_alone_is_due_at_its_tick_when_the_clock_jumps(void)
{
	for_every_start(jump_alone);
}

static void all_timers_together_are_due_at_their_ticks_when_the_clock_ticks(void)
{
	for_every_start(tick_together);
}

static void all_timers_together_are_due_at_their_ticks_when_the_clock_jumps(void)
{
	for_every_start(jump_together);
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
