/* SPDX-License-Identifier: MIT */
/*
 * The contract of pawl/wheel.h, sentence by sentence, in the order in which the header has them.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdalign.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "../support/places.h"

#define LAST UINT64_C(0xfffffffffffffffe)
#define FILL 0xA5

static const uint32_t all_chains[] = {1, 2, 4, 8, 16};

#define CHAINS_COUNT (sizeof(all_chains) / sizeof(all_chains[0]))

static struct pawl_wheel *wheel_of_20_with_tick(uint64_t tick)
{
	const struct pawl_wheel_options options = {.tick = tick, .wheel_size = 20};

	return wheel_with(&options);
}

static struct pawl_wheel *wheel_of_20_with_chains(uint32_t chains)
{
	const struct pawl_wheel_options options = {.wheel_size = 20, .chains = chains};

	return wheel_with(&options);
}

static void expect_no_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct pawl_place place = {99, 98, 97};

	EXPECT(!pawl_wheel_place(wheel, timer, &place));
	EXPECT_EQ(place.level, 99);
	EXPECT_EQ(place.slot, 98);
	EXPECT_EQ(place.opens, 97);
}

static size_t pop_all(struct pawl_wheel *wheel)
{
	size_t count = 0;

	while (pawl_wheel_pop(wheel))
		count++;
	return count;
}

static void finish(struct pawl_wheel *wheel)
{
	EXPECT_STR(pawl_wheel_check(wheel), NULL);
	free(wheel);
}

/* Footprint and init */

static void expect_refused(void *mem, size_t size, const struct pawl_wheel_options *options)
{
	unsigned char before[512];

	if (mem)
		memcpy(before, mem, sizeof(before));
	EXPECT(pawl_wheel_init(mem, size, options) == NULL);
	if (mem)
		EXPECT_EQ(memcmp(before, mem, sizeof(before)), 0);
}

static void invalid_options_have_no_footprint_and_no_wheel(void)
{
	static const struct pawl_wheel_options invalid[] = {
	        {.wheel_size = 1},
	        {.wheel_size = 4097},
	        {.wheel_size = UINT32_MAX},
	        {.chains = 3},
	        {.chains = 5},
	        {.chains = 6},
	        {.chains = 7},
	        {.chains = 9},
	        {.chains = 15},
	        {.chains = 17},
	        {.chains = 32},
	        {.chains = 64},
	        {.chains = UINT32_C(1) << 31},
	        {.chains = UINT32_MAX},
	        {.wheel_size = 1, .chains = 3},
	};
	size_t size = 16u << 20;
	unsigned char *mem = malloc(size);

	memset(mem, FILL, size);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		EXPECT_EQ(pawl_wheel_footprint(&invalid[i]), 0);
		expect_refused(mem, size, &invalid[i]);
	}
	free(mem);
}

static void all_valid_options_make_a_wheel(void)
{
	static const uint32_t sizes[] = {2, 3, 20, 63, 64, 65, 256, 4095, 4096};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t j = 0; j < 2 * CHAINS_COUNT; j++) {
			const struct pawl_wheel_options options = {.wheel_size = sizes[i],
			                                           .chains = all_chains[j / 2],
			                                           .ahead = j % 2};
			struct pawl_wheel *wheel = wheel_with(&options);

			EXPECT_EQ(pawl_wheel_count(wheel), 0);
			EXPECT_EQ(pawl_wheel_now(wheel), 0);
			EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
			EXPECT(pawl_wheel_pop(wheel) == NULL);
			finish(wheel);
		}
	}
}

static void null_and_zeroed_options_mean_the_defaults(void)
{
	const struct pawl_wheel_options zeroed = {0};
	const struct pawl_wheel_options spelt_out = {.tick = 1, .wheel_size = 256, .chains = 1};
	size_t size = pawl_wheel_footprint(NULL);
	void *mem = malloc(size);
	struct pawl_wheel *wheel = pawl_wheel_init(mem, size, NULL);
	struct pawl_timer timer = {0};

	EXPECT_EQ(pawl_wheel_footprint(&zeroed), size);
	EXPECT_EQ(pawl_wheel_footprint(&spelt_out), size);
	EXPECT_EQ(pawl_wheel_now(wheel), 0);
	EXPECT(pawl_wheel_arm(wheel, &timer, 255));
	expect_place(wheel, &timer, 0, 255, 255);
	EXPECT(pawl_wheel_arm(wheel, &timer, 256));
	expect_place(wheel, &timer, 1, 1, 256);
	EXPECT(pawl_wheel_arm(wheel, &timer, 65536));
	expect_place(wheel, &timer, 2, 1, 65536);
	EXPECT(pawl_wheel_arm(wheel, &timer, LAST));
	expect_place(wheel, &timer, 7, 255, UINT64_C(255) << 56);
	finish(wheel);
}

static void the_footprints_are_those_that_the_header_names(void)
{
	const struct pawl_wheel_options eight = {.chains = 8};
	const struct pawl_wheel_options ahead = {.ahead = true};
	const struct pawl_wheel_options eight_ahead = {.chains = 8, .ahead = true};
	const bool narrow = sizeof(void *) == 4;

	EXPECT_EQ((pawl_wheel_footprint(NULL) + 512) / 1024, narrow ? 18 : 34);
	EXPECT_EQ((pawl_wheel_footprint(&eight) + 512) / 1024, narrow ? 133 : 262);
	EXPECT_EQ((pawl_wheel_footprint(&ahead) + 512) / 1024, narrow ? 34 : 66);
	EXPECT_EQ((pawl_wheel_footprint(&eight_ahead) + 512) / 1024, narrow ? 261 : 518);
}

static void a_wheel_is_at_its_memory(void)
{
	size_t size = pawl_wheel_footprint(NULL);
	void *mem = malloc(size);

	EXPECT((void *)pawl_wheel_init(mem, size, NULL) == mem);
	free(mem);
}

static void init_refuses_no_memory(void)
{
	expect_refused(NULL, SIZE_MAX, NULL);
}

static void init_refuses_memory_that_is_too_small(void)
{
	size_t size = pawl_wheel_footprint(NULL);
	unsigned char *mem = malloc(size);

	memset(mem, FILL, size);
	expect_refused(mem, size - 1, NULL);
	expect_refused(mem, 0, NULL);
	EXPECT(pawl_wheel_init(mem, size, NULL) != NULL);
	free(mem);
}

