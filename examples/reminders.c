/* SPDX-License-Identifier: MIT */
/*
 * Your first timers: three reminders on the real clock, one of them cancelled, one put off. A timer is part of
 * the struct that it belongs to.
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct reminder {
	const char *text;
	struct pawl_timer timer;
};

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_until(uint64_t ms)
{
	uint64_t now = clock_ms(), left = ms > now ? ms - now : 0;
	struct timespec t = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};

	nanosleep(&t, NULL); /* a signal may end it early: the loop then sleeps again */
}

static struct reminder *reminder_of(struct pawl_timer *timer)
{
	return PAWL_CONTAINER_OF(timer, struct reminder, timer);
}

int main(void)
{
	struct reminder tea = {.text = "tea"}, bread = {.text = "bread"}, call = {.text = "call"};
	struct pawl_wheel_options options = {.start = clock_ms()};
	size_t size = pawl_wheel_footprint(&options);
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, &options);
	struct pawl_timer *timer;

	if (!wheel)
		return 1;
	pawl_wheel_arm_at(wheel, &tea.timer, clock_ms() + 100);
	pawl_wheel_arm_at(wheel, &bread.timer, clock_ms() + 200);
	pawl_wheel_arm_at(wheel, &call.timer, clock_ms() + 300);

	pawl_wheel_arm_at(wheel, &tea.timer, clock_ms() + 400); /* put off: it moves */
	pawl_wheel_cancel(wheel, &call.timer);                  /* and this one never comes */

	while (pawl_wheel_count(wheel) > 0) {
		sleep_until(pawl_wheel_next(wheel));
		pawl_wheel_advance(wheel, clock_ms(), 0);
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			printf("%s\n", reminder_of(timer)->text);
	}
	free(wheel);
	return 0;
}
