/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the contract of pawl/wheel.h. There is a program for each part of the header. */
#ifndef PAWL_TESTS_CONTRACT_H
#define PAWL_TESTS_CONTRACT_H

#include "../../support/places.h"

#define LAST UINT64_C(0xfffffffffffffffe)
#define FILL 0xA5 /* what memory holds before */

static const uint32_t all_chains[] = {1, 2, 4, 8, 16};

#define CHAINS_COUNT (sizeof(all_chains) / sizeof(all_chains[0]))

static inline struct pawl_wheel *wheel_of_20_with_tick(uint64_t tick)
{
	const struct pawl_wheel_options options = {.tick = tick, .wheel_size = 20};

	return wheel_with(&options);
}

static inline struct pawl_wheel *wheel_of_20_with_chains(uint32_t chains)
{
	const struct pawl_wheel_options options = {.wheel_size = 20, .chains = chains};

	return wheel_with(&options);
}

static inline void expect_no_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct pawl_wheel_place place = {99, 98, 97};

	EXPECT(!pawl_wheel_get_place(wheel, timer, &place, sizeof(place)));
	EXPECT_EQ(place.level, 99);
	EXPECT_EQ(place.slot, 98);
	EXPECT_EQ(place.opens, 97);
}

static inline size_t pop_all(struct pawl_wheel *wheel)
{
	size_t count = 0;

	while (pawl_wheel_pop(wheel))
		count++;
	return count;
}

static inline void finish(struct pawl_wheel *wheel)
{
	EXPECT_SOUND(wheel);
	free(wheel);
}

static inline void with_wheel(struct pawl_wheel *wheel,
                              void (*test)(struct pawl_wheel *wheel, struct pawl_timer *timers))
{
	struct pawl_timer timers[16] = {{0}}; /* more than any test has */

	test(wheel, timers);
	finish(wheel);
}

/*
 * A test of one wheel, `made` so, and of a timer or several; the last argument names the pointer to the first.
 *
 *	ON_A_WHEEL(a_deadline_of_now_is_due_at_once, wheel_of_20(100), timer)
 *	{
 *		EXPECT(!pawl_wheel_arm_at(wheel, timer, 100));
 *	}
 */
#define ON_A_WHEEL(name, made, timers)                                            \
	static void name##_(struct pawl_wheel *wheel, struct pawl_timer *timers); \
	static void name(void)                                                    \
	{                                                                         \
		with_wheel(made, name##_);                                        \
	}                                                                         \
	static void name##_(struct pawl_wheel *wheel, struct pawl_timer *timers)

#endif
