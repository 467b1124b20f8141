/* SPDX-License-Identifier: MIT */
/* A program that was compiled with the headers of a later version, in which structs are larger: see doctor.cmake. */
#include <errno.h>

#include "parts.h"

static void the_structs_are_larger(void)
{
	EXPECT(sizeof(struct pawl_service_stats) > present_service_stats);
	EXPECT(sizeof(struct pawl_purgatory_stats) > present_purgatory_stats);
	EXPECT(sizeof(struct pawl_wheel_place) > present_place);
	EXPECT(sizeof(struct pawl_store_stats) > present_store_stats);
}

static void a_statistic_that_the_library_does_not_know_is_0(void)
{
	struct pawl_purgatory_stats of_purgatory;
	struct pawl_service_stats stats;
	struct parts parts;

	open_parts(&parts);
	memset(&stats, 0xA5, sizeof(stats));
	pawl_service_get_stats(parts.service, &stats, sizeof(stats));
	EXPECT_EQ(stats.ran, 1);
	EXPECT_EQ(stats.slowest_ns, 0);
	EXPECT_EQ(stats.later, 0);
	memset(&of_purgatory, 0xA5, sizeof(of_purgatory));
	pawl_purgatory_get_stats(parts.purgatory, &of_purgatory, sizeof(of_purgatory));
	EXPECT_EQ(of_purgatory.dropped, 0);
	EXPECT_EQ(of_purgatory.later, 0);
	close_parts(&parts);
}

static void a_field_of_a_place_that_the_library_does_not_know_is_0(void)
{
	struct pawl_wheel_place place;
	struct parts parts;

	open_parts(&parts);
	memset(&place, 0xA5, sizeof(place));
	EXPECT(pawl_wheel_get_place(parts.wheel, &parts.timer, &place, sizeof(place)));
	EXPECT_EQ(place.opens, 400);
	EXPECT_EQ(place.later, 0);
	close_parts(&parts);
}

static void an_option_that_the_library_does_not_know_is_refused(void)
{
	const struct pawl_service_options service = {.workers = PAWL_SERVICE_MANUAL, .later = 1};
	const struct pawl_purgatory_options purgatory = {.later = 1};
	const struct pawl_wheel_options wheel = {.later = 1};
	struct pawl_purgatory *second = NULL;
	struct pawl_service *another = NULL;
	struct parts parts;

	open_parts(&parts);
	EXPECT_EQ(pawl_service_open(&another, &service), -EINVAL);
	EXPECT(another == NULL);
	EXPECT_EQ(pawl_purgatory_open(&second, parts.service, &purgatory), -EINVAL);
	EXPECT(second == NULL);
	EXPECT_EQ(pawl_wheel_footprint(&wheel), 0);
	close_parts(&parts);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_structs_are_larger),
	        TEST(a_statistic_that_the_library_does_not_know_is_0),
	        TEST(a_field_of_a_place_that_the_library_does_not_know_is_0),
	        TEST(an_option_that_the_library_does_not_know_is_refused),
	};

	return RUN_TESTS(tests);
}
