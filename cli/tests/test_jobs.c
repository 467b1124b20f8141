/* SPDX-License-Identifier: MIT */
/*
 * Does `pawl demo` notice? Notes of jobs as a broken service would leave them behind, and the verdict on each.
 * With the numbers below 60: 0, 3, 6... are to be cancelled, 2 is periodic, and 1, 11, 31, 41 are refreshed.
 */
#include "../demo/jobs.h"

#include "../../tests/support/test.h"

#define COUNT    60
#define DEADLINE 1000
#define LATER    2000

/* All as it should be: every job ran once, at its deadline, or was cancelled in time. */
static struct jobs good_jobs(void)
{
	struct jobs jobs;

	EXPECT_EQ(jobs_open(&jobs, NULL, COUNT, 1000000, 1), 0);
	jobs.armed = jobs.changed = COUNT;
	for (unsigned i = 0; i < COUNT; i++)
		jobs.list[i] = (struct job){.deadline = DEADLINE, .ran_at = DEADLINE, .runs = 1};
	for (unsigned i = 0; i < COUNT; i += 3) {
		jobs.list[i].runs = 0;
		jobs.list[i].cancelled = true;
	}
	return jobs;
}

static struct refresh *refresh(struct jobs *jobs, struct job *job)
{
	job->refresh = &jobs->refreshes[0];
	*job->refresh = (struct refresh){.old_deadline = DEADLINE, .returned = 500};
	job->deadline = job->ran_at = job->refresh->first_ran_at = LATER;
	return job->refresh;
}

static struct verdict judged(struct jobs *jobs)
{
	struct verdict verdict;

	jobs_judge(jobs, &verdict);
	jobs_close(jobs);
	return verdict;
}

static void expect_faults(struct verdict v, uint64_t early, uint64_t lost, uint64_t twice,
                          uint64_t after_cancel)
{
	EXPECT_EQ(v.early, early);
	EXPECT_EQ(v.lost, lost);
	EXPECT_EQ(v.twice, twice);
	EXPECT_EQ(v.after_cancel, after_cancel);
}

static void a_correct_run_has_no_faults(void)
{
	struct jobs jobs = good_jobs();
	struct verdict v;

	refresh(&jobs, &jobs.list[1]);
	v = judged(&jobs);
	expect_faults(v, 0, 0, 0, 0);
	EXPECT_EQ(v.runs, 40);
	EXPECT_EQ(v.periodic_runs, 1);
	EXPECT_EQ(v.lateness[0], 39);
}

static void one_nanosecond_early_is_early(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[4].ran_at = DEADLINE - 1;
	expect_faults(judged(&jobs), 1, 0, 0, 0);
}

static void a_job_that_never_ran_is_lost(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[4].runs = 0;
	jobs.list[1].runs = 0;
	refresh(&jobs, &jobs.list[1]);
	expect_faults(judged(&jobs), 0, 2, 0, 0);
}

static void two_runs_are_one_too_many(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[4].runs = 2;
	expect_faults(judged(&jobs), 0, 0, 1, 0);
}

static void a_run_after_cancel_is_a_fault(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[3].runs = 1;
	expect_faults(judged(&jobs), 0, 0, 0, 1);
}

static void a_dropped_job_is_not_lost(void)
{
	struct jobs jobs = good_jobs();
	struct verdict v;

	jobs.list[4].runs = 0;
	jobs_drop(&jobs.list[4].task);
	jobs_drop(&jobs.list[2].task); /* periodic: it may have run */
	v = judged(&jobs);
	expect_faults(v, 0, 0, 0, 0);
	EXPECT_EQ(v.dropped, 2);
	EXPECT_EQ(v.dropped_once, 1);
	EXPECT_EQ(v.lateness[0], 38);
}

static void a_dropped_job_must_not_have_run(void)
{
	struct jobs jobs = good_jobs();

	jobs_drop(&jobs.list[4].task);
	expect_faults(judged(&jobs), 0, 0, 1, 0);
}

static void a_cancelled_job_must_not_be_dropped(void)
{
	struct jobs jobs = good_jobs();

	jobs_drop(&jobs.list[3].task);
	expect_faults(judged(&jobs), 0, 0, 0, 1);
}

