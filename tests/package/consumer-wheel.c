/* SPDX-License-Identifier: MIT */
/* A program that has nothing of pawl but the wheel. */
#ifdef PAWL_AMALGAMATION
#include "pawl_wheel.h"
#else
#include <pawl/wheel.h>
#endif
#include <stdio.h>

static _Alignas(max_align_t) char memory[64 * 1024];

int main(void)
{
	struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
	struct pawl_timer timer = {0};

	if (!wheel)
		return 1;
	pawl_wheel_arm_at(wheel, &timer, 450);
	pawl_wheel_advance(wheel, 449, 0);
	if (pawl_wheel_pop(wheel) != NULL)
		return 1;
	pawl_wheel_advance(wheel, 450, 0);
	if (pawl_wheel_pop(wheel) != &timer)
		return 1;
	puts("pawl's wheel works");
	return 0;
}
