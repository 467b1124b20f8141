/* SPDX-License-Identifier: MIT */
/* A service in a loop of libuv, by its descriptor; other threads arm. */
#define _POSIX_C_SOURCE 200809L
#include <uv.h>

#include "threads.h"

static void on_readable(uv_poll_t *watcher, int status, int events)
{
	EXPECT_EQ(status, 0);
	EXPECT_EQ(events, UV_READABLE);
	pawl_service_poll(service, 0);
	if (all_ran())
		uv_close((uv_handle_t *)watcher, NULL);
}

static void tasks_that_threads_arm_run_in_the_loop(void)
{
	uv_poll_t watcher;
	uv_loop_t loop;

	EXPECT_EQ(uv_loop_init(&loop), 0);
	EXPECT_EQ(uv_poll_init(&loop, &watcher, open_service()), 0);
	EXPECT_EQ(uv_poll_start(&watcher, UV_READABLE, on_readable), 0);
	start_threads();
	uv_run(&loop, UV_RUN_DEFAULT);
	close_service();
	EXPECT_EQ(uv_loop_close(&loop), 0);
}

int main(void)
{
	static const struct test tests[] = {TEST(tasks_that_threads_arm_run_in_the_loop)};

	return RUN_TESTS(tests);
}
