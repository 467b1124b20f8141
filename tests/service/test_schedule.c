/* SPDX-License-Identifier: MIT */
/* Schedules: tasks that run at the times of a rule, by a wall clock that is set forwards and back. */
#define _GNU_SOURCE
#include <errno.h>
#include <pawl/schedule.h>

#include "../../src/base/random.h"
#include "../calendar/images.h"
#include "../support/services.h"

#define DAY       86400
#define RUNS      400
#define BERLIN    "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK  "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define NOON      INT64_C(1800014400) /* 2027-01-15 12:00 UTC, a Friday */

/* A schedule that notes its runs, and may do something more inside. */
struct job {
	struct pawl_schedule schedule; /* first: its task is its job */
	struct fixture *fixture;
	void (*inside)(struct job *job);
	unsigned runs, drops;
	int64_t times[RUNS];  /* for which it ran */
	uint64_t walls[RUNS]; /* the wall clock then, in ns */
	int answer;           /* of what inside did */
	struct job *other;    /* for inside */
	sem_t entered, leave;
};

static struct job *job_of(struct pawl_task *task)
{
	return (struct job *)(void *)task;
}

static void run_job(struct pawl_task *task)
{
	struct job *job = job_of(task);

	if (job->runs < RUNS) {
		job->times[job->runs] = pawl_schedule_time(&job->schedule);
		job->walls[job->runs] = wall(job->fixture);
	}
	job->runs++;
	if (job->inside)
		job->inside(job);
}

static void drop_job(struct pawl_task *task)
{
	struct job *job = job_of(task);

	job->drops++;
	job->times[0] = pawl_schedule_time(&job->schedule);
}

static void job_init(struct job *job, struct fixture *fixture)
{
	memset(job, 0, sizeof(*job));
	job->fixture = fixture;
	sem_init(&job->entered, 0, 0);
	sem_init(&job->leave, 0, 0);
	pawl_schedule_init(&job->schedule, run_job);
}

static struct job *new_job(struct fixture *fixture)
{
	struct job *job = fixture_alloc(fixture, sizeof(*job));

	job_init(job, fixture);
	return job;
}

static struct pawl_zone utc; /* set by main */

static struct pawl_calendar_rule rule_from(const char *text)
{
	struct pawl_calendar_rule rule;

	EXPECT_EQ(pawl_calendar_parse(&rule, text, NULL), 0);
	return rule;
}

static int schedule_once(struct job *job, const char *text)
{
	struct pawl_calendar_rule rule = rule_from(text);

	return pawl_schedule_arm(job->fixture->service, &job->schedule, &rule, &utc);
}

static int schedule_in(const struct pawl_zone *zone, struct job *job, const char *text,
                       enum pawl_service_missed missed)
{
	struct pawl_calendar_rule rule = rule_from(text);

	return pawl_schedule_arm_every(job->fixture->service, &job->schedule, &rule, zone, missed);
}

static int schedule_every(struct job *job, const char *text, enum pawl_service_missed missed)
{
	return schedule_in(&utc, job, text, missed);
}

/* A new job that is armed when the wall clock shows so many seconds. */
static struct job *new_job_every(struct fixture *fixture, int64_t seconds, const char *text,
                                 enum pawl_service_missed missed)
{
	struct job *job = new_job(fixture);

	set_wall(fixture, seconds);
	EXPECT_EQ(schedule_every(job, text, missed), 0);
	return job;
}

static enum pawl_service_found cancel_job(struct job *job)
{
	return pawl_service_cancel(job->fixture->service, &job->schedule.task);
}

/* Time passes in steps of a quarter of an hour. */
static void pass(struct fixture *fixture, int64_t seconds)
{
	for (; seconds > 900; seconds -= 900)
		advance_and_settle(fixture, 900 * SECOND);
	advance_and_settle(fixture, (uint64_t)seconds * SECOND);
}

/* The clocks are compared once a second. */
static void set_and_settle(struct fixture *fixture, int64_t seconds)
{
	set_wall(fixture, seconds);
	advance_and_settle(fixture, SECOND);
}

static void expect_runs(const struct job *job, const int64_t *times, unsigned n)
{
	EXPECT_EQ(job->runs, n);
	for (unsigned i = 0; i < n && i < job->runs && i < RUNS; i++)
		EXPECT_EQ(job->times[i], times[i]);
	for (unsigned i = 0; i < job->runs && i < RUNS; i++)
		EXPECT(job->walls[i] >= (uint64_t)job->times[i] * SECOND);
}

