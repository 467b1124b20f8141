/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "../wait/wait.h"

#define PERIODIC_EVERY 1000
#define REFRESH_EVERY  10

const uint64_t jobs_bounds_us[JOBS_BOUNDS] = {
        50,    100,   200,    500,    1000,   2000,    5000,    10000,
        20000, 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000,
};

/* That of the service. */
uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static bool is_cancelled(uint64_t number)
{
	return number % 3 == 0;
}

static bool is_periodic(uint64_t number)
{
	return number % PERIODIC_EVERY == 2 && !is_cancelled(number);
}

static bool is_refreshed(uint64_t number)
{
	return number % REFRESH_EVERY == 1 && !is_cancelled(number) && !is_periodic(number);
}

int jobs_open(struct jobs *jobs, struct pawl_service *service, uint64_t count, uint64_t span,
              uint64_t seed)
{
	*jobs = (struct jobs){.service = service, .count = count, .span = span, .random = {seed}};
	jobs->list = calloc(count, sizeof(*jobs->list));
	jobs->refreshes = calloc(count / REFRESH_EVERY + 1, sizeof(*jobs->refreshes));
	if (jobs->list && jobs->refreshes)
		return 0;
	jobs_close(jobs);
	return -ENOMEM;
}

void jobs_close(struct jobs *jobs)
{
	free(jobs->list);
	free(jobs->refreshes);
	jobs->list = NULL;
	jobs->refreshes = NULL;
}

/* A tenth of the span to all of it. */
static uint64_t random_delay(struct jobs *jobs)
{
	uint64_t least = jobs->span / 10;

	return least + random_below(&jobs->random, jobs->span - least + 1);
}

static void run_once(struct pawl_task *task)
{
	struct job *job = (struct job *)task;

	job->ran_at = clock_now();
	if (job->runs++ == 0 && job->refresh)
		job->refresh->first_ran_at = job->ran_at;
}

/* After missed periods it continues with the next one, which may be later than a period after the last bound. */
static void run_again(struct pawl_task *task)
{
	struct job *job = (struct job *)task;

	job->ran_at = clock_now();
	job->early |= job->ran_at < job->deadline;
	job->deadline += task->period_ns;
	__atomic_fetch_add(&job->runs, 1, __ATOMIC_RELAXED);
}

/* A job to be refreshed has its struct refresh before it can run, since its function writes there. */
static int arm_once(struct jobs *jobs, struct job *job)
{
	pawl_task_init(&job->task, run_once);
	if (is_refreshed(jobs->armed))
		job->refresh = &jobs->refreshes[jobs->to_refresh++];
	job->deadline = clock_now() + random_delay(jobs);
	if (job->deadline > jobs->last_deadline)
		jobs->last_deadline = job->deadline;
	return pawl_service_arm_at(jobs->service, &job->task, job->deadline);
}

static int arm_periodic(struct jobs *jobs, struct job *job)
{
	uint64_t period = random_delay(jobs) / 10 + 1;

	jobs->periodic++;
	pawl_task_init(&job->task, run_again);
	job->deadline = clock_now() + period;
	return pawl_service_arm_every(jobs->service, &job->task, period, period, PAWL_SERVICE_SKIP);
}

int jobs_arm(struct jobs *jobs, uint64_t end)
{
	int error = 0;

	for (; !error && jobs->armed < end; jobs->armed++) {
		struct job *job = &jobs->list[jobs->armed];

		error = is_periodic(jobs->armed) ? arm_periodic(jobs, job) : arm_once(jobs, job);
	}
	return error;
}

/* The deadline is recorded before the touch: the task's function does not read it. */
static int refresh(struct jobs *jobs, struct job *job)
{
	uint64_t delay = random_delay(jobs);
	int error;

	jobs->refreshed++;
	job->refresh->old_deadline = job->deadline;
	job->deadline = clock_now() + delay;
	if (job->deadline > jobs->last_deadline)
		jobs->last_deadline = job->deadline;
	error = pawl_service_touch(jobs->service, &job->task, delay);
	job->refresh->returned = clock_now();
	return error;
}

