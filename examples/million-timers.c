/* SPDX-License-Identifier: MIT */
/*
 * A million timers on one wheel, driven by the real clock: random delays of one to four seconds, a third
 * of them cancelled on the way, and an account of every one at the end. Exits with 1 if any was early,
 * lost, run twice, or run although cancelled.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMERS    1000000u
#define SECOND    UINT64_C(1000000000) /* in ns */
#define TICK_NS   (UINT64_C(1) << 17)  /* 131 us; a power of two is the quickest */
#define MAX_MOVES 10000u               /* so that no turn of the loop takes long */

struct job {
	struct pawl_timer timer;
	unsigned runs;
	bool cancelled;
};

struct account {
	unsigned ran, cancelled, early, again, after_cancel;
	uint64_t latest;
	unsigned sleeps;
};

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t deadline)
{
	struct timespec t = {(time_t)(deadline / SECOND), (long)(deadline % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 34) * limit >> 30;
}

static void run(struct job *job, uint64_t now, struct account *account)
{
	account->ran++;
	account->again += job->runs++ > 0;
	account->after_cancel += job->cancelled;
	account->early += now < job->timer.deadline;
	if (now > job->timer.deadline && now - job->timer.deadline > account->latest)
		account->latest = now - job->timer.deadline;
}

static void run_all_due(struct pawl_wheel *wheel, struct account *account)
{
	struct pawl_timer *timer;
	uint64_t now;

	do {
		now = clock_now();
		pawl_wheel_advance(wheel, now, MAX_MOVES);
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			run((struct job *)timer, now, account); /* timer is a job's first member */
	} while (pawl_wheel_now(wheel) < now);
}

static void arm_all(struct pawl_wheel *wheel, struct job *jobs, uint64_t *seed)
{
	for (unsigned i = 0; i < TIMERS; i++)
		pawl_wheel_arm(wheel, &jobs[i].timer,
		               pawl_wheel_now(wheel) + SECOND + random_below(seed, 3 * SECOND));
}

/* Every third one, unless it has run by now: cancel tells. */
static void cancel_a_third(struct pawl_wheel *wheel, struct job *jobs, struct account *account)
{
	for (unsigned i = 0; i < TIMERS; i += 3) {
		jobs[i].cancelled = pawl_wheel_cancel(wheel, &jobs[i].timer);
		account->cancelled += jobs[i].cancelled;
	}
}

static int report(const struct account *a)
{
	unsigned wrong = a->early + a->again + a->after_cancel;
	unsigned lost = TIMERS - a->ran - a->cancelled;

	printf("armed %u = ran %u + cancelled %u + lost %u\n", TIMERS, a->ran, a->cancelled, lost);
	printf("early %u, run twice %u, run after cancel %u\n", a->early, a->again,
	       a->after_cancel);
	printf("latest %.3f ms after its deadline; slept %u times\n", (double)a->latest / 1e6,
	       a->sleeps);
	return wrong || lost;
}

int main(void)
{
	struct pawl_wheel_options options = {.start = clock_now(), .tick = TICK_NS, .chains = 8};
	size_t size = pawl_wheel_footprint(&options);
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, &options);
	struct job *jobs = calloc(TIMERS, sizeof(*jobs));
	struct account account = {0};
	uint64_t seed = options.start;

	if (!wheel || !jobs) {
		fprintf(stderr, "million-timers: no memory\n");
		return 1;
	}
	printf("%u timers with delays of 1 to 4 seconds, a third of them to be cancelled...\n",
	       TIMERS);
	fflush(stdout);
	arm_all(wheel, jobs, &seed);
	run_all_due(wheel, &account);
	cancel_a_third(wheel, jobs, &account);
	for (uint64_t next; (next = pawl_wheel_next(wheel)) != PAWL_NEVER; account.sleeps++) {
		sleep_until(next);
		run_all_due(wheel, &account);
	}
	free(jobs);
	free(wheel);
	return report(&account);
}
