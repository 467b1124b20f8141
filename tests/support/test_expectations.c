/* SPDX-License-Identifier: MIT */
/* Expectations that fail, to show what they print. tests/CMakeLists.txt has the text that must come. */
#include "test.h"

static void numbers_print_with_their_sign(void)
{
	const int refused = -22;
	const signed char narrow = -1;
	const unsigned char byte = 255;
	const uint64_t never = UINT64_MAX;

	EXPECT_EQ(refused, 0);
	EXPECT_EQ(never, -2);
	EXPECT_EQ(narrow, byte);
	EXPECT_EQ(never == 0, true);
	EXPECT_EQ(INT64_MIN, UINT64_C(1));
}

static void equal_numbers_print_nothing(void)
{
	EXPECT_EQ(-1, -1LL);
	EXPECT_EQ(true, 1);
	EXPECT_EQ(UINT64_MAX, UINT64_MAX);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(numbers_print_with_their_sign),
	        TEST(equal_numbers_print_nothing),
	};

	return RUN_TESTS(tests);
}