static void init_refuses_memory_that_is_misaligned(void)
{
	size_t size = pawl_wheel_footprint(NULL);
	unsigned char *mem = malloc(size + alignof(max_align_t));

	memset(mem, FILL, size + alignof(max_align_t));
	for (size_t offset = 1; offset < alignof(max_align_t); offset++)
		expect_refused(mem + offset, size, NULL);
	EXPECT(pawl_wheel_init(mem + alignof(max_align_t), size, NULL) != NULL);
	free(mem);
}

static void a_wheel_begins_at_its_start(void)
{
	struct pawl_wheel *wheel = wheel_of_20(12345);
	struct pawl_timer timers[3] = {{0}};

	EXPECT_EQ(pawl_wheel_now(wheel), 12345);
	EXPECT(!pawl_wheel_arm(wheel, &timers[0], 12344));
	EXPECT(!pawl_wheel_arm(wheel, &timers[1], 12345));
	EXPECT(pawl_wheel_arm(wheel, &timers[2], 12346));
	EXPECT_POPS(wheel, timers, 0, 1);
	finish(wheel);
}

/* Arm */

static void a_zeroed_timer_is_idle(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(!pawl_timer_armed(&timer));
	EXPECT(!pawl_wheel_cancel(wheel, &timer));
	expect_no_place(wheel, &timer);
	finish(wheel);
}

static void an_armed_timer_waits_and_is_popped_once(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm(wheel, &timer, 5));
	EXPECT(pawl_timer_armed(&timer));
	EXPECT_EQ(timer.deadline, 5);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_advance(wheel, 4, 0), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_advance(wheel, 5, 0), 1);
	EXPECT(pawl_timer_armed(&timer));
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	EXPECT(!pawl_timer_armed(&timer));
	EXPECT_EQ(timer.deadline, 5);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	finish(wheel);
}

static void arming_an_armed_timer_moves_it(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm(wheel, &timer, 5));
	EXPECT(pawl_wheel_arm(wheel, &timer, 450));
	EXPECT_EQ(timer.deadline, 450);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	expect_place(wheel, &timer, 2, 1, 400);
	EXPECT(pawl_wheel_arm(wheel, &timer, 7));
	expect_place(wheel, &timer, 0, 7, 7);
	EXPECT_EQ(pawl_wheel_advance(wheel, 6, 0), 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 7, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

static void an_idle_timer_may_be_armed_as_such(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	EXPECT(pawl_wheel_arm_idle(wheel, &timers[0], 5));
	EXPECT(pawl_wheel_arm_idle(wheel, &timers[1], 450));
	EXPECT(!pawl_wheel_arm_idle(wheel, &timers[2], 0));
	expect_place(wheel, &timers[0], 0, 5, 5);
	expect_place(wheel, &timers[1], 2, 1, 400);
	EXPECT_POPS(wheel, timers, 2);
	EXPECT(pawl_wheel_arm_idle(wheel, &timers[2], 5)); /* popped */
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT(pawl_wheel_arm_idle(wheel, &timers[0], PAWL_NEVER)); /* cancelled */
	EXPECT_EQ(timers[0].deadline, LAST);
	EXPECT_EQ(pawl_wheel_count(wheel), 3);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_POPS(wheel, timers, 2);
	finish(wheel);
}

/* Whether arming an armed timer as an idle one ends the program. */
static void a_development_build_notices_an_armed_timer_that_is_called_idle(void)
{
#if defined(PAWL_ASSERT) && !defined(_WIN32) /* which has no fork */
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};
	int status = 0;
	pid_t child;

	pawl_wheel_arm(wheel, &timer, 5);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		signal(SIGILL, SIG_DFL);
		pawl_wheel_arm_idle(wheel, &timer, 6);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) != 0); /* a sanitizer ends it in its own way */
	free(wheel);
#endif
}

static void arming_a_due_timer_makes_it_wait_again(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(!pawl_wheel_arm(wheel, &timer, 0));
	EXPECT(pawl_wheel_arm(wheel, &timer, 3));
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	expect_place(wheel, &timer, 0, 3, 3);
	finish(wheel);
}

static void a_deadline_not_after_now_is_due_at_once(void)
{
	struct pawl_wheel *wheel = wheel_of_20(100);
	struct pawl_timer timers[3] = {{0}};

	EXPECT(!pawl_wheel_arm(wheel, &timers[0], 100));
	EXPECT(!pawl_wheel_arm(wheel, &timers[1], 0));
	EXPECT(!pawl_wheel_arm(wheel, &timers[2], 99));
	EXPECT_EQ(pawl_wheel_count(wheel), 3);
	EXPECT_EQ(timers[2].deadline, 99);
	for (int i = 0; i < 3; i++) {
		EXPECT(pawl_timer_armed(&timers[i]));
		expect_no_place(wheel, &timers[i]);
	}
	EXPECT_POPS(wheel, timers, 0, 1, 2);
	finish(wheel);
}

static void what_is_armed_due_comes_behind_all_that_was_due_before(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[5] = {{0}};

	EXPECT(pawl_wheel_arm(wheel, &timers[0], 9));
	EXPECT(!pawl_wheel_arm(wheel, &timers[1], 0));
	pawl_wheel_advance(wheel, 9, 0);
	EXPECT(!pawl_wheel_arm(wheel, &timers[2], 9));
	EXPECT(!pawl_wheel_arm(wheel, &timers[3], 0));
	EXPECT(!pawl_wheel_arm(wheel, &timers[4], 9));
	EXPECT(!pawl_wheel_arm(wheel, &timers[2], 9));
	EXPECT_POPS(wheel, timers, 1, 0, 3, 4, 2);
	finish(wheel);
}

