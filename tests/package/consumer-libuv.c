/* SPDX-License-Identifier: MIT */
#include <pawl/libuv.h>
#include <stdio.h>

static void due(struct pawl_timer *timer, void *adapter)
{
	(void)timer;
	puts("pawl and libuv work");
	pawl_libuv_close(*(struct pawl_libuv **)adapter, NULL);
}

int main(void)
{
	struct pawl_timer timer = {0};
	struct pawl_libuv *timers;

	if (pawl_libuv_open(&timers, uv_default_loop(), due, &timers, NULL) != 0)
		return 1;
	pawl_libuv_arm(timers, &timer, 1000000);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return uv_loop_close(uv_default_loop()) == 0 ? 0 : 1;
}
