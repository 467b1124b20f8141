/* SPDX-License-Identifier: MIT */
/* The contract of pawl/wheel.h: the footprint of a wheel, its options, and the memory that it is made in. */
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

int main(void)
{
	static const struct test tests[] = {
	        TEST(invalid_options_have_no_footprint_and_no_wheel),
	        TEST(all_valid_options_make_a_wheel),
	        TEST(null_and_zeroed_options_mean_the_defaults),
	        TEST(the_footprints_are_those_that_the_header_names),
	        TEST(init_refuses_memory_that_is_missing_too_small_or_misaligned),
	};

	return RUN_TESTS(tests);
}
