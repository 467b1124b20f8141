/* SPDX-License-Identifier: MIT */
/*
 * A service without threads, whose tasks run in your own loop: here it sleeps until the next one is worth it. It is what
 * Kafka's reaper does with advanceClock.
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/pawl.h>
#include <stdio.h>
#include <time.h>

static void say_hello(struct pawl_task *task)
{
	(void)task;
	printf("hello\n");
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / PAWL_SECOND), (long)(ns % PAWL_SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

int main(void)
{
	struct pawl_service_options options = {.workers = PAWL_MANUAL};
	struct pawl_service *service;
	struct pawl_task task;
	uint64_t next;

	if (pawl_service_open(&service, &options) != 0)
		return 1;
	pawl_task_init(&task, say_hello);
	pawl_service_arm(service, &task, 100 * PAWL_MS);

	while ((next = pawl_service_next(service)) != PAWL_NEVER) {
		sleep_until(next);
		pawl_service_poll(service, 0);
	}
	pawl_service_close(service, NULL);
	return 0;
}