static void cancel(struct jobs *jobs, struct job *job)
{
	job->cancelled = pawl_service_cancel(jobs->service, &job->task) == PAWL_SERVICE_CANCELLED;
	if (job->cancelled)
		jobs->cancelled++;
	else
		jobs->cancelled_late++;
}

int jobs_change(struct jobs *jobs, uint64_t end)
{
	int error = 0;

	for (; !error && jobs->changed < end; jobs->changed++) {
		struct job *job = &jobs->list[jobs->changed];

		if (is_cancelled(jobs->changed))
			cancel(jobs, job);
		else if (is_refreshed(jobs->changed))
			error = refresh(jobs, job);
	}
	return error;
}

uint64_t jobs_once(const struct jobs *jobs)
{
	return jobs->count - jobs->periodic;
}

static uint64_t periodic_runs(const struct jobs *jobs)
{
	uint64_t runs = 0;

	for (uint64_t i = 2; i < jobs->count; i += PERIODIC_EVERY)
		if (is_periodic(i))
			runs += __atomic_load_n(&jobs->list[i].runs, __ATOMIC_RELAXED);
	return runs;
}

/* Periodic runs are counted after `ran` was read, so this may be too few for a short time, and never too many. */
uint64_t jobs_over(const struct jobs *jobs, uint64_t ran)
{
	uint64_t periodic = periodic_runs(jobs);

	return jobs->cancelled + (ran > periodic ? ran - periodic : 0);
}

void jobs_cancel_periodic(struct jobs *jobs)
{
	for (uint64_t i = 2; i < jobs->armed; i += PERIODIC_EVERY)
		if (is_periodic(i))
			pawl_service_cancel_wait(jobs->service, &jobs->list[i].task);
}

void jobs_drop(struct pawl_task *task)
{
	((struct job *)task)->dropped = true;
}

static void judge_refreshed(const struct job *job, struct verdict *v)
{
	const struct refresh *r = job->refresh;
	bool ran_before = job->runs == 2 && r->first_ran_at <= r->returned;

	v->refreshed_late += ran_before;
	v->twice += job->runs > 1 && !ran_before;
	v->early += job->ran_at < job->deadline;
	v->early += ran_before && r->first_ran_at < r->old_deadline;
}

/* It was pending, so it has not run; only if it was refreshed too late it has, by its old deadline. */
static void judge_dropped(const struct job *job, struct verdict *v)
{
	const struct refresh *r = job->refresh;
	bool refreshed_late = r && r->returned && job->runs == 1;

	v->dropped_once++;
	v->refreshed_late += refreshed_late;
	v->twice += job->runs > 0 && !refreshed_late;
	v->early += refreshed_late && r->first_ran_at < r->old_deadline;
}

static void judge_once(const struct job *job, struct verdict *v)
{
	if (job->cancelled) {
		v->after_cancel += job->runs > 0 || job->dropped;
	} else if (job->dropped) {
		judge_dropped(job, v);
	} else if (job->runs == 0) {
		v->lost++;
	} else if (job->refresh && job->refresh->returned) {
		judge_refreshed(job, v);
	} else {
		v->twice += job->runs > 1;
		v->early += job->ran_at < job->deadline;
	}
}

static void count_lateness(const struct job *job, struct verdict *v)
{
	uint64_t late = job->ran_at > job->deadline ? job->ran_at - job->deadline : 0;
	unsigned row = 0;

	while (row < JOBS_BOUNDS && late >= jobs_bounds_us[row] * 1000)
		row++;
	v->lateness[row]++;
}

void jobs_judge(const struct jobs *jobs, struct verdict *v)
{
	*v = (struct verdict){0};
	for (uint64_t i = 0; i < jobs->armed; i++) {
		const struct job *job = &jobs->list[i];

		v->runs += job->runs;
		v->dropped += job->dropped;
		if (is_periodic(i)) {
			v->periodic_runs += job->runs;
			v->early += job->early;
			continue;
		}
		judge_once(job, v);
		if (job->runs > 0 && !job->dropped)
			count_lateness(job, v);
	}
}
