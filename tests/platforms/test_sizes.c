/* SPDX-License-Identifier: MIT */
/*
 * The sizes of the public structs that programs have in their own, and of wheels with the default options. The lines
 * below are also the rows of a table in docs/platforms.md: scripts/test-platforms writes it and its --check compares.
 */
#include <pawl/pawl.h>

#include "../support/test.h"

/* One of three, by the size of pointers and how a uint64_t in a struct is aligned. */
struct word {
	char c;
	uint64_t word;
};

#define I386 (offsetof(struct word, word) == 4)
#define SIZE(actual, with_64_bits, with_32_bits, on_i386) \
	EXPECT_EQ(actual, sizeof(void *) == 8 ? (with_64_bits) : I386 ? (on_i386) : (with_32_bits))

static size_t footprint(uint32_t chains, bool ahead)
{
	return pawl_wheel_footprint(&(struct pawl_wheel_options){.chains = chains, .ahead = ahead});
}

static void public_structs_have_the_documented_sizes(void)
{
	SIZE(sizeof(struct pawl_timer), 24, 16, 16);
	SIZE(sizeof(struct pawl_loop_timer), 40, 32, 28);
	SIZE(sizeof(struct pawl_task), 88, 64, 64);
	SIZE(sizeof(struct pawl_op), 184, 136, 124);
	SIZE(sizeof(struct pawl_op_watches), 136, 96, 92);
	SIZE(sizeof(struct pawl_clock_system), 168, 152, 148);
	SIZE(sizeof(struct pawl_clock_manual), 288, 272, 272);
	SIZE(sizeof(struct pawl_zone), 12344, 12344, 12340);
	SIZE(sizeof(struct pawl_calendar_rule), 32, 32, 32);
	SIZE(sizeof(struct pawl_schedule), 152, 128, 120);
}

static void wheels_have_the_documented_footprints(void)
{
	SIZE(footprint(1, false), 34856, 18256, 18220);
	SIZE(footprint(1, true), 67624, 34640, 34604);
	SIZE(footprint(8, false), 267816, 136528, 136492);
	SIZE(footprint(8, true), 529960, 267600, 267564);
}

static void a_word_that_threads_share_is_aligned_to_8_bytes(void)
{
	EXPECT_EQ(_Alignof(struct pawl_clock_manual), 8);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(public_structs_have_the_documented_sizes),
	        TEST(wheels_have_the_documented_footprints),
	        TEST(a_word_that_threads_share_is_aligned_to_8_bytes),
	};

	return RUN_TESTS(tests);
}
