/* SPDX-License-Identifier: MIT */
/*
 * Tasks that run at the times of a rule. The task of a schedule is a wall-clock task (wall.h) whose time the calendar
 * gives. It gets a time under the lock of its home, like any other deadline: when it is armed (arm.c), when a run of a
 * periodic one is over (run.c), and when the wall clock was set (wall.c). So cancel and stop need not know of schedules.
 *
 * The calendar is asked under that lock. That takes less than a microsecond for most rules, and a rule fires at most
 * once a second. Only a rule that matches nothing takes long, so that is found before the lock is acquired.
 *
 * From which time on the rule is searched, where `now` is the wall clock's time and `time` the one of the last run:
 *
 *	has not run since it was armed          now
 *	time <= now, missed ones are skipped    now
 *	time <= now, missed ones are made up    time
 *	now < time: the clock was set back      time, so that no time is run twice
 *	now < time, by more than CORRECTION     now: the clock was wrong before, and the rule must not wait until it
 *	                                        says so again
 */
#define _GNU_SOURCE
#include "layout.h"

#include <errno.h>

#define CORRECTION 86400 /* seconds */

/* Fields that are read and written under the lock; `time` is also read by the task's own function. */
static struct pawl_schedule *schedule_of(struct pawl_task *task)
{
	return (struct pawl_schedule *)task; /* its first member */
}

void pawl_schedule_init(struct pawl_schedule *schedule, pawl_task_fn *run)
{
	*schedule = (struct pawl_schedule){.time = PAWL_CALENDAR_NEVER};
	pawl_task_init(&schedule->task, run);
}

/* A time that the wall clock cannot show, after the year 2554, never comes. */
static uint64_t time_after(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                           int64_t after)
{
	int64_t time = pawl_calendar_next(rule, zone, after);

	return time < (int64_t)(PAWL_NEVER / PAWL_SECOND) ? (uint64_t)time * PAWL_SECOND
	                                                  : PAWL_NEVER;
}

uint64_t pawl__schedule_first(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                              uint64_t wall)
{
	return time_after(rule, zone, (int64_t)(wall / PAWL_SECOND));
}

static int64_t search_from(const struct pawl_schedule *schedule, int64_t now)
{
	if (!schedule->ran || schedule->time > now + CORRECTION)
		return now;
	if (schedule->task.missed == PAWL_SERVICE_BURST || schedule->time > now)
		return schedule->time;
	return now;
}

uint64_t pawl__schedule_next(const struct pawl_task *task, uint64_t wall)
{
	const struct pawl_schedule *schedule = (const struct pawl_schedule *)task;

	ASSERT(task->at_time == BY_RULE);
	return time_after(&schedule->rule, schedule->zone,
	                  search_from(schedule, (int64_t)(wall / PAWL_SECOND)));
}

/* Not `time`: the function of a running task may be reading it. */
void pawl__schedule_set(struct pawl_task *task, const struct pawl_calendar_rule *rule,
                        const struct pawl_zone *zone)
{
	struct pawl_schedule *schedule = schedule_of(task);

	schedule->rule = *rule;
	schedule->zone = zone;
	schedule->ran = false;
}

void pawl__schedule_wait(struct pawl_task *task, uint64_t now)
{
	schedule_of(task)->since_ns = now;
}

uint64_t pawl__schedule_since(const struct pawl_task *task)
{
	ASSERT(task->at_time == BY_RULE);
	return ((const struct pawl_schedule *)task)->since_ns;
}

void pawl__schedule_begin(struct pawl_task *task)
{
	struct pawl_schedule *schedule = schedule_of(task);

	schedule->time = (int64_t)(task->wall_ns / PAWL_SECOND);
	schedule->ran = true;
}

static int arm(struct pawl_service *service, struct pawl_schedule *schedule,
               const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
               uint64_t period_ns, enum pawl_service_missed missed)
{
	CHECKED(pawl__expect_given(schedule, "schedule"));
	CHECKED(pawl__expect_given(rule, "rule"));
	CHECKED(pawl__expect_given(zone, "zone"));
	if (pawl__schedule_first(rule, zone, pawl__clock_wall(service->clock)) == PAWL_NEVER)
		return -ENOENT;
	return pawl__service_arm_by_rule(service, &schedule->task, rule, zone, period_ns, missed);
}

int pawl_schedule_arm(struct pawl_service *service, struct pawl_schedule *schedule,
                      const struct pawl_calendar_rule *rule, const struct pawl_zone *zone)
{
	IN_SERVICE(service);
	return arm(service, schedule, rule, zone, 0, PAWL_SERVICE_SKIP);
}

/* No rule has a shorter period than a second. Its length does not matter: the task is periodic. */
int pawl_schedule_arm_every(struct pawl_service *service, struct pawl_schedule *schedule,
                            const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                            enum pawl_service_missed missed)
{
	IN_SERVICE(service);
	if (missed != PAWL_SERVICE_SKIP && missed != PAWL_SERVICE_BURST)
		return -EINVAL;
	return arm(service, schedule, rule, zone, PAWL_SECOND, missed);
}

int64_t pawl_schedule_time(const struct pawl_schedule *schedule)
{
	return schedule->time;
}