static void a_timer_armed_without_advancing_first_is_due_on_time(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm(wheel, &timer, 410));
	pawl_wheel_advance(wheel, 409, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_next(wheel), 410);
	pawl_wheel_advance(wheel, 410, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

/* Deadlines and ticks */

static void never_is_taken_as_the_last_moment(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer armed = {0}, touched = {0};

	EXPECT(pawl_wheel_arm(wheel, &armed, PAWL_NEVER));
	EXPECT_EQ(armed.deadline, LAST);
	EXPECT(pawl_wheel_arm(wheel, &touched, 7));
	EXPECT(pawl_wheel_touch(wheel, &touched, PAWL_NEVER));
	EXPECT_EQ(touched.deadline, LAST);
	EXPECT(pawl_wheel_touch(wheel, &touched, PAWL_NEVER));
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

				EXPECT(pawl_wheel_arm(wheel, &timer, edge * tick - early));
				pawl_wheel_advance(wheel, edge * tick - 1, 0);
				EXPECT(pawl_wheel_pop(wheel) == NULL);
				pawl_wheel_advance(wheel, edge * tick, 0);
				EXPECT(pawl_wheel_pop(wheel) == &timer);
				free(wheel);
			}
		}
	}
}

static void a_deadline_just_after_an_edge_waits_for_the_next_tick(void)
{
	struct pawl_wheel *wheel = wheel_of_20_with_tick(10);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_advance(wheel, 25, 0);
	EXPECT(pawl_wheel_arm(wheel, &timers[0], 26));
	expect_place(wheel, &timers[0], 0, 3, 30);
	EXPECT(pawl_wheel_arm(wheel, &timers[1], 31));
	expect_place(wheel, &timers[1], 0, 4, 40);
	EXPECT_EQ(pawl_wheel_next(wheel), 30);
	pawl_wheel_advance(wheel, 29, 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 29);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 39, 0);
	EXPECT_POPS(wheel, timers, 0);
	pawl_wheel_advance(wheel, 40, 0);
	EXPECT_POPS(wheel, timers, 1);
	finish(wheel);
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

		EXPECT(pawl_wheel_arm(wheel, &timers[0], LAST));
		EXPECT(pawl_wheel_arm(wheel, &timers[1], PAWL_NEVER));
		EXPECT_STR(pawl_wheel_check(wheel), NULL);
		EXPECT(pawl_wheel_next(wheel) <= LAST);
		pawl_wheel_advance(wheel, LAST - 1, 0);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
		EXPECT_EQ(pawl_wheel_next(wheel), LAST);
		EXPECT_STR(pawl_wheel_check(wheel), NULL);
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

		EXPECT(pawl_wheel_arm(wheel, &timers[0], LAST));
		EXPECT(pawl_wheel_arm(wheel, &timers[1], PAWL_NEVER));
		EXPECT(!pawl_wheel_arm(wheel, &timers[2], LAST - before));
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

static void at_the_end_of_time_everything_is_due_at_once(void)
{
	struct pawl_wheel *wheel = wheel_of_20(LAST);
	struct pawl_timer timers[2] = {{0}};

	EXPECT(!pawl_wheel_arm(wheel, &timers[0], LAST));
	EXPECT(!pawl_wheel_arm(wheel, &timers[1], PAWL_NEVER));
	EXPECT_EQ(pawl_wheel_next(wheel), LAST);
	EXPECT_POPS(wheel, timers, 0, 1);
	finish(wheel);
}

static void next_tells_due_from_never_even_after_the_end_of_time(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_advance(wheel, PAWL_NEVER, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	EXPECT(!pawl_wheel_arm(wheel, &timer, 5));
	EXPECT_EQ(pawl_wheel_next(wheel), LAST);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

/* Half of all time is where a distance into the past begins to look like one into the future. */
static void what_is_late_is_due_at_once_in_both_halves_of_time(void)
{
	const uint64_t half = UINT64_C(1) << 63;
	const uint64_t jumps[] = {1, 9, 10, 11, 300, 100000, half, LAST - half};

	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct pawl_wheel_options options = {.start = half - 10};
		struct pawl_wheel *wheel = wheel_with(&options);
		struct pawl_timer timers[4] = {{0}};
		uint64_t now = half - 10 + jumps[i];

		pawl_wheel_advance(wheel, now, 0);
		EXPECT(!pawl_wheel_arm(wheel, &timers[0], 0));
		EXPECT(!pawl_wheel_arm(wheel, &timers[1], now));
		EXPECT(!pawl_wheel_arm(wheel, &timers[2], now - 1));
		EXPECT(pawl_wheel_arm(wheel, &timers[3], now + 1));
		EXPECT_POPS(wheel, timers, 0, 1, 2);
		EXPECT_EQ(pawl_wheel_next(wheel), now + 1);
		pawl_wheel_advance(wheel, now + 1, 0);
		EXPECT_POPS(wheel, timers, 3);
		finish(wheel);
	}
}

/* It was lost: the quick way of arming took it as it is, and tick 2^64-1 passes for "no timer". */
static void never_is_not_lost_just_before_half_time(void)
{
	struct pawl_wheel_options options = {.start = INT64_MAX};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer far[7] = {{0}}, never = {0};

	for (unsigned i = 0; i < 7; i++) /* every level is in use */
		EXPECT(pawl_wheel_arm(wheel, &far[i],
		                      (uint64_t)INT64_MAX + (UINT64_C(2) << 8 * (i + 1))));
	EXPECT(pawl_wheel_arm(wheel, &never, PAWL_NEVER));
	EXPECT_EQ(never.deadline, LAST);
	pawl_wheel_advance(wheel, PAWL_NEVER, 0);
	for (unsigned i = 0; i < 7; i++)
		EXPECT(pawl_wheel_pop(wheel) == &far[i]);
	EXPECT(pawl_wheel_pop(wheel) == &never);
	finish(wheel);
}

/* Order */

static void timers_come_out_by_tick_and_within_a_tick_as_they_were_armed(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[6] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 450);
	pawl_wheel_arm(wheel, &timers[1], 449);
	pawl_wheel_advance(wheel, 60, 0);
	pawl_wheel_arm(wheel, &timers[2], 450); /* on level 1 by now */
	pawl_wheel_advance(wheel, 435, 0);
	pawl_wheel_arm(wheel, &timers[3], 450); /* on level 0 */
	pawl_wheel_arm(wheel, &timers[4], 449);
	pawl_wheel_arm(wheel, &timers[5], 450);
	pawl_wheel_advance(wheel, 1000, 0);
	EXPECT_POPS(wheel, timers, 1, 4, 0, 2, 3, 5);
	finish(wheel);
}

