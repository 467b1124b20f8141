/* SPDX-License-Identifier: MIT */
/*
 * The contract of pawl/wheel.h: the footprint of a wheel, its options, and the memory that it is made in; units of time,
 * initialisers, and the way from a timer to its struct.
 */
#include <stdalign.h>

#include "contract.h"

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
	        {.reserved = {1}},
	        {.reserved = {0, 1}},
	        {.reserved = {0, 0, 1}},
	        {.reserved = {0, 0, 0, UINT64_C(1) << 63}},
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
	EXPECT(pawl_wheel_arm_at(wheel, &timer, 255));
	expect_place(wheel, &timer, 0, 255, 255);
	EXPECT(pawl_wheel_arm_at(wheel, &timer, 256));
	expect_place(wheel, &timer, 1, 1, 256);
	EXPECT(pawl_wheel_arm_at(wheel, &timer, 65536));
	expect_place(wheel, &timer, 2, 1, 65536);
	EXPECT(pawl_wheel_arm_at(wheel, &timer, LAST));
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

static void init_refuses_memory_that_is_missing_too_small_or_misaligned(void)
{
	size_t size = pawl_wheel_footprint(NULL), most = size + alignof(max_align_t);
	unsigned char *mem = malloc(most);

	memset(mem, FILL, most);
	expect_refused(NULL, SIZE_MAX, NULL);
	expect_refused(mem, size - 1, NULL);
	expect_refused(mem, 0, NULL);
	for (size_t offset = 1; offset < alignof(max_align_t); offset++)
		expect_refused(mem + offset, size, NULL);
	EXPECT((void *)pawl_wheel_init(mem, size, NULL) == mem);
	EXPECT(pawl_wheel_init(mem + alignof(max_align_t), size, NULL) != NULL);
	free(mem);
}

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
	        TEST(invalid_options_have_no_footprint_and_no_wheel),
	        TEST(all_valid_options_make_a_wheel),
	        TEST(null_and_zeroed_options_mean_the_defaults),
	        TEST(the_footprints_are_those_that_the_header_names),
	        TEST(init_refuses_memory_that_is_missing_too_small_or_misaligned),
	        TEST(units_of_time_are_nanoseconds_of_64_bits),
	        TEST(a_timer_leads_to_the_struct_that_it_is_embedded_in),
	        TEST(the_pointer_to_a_timer_is_evaluated_once),
	        TEST(an_initialised_timer_is_all_zeroes),
	        TEST(a_timer_tells_until_when_it_is_armed),
	};

	return RUN_TESTS(tests);
}
