/* SPDX-License-Identifier: MIT */
/*
 * The tasks of `pawl demo`, and a record of each, by which it is judged afterwards.
 *
 * Job number i is
 *
 *	to be cancelled   every third one
 *	periodic          some of the others, until the end
 *	to be refreshed   every tenth of the others: touched before it is due, and due later
 *	once              all others
 *
 * The functions of tasks only record the time. Which tasks were early, lost or run twice is found from these records
 * when nothing runs. A task that is refreshed while it runs may rightly run twice: then its first run was
 * before the touch returned.
 */
#ifndef PAWL_CLI_JOBS_H
#define PAWL_CLI_JOBS_H

#include "../../src/base/random.h"

#include <pawl/service.h>

struct refresh {
	uint64_t old_deadline;
	uint64_t returned; /* when the touch returned; 0: not yet */
	uint64_t first_ran_at;
};

struct job {
	struct pawl_task task;   /* first: a cast turns it into its job */
	uint64_t deadline;       /* periodic: its next run must not be earlier */
	uint64_t ran_at;         /* the last run */
	struct refresh *refresh; /* NULL: it is not refreshed */
	uint32_t runs;           /* atomic, if periodic: counted while it runs */
	bool cancelled;
	bool dropped; /* handed back by stop, when the demo was interrupted */
	bool early;   /* periodic only; the others are judged later */
};

struct jobs {
	struct pawl_service *service;
	struct job *list;
	struct refresh *refreshes;
	uint64_t count;
	uint64_t span; /* ns: delays are from a tenth of it to all of it */
	struct random random;

	uint64_t armed, changed; /* how many are armed; cancelled or refreshed */
	uint64_t last_deadline;

	uint64_t periodic, to_refresh, refreshed, cancelled, cancelled_late;
};

/* 0 or -ENOMEM. Call jobs_close after the service is closed; it may also be called after -ENOMEM. */
int jobs_open(struct jobs *jobs, struct pawl_service *service, uint64_t count, uint64_t span,
              uint64_t seed);
void jobs_close(struct jobs *jobs);

/* Arm the jobs up to number `end`; cancel or refresh the jobs up to number `end`. 0 or -errno. */
int jobs_arm(struct jobs *jobs, uint64_t end);
int jobs_change(struct jobs *jobs, uint64_t end);

/*
 * How many jobs are not periodic; and how many of these are over, if each runs once. `ran` is the service's count.
 */
uint64_t jobs_once(const struct jobs *jobs);
uint64_t jobs_over(const struct jobs *jobs, uint64_t ran);

void jobs_cancel_periodic(struct jobs *jobs);

/* For pawl_service_stop(), if jobs may be pending then. */
void jobs_drop(struct pawl_task *task);

/* The upper bounds of the histogram's rows, in us; a last row has the rest. */
#define JOBS_BOUNDS 16
extern const uint64_t jobs_bounds_us[JOBS_BOUNDS];

struct verdict {
	uint64_t runs, periodic_runs;
	uint64_t early, lost, twice, after_cancel;
	uint64_t dropped, dropped_once; /* all, and those that are not periodic */
	uint64_t refreshed_late;        /* ran rightly both before and after */
	uint64_t lateness[JOBS_BOUNDS + 1];
};

/* After the service is stopped, when nothing runs. */
void jobs_judge(const struct jobs *jobs, struct verdict *verdict);

uint64_t clock_now(void);

#endif