static void order_holds_where_the_slots_of_several_levels_open_together(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[4] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 8000); /* level 3 */
	pawl_wheel_advance(wheel, 405, 0);
	pawl_wheel_arm(wheel, &timers[1], 8000); /* level 2 */
	pawl_wheel_advance(wheel, 7650, 0);
	pawl_wheel_arm(wheel, &timers[2], 8000); /* level 1 */
	pawl_wheel_advance(wheel, 7985, 0);
	pawl_wheel_arm(wheel, &timers[3], 8000); /* level 0 */
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
		pawl_wheel_arm(wheel, &timers[i], 5);
	pawl_wheel_arm(wheel, &timers[0], 5);
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
			EXPECT(pawl_wheel_arm(wheel, &timers[i], 1 + i * 7919 % 500));
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

/* Touch */

static void a_touch_backwards_leaves_the_timer_in_its_slot(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	EXPECT(pawl_wheel_arm(wheel, &timer, 15));
	EXPECT(pawl_wheel_touch(wheel, &timer, 100));
	EXPECT(pawl_wheel_touch(wheel, &timer, 450));
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

	pawl_wheel_arm(wheel, &timer, 15);
	for (uint64_t deadline = 16; deadline <= 450; deadline++)
		EXPECT(pawl_wheel_touch(wheel, &timer, deadline));
	EXPECT_EQ(pawl_wheel_advance(wheel, 15, 0), 1);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	expect_place(wheel, &timer, 2, 1, 400);
	pawl_wheel_advance(wheel, 449, 0);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	pawl_wheel_advance(wheel, 450, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	finish(wheel);
}

static void a_touched_timer_on_a_coarse_level_is_put_right_too(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 450);
	EXPECT(pawl_wheel_touch(wheel, &timer, 9000));
	expect_place(wheel, &timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 1);
	expect_place(wheel, &timer, 3, 1, 8000);
	finish(wheel);
}

static void a_touch_to_the_same_deadline_is_due_on_time(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 15);
	EXPECT(pawl_wheel_touch(wheel, &timer, 15));
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
			pawl_wheel_arm(wheel, &timers[i], 15);
		for (int i = 0; i < 100; i += 3)
			EXPECT(pawl_wheel_touch(wheel, &timers[i], 19));
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

	pawl_wheel_arm(wheel, &timers[0], 450);
	EXPECT(pawl_wheel_touch(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	pawl_wheel_arm(wheel, &timers[1], 450);
	EXPECT(!pawl_wheel_touch(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	finish(wheel);
}

static void an_earlier_touch_puts_a_timer_last_within_its_tick(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 16);
	pawl_wheel_arm(wheel, &timers[1], 15);
	pawl_wheel_touch(wheel, &timers[0], 15);
	pawl_wheel_arm(wheel, &timers[2], 15);
	pawl_wheel_advance(wheel, 15, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
	finish(wheel);
}

static void a_touch_of_a_due_timer_is_an_arm(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 6, 0);
	EXPECT(pawl_wheel_touch(wheel, &timers[0], 9));
	expect_place(wheel, &timers[0], 0, 9, 9);
	EXPECT(!pawl_wheel_touch(wheel, &timers[1], 6));
	EXPECT_POPS(wheel, timers, 2, 1);
	EXPECT_EQ(pawl_wheel_count(wheel), 1);
	finish(wheel);
}

static void a_touch_of_an_idle_timer_is_an_arm(void)
{
	struct pawl_wheel *wheel = wheel_of_20(10);
	struct pawl_timer timers[3] = {{0}};

	EXPECT(pawl_wheel_touch(wheel, &timers[0], 15));
	expect_place(wheel, &timers[0], 0, 15, 15);
	EXPECT(!pawl_wheel_touch(wheel, &timers[1], 10));
	EXPECT_POPS(wheel, timers, 1);
	pawl_wheel_arm(wheel, &timers[2], 300);
	pawl_wheel_cancel(wheel, &timers[2]);
	EXPECT(pawl_wheel_touch(wheel, &timers[2], 301));
	expect_place(wheel, &timers[2], 1, 15, 300);
	EXPECT_EQ(pawl_wheel_count(wheel), 2);
	finish(wheel);
}

static void arming_a_touched_timer_restores_its_order(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 5);
	pawl_wheel_touch(wheel, &timers[0], 30);
	pawl_wheel_arm(wheel, &timers[1], 30);
	pawl_wheel_arm(wheel, &timers[0], 30);
	pawl_wheel_arm(wheel, &timers[2], 30);
	pawl_wheel_advance(wheel, 30, 0);
	EXPECT_POPS(wheel, timers, 1, 0, 2);
	finish(wheel);
}

/* Cancel */

static void cancel_says_whether_the_timer_was_armed(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer waiting = {0}, due = {0}, popped = {0};

	pawl_wheel_arm(wheel, &popped, 0);
	EXPECT(pawl_wheel_pop(wheel) == &popped);
	pawl_wheel_arm(wheel, &waiting, 9);
	pawl_wheel_arm(wheel, &due, 0);
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

	pawl_wheel_arm(wheel, &first, 5);
	for (int i = 0; i < 3; i++) {
		timers[i] = calloc(1, sizeof(*timers[i]));
		pawl_wheel_arm(wheel, timers[i], 5);
	}
	pawl_wheel_arm(wheel, &last, 5);
	for (int i = 0; i < 3; i++) {
		EXPECT(pawl_wheel_cancel(wheel, timers[i]));
		memset(timers[i], FILL, sizeof(*timers[i]));
		free(timers[i]);
	}
	EXPECT_STR(pawl_wheel_check(wheel), NULL);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT(pawl_wheel_pop(wheel) == &first);
	EXPECT(pawl_wheel_pop(wheel) == &last);
	finish(wheel);
}

/* Advance */

static void time_never_goes_back(void)
{
	struct pawl_wheel *wheel = wheel_of_20(50);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 101);
	pawl_wheel_advance(wheel, 100, 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 99, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 0, 1), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT_EQ(pawl_wheel_advance(wheel, 100, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 100);
	EXPECT(pawl_wheel_pop(wheel) == NULL);
	EXPECT_EQ(pawl_wheel_next(wheel), 101);
	finish(wheel);
}

static void a_jump_of_centuries_is_one_call(void)
{
	const uint64_t century = UINT64_C(1000000000) * 86400 * 36525; /* in ns */
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 5 * century);
	pawl_wheel_arm(wheel, &timers[1], 2 * century);
	pawl_wheel_arm(wheel, &timers[2], 5 * century + 1);
	EXPECT(pawl_wheel_advance(wheel, 5 * century, 0) <= 3 * 16);
	EXPECT_EQ(pawl_wheel_now(wheel), 5 * century);
	EXPECT_POPS(wheel, timers, 1, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 5 * century + 1);
	finish(wheel);
}

