/* SPDX-License-Identifier: MIT */
/* test_within [--seed S]: windows, the time that is chosen, and how often a loop wakes up for timers that have one. */
#include "../../src/wheel/within.h"
#include "../../src/base/random.h"
#include "../support/test.h"
#include "../support/wheels.h"

#include <inttypes.h>

#define LAST UINT64_C(0xfffffffffffffffe)

static uint64_t seed;

/* By trying: the multiple of the largest power of two; 0 is a multiple of all. */
static uint64_t naive_within(uint64_t earliest, uint64_t latest)
{
	uint64_t best = earliest;

	for (uint64_t time = earliest; time <= latest; time++)
		if (time == 0 || (best != 0 && (time & -time) > (best & -best)))
			best = time;
	return best;
}

static void every_small_window_has_its_roundest_time(void)
{
	for (uint64_t earliest = 0; earliest < 300; earliest++)
		for (uint64_t latest = earliest; latest < 300; latest++)
			EXPECT_EQ(time_within(earliest, latest), naive_within(earliest, latest));
}

static void a_window_that_ends_before_it_begins_is_its_beginning(void)
{
	EXPECT_EQ(time_within(7, 6), 7);
	EXPECT_EQ(time_within(7, 0), 7);
	EXPECT_EQ(time_within(UINT64_MAX, 0), UINT64_MAX);
}

static void a_window_at_the_end_of_time_also_has_its_roundest_time(void)
{
	EXPECT_EQ(time_within(0, UINT64_MAX), 0);
	EXPECT_EQ(time_within(1, UINT64_MAX), UINT64_C(1) << 63);
	EXPECT_EQ(time_within(UINT64_MAX - 2, UINT64_MAX), UINT64_MAX - 1);
	EXPECT_EQ(time_within(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static void any_window_holds_its_time_and_no_rounder_one(void)
{
	struct random random = {.state = seed};

	for (int i = 0; i < 1000000; i++) {
		uint64_t a = random_next(&random) >> random_below(&random, 64);
		uint64_t b = random_next(&random) >> random_below(&random, 64);
		uint64_t earliest = a < b ? a : b, latest = a < b ? b : a;
		uint64_t time = time_within(earliest, latest), power = time & -time;

		EXPECT(time >= earliest && time <= latest);
		/* The multiples of twice that power before and after it are outside. */
		EXPECT(time == 0 || time - earliest < power);
		EXPECT(time == 0 || latest - time < power);
	}
}

/* Advance from opening to opening until the timer is due; returns when. */
static uint64_t due_at(struct pawl_wheel *wheel, struct pawl_timer *timer)
{
	while (pawl_wheel_pop(wheel) != timer)
		pawl_wheel_advance(wheel, pawl_wheel_next(wheel), 0);
	return pawl_wheel_now(wheel);
}

static void a_timer_is_due_in_its_window_whatever_the_tick(void)
{
	struct random random = {.state = seed};

	for (int i = 0; i < 20000; i++) {
		struct pawl_wheel_options options = {
		        .start = random_below(&random, 5000),
		        .tick = 1 + random_below(&random, 70),
		        .wheel_size = 2 + (uint32_t)random_below(&random, 30)};
		struct pawl_wheel *wheel = wheel_with(&options);
		struct pawl_timer timer = {0};
		uint64_t earliest = random_below(&random, 10000);
		uint64_t latest = earliest + random_below(&random, 1000), due;
		uint64_t from = earliest > options.start ? earliest : options.start;
		uint64_t tick = (from + options.tick - 1) / options.tick * options.tick;

		pawl_wheel_arm_between(wheel, &timer, earliest, latest);
		due = due_at(wheel, &timer);
		EXPECT(due >= from);
		/* Without a tick in what is left of the window, as soon as arm would have it. */
		EXPECT(due <= (latest > tick ? latest : tick > from ? tick : from));
		EXPECT_SOUND(wheel);
		free(wheel);
	}
}

static void the_past_part_of_a_window_does_not_count(void)
{
	struct pawl_wheel_options options = {.start = 1030};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm_between(wheel, &timer, 1000, 1100)); /* 1024 is past */
	EXPECT_EQ(timer.deadline, 1088);
	EXPECT(!pawl_wheel_arm_between(wheel, &timer, 1000, 1029));
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	free(wheel);
}

static void a_pending_timer_is_moved_into_its_window(void)
{
	struct pawl_wheel *wheel = wheel_with(NULL);
	struct pawl_timer timer = {0};

	pawl_wheel_arm_at(wheel, &timer, 5);
	EXPECT(pawl_wheel_arm_between(wheel, &timer, 1000, 1100));
	EXPECT_EQ(timer.deadline, 1024);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	EXPECT(pawl_wheel_arm_between(wheel, &timer, LAST - 1, LAST));
	EXPECT_SOUND(wheel);
	free(wheel);
}

struct window {
	uint64_t earliest, latest;
	struct pawl_timer timer;
};

static int by_latest(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return (x->latest > y->latest) - (x->latest < y->latest);
}

/* The fewest times that hit every window: each is the first end of a window that is not hit yet. */
static size_t fewest(struct window *windows, size_t count)
{
	uint64_t last = 0;
	size_t times = 0;

	qsort(windows, count, sizeof(*windows), by_latest);
	for (size_t i = 0; i < count; i++)
		if (times == 0 || windows[i].earliest > last) {
			last = windows[i].latest;
			times++;
		}
	return times;
}

/* How often a loop finds something due. */
static size_t wake_ups(struct window *windows, size_t count, bool exact)
{
	struct pawl_wheel *wheel = wheel_with(NULL);
	size_t times = 0;

	for (size_t i = 0; i < count; i++)
		pawl_wheel_arm_between(wheel, &windows[i].timer, windows[i].earliest,
		                       exact ? windows[i].earliest : windows[i].latest);
	while (pawl_wheel_count(wheel) > 0) {
		pawl_wheel_advance(wheel, pawl_wheel_next(wheel), 0);
		times += pawl_wheel_pop(wheel) != NULL;
		while (pawl_wheel_pop(wheel))
			;
	}
	free(wheel);
	return times;
}

/* Armed at some time before `begun`, with a delay of up to `longest`, of which a tenth is the window. */
static void draw(struct window *windows, size_t count, uint64_t begun, uint64_t longest,
                 struct random *random)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t delay = 1 + random_below(random, longest);
		uint64_t earliest = random_below(random, begun) + delay;

		windows[i] = (struct window){earliest, earliest + delay / 10, {0}};
	}
}

