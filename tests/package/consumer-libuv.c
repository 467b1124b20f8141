/* SPDX-License-Identifier: MIT */
#include <pawl/libuv.h>
#include <stdio.h>

static void due(struct pawl_loop_timer *timer, void *loop)
{
	(void)timer;
	puts("pawl and libuv work");
	pawl_loop_close(*(struct pawl_loop **)loop, NULL);
}

int main(void)
{
	struct pawl_loop *loop;
	const struct pawl_loop_options options = {.due = due, .arg = &loop};
	struct pawl_loop_timer timer = {0};

	if (pawl_libuv_open(&loop, uv_default_loop(), &options) != 0)
		return 1;
	pawl_loop_arm(loop, &timer, PAWL_MS);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return uv_loop_close(uv_default_loop()) == 0 ? 0 : 1;
}