static void an_advance_to_the_end_of_time_makes_everything_due(void)
{
	for (uint64_t end = LAST; end != 0; end++) {
		struct pawl_wheel *wheel = wheel_of_20(0);
		struct pawl_timer timers[65] = {{0}};

		for (unsigned i = 0; i < 64; i++)
			EXPECT(pawl_wheel_arm(wheel, &timers[i], UINT64_C(1) << i));
		EXPECT(pawl_wheel_arm(wheel, &timers[64], PAWL_NEVER));
		pawl_wheel_advance(wheel, end, 0);
		EXPECT_EQ(pawl_wheel_now(wheel), end);
		for (unsigned i = 0; i < 65; i++)
			EXPECT(pawl_wheel_pop(wheel) == &timers[i]);
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		finish(wheel);
	}
}

static void advance_counts_the_timers_it_moves(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[7] = {{0}};
	size_t moves;

	for (uint64_t i = 0; i < 7; i++)
		pawl_wheel_arm(wheel, &timers[i], 450 + i);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 7);
	EXPECT_EQ(pawl_wheel_advance(wheel, 439, 0), 0);
	EXPECT_EQ(pawl_wheel_advance(wheel, 440, 0), 7);
	moves = pawl_wheel_advance(wheel, 450, 0);
	EXPECT_EQ(moves, 1);
	moves = pawl_wheel_advance(wheel, 456, 0);
	EXPECT_EQ(moves, 6);
	EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 0), 0);
	EXPECT_EQ(pop_all(wheel), 7);
	finish(wheel);
}

static void a_slot_made_due_as_a_whole_is_one_move(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_wheel *wheel = wheel_of_20_with_chains(all_chains[c]);
		static struct pawl_timer timers[1000];

		memset(timers, 0, sizeof(timers));
		for (int i = 0; i < 1000; i++)
			pawl_wheel_arm(wheel, &timers[i], 5);
		EXPECT_EQ(pawl_wheel_advance(wheel, 10, 0), 1);
		EXPECT_EQ(pop_all(wheel), 1000);
		finish(wheel);
	}
}

/* Bounded advance: ten timers in the slot that opens at 400. */

#define BATCH 10

static struct pawl_wheel *wheel_with_ten_at_400(struct pawl_timer *timers, uint32_t chains)
{
	struct pawl_wheel *wheel = wheel_of_20_with_chains(chains);

	memset(timers, 0, BATCH * sizeof(*timers));
	for (uint64_t i = 0; i < BATCH; i++)
		EXPECT(pawl_wheel_arm(wheel, &timers[i], 450 + i));
	return wheel;
}

static unsigned level_of(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct pawl_place place = {99, 99, 99};

	pawl_wheel_place(wheel, timer, &place);
	return place.level;
}

static void a_touch_of_a_far_timer_does_not_slow_the_near_ones(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer far = {0}, near[3] = {{0}};

	pawl_wheel_arm(wheel, &far, 100000);
	pawl_wheel_touch(wheel, &far, 200000);
	for (unsigned i = 0; i < 3; i++)
		pawl_wheel_arm(wheel, &near[i], 5);
	EXPECT_EQ(pawl_wheel_advance(wheel, 5, 0), 1); /* made due as a whole */
	EXPECT_POPS(wheel, near, 0, 1, 2);
	pawl_wheel_cancel(wheel, &far);
	finish(wheel);
}

static void a_bound_stops_advance_in_the_midst_of_a_slot(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		struct pawl_timer timers[BATCH];
		struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, all_chains[c]);
		int moved = 0;

		EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 4), 4);
		EXPECT_EQ(pawl_wheel_now(wheel), 399);
		EXPECT_EQ(pawl_wheel_next(wheel), 400);
		EXPECT_EQ(pawl_wheel_count(wheel), BATCH);
		for (int i = 0; i < BATCH; i++) {
			if (level_of(wheel, &timers[i]) == 2) {
				expect_place(wheel, &timers[i], 2, 1, 400);
			} else {
				expect_place(wheel, &timers[i], 1, 2, 440);
				moved++;
			}
		}
		EXPECT_EQ(moved, 4);
		finish(wheel);
	}
}

static void a_stopped_advance_goes_on_where_it_stopped(void)
{
	for (size_t c = 0; c < CHAINS_COUNT; c++) {
		for (size_t bound = 1; bound <= 31; bound++) {
			struct pawl_timer timers[BATCH];
			struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, all_chains[c]);
			size_t moves, total = 0;

			do {
				moves = pawl_wheel_advance(wheel, 1000, bound);
				EXPECT(moves <= bound);
				EXPECT(moves > 0);
				total += moves;
				EXPECT_STR(pawl_wheel_check(wheel), NULL);
			} while (pawl_wheel_now(wheel) < 1000 && total < 100);
			EXPECT_EQ(total, 3 * BATCH);
			EXPECT_EQ(pawl_wheel_now(wheel), 1000);
			if (all_chains[c] == 1)
				EXPECT_POPS(wheel, timers, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
			else
				EXPECT_EQ(pop_all(wheel), BATCH);
			finish(wheel);
		}
	}
}

static void a_bound_that_is_just_enough_stops_nothing(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 5);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 10);
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	pawl_wheel_arm(wheel, &timer, 450);
	EXPECT_EQ(pawl_wheel_advance(wheel, 500, 3), 3);
	EXPECT_EQ(pawl_wheel_now(wheel), 500);
	finish(wheel);
}

