/* SPDX-License-Identifier: MIT */
/* Expectations of the wheel's tests: the place of a timer, and which timers are due. */
#ifndef PAWL_TESTS_PLACES_H
#define PAWL_TESTS_PLACES_H

#include "test.h"
#include "wheels.h"

static inline void expect_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                                unsigned level, unsigned slot, uint64_t opens)
{
	struct pawl_wheel_place place = {99, 99, 99};

	EXPECT(pawl_wheel_get_place(wheel, timer, &place, sizeof(place)));
	EXPECT_EQ(place.level, level);
	EXPECT_EQ(place.slot, slot);
	EXPECT_EQ(place.opens, opens);
}

/* Exactly these are due, in this order. */
static inline void expect_pops(struct pawl_wheel *wheel, const struct pawl_timer *timers,
                               const size_t *order, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct pawl_timer *popped = pawl_wheel_pop(wheel);

		EXPECT(popped != NULL);
		if (popped)
			EXPECT_EQ(popped - timers, order[i]);
	}
	EXPECT(pawl_wheel_pop(wheel) == NULL);
}

#define EXPECT_POPS(wheel, timers, ...)                           \
	expect_pops(wheel, timers, (const size_t[]){__VA_ARGS__}, \
	            sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

#endif
