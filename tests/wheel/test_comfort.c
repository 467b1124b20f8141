/* SPDX-License-Identifier: MIT */
/* Units of time, initialisers, the way from a timer to its struct, and its deadline. */
#include "../support/test.h"
#include "../support/wheels.h"

#if PAWL_US != 1000 || PAWL_MS != 1000 * PAWL_US || PAWL_SECOND != 1000 * PAWL_MS
#error "the preprocessor cannot count with them"
#endif

struct request {
	int id;
	struct pawl_timer timeout;
	struct pawl_timer heartbeat;
};

static const struct request at_file_scope = {7, PAWL_TIMER_INIT, PAWL_TIMER_INIT};

static void units_of_time_are_nanoseconds_of_64_bits(void)
{
	EXPECT_EQ(PAWL_SECOND, UINT64_C(1000000000));
	EXPECT_EQ(PAWL_MINUTE, 60 * PAWL_SECOND);
	EXPECT_EQ(PAWL_HOUR, 60 * PAWL_MINUTE);
	EXPECT_EQ(sizeof(PAWL_US), 8);
	EXPECT_EQ(sizeof(PAWL_HOUR), 8);
	EXPECT_EQ(PAWL_US - 1001, UINT64_MAX); /* no sign */
}

static void a_timer_leads_to_the_struct_that_it_is_embedded_in(void)
{
	struct request requests[2] = {{1, PAWL_TIMER_INIT, PAWL_TIMER_INIT},
	                              {2, PAWL_TIMER_INIT, PAWL_TIMER_INIT}};
	struct pawl_timer *timer = &requests[0].timeout;
	const struct pawl_timer *fixed = &requests[1].heartbeat;

	EXPECT(PAWL_CONTAINER_OF(timer, struct request, timeout) == &requests[0]);
	EXPECT(PAWL_CONTAINER_OF(fixed, struct request, heartbeat) == &requests[1]);
	EXPECT_EQ(PAWL_CONTAINER_OF(&requests[1].timeout, struct request, timeout)->id, 2);
}

static void the_pointer_to_a_timer_is_evaluated_once(void)
{
	struct request requests[2] = {{1, PAWL_TIMER_INIT, PAWL_TIMER_INIT},
	                              {2, PAWL_TIMER_INIT, PAWL_TIMER_INIT}};
	struct pawl_timer *timers[] = {&requests[0].timeout, &requests[1].timeout};
	struct pawl_timer **next = timers;

	EXPECT_EQ(PAWL_CONTAINER_OF(*next++, struct request, timeout)->id, 1);
	EXPECT_EQ(PAWL_CONTAINER_OF(*next++, struct request, timeout)->id, 2);
	EXPECT(next == timers + 2);
}

static void an_initialised_timer_is_all_zeroes(void)
{
	static const struct pawl_timer zero;

	EXPECT(memcmp(&at_file_scope.timeout, &zero, sizeof(zero)) == 0);
	EXPECT(!pawl_timer_armed(&at_file_scope.heartbeat));
}

static void a_timer_tells_until_when_it_is_armed(void)
{
	const struct pawl_wheel_options options = {.tick = 10};
	struct pawl_wheel *wheel = wheel_with(&options);
	struct pawl_timer timer = PAWL_TIMER_INIT;

	EXPECT_EQ(pawl_timer_deadline(&timer), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &timer, 455);
	EXPECT_EQ(pawl_timer_deadline(&timer), 455); /* as given, not rounded up */
	pawl_wheel_touch_at(wheel, &timer, 500);
	EXPECT_EQ(pawl_timer_deadline(&timer), 500);
	pawl_wheel_advance(wheel, 500, 0);
	EXPECT_EQ(pawl_timer_deadline(&timer), 500); /* due, and not popped */
	EXPECT(pawl_wheel_pop(wheel) == &timer);
	EXPECT_EQ(pawl_timer_deadline(&timer), PAWL_NEVER);
	pawl_wheel_arm_at(wheel, &timer, 600);
	pawl_wheel_cancel(wheel, &timer);
	EXPECT_EQ(pawl_timer_deadline(&timer), PAWL_NEVER);
	free(wheel);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(units_of_time_are_nanoseconds_of_64_bits),
	        TEST(a_timer_leads_to_the_struct_that_it_is_embedded_in),
	        TEST(the_pointer_to_a_timer_is_evaluated_once),
	        TEST(an_initialised_timer_is_all_zeroes),
	        TEST(a_timer_tells_until_when_it_is_armed),
	};

	return RUN_TESTS(tests);
}
