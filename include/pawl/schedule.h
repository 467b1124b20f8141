/* SPDX-License-Identifier: MIT */
/*
 * pawl/schedule.h: tasks that run by the calendar, such as every night at 02:30 in Berlin, on a service.
 *
 *	#include <pawl/schedule.h>
 *	#include <stdio.h>
 *
 *	struct job { const char *name; struct pawl_schedule schedule; };
 *
 *	static void run(struct pawl_task *task)                 // on a thread of the service, night after night
 *	{
 *		puts(PAWL_CONTAINER_OF(task, struct job, schedule.task)->name);
 *	}
 *
 *	int main(void)
 *	{
 *		static struct pawl_zone berlin;
 *		struct pawl_calendar_rule nightly;
 *		struct job backup = {"backup", PAWL_SCHEDULE_INIT(run)};
 *		struct pawl_service *service;
 *
 *		if (pawl_zone_load(&berlin, "Europe/Berlin", NULL) != 0 ||
 *		    pawl_calendar_parse(&nightly, "30 2 * * *", NULL) != 0 ||
 *		    pawl_service_open(&service, NULL) != 0)
 *			return 1;
 *		if (pawl_schedule_arm_every(service, &backup.schedule, &nightly, &berlin, PAWL_SERVICE_SKIP) == 0)
 *			puts("armed");
 *		// ... and when the program ends:
 *		pawl_service_cancel_wait(service, &backup.schedule.task);
 *		pawl_service_close(service, NULL);
 *	}
 *
 * A schedule goes by the wall clock (CLOCK_REALTIME), however that clock is set: it never runs before a time of its
 * rule, and at most a second and a tick late after the clock was set or the machine woke up.
 *
 * It contains a task, for every call of pawl/service.h: cancel, cancel_wait, cancel_wait_all, deadline. The rules of
 * service.h for a task and its memory apply to the schedule. Any thread may call any function here at any time, unless
 * said otherwise. Arming the task by a function of service.h ends the schedule.
 *
 *
 * Times that were missed
 *
 * The clock may be set forward past a time for which the schedule is pending, or the machine may be suspended. Then the
 * schedule runs late, for that time. Further times that have passed when a run is over are left out
 * (PAWL_SERVICE_SKIP), or run one after the other (PAWL_SERVICE_BURST).
 *
 * When the clock is set back, no time runs a second time: the rule goes on after the time of the last run. But if that
 * is more than a day ahead of the clock, the clock was wrong before, and the rule goes on from the present. If it was
 * right before, and is then set forward again, all times in between were missed: BURST runs each of them, also those that
 * it has run already. Where a clock may be wrong by days, use SKIP.
 *
 *	every hour; the clock is set        SKIP runs for                   BURST runs for
 *
 *	from 10:10 forward to 13:10         11:00 at 13:10, 14:00 ...       11:00, 12:00, 13:00 at 13:10, 14:00 ...
 *	from 13:10 back to 10:10            14:00 ...                       14:00 ...
 *	from Fri 13:10 back to Wed 10:10    Wed 11:00 ...                   Wed 11:00 ...
 */
#ifndef PAWL_SCHEDULE_H
#define PAWL_SCHEDULE_H

#include <pawl/calendar.h>
#include <pawl/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule. Embed it and initialise it before its first use. Use its task as said above; its fields are private. */
struct pawl_schedule {
	struct pawl_task task;
	struct pawl_calendar_rule rule;
	const struct pawl_zone *zone;
	int64_t time;
	uint64_t since_ns;
	bool ran;
};

/* Initialise a schedule whose task is neither pending nor running. `run` is called with that task. */
PAWL_API void pawl_schedule_init(struct pawl_schedule *schedule, pawl_task_fn *run);

/* The same where the schedule is defined: struct pawl_schedule schedule = PAWL_SCHEDULE_INIT(run); */
#define PAWL_SCHEDULE_INIT(run)                                                                   \
	{                                                                                         \
		PAWL_TASK_INIT(run), {0, 0, 0, 0, 0, 0, false, false}, NULL, PAWL_CALENDAR_NEVER, \
		        0, false                                                                  \
	}

/*
 * Arm the schedule to run once, at the first time after now at which the rule fires in the zone. The rule is copied.
 * The zone is borrowed as long as the schedule is pending or running. A pending schedule gets the new rule; a running
 * one will run again. Earlier runs do not matter: if the clock was set back, a time may be run a second time.
 *
 * -ENOENT     the rule does not fire again (or not before the year 2554).
 * 0, -EAGAIN, -ECANCELED, -EINVAL, -EBUSY   as pawl_service_arm().
 * With every error: nothing has changed.
 */
PAWL_API int pawl_schedule_arm(struct pawl_service *service, struct pawl_schedule *schedule,
                               const struct pawl_calendar_rule *rule, const struct pawl_zone *zone);

/*
 * The same, to run at every time of the rule, until the schedule is cancelled, also by its own function. `missed` is
 * PAWL_SERVICE_SKIP or PAWL_SERVICE_BURST; -EINVAL for another one. If the rule does not fire again after a run, the
 * schedule becomes idle; in that run pawl_calendar_next() after pawl_schedule_time() is PAWL_CALENDAR_NEVER.
 */
PAWL_API int pawl_schedule_arm_every(struct pawl_service *service, struct pawl_schedule *schedule,
                                     const struct pawl_calendar_rule *rule,
                                     const struct pawl_zone *zone, enum pawl_service_missed missed);

/*
 * In its function: the time for which it runs. In `dropped` of pawl_service_stop(): the time for which it was pending.
 * Elsewhere, while it does not run: the time of its last run, or PAWL_CALENDAR_NEVER. In seconds since 1970, as all
 * times of the calendar.
 */
PAWL_API int64_t pawl_schedule_time(const struct pawl_schedule *schedule);

#ifdef __cplusplus
}
#endif

#endif
