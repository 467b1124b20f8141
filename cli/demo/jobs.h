/* SPDX-License-Identifier: MIT */
/*
 * The tasks of `pawl demo`, and what is remembered of each so that afterwards every one can be judged.
 *
 * Job number i is
 *
 *	to be cancelled   every third
 *	periodic          of the others some, until the end
 *	to be refreshed   of the others every tenth: touched on the way, and due later
 *	or just once.
 *
 * The functions of tasks only note the time. Who was early, lost or run twice is found out when all is over
 * and nothing runs any more, from the notes alone. A task that is refreshed just as it runs may rightly run
 * twice: then the first run was before the touch returned.
 */
#ifndef PAWL_CLI_JOBS_H
#define PAWL_CLI_JOBS_H

#include "../../support/random.h"

#include <pawl/service.h>

struct refresh {
	uint64_t old_deadline;
	uint64_t returned; /* when the touch did; 0: not yet */
	uint64_t first_ran_at;
};

struct job {
	struct pawl_task task;   /* first, so that a task is its job */
	uint64_t deadline;       /* of a periodic one: before which its next run would be early */
	uint64_t ran_at;         /* the last run */
	struct refresh *refresh; /* NULL: not one that is refreshed */
	uint32_t runs;           /* atomic for a periodic one, whose runs are counted on the way */
	bool cancelled;
	bool early; /* periodic ones only; the others are judged later */
};

struct jobs {
	struct pawl_service *service;
	struct job *list;
	struct refresh *refreshes;
	uint64_t count;
	uint64_t span; /* ns: delays are a tenth of it to all of it */
	struct random random;

	uint64_t armed, changed; /* how far arming and then cancelling and refreshing have come */
	uint64_t last_deadline;

	uint64_t periodic, to_refresh, refreshed, cancelled, cancelled_late;
};

/* 0 or -ENOMEM. jobs_close, when the service is closed. */
int jobs_open(struct jobs *jobs, struct pawl_service *service, uint64_t count, uint64_t span,
              uint64_t seed);
void jobs_close(struct jobs *jobs);

/* Arm those up to number `end`; cancel and refresh those up to number `end`. 0 or -errno. */
int jobs_arm(struct jobs *jobs, uint64_t end);
int jobs_change(struct jobs *jobs, uint64_t end);

/*
 * How many are not periodic; and how many of them are over, if each runs once: `ran` is the service's count.
 */
uint64_t jobs_once(const struct jobs *jobs);
uint64_t jobs_over(const struct jobs *jobs, uint64_t ran);

void jobs_cancel_periodic(struct jobs *jobs);

/* The bounds of the histogram's rows in us; there is a last row for what is beyond. */
#define JOBS_BOUNDS 16
extern const uint64_t jobs_bounds_us[JOBS_BOUNDS];

struct verdict {
	uint64_t runs, periodic_runs;
	uint64_t early, lost, twice, after_cancel;
	uint64_t refreshed_late; /* ran, as it should, both before and after */
	uint64_t lateness[JOBS_BOUNDS + 1];
};

/* When the service is closed. */
void jobs_judge(const struct jobs *jobs, struct verdict *verdict);

uint64_t clock_now(void);

#endif