/* The times for which it has run, and it was never early. */
#define RAN(job, ...)                                    \
	expect_runs(job, (const int64_t[]){__VA_ARGS__}, \
	            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

IN_EVERY_MODE(it_runs_at_every_time_of_its_rule)
{
	struct job *job = new_job(fixture);

	EXPECT_EQ(pawl_schedule_time(&job->schedule), PAWL_CALENDAR_NEVER);
	set_wall(fixture, NOON + 1);
	EXPECT_EQ(schedule_every(job, "30 * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(pawl_service_deadline(fixture->service, &job->schedule.task), 1799 * SECOND);
	advance_and_settle(fixture, 1799 * SECOND - MS);
	EXPECT_EQ(job->runs, 0);
	advance_and_settle(fixture, MS);
	EXPECT_EQ(job->runs, 1);
	pass(fixture, 2 * 3600);
	RAN(job, NOON + 1800, NOON + 5400, NOON + 9000);
	for (unsigned i = 0; i < job->runs; i++)
		EXPECT_EQ(job->walls[i], (uint64_t)job->times[i] * SECOND);
	expect_counts(fixture->service, 4, 3, 0, 0);
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_CANCELLED);
	pass(fixture, 2 * 3600);
	EXPECT_EQ(job->runs, 3);
}

IN_EVERY_MODE(armed_once_it_runs_once)
{
	struct job *job = new_job(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(schedule_once(job, "0 * * * *"), 0); /* not now, but the next time */
	pass(fixture, 3 * 3600);
	RAN(job, NOON + 3600);
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_IDLE);
	EXPECT_EQ(schedule_once(job, "0 * * * *"), 0);
	pass(fixture, 3 * 3600);
	RAN(job, NOON + 3600, NOON + 4 * 3600);
}

static void initialised_where_it_is_defined_it_is_the_same(void)
{
	struct pawl_schedule defined = PAWL_SCHEDULE_INIT(run_job), initialised;

	memset(&initialised, 0xff, sizeof(initialised));
	pawl_schedule_init(&initialised, run_job);
	EXPECT_EQ(defined.time, initialised.time);
	EXPECT_EQ(defined.ran, initialised.ran);
	EXPECT(defined.zone == initialised.zone);
	EXPECT(defined.task.run == initialised.task.run);
	EXPECT_EQ(defined.task.at_time, initialised.task.at_time);
}

/* From `from` on for three days; the times in UTC. */
static void expect_nights(struct fixture *fixture, const char *footer, const char *text,
                          int64_t from, const int64_t times[3])
{
	struct job *job = new_job(fixture);
	struct pawl_zone zone;

	EXPECT_EQ(zone_of(&zone, footer, NULL), 0);
	set_wall(fixture, from);
	EXPECT_EQ(schedule_in(&zone, job, text, PAWL_SERVICE_SKIP), 0);
	pass(fixture, 3 * DAY);
	expect_runs(job, times, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(job->walls[i], (uint64_t)times[i] * SECOND);
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_CANCELLED);
}

#define NIGHTS(footer, text, from, ...) \
	expect_nights(fixture, footer, text, from, (const int64_t[3]){__VA_ARGS__})

/* In spring the time does not exist on the second day, in autumn it exists twice. */
IN_MODE(a_nightly_job_runs_once_in_each_night_when_clocks_change, .workers = PAWL_SERVICE_MANUAL)
{
	const int64_t march_28 = 1774656000, october_24 = 1792800000; /* 2026, 00:00 UTC */
	const int64_t march_7 = 1772841600, october_31 = 1793404800;
	const int64_t october_2 = 1790899200, april_3 = 1775174400;

	NIGHTS(BERLIN, "30 2 * * *", march_28, march_28 + 5400, march_28 + DAY + 3600,
	       march_28 + 2 * DAY + 1800);
	NIGHTS(BERLIN, "30 2 * * *", october_24, october_24 + 1800, october_24 + DAY + 1800,
	       october_24 + 2 * DAY + 5400);
	NIGHTS(NEW_YORK, "30 2 * * *", march_7, march_7 + 27000, march_7 + DAY + 25200,
	       march_7 + 2 * DAY + 23400);
	NIGHTS(NEW_YORK, "30 1 * * *", october_31, october_31 + 19800, october_31 + DAY + 19800,
	       october_31 + 2 * DAY + 23400);
	/* By half an hour: from 02:00 to 02:30, and from 02:00 to 01:30. */
	NIGHTS(LORD_HOWE, "15 2 * * *", october_2 + 54000, october_2 + 56700,
	       october_2 + DAY + 55800, october_2 + 2 * DAY + 54900);
	NIGHTS(LORD_HOWE, "45 1 * * *", april_3 + 50400, april_3 + 53100, april_3 + DAY + 53100,
	       april_3 + 2 * DAY + 54900);
}

/* As in Samoa: the job of the day that was left out runs when the next one begins. */
IN_MODE(a_day_that_was_left_out_has_its_run, .workers = PAWL_SERVICE_MANUAL)
{
	const int64_t midnight = 1325239200; /* 2011-12-30 10:00 UTC */
	struct job *job = new_job(fixture);
	static struct image image;
	static struct pawl_zone zone;

	image_make(&image, -10 * 3600, (const struct change[]){{midnight, 14 * 3600}}, 1,
	           "<+14>-14");
	EXPECT_EQ(pawl_zone_parse(&zone, image.data, image.size, NULL), 0);
	set_wall(fixture, midnight - DAY);
	EXPECT_EQ(schedule_in(&zone, job, "30 2 * * *", PAWL_SERVICE_SKIP), 0);
	pass(fixture, 2 * DAY);
	RAN(job, midnight - DAY + 9000, midnight, midnight + 9000);
}

IN_EVERY_MODE(schedules_of_three_zones_run_at_their_own_times)
{
	static const char *const footers[] = {BERLIN, NEW_YORK, LORD_HOWE};
	static struct pawl_zone zones[3];
	struct job *jobs[3];

	set_wall(fixture, NOON);
	for (unsigned i = 0; i < 3; i++) {
		jobs[i] = new_job(fixture);
		EXPECT_EQ(zone_of(&zones[i], footers[i], NULL), 0);
		EXPECT_EQ(schedule_in(&zones[i], jobs[i], "0 9 * * MON-FRI", PAWL_SERVICE_SKIP), 0);
	}
	pass(fixture, 4 * DAY);
	RAN(jobs[0], NOON + 3 * DAY - 4 * 3600, NOON + 4 * DAY - 4 * 3600);
	RAN(jobs[1], NOON + 2 * 3600, NOON + 3 * DAY + 2 * 3600);
	RAN(jobs[2], NOON + 2 * DAY + 10 * 3600, NOON + 3 * DAY + 10 * 3600);
}

/* A job that skips missed times, and one that makes up for them. */
struct pair {
	struct job *skip, *burst;
};

static struct pair new_hourly_pair(struct fixture *fixture, int64_t seconds)
{
	return (struct pair){new_job_every(fixture, seconds, "0 * * * *", PAWL_SERVICE_SKIP),
	                     new_job_every(fixture, seconds, "0 * * * *", PAWL_SERVICE_BURST)};
}

/* The times of the header's table. */
IN_EVERY_MODE(set_forward_past_several_times_it_runs_once_or_makes_up_for_them)
{
	struct pair pair = new_hourly_pair(fixture, NOON - 6600);

	advance_and_settle(fixture, SECOND);
	set_and_settle(fixture, NOON + 3600 + 600);
	RAN(pair.skip, NOON - 3600);
	RAN(pair.burst, NOON - 3600, NOON, NOON + 3600);
	pass(fixture, 3600);
	RAN(pair.skip, NOON - 3600, NOON + 7200);
	RAN(pair.burst, NOON - 3600, NOON, NOON + 3600, NOON + 7200);
}

IN_EVERY_MODE(set_back_after_a_run_no_time_is_run_or_made_up_for_twice)
{
	struct pair pair = new_hourly_pair(fixture, NOON - 10);

	advance_and_settle(fixture, 10 * SECOND);
	RAN(pair.skip, NOON);
	RAN(pair.burst, NOON);
	set_and_settle(fixture, NOON - 2 * 3600 - 5); /* the clock shows 11:00 and 12:00 again */
	pass(fixture, 3 * 3600 + 3);
	RAN(pair.skip, NOON);
	RAN(pair.burst, NOON);
	advance_and_settle(fixture, SECOND);
	RAN(pair.skip, NOON, NOON + 3600);
	RAN(pair.burst, NOON, NOON + 3600);
}

/* The time for which it waits comes again, and no other one comes before. */
IN_EVERY_MODE(set_back_before_a_run_it_waits_for_the_same_time)
{
	struct job *job = new_job_every(fixture, NOON + 3500, "0 * * * *", PAWL_SERVICE_SKIP);

	advance_and_settle(fixture, SECOND);
	set_and_settle(fixture, NOON + 100);
	pass(fixture, 3498);
	EXPECT_EQ(job->runs, 0);
	advance_and_settle(fixture, SECOND);
	RAN(job, NOON + 3600);
}

/* It has not run yet, so the times that the new clock has ahead count: also one within a second. */
IN_EVERY_MODE(set_back_before_the_first_run_an_earlier_time_counts)
{
	struct job *once = new_job(fixture);
	struct job *every = new_job_every(fixture, NOON + 100, "0 * * * *", PAWL_SERVICE_BURST);

	EXPECT_EQ(schedule_once(once, "0 * * * *"), 0);
	advance_and_settle(fixture, SECOND);
	set_wall_ns(fixture, NOON - 3601, 500 * MS);
	advance_and_settle(fixture, SECOND);
	RAN(once, NOON - 3600);
	RAN(every, NOON - 3600);
	pass(fixture, 3600);
	RAN(once, NOON - 3600);
	RAN(every, NOON - 3600, NOON);
}

/* The clocks were compared 0.7 seconds before the hour, the job is armed 5 ms after it, and the clock set to `ms`. */
static void set_just_after_the_arming(struct fixture *fixture, uint64_t ms)
{
	struct job *yearly = new_job(fixture), *job = new_job(fixture);

	set_wall_ns(fixture, NOON - 1, 300 * MS);
	EXPECT_EQ(schedule_once(yearly, "0 0 1 1 *"), 0);
	advance_and_settle(fixture, SECOND * 705 / 1000);
	EXPECT_EQ(schedule_once(job, "0 * * * *"), 0);
	set_wall_ns(fixture, NOON, ms * MS);
	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(job->runs, 0);
	pass(fixture, 3600);
	RAN(job, NOON + 3600);
}

IN_EVERY_MODE(set_forward_just_after_the_arming_no_time_before_it_counts)
{
	set_just_after_the_arming(fixture, 8);
}

IN_EVERY_MODE(set_back_just_after_the_arming_no_time_before_it_counts)
{
	set_just_after_the_arming(fixture, 2);
}

static void arm_itself_hourly(struct job *job)
{
	job->answer = schedule_once(job, "0 * * * *");
}

IN_EVERY_MODE(armed_in_its_own_function_it_does_not_run_for_the_same_time)
{
	struct job *job = new_job(fixture);

	job->inside = arm_itself_hourly;
	set_wall_ns(fixture, NOON - 1, 300 * MS);
	EXPECT_EQ(schedule_once(job, "0 * * * *"), 0);
	advance_and_settle(fixture, SECOND * 7 / 10);
	RAN(job, NOON);
	set_wall_ns(fixture, NOON, 3 * MS);
	advance_and_settle(fixture, SECOND);
	RAN(job, NOON);
}

/* A job of the last run at noon, and a clock that is set to so many seconds before. */
static void correct(struct fixture *fixture, int64_t before, int64_t next)
{
	struct job *job = new_job_every(fixture, NOON - 10, "0 12 * * *", PAWL_SERVICE_BURST);

	advance_and_settle(fixture, 10 * SECOND);
	RAN(job, NOON);
	set_and_settle(fixture, NOON - before);
	EXPECT_EQ(pawl_service_deadline(fixture->service, &job->schedule.task),
	          fixture_now(fixture) + (uint64_t)next * SECOND - wall(fixture));
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_CANCELLED);
}

IN_EVERY_MODE(set_back_by_more_than_a_day_the_rule_goes_on_from_now)
{
	correct(fixture, DAY, NOON + DAY);
	correct(fixture, DAY + 3, NOON - DAY);
	correct(fixture, 300 * DAY + 5, NOON - 300 * DAY);
}

/* It ran late for noon, and waits for a time of the wrong clock. */
IN_EVERY_MODE(a_clock_that_was_wrong_for_a_while_leaves_no_trace)
{
	struct job *job = new_job_every(fixture, NOON - 10, "0 12 * * *", PAWL_SERVICE_SKIP);

	advance_and_settle(fixture, SECOND);
	set_and_settle(fixture, NOON + 3000 * INT64_C(86400) + 7);
	RAN(job, NOON);
	set_and_settle(fixture, NOON + 60);
	pass(fixture, DAY - 60);
	RAN(job, NOON, NOON + DAY);
}

static void set_the_clock_back(struct job *job)
{
	set_wall(job->fixture, NOON - 1800);
}

static void set_the_clock_forward(struct job *job)
{
	job->inside = NULL;
	set_wall(job->fixture, NOON + 3 * 3600 + 60);
}

IN_EVERY_MODE(set_back_during_a_run_no_time_is_run_twice)
{
	struct job *job = new_job_every(fixture, NOON - 1, "0 * * * *", PAWL_SERVICE_SKIP);

	job->inside = set_the_clock_back;
	advance_and_settle(fixture, SECOND);
	RAN(job, NOON);
	pass(fixture, 5400 - 1);
	EXPECT_EQ(job->runs, 1);
	advance_and_settle(fixture, SECOND);
	RAN(job, NOON, NOON + 3600);
}

IN_EVERY_MODE(set_forward_during_a_run_the_missed_times_are_skipped)
{
	struct job *job = new_job_every(fixture, NOON - 1, "0 * * * *", PAWL_SERVICE_SKIP);

	job->inside = set_the_clock_forward;
	advance_and_settle(fixture, SECOND);
	pass(fixture, 3540);
	RAN(job, NOON, NOON + 4 * 3600);
}

IN_EVERY_MODE(set_forward_during_a_run_the_missed_times_are_made_up_for)
{
	struct job *job = new_job_every(fixture, NOON - 1, "0 * * * *", PAWL_SERVICE_BURST);

	job->inside = set_the_clock_forward;
	advance_and_settle(fixture, SECOND);
	advance_and_settle(fixture, SECOND); /* the clocks may have been compared before the run */
	RAN(job, NOON, NOON + 3600, NOON + 7200, NOON + 3 * 3600);
}

static void take_long(struct job *job)
{
	job->inside = NULL;
	pawl_clock_manual_advance(&job->fixture->clock, (2 * 3600 + 60) * SECOND);
}

static struct job *take_longer_than_the_interval(struct fixture *fixture,
                                                 enum pawl_service_missed missed)
{
	struct job *job = new_job_every(fixture, NOON - 1, "0 * * * *", missed);

	job->inside = take_long;
	advance_and_settle(fixture, SECOND);
	settle(fixture);
	return job;
}

IN_EVERY_MODE(times_that_pass_during_a_long_run_are_skipped)
{
	struct job *job = take_longer_than_the_interval(fixture, PAWL_SERVICE_SKIP);

	RAN(job, NOON);
	pass(fixture, 3540);
	RAN(job, NOON, NOON + 3 * 3600);
}

IN_EVERY_MODE(times_that_pass_during_a_long_run_are_made_up_for)
{
	struct job *job = take_longer_than_the_interval(fixture, PAWL_SERVICE_BURST);

	RAN(job, NOON, NOON + 3600, NOON + 7200);
	pass(fixture, 3540);
	RAN(job, NOON, NOON + 3600, NOON + 7200, NOON + 3 * 3600);
}

static void cancel_inside(struct job *job)
{
	job->answer = (int)cancel_job(job);
}

static void cancel_wait_inside(struct job *job)
{
	job->answer = (int)pawl_service_cancel_wait(job->fixture->service, &job->schedule.task);
}

static void end_inside(struct fixture *fixture, void (*inside)(struct job *))
{
	struct job *job = new_job_every(fixture, NOON - 1, "* * * * *", PAWL_SERVICE_BURST);

	job->inside = inside;
	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(job->answer, PAWL_SERVICE_RUNNING);
	pass(fixture, 3600);
	RAN(job, NOON);
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
}

IN_EVERY_MODE(cancelled_by_its_own_function_it_does_not_run_again)
{
	end_inside(fixture, cancel_inside);
	end_inside(fixture, cancel_wait_inside); /* does not wait */
}

static void free_itself(struct pawl_task *task)
{
	struct job *job = job_of(task);
	unsigned *runs = &job->other->runs;

	memset(job, 0xa5, sizeof(*job));
	free(job);
	__atomic_add_fetch(runs, 1, __ATOMIC_SEQ_CST); /* both may run at once */
}

static void cancel_and_free(struct pawl_task *task)
{
	cancel_job(job_of(task));
	free_itself(task);
}

/* Once it may do so as it is; one that runs again and again must be cancelled first. */
IN_EVERY_MODE(its_function_may_free_it)
{
	struct job *once = malloc(sizeof(*once)), *every = malloc(sizeof(*every));
	struct job *count = new_job(fixture);

	job_init(once, fixture);
	job_init(every, fixture);
	once->other = every->other = count;
	once->schedule.task.run = free_itself;
	every->schedule.task.run = cancel_and_free;
	set_wall(fixture, NOON - 1);
	EXPECT_EQ(schedule_once(once, "* * * * *"), 0);
	EXPECT_EQ(schedule_every(every, "1-59/2 * * * *", PAWL_SERVICE_SKIP), 0);
	pass(fixture, 3600);
	EXPECT_EQ(count->runs, 2);
}

static void stay_inside(struct job *job)
{
	sem_post(&job->entered);
	sem_wait(&job->leave);
}

/* A job that runs every minute; its first run lasts until let_job_go. */
static struct job *hold_new_job(struct fixture *fixture)
{
	struct job *job = new_job_every(fixture, NOON - 1, "* * * * *", PAWL_SERVICE_BURST);

	job->inside = stay_inside;
	pawl_clock_manual_advance(&fixture->clock, SECOND);
	begin_driving(fixture);
	sem_wait(&job->entered);
	return job;
}

static void let_job_go(struct job *job)
{
	sem_post(&job->leave);
	end_driving(job->fixture);
	job->inside = NULL;
}

IN_EVERY_MODE(a_task_cancelled_while_it_runs_does_not_run_again)
{
	struct job *job = hold_new_job(fixture);

	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_RUNNING);
	let_job_go(job);
	pass(fixture, 3600);
	RAN(job, NOON);
}

