/* SPDX-License-Identifier: MIT */
/*
 * A backup every night at 02:30, in three cities, on one service. The clock is moved by hand through two nights of 2026
 * in which clocks change in Berlin: in March there is no 02:30, in October there are two. Each night has one run.
 *
 * In a program, leave out the manual clock: the service has its own, and goes by the wall clock of the system.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pawl/pawl.h>
#include <stdio.h>
#include <time.h>

struct backup {
	const char *name; /* of its zone */
	struct pawl_zone zone;
	struct pawl_schedule schedule;
};

static void print_local(const struct backup *backup, int64_t time)
{
	int32_t offset = pawl_zone_offset(&backup->zone, time);
	time_t local = (time_t)(time + offset);
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&local, &tm));
	printf("%-19s  %s at UTC%+.1f\n", backup->name, text, offset / 3600.0);
}

static void run(struct pawl_task *task)
{
	struct backup *backup = PAWL_CONTAINER_OF(task, struct backup, schedule.task);

	print_local(backup, pawl_schedule_time(&backup->schedule));
}

/* Every night, by the clocks of its zone. Nights that were missed are left out. */
static int begin(struct backup *backup, struct pawl_service *service)
{
	struct pawl_calendar_error wrong;
	struct pawl_calendar_rule rule;

	if (pawl_zone_load(&backup->zone, backup->name, &wrong) != 0 ||
	    pawl_calendar_parse(&rule, "30 2 * * *", &wrong) != 0) {
		fprintf(stderr, "%s\n", wrong.text);
		return -1;
	}
	pawl_schedule_init(&backup->schedule, run);
	return pawl_schedule_arm_every(service, &backup->schedule, &rule, &backup->zone,
	                               PAWL_SERVICE_SKIP);
}

int main(void)
{
	static struct backup backups[] = {{.name = "Europe/Berlin"},
	                                  {.name = "America/New_York"},
	                                  {.name = "Australia/Lord_Howe"}};
	static const time_t begins[] = {1774656000,
	                                1792800000}; /* 28 March, 24 October, 00:00 UTC */
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                       .clock = &clock.clock};
	struct pawl_service *service;

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		pawl_clock_manual_set_wall(&clock, (struct timespec){.tv_sec = begins[i]});
		for (int j = 0; j < 3; j++)
			if (begin(&backups[j], service) != 0)
				return 1;
		pawl_clock_manual_run(&clock, service, 72 * PAWL_HOUR);
		for (int j = 0; j < 3; j++)
			pawl_service_cancel_wait(service, &backups[j].schedule.task);
	}
	pawl_service_close(service, NULL);
	return 0;
}