static void a_bound_stops_advance_between_two_slots(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 5);
	pawl_wheel_arm(wheel, &timers[1], 8);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 7);
	EXPECT_EQ(pawl_wheel_next(wheel), 7); /* for something is due */
	EXPECT_POPS(wheel, timers, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 8);
	EXPECT_EQ(pawl_wheel_advance(wheel, 10, 1), 1);
	EXPECT_EQ(pawl_wheel_now(wheel), 10);
	EXPECT_POPS(wheel, timers, 1);
	finish(wheel);
}

static void a_stopped_wheel_places_as_seen_from_the_slot_it_stopped_at(void)
{
	struct pawl_timer timers[BATCH], armed[4] = {{0}};
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	EXPECT(pawl_wheel_arm(wheel, &armed[0], 419));
	expect_place(wheel, &armed[0], 0, 19, 419); /* from 399 it would be level 1 */
	EXPECT(pawl_wheel_arm(wheel, &armed[1], 400));
	expect_place(wheel, &armed[1], 0, 0, 400);
	EXPECT(!pawl_wheel_arm(wheel, &armed[2], 399));
	EXPECT(!pawl_wheel_arm(wheel, &armed[3], 0));
	EXPECT_POPS(wheel, armed, 2, 3);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	EXPECT_STR(pawl_wheel_check(wheel), NULL);
	pawl_wheel_advance(wheel, 400, 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 400);
	EXPECT_POPS(wheel, armed, 1);
	pawl_wheel_advance(wheel, 419, 0);
	EXPECT_POPS(wheel, armed, 0);
	pawl_wheel_advance(wheel, 1000, 0);
	EXPECT_POPS(wheel, timers, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	finish(wheel);
}

static void timers_may_be_cancelled_touched_and_armed_between_two_bounded_advances(void)
{
	for (size_t bound = 1; bound < BATCH; bound++) {
		struct pawl_timer timers[BATCH];
		struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

		EXPECT_EQ(pawl_wheel_advance(wheel, 1000, bound), bound);
		EXPECT(pawl_wheel_cancel(wheel, &timers[0]));
		EXPECT(pawl_wheel_cancel(wheel, &timers[9]));
		EXPECT(pawl_wheel_touch(wheel, &timers[1], 2000));
		EXPECT(pawl_wheel_touch(wheel, &timers[8], 2001));
		EXPECT(pawl_wheel_arm(wheel, &timers[2], 454));
		EXPECT(pawl_wheel_arm(wheel, &timers[7], 453));
		EXPECT(!pawl_wheel_arm(wheel, &timers[3], 1));
		EXPECT(pawl_wheel_pop(wheel) == &timers[3]);
		EXPECT_STR(pawl_wheel_check(wheel), NULL);
		pawl_wheel_advance(wheel, 1000, 0);
		EXPECT_EQ(pawl_wheel_now(wheel), 1000);
		EXPECT_POPS(wheel, timers, 7, 4, 2, 5, 6);
		pawl_wheel_advance(wheel, 1999, 0);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
		pawl_wheel_advance(wheel, 2001, 0);
		EXPECT_POPS(wheel, timers, 1, 8);
		finish(wheel);
	}
}

static void a_stopped_wheel_stays_stopped_while_time_does_not_go_on(void)
{
	struct pawl_timer timers[BATCH];
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	EXPECT_EQ(pawl_wheel_advance(wheel, 399, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 399);
	EXPECT_EQ(pawl_wheel_advance(wheel, 0, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 399);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 6);
	EXPECT_EQ(pawl_wheel_now(wheel), 400);
	EXPECT_EQ(pawl_wheel_next(wheel), 440);
	finish(wheel);
}

static void a_stopped_wheel_goes_on_when_all_it_left_was_cancelled(void)
{
	struct pawl_timer timers[BATCH], later = {0};
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	for (int i = 0; i < BATCH; i++)
		EXPECT(pawl_wheel_cancel(wheel, &timers[i]));
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	EXPECT(pawl_wheel_arm(wheel, &later, 1001));
	EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 3), 2);
	EXPECT_EQ(pawl_wheel_now(wheel), 1000);
	EXPECT_EQ(pawl_wheel_next(wheel), 1001);
	finish(wheel);
}

static void a_stopped_wheel_goes_on_when_it_became_empty_and_next_was_asked(void)
{
	struct pawl_timer timers[BATCH], later = {0};
	struct pawl_wheel *wheel = wheel_with_ten_at_400(timers, 1);

	pawl_wheel_advance(wheel, 1000, 4);
	for (int i = 0; i < BATCH; i++)
		pawl_wheel_cancel(wheel, &timers[i]);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	EXPECT(pawl_wheel_arm(wheel, &later, 5000)); /* in a slot that opens after 1000 */
	EXPECT_EQ(pawl_wheel_advance(wheel, 1000, 0), 0);
	EXPECT_EQ(pawl_wheel_now(wheel), 1000);
	EXPECT(!pawl_wheel_arm(wheel, &timers[0], 1000));
	finish(wheel);
}

static void a_bound_holds_for_touched_timers_that_are_looked_at_one_by_one(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[6] = {{0}};
	size_t moves, total = 0;

	for (int i = 0; i < 6; i++)
		pawl_wheel_arm(wheel, &timers[i], 5);
	EXPECT(pawl_wheel_touch(wheel, &timers[2], 7));
	do {
		moves = pawl_wheel_advance(wheel, 6, 1);
		EXPECT_EQ(moves, 1);
		EXPECT_STR(pawl_wheel_check(wheel), NULL);
		total += moves;
	} while (pawl_wheel_now(wheel) < 6 && total < 100);
	EXPECT(total >= 2);
	EXPECT(total <= 6);
	EXPECT_POPS(wheel, timers, 0, 1, 3, 4, 5);
	expect_place(wheel, &timers[2], 0, 7, 7);
	finish(wheel);
}

/* Pop */

static void between_two_pops_anything_may_be_done(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[5] = {{0}};

	for (int i = 0; i < 5; i++)
		pawl_wheel_arm(wheel, &timers[i], 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timers[0]);
	EXPECT(pawl_wheel_arm(wheel, &timers[0], 6));
	EXPECT(pawl_wheel_cancel(wheel, &timers[1]));
	EXPECT(!pawl_wheel_arm(wheel, &timers[2], 5));
	EXPECT(pawl_wheel_touch(wheel, &timers[3], 9));
	EXPECT_POPS(wheel, timers, 4, 2);
	pawl_wheel_advance(wheel, 9, 0);
	EXPECT_POPS(wheel, timers, 0, 3);
	finish(wheel);
}

