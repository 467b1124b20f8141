/* SPDX-License-Identifier: MIT */
/*
 * The examples by which Kafka's timing wheel is usually explained, on its wheel of 20 slots of 1 ms: where each timer
 * is, and when it moves.
 */
#include "contract/contract.h"

static void a_timer_sits_in_the_slot_of_its_deadline(void)
{
	static const struct {
		uint64_t now, deadline;
		unsigned level, slot;
		uint64_t opens;
	} cases[] = {
	        {0, 2, 0, 2, 2},      {2, 2 + 8, 0, 10, 10},
	        {0, 19, 0, 19, 19},   {0, 20, 1, 1, 20}, /* the overflow wheel */
	        {0, 237, 1, 11, 220}, {220, 237, 0, 17, 237},
	        {0, 350, 1, 17, 340}, {0, 450, 2, 1, 400},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pawl_wheel *wheel = wheel_of_20(0);
		struct pawl_timer timer = {0};

		pawl_wheel_advance(wheel, cases[i].now, 0);
		EXPECT(pawl_wheel_arm_at(wheel, &timer, cases[i].deadline));
		expect_place(wheel, &timer, cases[i].level, cases[i].slot, cases[i].opens);
		free(wheel);
	}
}

static void nineteen_ms_from_2_sit_in_slot_1_which_has_been_freed(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer first = {0}, again = {0};

	EXPECT(pawl_wheel_arm_at(wheel, &first, 1));
	expect_place(wheel, &first, 0, 1, 1);
	pawl_wheel_advance(wheel, 2, 0);
	EXPECT(pawl_wheel_pop(wheel) == &first);
	EXPECT(pawl_wheel_arm_at(wheel, &again, 2 + 19));
	expect_place(wheel, &again, 0, 1, 21);
	EXPECT_EQ(pawl_wheel_next(wheel), 21);
	free(wheel);
}

ON_A_WHEEL(four_hundred_fifty_ms_move_down_twice, wheel_of_20(0), timer)
{
	struct pawl_wheel_place place;

	EXPECT(pawl_wheel_arm_at(wheel, timer, 450));
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_next(wheel), 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 399, 0), 0);
	expect_place(wheel, timer, 2, 1, 400);
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 1);
	expect_place(wheel, timer, 1, 2, 440);
	EXPECT_EQ(pawl_wheel_next(wheel), 440);
	EXPECT_EQ(pawl_wheel_advance(wheel, 440, 0), 1);
	expect_place(wheel, timer, 0, 10, 450);
	EXPECT_EQ(pawl_wheel_next(wheel), 450);
	EXPECT_EQ(pawl_wheel_advance(wheel, 450, 0), 1);
	EXPECT(!pawl_wheel_get_place(wheel, timer, &place, sizeof(place)));
	EXPECT(pawl_wheel_pop(wheel) == timer);
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
}

static void timers_of_446_455_and_473_ms_share_a_slot_of_level_2(void)
{
	static const uint64_t deadlines[] = {446, 455, 473};
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};

	for (int i = 0; i < 3; i++) {
		EXPECT(pawl_wheel_arm_at(wheel, &timers[i], deadlines[i]));
		expect_place(wheel, &timers[i], 2, 1, 400);
	}
	EXPECT_EQ(pawl_wheel_advance(wheel, 400, 0), 3);
	expect_place(wheel, &timers[0], 1, 2, 440);
	expect_place(wheel, &timers[1], 1, 2, 440);
	expect_place(wheel, &timers[2], 1, 3, 460);
	for (int i = 0; i < 3; i++) {
		pawl_wheel_advance(wheel, deadlines[i] - 1, 0);
		EXPECT(pawl_wheel_pop(wheel) == NULL);
		pawl_wheel_advance(wheel, deadlines[i], 0);
		EXPECT(pawl_wheel_pop(wheel) == &timers[i]);
	}
	free(wheel);
}

/* The memory of a wheel of 20, and more behind it, all FILLed. */
struct field {
	struct pawl_wheel *wheel;
	unsigned char *bytes;
	size_t footprint, size;
};

static struct field filled_wheel(void)
{
	const struct pawl_wheel_options options = {.wheel_size = 20};
	struct field field = {.footprint = pawl_wheel_footprint(&options)};

	field.size = field.footprint + 4096;
	field.bytes = malloc(field.size);
	memset(field.bytes, FILL, field.size);
	field.wheel = pawl_wheel_init(field.bytes, field.size, &options);
	EXPECT(field.wheel != NULL);
	return field;
}

static size_t written(const struct field *field)
{
	size_t count = 0;

	for (size_t i = 0; i < field->footprint; i++)
		count += field->bytes[i] != FILL;
	return count;
}

/*
 * The slots of a level are at least a pointer each. Not all of their bytes need differ from FILL, and a few of the
 * wheel's head may be written at any time: half of that tells the two apart.
 */
#define LEVEL_BYTES (20 * sizeof(void *) / 2)

static void overflow_wheels_are_created_only_when_needed(void)
{
	/* The last deadline for which levels 0 to L are enough, then the first that needs L + 1. */
	static const uint64_t last[] = {19, 399, 7999, 159999, 3199999};
	struct field field = filled_wheel();
	struct pawl_timer timers[5][2] = {{{0}}};
	size_t before = written(&field);

	EXPECT(before < field.footprint / 2);
	for (int i = 0; i < 5; i++) {
		pawl_wheel_arm_at(field.wheel, &timers[i][0], last[i]);
		EXPECT(written(&field) < before + LEVEL_BYTES);
		before = written(&field);
		pawl_wheel_arm_at(field.wheel, &timers[i][1], last[i] + 1);
		EXPECT(written(&field) >= before + LEVEL_BYTES);
		before = written(&field);
	}
	EXPECT(before < field.footprint);
	free(field.bytes);
}

static void nothing_is_written_behind_the_footprint(void)
{
	struct field field = filled_wheel();
	struct pawl_timer timers[64] = {{0}};

	for (unsigned i = 0; i < 64; i++)
		pawl_wheel_arm_at(field.wheel, &timers[i], UINT64_C(1) << i);
	pawl_wheel_advance(field.wheel, PAWL_NEVER, 0);
	while (pawl_wheel_pop(field.wheel))
		;
	for (size_t i = field.footprint; i < field.size; i++)
		EXPECT_EQ(field.bytes[i], FILL);
	free(field.bytes);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_timer_sits_in_the_slot_of_its_deadline),
	        TEST(nineteen_ms_from_2_sit_in_slot_1_which_has_been_freed),
	        TEST(four_hundred_fifty_ms_move_down_twice),
	        TEST(timers_of_446_455_and_473_ms_share_a_slot_of_level_2),
	        TEST(overflow_wheels_are_created_only_when_needed),
	        TEST(nothing_is_written_behind_the_footprint),
	};

	return RUN_TESTS(tests);
}
