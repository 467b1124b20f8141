/* SPDX-License-Identifier: MIT */
/*
 * Every night at 02:30 in Berlin, on a service. The clock is moved by hand through the two weekends of 2026 on which
 * clocks change there: in March there is no 02:30, in October there are two; each night has one run.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct job {
	struct pawl_task task;
	struct pawl_service *service;
	struct pawl_calendar_rule rule;
	struct pawl_zone zone;
	int64_t due;
};

/* Seconds since 1970. In a program this is time(NULL); here it is the clock that is moved by hand. */
static int64_t wall_clock;

static void print_local(const struct job *job, int64_t time)
{
	int32_t offset = pawl_zone_offset(&job->zone, time);
	time_t local = (time_t)(time + offset);
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&local, &tm));
	printf("%s at UTC+%" PRId32 "\n", text, offset / 3600);
}

/* Counts from the last due time if the clock was set back to before it: so no time comes twice. */
static void arm_next(struct job *job)
{
	int64_t now = wall_clock;

	job->due = pawl_calendar_next(&job->rule, &job->zone, job->due > now ? job->due : now);
	if (job->due != PAWL_CALENDAR_NEVER)
		pawl_service_arm(job->service, &job->task,
		                 (uint64_t)(job->due - now) * PAWL_SECOND);
}

static void run(struct pawl_task *task)
{
	struct job *job = (struct job *)task; /* its first member */

	print_local(job, wall_clock);
	arm_next(job);
}

/* From one time to another, minute by minute. */
static void let_pass(struct job *job, struct pawl_clock_manual *clock, int64_t from, int64_t to)
{
	wall_clock = from;
	job->due = from;
	arm_next(job);
	while (wall_clock < to) {
		wall_clock += 60;
		pawl_clock_manual_advance(clock, 60 * PAWL_SECOND);
		pawl_service_settle(job->service);
	}
	pawl_service_cancel(job->service, &job->task);
}

int main(void)
{
	static struct job job;
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                       .clock = &clock.clock};
	struct pawl_calendar_error wrong;

	if (pawl_zone_load(&job.zone, "Europe/Berlin", &wrong) != 0 ||
	    pawl_calendar_parse(&job.rule, "30 2 * * *", &wrong) != 0) {
		fprintf(stderr, "%s\n", wrong.text);
		return 1;
	}
	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&job.service, &options) != 0)
		return 1;
	pawl_task_init(&job.task, run);
	let_pass(&job, &clock, 1774656000, 1774915200); /* 28 to 31 March, 00:00 UTC */
	let_pass(&job, &clock, 1792800000, 1793059200); /* 24 to 27 October */
	pawl_service_close(job.service, NULL);
	return 0;
}