static void a_popped_timer_may_be_armed_again(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	for (uint64_t now = 0; now < 10000; now += 37) {
		pawl_wheel_advance(wheel, now, 0);
		if (now > 0)
			EXPECT(pawl_wheel_pop(wheel) == &timer);
		EXPECT(pawl_wheel_arm(wheel, &timer, now + 37));
		EXPECT_EQ(pawl_wheel_count(wheel), 1);
	}
	finish(wheel);
}

/* Next */

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

	pawl_wheel_arm(wheel, &waiting, 9);
	pawl_wheel_arm(wheel, &due, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 7);
	EXPECT(pawl_wheel_cancel(wheel, &due));
	EXPECT_EQ(pawl_wheel_next(wheel), 9);
	finish(wheel);
}

static void next_opening_does_not_mind_what_is_due(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[2] = {{0}};

	EXPECT_EQ(pawl_wheel_next_opening(wheel), PAWL_NEVER);
	pawl_wheel_arm(wheel, &timers[0], 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 0);
	EXPECT_EQ(pawl_wheel_next_opening(wheel), PAWL_NEVER);
	pawl_wheel_arm(wheel, &timers[1], 7);
	EXPECT_EQ(pawl_wheel_next_opening(wheel), 7);
	pawl_wheel_cancel(wheel, &timers[1]);
	EXPECT_EQ(pawl_wheel_next_opening(wheel), PAWL_NEVER);
	EXPECT_EQ(pawl_wheel_next(wheel), 0);
	EXPECT_POPS(wheel, timers, 0);
	finish(wheel);
}

static void next_is_when_the_first_slot_with_a_timer_opens(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 450);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	pawl_wheel_arm(wheel, &timers[1], 399);
	EXPECT_EQ(pawl_wheel_next(wheel), 380);
	pawl_wheel_arm(wheel, &timers[2], 13);
	EXPECT_EQ(pawl_wheel_next(wheel), 13);
	finish(wheel);
}

static void next_forgets_slots_whose_timers_were_cancelled(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[4] = {{0}};

	pawl_wheel_arm(wheel, &timers[0], 13);
	pawl_wheel_arm(wheel, &timers[1], 30);
	pawl_wheel_arm(wheel, &timers[2], 450);
	pawl_wheel_arm(wheel, &timers[3], 9000);
	EXPECT_EQ(pawl_wheel_next(wheel), 13);
	pawl_wheel_cancel(wheel, &timers[0]);
	EXPECT_EQ(pawl_wheel_next(wheel), 20);
	pawl_wheel_cancel(wheel, &timers[1]);
	pawl_wheel_cancel(wheel, &timers[2]);
	EXPECT_EQ(pawl_wheel_next(wheel), 8000);
	pawl_wheel_cancel(wheel, &timers[3]);
	EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
	finish(wheel);
}

static void next_finds_a_slot_again_that_it_forgot(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	for (uint64_t deadline = 1; deadline < 500; deadline++) {
		pawl_wheel_arm(wheel, &timer, deadline);
		pawl_wheel_cancel(wheel, &timer);
		EXPECT_EQ(pawl_wheel_next(wheel), PAWL_NEVER);
		pawl_wheel_arm(wheel, &timer, deadline);
		EXPECT(pawl_wheel_next(wheel) <= deadline);
		EXPECT_STR(pawl_wheel_check(wheel), NULL);
		pawl_wheel_cancel(wheel, &timer);
	}
	finish(wheel);
}

static void next_is_rounded_up_to_the_tick(void)
{
	struct pawl_wheel *wheel = wheel_of_20_with_tick(10);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 41);
	EXPECT_EQ(pawl_wheel_next(wheel), 50);
	pawl_wheel_arm(wheel, &timer, 40);
	EXPECT_EQ(pawl_wheel_next(wheel), 40);
	finish(wheel);
}

static void next_of_a_touched_timer_is_when_its_slot_opens(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timer = {0};

	pawl_wheel_arm(wheel, &timer, 5);
	pawl_wheel_touch(wheel, &timer, 9);
	EXPECT_EQ(pawl_wheel_next(wheel), 5);
	pawl_wheel_advance(wheel, 5, 0);
	EXPECT_EQ(pawl_wheel_next(wheel), 9);
	finish(wheel);
}

/* Each */

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

/* In the order in which `each` shall give them. */
static struct pawl_wheel *wheel_for_each(struct pawl_timer *timers)
{
	static const uint64_t deadlines[] = {3, 0, 9000, 450, 399, 21, 23, 19, 19, 21};
	static const size_t order_of_arming[] = {5, 6, 0, 1, 4, 7, 8, 2, 3};
	struct pawl_wheel *wheel = wheel_of_20(3);

	for (size_t i = 0; i < 9; i++) {
		size_t k = order_of_arming[i];

		pawl_wheel_arm(wheel, &timers[k], deadlines[k]);
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
	EXPECT_STR(pawl_wheel_check(wheel), NULL);
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
			pawl_wheel_arm(wheel, &strangers[i], 5);
			if (i % 50 == 0)
				pawl_wheel_arm(wheel, &timers[i], 5);
		}
		for (int i = 0; i < 700; i++)
			pawl_wheel_cancel(wheel, &strangers[i]);
		EXPECT_EQ(walk_wheel(wheel, 16, false).count, 14);
		EXPECT_EQ(pawl_wheel_count(wheel), 14);
		EXPECT_EQ(walk_wheel(wheel, 16, true).count, 14);
		finish(wheel);
	}
}

/* Check */

static void check_names_what_is_broken(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}}, kept;

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm(wheel, &timers[i], 5);
	EXPECT_STR(pawl_wheel_check(wheel), NULL);
	kept = timers[1];
	timers[1].prev = &timers[1];
	EXPECT(pawl_wheel_check(wheel) != NULL);
	timers[1] = kept;
	timers[1].deadline = 4;
	EXPECT(pawl_wheel_check(wheel) != NULL);
	timers[1] = kept;
	timers[1].deadline = 6;
	EXPECT(pawl_wheel_check(wheel) != NULL);
	timers[1] = kept;
	timers[0].next = &timers[2]; /* as if another thread had taken one out */
	timers[2].prev = &timers[0];
	EXPECT(pawl_wheel_check(wheel) != NULL);
	free(wheel);
}