static void *cancel_wait_job(void *arg)
{
	struct job *job = arg;

	job->answer = (int)pawl_service_cancel_wait(job->fixture->service, &job->schedule.task);
	EXPECT_EQ(pawl_service_deadline(job->fixture->service, &job->schedule.task), PAWL_NEVER);
	memset(&job->schedule, 0xa5, sizeof(job->schedule)); /* its memory is the caller's */
	return NULL;
}

IN_EVERY_MODE(after_cancel_wait_its_memory_may_be_used)
{
	struct job *job = hold_new_job(fixture);
	pthread_t thread;

	pthread_create(&thread, NULL, cancel_wait_job, job);
	let_job_go(job);
	pthread_join(thread, NULL);
	pass(fixture, 3600);
	EXPECT_EQ(job->runs, 1);
}

static void rearm_the_other(struct job *job)
{
	schedule_once(job->other, "* * * * *");
}

IN_EVERY_MODE(cancel_wait_all_ends_schedules_that_arm_each_other)
{
	struct job *one = new_job(fixture), *two = new_job(fixture);
	struct pawl_task *tasks[2] = {&one->schedule.task, &two->schedule.task};

	set_wall(fixture, NOON - 1);
	one->inside = two->inside = rearm_the_other;
	one->other = two;
	two->other = one;
	EXPECT_EQ(schedule_every(one, "* * * * *", PAWL_SERVICE_BURST), 0);
	pawl_clock_manual_advance(&fixture->clock, 30 * 60 * SECOND);
	pawl_service_cancel_wait_all(fixture->service, tasks, 2);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	pass(fixture, 3600);
}

