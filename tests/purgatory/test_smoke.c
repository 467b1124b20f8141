/* SPDX-License-Identifier: MIT */
/* The least that must hold: what does not is not worth a look at the other tests. */
#include "../support/test.h"

#include <pawl/purgatory.h>

static void an_operation_takes_no_more_than_256_bytes(void)
{
	EXPECT(sizeof(struct pawl_op) <= 256);
}

int main(void)
{
	static const struct test tests[] = {TEST(an_operation_takes_no_more_than_256_bytes)};

	return RUN_TESTS(tests);
}
