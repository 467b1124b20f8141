/* SPDX-License-Identifier: MIT */
/* A service in a loop of libevent, by its descriptor; other threads arm. */
#define _POSIX_C_SOURCE 200809L
#include <event2/event.h>

#include "threads.h"

static void on_readable(evutil_socket_t fd, short events, void *base)
{
	(void)fd;
	EXPECT_EQ(events, EV_READ);
	pawl_service_poll(service, 0);
	if (all_ran())
		event_base_loopbreak(base);
}

static void tasks_that_threads_arm_run_in_the_loop(void)
{
	struct event_base *base = event_base_new();
	struct event *watcher;

	watcher = event_new(base, open_service(), EV_READ | EV_PERSIST, on_readable, base);
	EXPECT(watcher != NULL);
	EXPECT_EQ(event_add(watcher, NULL), 0);
	start_threads();
	event_base_dispatch(base);
	close_service();
	event_free(watcher);
	event_base_free(base);
}

int main(void)
{
	static const struct test tests[] = {TEST(tasks_that_threads_arm_run_in_the_loop)};

	return RUN_TESTS(tests);
}
