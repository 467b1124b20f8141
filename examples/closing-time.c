/* SPDX-License-Identifier: MIT */
/*
 * A task for a time of the wall clock, while that clock is set back and forth. Both clocks are manual here, so nothing
 * sleeps, and the output is always the same. With the system's clocks the calls are the same.
 */
#include <pawl/pawl.h>
#include <stdio.h>

#define DAY         86400
#define SIX_O_CLOCK (UINT64_C(20000) * DAY + 18 * 3600) /* in seconds since 1970, UTC */

static struct pawl_clock_manual manual;
static struct pawl_service *service;

static void say(const char *what)
{
	unsigned second = (unsigned)(pawl_clock_manual_wall(&manual).tv_sec % DAY);

	printf("%02u:%02u:%02u %s\n", second / 3600, second / 60 % 60, second % 60, what);
}

static void close_the_shop(struct pawl_task *task)
{
	(void)task;
	say("closing time");
}

static void set_clock(uint64_t seconds, const char *what)
{
	pawl_clock_manual_set_wall(&manual, (struct timespec){.tv_sec = (time_t)seconds});
	say(what);
}

static void advance_by(unsigned seconds)
{
	pawl_clock_manual_run(&manual, service, seconds * PAWL_SECOND);
}

int main(void)
{
	const struct pawl_service_options options = {.clock = &manual.clock};
	struct pawl_task closing = PAWL_TASK_INIT(close_the_shop);

	pawl_clock_manual_init(&manual);
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	set_clock(SIX_O_CLOCK - 10, "armed for 18:00:00");
	pawl_service_arm_at_time(service, &closing, (struct timespec){.tv_sec = SIX_O_CLOCK});
	set_clock(SIX_O_CLOCK - 3600, "the clock was set back");
	advance_by(3700);
	set_clock(SIX_O_CLOCK + DAY - 600, "the next day, armed for 18:00:00");
	pawl_service_arm_at_time(service, &closing, (struct timespec){.tv_sec = SIX_O_CLOCK + DAY});
	advance_by(10);
	set_clock(SIX_O_CLOCK + DAY + 3600, "the clock was set forwards");
	advance_by(2);
	pawl_service_close(service, NULL);
	return 0;
}
