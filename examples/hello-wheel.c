/* SPDX-License-Identifier: MIT */
#include <pawl/pawl.h>
#include <stdio.h>

static _Alignas(max_align_t) char memory[64 * 1024];

int main(void)
{
	struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
	struct pawl_timer tea = {0}, phone = {0}, *due;

	pawl_wheel_arm_at(wheel, &tea, 180);  /* due at 180: seconds, say */
	pawl_wheel_arm_at(wheel, &phone, 60); /* due at 60... */
	pawl_wheel_cancel(wheel, &phone);     /* ...but not any more */
	pawl_wheel_advance(wheel, 200, 0);    /* tell it the time; 0: all in one go */
	while ((due = pawl_wheel_pop(wheel)) != NULL)
		printf("%s, due at %d\n", due == &tea ? "tea" : "phone", (int)due->deadline);
}