IN_EVERY_MODE(stop_drops_it_and_says_for_which_time)
{
	struct job *pending = new_job(fixture), *running = hold_new_job(fixture);

	EXPECT_EQ(schedule_every(pending, "30 * * * *", PAWL_SERVICE_SKIP), 0);
	let_job_go(running);
	settle(fixture);
	EXPECT_EQ(running->runs, 1);
	pawl_service_stop(fixture->service, drop_job);
	EXPECT_EQ(pending->drops, 1);
	EXPECT_EQ(pending->times[0], NOON + 1800);
	EXPECT_EQ(running->drops, 1);
	EXPECT_EQ(running->times[0], NOON + 60);
	EXPECT_EQ(schedule_once(pending, "* * * * *"), -ECANCELED);
	EXPECT_EQ(schedule_every(pending, "* * * * *", PAWL_SERVICE_SKIP), -ECANCELED);
}

static void drop_and_overwrite(struct pawl_task *task)
{
	memset(job_of(task), 0xa5, sizeof(struct job));
}

/* One-shot and periodic ones alternate in the list: each must have left it when it is dropped. */
IN_EVERY_MODE(dropped_may_use_its_memory)
{
	static struct job jobs[8];

	set_wall(fixture, NOON);
	for (unsigned i = 0; i < 8; i++) {
		job_init(&jobs[i], fixture);
		EXPECT_EQ(i % 2 ? schedule_once(&jobs[i], "0 * * * *")
		                : schedule_every(&jobs[i], "* * * * *", PAWL_SERVICE_SKIP),
		          0);
	}
	pawl_service_stop(fixture->service, drop_and_overwrite);
	for (unsigned i = 0; i < 8; i++)
		for (size_t byte = 0; byte < sizeof(jobs[i]); byte++)
			if (((unsigned char *)&jobs[i])[byte] != 0xa5) {
				EXPECT_EQ(byte, sizeof(jobs[i]));
				break;
			}
	expect_counts(fixture->service, 8, 0, 0, 8);
}