/* With any mix there are not many more wake-ups than the fewest possible: 1.1 to 1.7 times as many. */
static void wake_ups_are_few(void)
{
	enum { TIMERS = 10000 };
	static struct window windows[TIMERS];
	static const struct mix {
		uint64_t begun, longest;
	} mixes[] = {{1, 1000},      {1, 60000},      {1, 86400000},      {60000, 1000},
	             {60000, 60000}, {3600000, 1000}, {3600000, 60000},   {3600000, 3600000},
	             {600000, 1000}, {600000, 60000}, {86400000, 3600000}};
	struct random random = {.state = seed};

	for (const struct mix *mix = mixes; mix < mixes + sizeof(mixes) / sizeof(mixes[0]); mix++) {
		size_t exact, found, least;

		draw(windows, TIMERS, mix->begun, mix->longest, &random);
		exact = wake_ups(windows, TIMERS, true);
		found = wake_ups(windows, TIMERS, false);
		least = fewest(windows, TIMERS);
		printf("armed within %" PRIu64 ", delays up to %" PRIu64
		       ": %zu exact, %zu with windows, %zu at least\n",
		       mix->begun, mix->longest, exact, found, least);
		EXPECT(found >= least);
		EXPECT(found * 4 <= least * 7);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(every_small_window_has_its_roundest_time),
	        TEST(a_window_that_ends_before_it_begins_is_its_beginning),
	        TEST(a_window_at_the_end_of_time_also_has_its_roundest_time),
	        TEST(any_window_holds_its_time_and_no_rounder_one),
	        TEST(a_timer_is_due_in_its_window_whatever_the_tick),
	        TEST(the_past_part_of_a_window_does_not_count),
	        TEST(a_pending_timer_is_moved_into_its_window),
	        TEST(wake_ups_are_few),
	};

	test_usage(argc, argv, "[--seed N]");
	seed = test_number(argc, argv, "--seed", "PAWL_SEED", 1);
	printf("seed %" PRIu64 "\n", seed);
	return RUN_TESTS(tests);
}