static void a_job_refreshed_too_late_ran_once_before_it_was_dropped(void)
{
	for (unsigned runs = 0; runs < 3; runs++)
		for (uint64_t ran_at = DEADLINE - 1; ran_at <= DEADLINE; ran_at++) {
			struct jobs jobs = good_jobs();
			struct verdict v;

			refresh(&jobs, &jobs.list[1])->first_ran_at = ran_at;
			jobs.list[1].runs = runs;
			jobs_drop(&jobs.list[1].task);
			v = judged(&jobs);
			expect_faults(v, runs == 1 && ran_at < DEADLINE, 0, runs == 2, 0);
			EXPECT_EQ(v.refreshed_late, runs == 1);
		}
}

static void a_late_cancel_does_not_count(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[3].runs = 1;
	jobs.list[3].cancelled = false;
	expect_faults(judged(&jobs), 0, 0, 0, 0);
}

static void a_refresh_without_effect_is_early(void)
{
	struct jobs jobs = good_jobs();

	refresh(&jobs, &jobs.list[1])->first_ran_at = DEADLINE;
	jobs.list[1].ran_at = DEADLINE;
	expect_faults(judged(&jobs), 1, 0, 0, 0);
}

static void a_run_before_the_refresh_and_one_after_it_are_right(void)
{
	struct jobs jobs = good_jobs();
	struct refresh *r = refresh(&jobs, &jobs.list[1]);
	struct verdict v;

	jobs.list[1].runs = 2;
	r->first_ran_at = r->returned = DEADLINE + 5;
	v = judged(&jobs);
	expect_faults(v, 0, 0, 0, 0);
	EXPECT_EQ(v.refreshed_late, 1);
}

static void two_runs_after_the_refresh_are_one_too_many(void)
{
	struct jobs jobs = good_jobs();

	refresh(&jobs, &jobs.list[1])->first_ran_at = LATER;
	jobs.list[1].runs = 2;
	expect_faults(judged(&jobs), 0, 0, 1, 0);
}

static void three_runs_are_too_many_even_with_a_late_refresh(void)
{
	struct jobs jobs = good_jobs();
	struct refresh *r = refresh(&jobs, &jobs.list[1]);

	jobs.list[1].runs = 3;
	r->first_ran_at = r->returned = DEADLINE + 5;
	expect_faults(judged(&jobs), 0, 0, 1, 0);
}

static void a_late_refresh_excuses_no_early_run(void)
{
	struct jobs jobs = good_jobs();
	struct refresh *r = refresh(&jobs, &jobs.list[1]);

	jobs.list[1].runs = 2;
	r->first_ran_at = DEADLINE - 1;
	r->returned = DEADLINE + 5;
	expect_faults(judged(&jobs), 1, 0, 0, 0);
}

static void a_periodic_one_says_itself_that_it_was_early(void)
{
	struct jobs jobs = good_jobs();

	jobs.list[2].runs = 17;
	jobs.list[2].early = true;
	expect_faults(judged(&jobs), 1, 0, 0, 0);
}

static void lateness_falls_into_its_row(void)
{
	struct jobs jobs = good_jobs();
	struct verdict v;

	jobs.list[4].ran_at = DEADLINE + 49999;
	jobs.list[5].ran_at = DEADLINE + 50000;
	jobs.list[7].ran_at = DEADLINE + UINT64_C(5000000000);
	v = judged(&jobs);
	EXPECT_EQ(v.lateness[0], 37);
	EXPECT_EQ(v.lateness[1], 1);
	EXPECT_EQ(v.lateness[JOBS_BOUNDS], 1);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_correct_run_has_no_faults),
	        TEST(one_nanosecond_early_is_early),
	        TEST(a_job_that_never_ran_is_lost),
	        TEST(two_runs_are_one_too_many),
	        TEST(a_run_after_cancel_is_a_fault),
	        TEST(a_dropped_job_is_not_lost),
	        TEST(a_dropped_job_must_not_have_run),
	        TEST(a_cancelled_job_must_not_be_dropped),
	        TEST(a_job_refreshed_too_late_ran_once_before_it_was_dropped),
	        TEST(a_late_cancel_does_not_count),
	        TEST(a_refresh_without_effect_is_early),
	        TEST(a_run_before_the_refresh_and_one_after_it_are_right),
	        TEST(two_runs_after_the_refresh_are_one_too_many),
	        TEST(three_runs_are_too_many_even_with_a_late_refresh),
	        TEST(a_late_refresh_excuses_no_early_run),
	        TEST(a_periodic_one_says_itself_that_it_was_early),
	        TEST(lateness_falls_into_its_row),
	};

	return RUN_TESTS(tests);
}