static void arm_another_rule(struct job *job)
{
	job->inside = NULL;
	EXPECT_EQ(schedule_every(job, "0 * * * *", PAWL_SERVICE_SKIP), 0);
}

IN_EVERY_MODE(armed_again_it_has_the_new_rule)
{
	struct job *job = new_job_every(fixture, NOON - 1, "* * * * *", PAWL_SERVICE_SKIP);

	EXPECT_EQ(schedule_every(job, "0,15 * * * *", PAWL_SERVICE_BURST), 0);
	pass(fixture, 901);
	RAN(job, NOON, NOON + 900);
	job->inside = arm_another_rule;
	EXPECT_EQ(schedule_once(job, "30 * * * *"), 0);
	pass(fixture, 2 * 3600);
	RAN(job, NOON, NOON + 900, NOON + 1800, NOON + 3600, NOON + 7200);
}

/* Its rule no longer counts, and it does not follow the wall clock. */
IN_EVERY_MODE(armed_by_a_function_of_the_service_it_is_an_ordinary_task)
{
	struct job *armed = new_job(fixture), *touched = new_job(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(schedule_every(armed, "* * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(schedule_every(touched, "* * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(pawl_service_arm_unless_pending(fixture->service, &armed->schedule.task, 0),
	          -EALREADY);
	EXPECT_EQ(pawl_service_arm(fixture->service, &armed->schedule.task, HOUR), 0);
	EXPECT_EQ(pawl_service_touch(fixture->service, &touched->schedule.task, HOUR), 0);
	set_and_settle(fixture, NOON + DAY);
	EXPECT_EQ(armed->runs + touched->runs, 0);
	pass(fixture, 3 * 3600);
	EXPECT_EQ(armed->runs, 1);
	EXPECT_EQ(touched->runs, 1);
}

IN_EVERY_MODE(a_rule_that_never_fires_is_refused_and_changes_nothing)
{
	struct job *job = new_job(fixture);

	set_wall(fixture, NOON);
	EXPECT_EQ(schedule_once(job, "0 0 30 2 *"), -ENOENT);
	EXPECT_EQ(schedule_every(job, "0 0 30 2 *", PAWL_SERVICE_SKIP), -ENOENT);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(schedule_every(job, "30 * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(schedule_once(job, "0 0 30 2 *"), -ENOENT);
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	pass(fixture, 2 * 3600);
	RAN(job, NOON + 1800, NOON + 5400);
}

IN_EVERY_MODE(mistakes_are_refused_and_change_nothing)
{
	struct job *job = new_job(fixture), *without = new_job(fixture);

	pawl_schedule_init(&without->schedule, NULL);
	set_wall(fixture, NOON);
	EXPECT_EQ(schedule_once(without, "0 * * * *"), -EINVAL);
	EXPECT_EQ(schedule_every(job, "30 * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(schedule_every(job, "0 * * * *", PAWL_SERVICE_DELAY), -EINVAL);
	EXPECT_EQ(schedule_every(job, "0 * * * *", (enum pawl_service_missed)7), -EINVAL);
	pass(fixture, 3600);
	RAN(job, NOON + 1800);
}

#define END_OF_TIME INT64_C(18446744073) /* 2554-07-21 23:34:33: beyond what the wall clock shows */

/* After its last run it is idle, and its quota belongs to another one. */
static void until_the_end_of_time(struct fixture *fixture)
{
	struct job *first = new_job(fixture), *second = new_job(fixture);

	set_wall(fixture, END_OF_TIME - 100);
	EXPECT_EQ(schedule_every(first, "* * * * *", PAWL_SERVICE_SKIP), 0);
	EXPECT_EQ(schedule_every(second, "* * * * *", PAWL_SERVICE_SKIP), -EAGAIN);
	pass(fixture, 30);
	pass(fixture, 60);
	RAN(first, END_OF_TIME - 93, END_OF_TIME - 33);
	EXPECT_EQ(cancel_job(first), PAWL_SERVICE_IDLE);
	EXPECT_EQ(pawl_service_pending(fixture->service), 0);
	EXPECT_EQ(schedule_once(first, "* * * * *"), -ENOENT);
	advance_and_settle(fixture, SECOND);
	advance_and_settle(fixture, SECOND);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER); /* no clocks are compared */
	set_wall(fixture, NOON);
	EXPECT_EQ(schedule_once(second, "* * * * *"), 0);
	EXPECT_EQ(schedule_once(first, "* * * * *"), -EAGAIN);
	expect_counts(fixture->service, 3, 2, 0, 0);
}

static void after_the_last_time_of_its_rule_it_is_idle(void)
{
	if (sizeof(time_t) >= 8)
		in_every_mode_limited(1, until_the_end_of_time);
}

/* A periodic task keeps its place while it runs. */
IN_EVERY_MODE_LIMITED(1, it_keeps_its_quota_while_it_runs)
{
	struct job *job = hold_new_job(fixture), *other = new_job(fixture);

	EXPECT_EQ(schedule_once(other, "* * * * *"), -EAGAIN);
	let_job_go(job);
	EXPECT_EQ(schedule_once(other, "* * * * *"), -EAGAIN);
	EXPECT_EQ(cancel_job(job), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(schedule_once(other, "* * * * *"), 0);
}

/* The functions of a rule by arithmetic: it fires at every `period` seconds, `phase` after a whole one. */
struct model {
	const char *text;
	int64_t period, phase;
	enum pawl_service_missed missed;
	bool every, pending, ran;
	int64_t next, last;
	unsigned runs;
	int64_t times[RUNS];
};

static int64_t model_time_after(const struct model *model, int64_t after)
{
	do
		after++;
	while (after % model->period != model->phase);
	return after;
}

static int64_t model_next(const struct model *model, int64_t now)
{
	if (!model->ran || model->last - now > DAY)
		return model_time_after(model, now);
	if (model->missed == PAWL_SERVICE_BURST || model->last > now)
		return model_time_after(model, model->last);
	return model_time_after(model, now);
}

static void model_arm(struct model *model, int64_t now)
{
	model->pending = true;
	model->ran = false;
	model->next = model_time_after(model, now);
}

static void model_set(struct model *model, int64_t now)
{
	int64_t next = model_next(model, now);

	if (next < model->next)
		model->next = next;
}

static void model_pass(struct model *model, int64_t now)
{
	while (model->pending && model->next <= now) {
		if (model->runs < RUNS)
			model->times[model->runs] = model->next;
		model->runs++;
		model->last = model->next;
		model->ran = true;
		model->pending = model->every;
		model->next = model_next(model, now);
	}
}

static const struct model models[] = {
        {.text = "*/2 * * * * *", .period = 2},
        {.text = "*/15 * * * * *", .period = 15},
        {.text = "30 * * * * *", .period = 60, .phase = 30},
        {.text = "0 */5 * * * *", .period = 300},
        {.text = "15 7 * * * *", .period = 3600, .phase = 435},
};

static int64_t random_setting(struct random *random, int64_t now)
{
	static const uint64_t spans[] = {5, 120, 3 * 3600, 3 * 86400};
	uint64_t span = spans[random_below(random, 4)];

	return now + (int64_t)random_below(random, 2 * span) - (int64_t)span;
}

/*
 * Sets the clock, also to a fraction of a second. Where it is set forward past a time, no other one comes within the
 * second until the clocks are compared: the schedule may run for that time, or have skipped it.
 */
static void set_at_random(struct fixture *fixture, struct random *random, struct model *model)
{
	int64_t now = (int64_t)(wall(fixture) / SECOND), setting = random_setting(random, now);

	while (model->pending && setting + 1 >= model->next &&
	       model_time_after(model, setting) == setting + 1)
		setting++;
	set_wall_ns(fixture, setting, random_below(random, SECOND));
	model_set(model, setting);
}

static void arm_at_random(struct job *job, struct random *random, struct model *model)
{
	model->every = random_below(random, 4) > 0;
	model->missed = random_below(random, 2) ? PAWL_SERVICE_BURST : PAWL_SERVICE_SKIP;
	EXPECT_EQ(model->every ? schedule_every(job, model->text, model->missed)
	                       : schedule_once(job, model->text),
	          0);
	model_arm(model, (int64_t)(wall(job->fixture) / SECOND));
}

static void step_at_random(struct job *job, struct random *random, struct model *model)
{
	struct fixture *fixture = job->fixture;
	uint64_t seconds = random_below(random, 8) ? 1 : random_below(random, 1000);

	if (random_below(random, 10) == 0)
		set_at_random(fixture, random, model);
	else if (random_below(random, 40) == 0)
		arm_at_random(job, random, model);
	else if (random_below(random, 80) == 0) {
		EXPECT_EQ(cancel_job(job),
		          model->pending ? PAWL_SERVICE_CANCELLED : PAWL_SERVICE_IDLE);
		model->pending = false;
	}
	for (advance_and_settle(fixture, SECOND); seconds > 0 && model->pending; seconds--) {
		model_pass(model, (int64_t)(wall(fixture) / SECOND));
		advance_and_settle(fixture, SECOND);
	}
	model_pass(model, (int64_t)(wall(fixture) / SECOND));
}

static void run_at_random(struct fixture *fixture, uint64_t seed)
{
	struct random random = {seed};
	struct model model = models[random_below(&random, COUNTOF(models))];
	unsigned before = test_failures;
	struct job *job = new_job(fixture);

	set_wall(fixture, NOON + (int64_t)random_below(&random, 10000));
	arm_at_random(job, &random, &model);
	for (unsigned step = 0; step < 60; step++)
		step_at_random(job, &random, &model);
	expect_runs(job, model.times, model.runs);
	pawl_service_cancel_wait(fixture->service, &job->schedule.task);
	if (test_failures != before)
		fprintf(stderr, "    ^ with seed %" PRIu64 ", the rule %s\n", seed, model.text);
}

IN_EVERY_MODE(at_random_it_runs_as_a_naive_model_does)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		run_at_random(fixture, seed);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(it_runs_at_every_time_of_its_rule),
	        TEST(armed_once_it_runs_once),
	        TEST(initialised_where_it_is_defined_it_is_the_same),
	        TEST(a_nightly_job_runs_once_in_each_night_when_clocks_change),
	        TEST(a_day_that_was_left_out_has_its_run),
	        TEST(schedules_of_three_zones_run_at_their_own_times),
	        TEST(set_forward_past_several_times_it_runs_once_or_makes_up_for_them),
	        TEST(set_back_after_a_run_no_time_is_run_or_made_up_for_twice),
	        TEST(set_back_before_a_run_it_waits_for_the_same_time),
	        TEST(set_back_before_the_first_run_an_earlier_time_counts),
	        TEST(set_forward_just_after_the_arming_no_time_before_it_counts),
	        TEST(set_back_just_after_the_arming_no_time_before_it_counts),
	        TEST(armed_in_its_own_function_it_does_not_run_for_the_same_time),
	        TEST(set_back_by_more_than_a_day_the_rule_goes_on_from_now),
	        TEST(a_clock_that_was_wrong_for_a_while_leaves_no_trace),
	        TEST(set_back_during_a_run_no_time_is_run_twice),
	        TEST(set_forward_during_a_run_the_missed_times_are_skipped),
	        TEST(set_forward_during_a_run_the_missed_times_are_made_up_for),
	        TEST(times_that_pass_during_a_long_run_are_skipped),
	        TEST(times_that_pass_during_a_long_run_are_made_up_for),
	        TEST(cancelled_by_its_own_function_it_does_not_run_again),
	        TEST(its_function_may_free_it),
	        TEST(a_task_cancelled_while_it_runs_does_not_run_again),
	        TEST(after_cancel_wait_its_memory_may_be_used),
	        TEST(cancel_wait_all_ends_schedules_that_arm_each_other),
	        TEST(stop_drops_it_and_says_for_which_time),
	        TEST(dropped_may_use_its_memory),
	        TEST(armed_again_it_has_the_new_rule),
	        TEST(armed_by_a_function_of_the_service_it_is_an_ordinary_task),
	        TEST(a_rule_that_never_fires_is_refused_and_changes_nothing),
	        TEST(mistakes_are_refused_and_change_nothing),
	        TEST(after_the_last_time_of_its_rule_it_is_idle),
	        TEST(it_keeps_its_quota_while_it_runs),
	        TEST(at_random_it_runs_as_a_naive_model_does),
	};

	pawl_zone_utc(&utc);
	return RUN_TESTS(tests);
}