static void wheels_know_nothing_of_each_other(void)
{
	struct pawl_wheel *one = wheel_of_20(0), *other = wheel_of_20(0);
	struct pawl_timer timers[2] = {{0}};

	pawl_wheel_arm(one, &timers[0], 5);
	pawl_wheel_arm(other, &timers[1], 5);
	pawl_wheel_advance(one, 5, 0);
	EXPECT_EQ(pawl_wheel_now(other), 0);
	EXPECT(pawl_wheel_pop(other) == NULL);
	EXPECT(pawl_wheel_pop(one) == &timers[0]);
	EXPECT(pawl_wheel_arm(other, &timers[0], 5)); /* idle, so it may change wheels */
	pawl_wheel_advance(other, 5, 0);
	EXPECT_POPS(other, timers, 1, 0);
	finish(one);
	finish(other);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(invalid_options_have_no_footprint_and_no_wheel),
	        TEST(all_valid_options_make_a_wheel),
	        TEST(null_and_zeroed_options_mean_the_defaults),
	        TEST(the_footprints_are_those_that_the_header_names),
	        TEST(a_wheel_is_at_its_memory),
	        TEST(init_refuses_no_memory),
	        TEST(init_refuses_memory_that_is_too_small),
	        TEST(init_refuses_memory_that_is_misaligned),
	        TEST(a_wheel_begins_at_its_start),
	        TEST(a_zeroed_timer_is_idle),
	        TEST(an_armed_timer_waits_and_is_popped_once),
	        TEST(arming_an_armed_timer_moves_it),
	        TEST(an_idle_timer_may_be_armed_as_such),
	        TEST(a_development_build_notices_an_armed_timer_that_is_called_idle),
	        TEST(arming_a_due_timer_makes_it_wait_again),
	        TEST(a_deadline_not_after_now_is_due_at_once),
	        TEST(what_is_armed_due_comes_behind_all_that_was_due_before),
	        TEST(a_timer_armed_without_advancing_first_is_due_on_time),
	        TEST(never_is_taken_as_the_last_moment),
	        TEST(no_timer_is_early_whatever_the_tick),
	        TEST(a_deadline_just_after_an_edge_waits_for_the_next_tick),
	        TEST(huge_ticks_saturate_at_the_last_moment),
	        TEST(a_wheel_may_start_near_the_end_of_time),
	        TEST(at_the_end_of_time_everything_is_due_at_once),
	        TEST(next_tells_due_from_never_even_after_the_end_of_time),
	        TEST(what_is_late_is_due_at_once_in_both_halves_of_time),
	        TEST(never_is_not_lost_just_before_half_time),
	        TEST(timers_come_out_by_tick_and_within_a_tick_as_they_were_armed),
	        TEST(order_holds_where_the_slots_of_several_levels_open_together),
	        TEST(arming_anew_puts_a_timer_last_within_its_tick),
	        TEST(with_chains_every_timer_comes_out_in_its_tick),
	        TEST(a_touch_backwards_leaves_the_timer_in_its_slot),
	        TEST(a_touched_timer_is_put_right_by_one_move_when_its_slot_opens),
	        TEST(a_touched_timer_on_a_coarse_level_is_put_right_too),
	        TEST(a_touch_to_the_same_deadline_is_due_on_time),
	        TEST(a_touched_timer_leaves_its_neighbours_on_time),
	        TEST(an_earlier_touch_is_an_arm),
	        TEST(an_earlier_touch_puts_a_timer_last_within_its_tick),
	        TEST(a_touch_of_a_due_timer_is_an_arm),
	        TEST(a_touch_of_an_idle_timer_is_an_arm),
	        TEST(arming_a_touched_timer_restores_its_order),
	        TEST(cancel_says_whether_the_timer_was_armed),
	        TEST(a_cancelled_timers_memory_is_free_at_once),
	        TEST(time_never_goes_back),
	        TEST(a_jump_of_centuries_is_one_call),
	        TEST(an_advance_to_the_end_of_time_makes_everything_due),
	        TEST(advance_counts_the_timers_it_moves),
	        TEST(a_slot_made_due_as_a_whole_is_one_move),
	        TEST(a_touch_of_a_far_timer_does_not_slow_the_near_ones),
	        TEST(a_bound_stops_advance_in_the_midst_of_a_slot),
	        TEST(a_stopped_advance_goes_on_where_it_stopped),
	        TEST(a_bound_that_is_just_enough_stops_nothing),
	        TEST(a_bound_stops_advance_between_two_slots),
	        TEST(a_stopped_wheel_places_as_seen_from_the_slot_it_stopped_at),
	        TEST(timers_may_be_cancelled_touched_and_armed_between_two_bounded_advances),
	        TEST(a_stopped_wheel_stays_stopped_while_time_does_not_go_on),
	        TEST(a_stopped_wheel_goes_on_when_all_it_left_was_cancelled),
	        TEST(a_stopped_wheel_goes_on_when_it_became_empty_and_next_was_asked),
	        TEST(a_bound_holds_for_touched_timers_that_are_looked_at_one_by_one),
	        TEST(between_two_pops_anything_may_be_done),
	        TEST(a_popped_timer_may_be_armed_again),
	        TEST(next_is_never_without_timers),
	        TEST(next_is_now_when_something_is_due),
	        TEST(next_opening_does_not_mind_what_is_due),
	        TEST(next_is_when_the_first_slot_with_a_timer_opens),
	        TEST(next_forgets_slots_whose_timers_were_cancelled),
	        TEST(next_finds_a_slot_again_that_it_forgot),
	        TEST(next_is_rounded_up_to_the_tick),
	        TEST(next_of_a_touched_timer_is_when_its_slot_opens),
	        TEST(each_gives_due_timers_then_the_levels_from_the_coarsest),
	        TEST(each_stops_when_it_is_told_to),
	        TEST(each_may_cancel_every_timer_that_it_gives),
	        TEST(each_gives_the_timers_of_every_chain),
	        TEST(check_names_what_is_broken),
	        TEST(wheels_know_nothing_of_each_other),
	};

	return RUN_TESTS(tests);
}
