/* SPDX-License-Identifier: MIT */
/* A program that has only the installed or copied files of pawl: a wheel, a service, an event loop, a calendar. */
#ifdef PAWL_AMALGAMATION
#include "pawl.h"
#else
#include <pawl/pawl.h>
#endif
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void count_due(struct pawl_loop_timer *timer, void *calls)
{
	(void)timer;
	++*(int *)calls;
}

static void run(struct pawl_task *task)
{
	(void)task;
}

static int wheel_works(void)
{
	struct pawl_timer timer = {0};
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(pawl_wheel_footprint(NULL)),
	                                           pawl_wheel_footprint(NULL), NULL);
	int works;

	pawl_wheel_arm_at(wheel, &timer, 450);
	pawl_wheel_advance(wheel, 450, 0);
	works = pawl_wheel_pop(wheel) == &timer;
	free(wheel);
	return works;
}

static int service_works(void)
{
	struct pawl_service_options options = {.workers = 2};
	struct pawl_service *service;
	struct pawl_service_stats stats;
	struct pawl_task task;
	int works;

	if (pawl_service_open(&service, &options) != 0)
		return 0;
	pawl_task_init(&task, run);
	pawl_service_arm(service, &task, 0);
	while (pawl_service_cancel(service, &task) == PAWL_SERVICE_RUNNING)
		;
	pawl_service_stop(service, NULL);
	pawl_service_get_stats(service, &stats, sizeof(stats));
	works = stats.armed == 1 && stats.ran + stats.cancelled == 1;
	pawl_service_close(service, NULL);
	return works;
}

static int epoll_works(void)
{
	int calls = 0;
	const struct pawl_loop_options options = {.due = count_due, .arg = &calls};
	struct pawl_loop_timer timer = {0};
	struct pawl_loop *loop;
	struct pollfd polled = {.events = POLLIN};

	if (pawl_epoll_open(&loop, &options) != 0)
		return 0;
	polled.fd = pawl_epoll_fd(loop);
	pawl_loop_arm(loop, &timer, PAWL_MS);
	while (calls == 0 && poll(&polled, 1, -1) == 1)
		pawl_loop_pass(loop);
	pawl_loop_close(loop, NULL);
	return calls == 1;
}

static int calendar_works(void)
{
	struct pawl_calendar_rule rule;
	static struct pawl_zone zone;

	return pawl_zone_load(&zone, "UTC", NULL) == 0 &&
	       pawl_calendar_parse(&rule, "30 2 * * *", NULL) == 0 &&
	       pawl_calendar_next(&rule, &zone, 0) == 9000;
}

int main(void)
{
	int works = wheel_works() && service_works() && epoll_works() && calendar_works() &&
	            strcmp(pawl_version(), PAWL_VERSION) == 0;

	puts(works ? "pawl " PAWL_VERSION " works" : "pawl does not work");
	return works ? 0 : 1;
}
