/* SPDX-License-Identifier: MIT */
/* A program that was compiled with headers of an earlier version, in which structs were smaller: see doctor.cmake. */
#include "parts.h"

/* The struct and the memory after it, which the library must not write. */
#define GUARD(type)                      \
	struct {                         \
		type filled;             \
		unsigned char after[64]; \
	}

static bool untouched(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0xA5)
			return false;
	return true;
}

static void the_structs_are_smaller(void)
{
	EXPECT(sizeof(struct pawl_service_stats) < present_service_stats);
	EXPECT(sizeof(struct pawl_purgatory_stats) < present_purgatory_stats);
	EXPECT(sizeof(struct pawl_wheel_place) < present_place);
	EXPECT(sizeof(struct pawl_store_stats) < present_store_stats);
}

static void statistics_fit_the_smaller_struct(void)
{
	GUARD(struct pawl_service_stats) stats;
	struct parts parts;

	open_parts(&parts);
	memset(&stats, 0xA5, sizeof(stats));
	pawl_service_get_stats(parts.service, &stats.filled, sizeof(stats.filled));
	EXPECT_EQ(stats.filled.armed, 1);
	EXPECT_EQ(stats.filled.ran, 1);
	EXPECT(stats.filled.slowest == run);
	EXPECT(untouched(stats.after, sizeof(stats.after)));
	close_parts(&parts);
}

static void statistics_of_a_purgatory_fit_the_smaller_struct(void)
{
	GUARD(struct pawl_purgatory_stats) stats;
	struct parts parts;

	open_parts(&parts);
	memset(&stats, 0xA5, sizeof(stats));
	pawl_purgatory_get_stats(parts.purgatory, &stats.filled, sizeof(stats.filled));
	EXPECT_EQ(stats.filled.watched | stats.filled.completed_by_call, 0);
	EXPECT(untouched(stats.after, sizeof(stats.after)));
	close_parts(&parts);
}

static void a_place_fits_the_smaller_struct(void)
{
	GUARD(struct pawl_wheel_place) place;
	struct parts parts;

	open_parts(&parts);
	memset(&place, 0xA5, sizeof(place));
	EXPECT(pawl_wheel_get_place(parts.wheel, &parts.timer, &place.filled,
	                            sizeof(place.filled)));
	EXPECT_EQ(place.filled.level, 2);
	EXPECT_EQ(place.filled.slot, 1);
	EXPECT(untouched(place.after, sizeof(place.after)));
	close_parts(&parts);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_structs_are_smaller),
	        TEST(statistics_fit_the_smaller_struct),
	        TEST(statistics_of_a_purgatory_fit_the_smaller_struct),
	        TEST(a_place_fits_the_smaller_struct),
	};

	return RUN_TESTS(tests);
}
