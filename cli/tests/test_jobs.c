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
#define LATE     (DEADLINE + 5)

enum { REFRESHED = 1, PERIODIC = 2, CANCELLED = 3, ONCE = 4 };

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

static struct verdict judged(struct jobs *jobs)
{
	struct verdict verdict;

	jobs_judge(jobs, &verdict);
	jobs_close(jobs);
	return verdict;
}

/* One job is not as it should be, unless the name says that it is right. */
static const struct row {
	const char *name;
	unsigned number;
	unsigned runs;
	bool cancelled, dropped, early_itself;
	uint64_t ran_at; /* 0: at its deadline */
	uint64_t first_ran_at,
	        refreshed_at; /* of a job that is refreshed, from DEADLINE to LATER */
	unsigned early, lost, twice, after_cancel, refreshed_late; /* the verdict */
} rows[] = {
        {"it ran as it should", ONCE, .runs = 1},
        {"it ran 1 ns early", ONCE, .runs = 1, .ran_at = DEADLINE - 1, .early = 1},
        {"it never ran", ONCE, .lost = 1},
        {"it ran twice", ONCE, .runs = 2, .twice = 1},
        {"it ran after it was cancelled", CANCELLED, .runs = 1, .cancelled = true,
         .after_cancel = 1},
        {"it was cancelled too late, which is right", CANCELLED, .runs = 1},
        {"it was dropped, which is right", ONCE, .dropped = true},
        {"it was dropped and has run", ONCE, .runs = 1, .dropped = true, .twice = 1},
        {"it was cancelled and dropped", CANCELLED, .cancelled = true, .dropped = true,
         .after_cancel = 1},
        {"periodic, it was early by its own word", PERIODIC, .runs = 17, .early_itself = true,
         .early = 1},
        {"refreshed, it ran later, which is right", REFRESHED, .runs = 1, .first_ran_at = LATER,
         .refreshed_at = 500},
        {"refreshed, it never ran", REFRESHED, .first_ran_at = LATER, .refreshed_at = 500,
         .lost = 1},
        {"refreshed, it ran at its old deadline", REFRESHED, .runs = 1, .ran_at = DEADLINE,
         .first_ran_at = DEADLINE, .refreshed_at = 500, .early = 1},
        {"it ran before the refresh and after it, which is right", REFRESHED, .runs = 2,
         .first_ran_at = LATE, .refreshed_at = LATE, .refreshed_late = 1},
        {"it ran twice after the refresh", REFRESHED, .runs = 2, .first_ran_at = LATER,
         .refreshed_at = 500, .twice = 1},
        {"refreshed late, it ran three times", REFRESHED, .runs = 3, .first_ran_at = LATE,
         .refreshed_at = LATE, .twice = 1},
        {"refreshed late, it had run early", REFRESHED, .runs = 2, .first_ran_at = DEADLINE - 1,
         .refreshed_at = LATE, .early = 1, .refreshed_late = 1},
        {"refreshed and dropped, which is right", REFRESHED, .dropped = true,
         .first_ran_at = DEADLINE, .refreshed_at = 500},
        {"refreshed late and dropped, which is right", REFRESHED, .runs = 1, .dropped = true,
         .first_ran_at = DEADLINE, .refreshed_at = 500, .refreshed_late = 1},
        {"refreshed late and dropped, it had run early", REFRESHED, .runs = 1, .dropped = true,
         .first_ran_at = DEADLINE - 1, .refreshed_at = 500, .early = 1, .refreshed_late = 1},
        {"dropped, it has run twice", REFRESHED, .runs = 2, .dropped = true,
         .first_ran_at = DEADLINE, .refreshed_at = 500, .twice = 1},
};

static struct verdict verdict_on(const struct row *row)
{
	struct jobs jobs = good_jobs();
	struct job *job = &jobs.list[row->number];

	job->runs = row->runs;
	job->cancelled = row->cancelled;
	job->early = row->early_itself;
	if (row->refreshed_at) {
		job->refresh = &jobs.refreshes[0];
		*job->refresh = (struct refresh){DEADLINE, row->refreshed_at, row->first_ran_at};
		job->deadline = job->ran_at = LATER;
	}
	if (row->ran_at)
		job->ran_at = row->ran_at;
	if (row->dropped)
		jobs_drop(&job->task);
	return judged(&jobs);
}

static void every_fault_is_noticed_and_nothing_else(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict v = verdict_on(&rows[i]);
		unsigned failures = test_failures;

		EXPECT_EQ(v.early, rows[i].early);
		EXPECT_EQ(v.lost, rows[i].lost);
		EXPECT_EQ(v.twice, rows[i].twice);
		EXPECT_EQ(v.after_cancel, rows[i].after_cancel);
		EXPECT_EQ(v.refreshed_late, rows[i].refreshed_late);
		EXPECT_EQ(v.dropped, rows[i].dropped);
		if (test_failures > failures)
			fprintf(stderr, "  in the row: %s\n", rows[i].name);
	}
}

static void all_runs_are_counted(void)
{
	struct jobs jobs = good_jobs();
	struct verdict v = judged(&jobs);

	EXPECT_EQ(v.runs, 40);
	EXPECT_EQ(v.periodic_runs, 1);
	EXPECT_EQ(v.lateness[0], 39);
}

static void dropped_jobs_are_counted(void)
{
	struct jobs jobs = good_jobs();
	struct verdict v;

	jobs.list[ONCE].runs = 0;
	jobs_drop(&jobs.list[ONCE].task);
	jobs_drop(&jobs.list[PERIODIC].task); /* it may have run */
	v = judged(&jobs);
	EXPECT_EQ(v.dropped, 2);
	EXPECT_EQ(v.dropped_once, 1);
	EXPECT_EQ(v.twice, 0);
	EXPECT_EQ(v.lateness[0], 38);
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
	        TEST(every_fault_is_noticed_and_nothing_else),
	        TEST(all_runs_are_counted),
	        TEST(dropped_jobs_are_counted),
	        TEST(lateness_falls_into_its_row),
	};

	return RUN_TESTS(tests);
}
