/* SPDX-License-Identifier: MIT */
/* pawl demo: a million tasks on the real clock, and an account of every one. */
#define _POSIX_C_SOURCE 200809L
#include <pawl/inspect.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../commands.h"
#include "../text/arguments.h"
#include "../wait/wait.h"
#include "display.h"
#include "jobs.h"

#define FRAME_MAX UINT64_C(100000000) /* ns between two updates of the display */
#define SLICE     UINT64_C(50000)     /* jobs armed between two updates */
#define PATIENCE  300                 /* frames without progress after the last deadline */
#define COUNT_MAX UINT64_C(100000000)
#define SECOND    1e9

static const char help[] =
        "usage: pawl demo [OPTION...]\n"
        "\n"
        "Arms many tasks with random delays on the real clock, cancels a third of them,\n"
        "refreshes some, runs some periodically, and shows how late they are and how\n"
        "many were moved before their slot opened. At the end it accounts for every\n"
        "task: the exit code is 1 if any was early, lost, run twice, or run although it\n"
        "was cancelled. Ctrl-C drops what is pending, and accounts for that.\n"
        "\n"
        "  --count N      how many tasks, 1 to 100000000 (default 1000000);\n"
        "                 each takes about 100 bytes\n"
        "  --seconds S    the longest delay, 0.1 to 3600 (default 10)\n"
        "  --workers N    threads that run the tasks, 1 to 1024 (default 1)\n"
        "  --seed N       seed of the random delays (default: from the clock)\n"
        "  --inspect PATH serve a live view on this Unix socket: pawl top PATH\n"
        "  --help         this text\n";

struct arguments {
	uint64_t count, workers, seed;
	double seconds;
	const char *inspect; /* or NULL */
};

static void sleep_for(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = (long)ns}, NULL);
}

static void update(struct display *display, struct jobs *jobs, struct pawl_service_stats *stats)
{
	pawl_service_get_stats(jobs->service, stats, sizeof(*stats));
	display_progress(display, jobs, stats);
}

static int arm_all(struct display *display, struct jobs *jobs, struct pawl_service_stats *stats)
{
	int error = 0;

	while (!error && !ended_by && jobs->armed < jobs->count) {
		uint64_t rest = jobs->count - jobs->armed;

		error = jobs_arm(jobs, jobs->armed + (rest < SLICE ? rest : SLICE));
		update(display, jobs, stats);
	}
	return error;
}

/* How many should be cancelled or refreshed by now: all of them within a tenth of the span. */
static uint64_t to_be_changed(const struct jobs *jobs, uint64_t since)
{
	double part = (double)(clock_now() - since) / ((double)jobs->span / 10);

	return part < 1 ? (uint64_t)((double)jobs->count * part) : jobs->count;
}

/* A short span is updated more often; otherwise it would be over before anything was cancelled. */
static uint64_t frame_of(const struct jobs *jobs)
{
	return jobs->span / 100 < FRAME_MAX ? jobs->span / 100 : FRAME_MAX;
}

/*
 * Update the display until `is_over`, or a signal comes. If a task were lost, that would be never: so it gives up if nothing has run for a
 * long time after the last deadline.
 */
static int wait_until(struct display *display, struct jobs *jobs, struct pawl_service_stats *stats,
                      bool (*is_over)(const struct jobs *, const struct pawl_service_stats *))
{
	unsigned idle_frames = 0;
	int error = 0;

	while (!error && !ended_by && !is_over(jobs, stats) && idle_frames < PATIENCE) {
		uint64_t before = stats->ran;

		sleep_for(frame_of(jobs));
		error = jobs_change(jobs, to_be_changed(jobs, display->start));
		update(display, jobs, stats);
		idle_frames = stats->ran == before && clock_now() > jobs->last_deadline
		                      ? idle_frames + 1
		                      : 0;
	}
	return error;
}

static bool have_run(const struct jobs *jobs, const struct pawl_service_stats *stats)
{
	return jobs->changed == jobs->count && jobs_over(jobs, stats->ran) >= jobs_once(jobs);
}

static bool are_gone(const struct jobs *jobs, const struct pawl_service_stats *stats)
{
	(void)jobs;
	return stats->pending == 0;
}

/* A task that was refreshed too late runs twice: so after as many runs as tasks, some may still wait. */
static int run_to_the_end(struct display *display, struct jobs *jobs,
                          struct pawl_service_stats *stats)
{
	int error = arm_all(display, jobs, stats);

	if (!error)
		error = wait_until(display, jobs, stats, have_run);
	if (ended_by)
		return error;
	jobs_cancel_periodic(jobs);
	pawl_service_get_stats(jobs->service, stats, sizeof(*stats));
	return error ? error : wait_until(display, jobs, stats, are_gone);
}

/* Only tasks that an interruption leaves behind are dropped. Otherwise a task that is still pending counts as lost. */
static bool stop_and_account(struct display *display, struct jobs *jobs,
                             struct pawl_service_stats *stats)
{
	struct verdict verdict;
	bool interrupted = ended_by != 0;

	pawl_service_stop(jobs->service, interrupted ? jobs_drop : NULL);
	pawl_service_get_stats(jobs->service, stats, sizeof(*stats));
	if (interrupted)
		display_interruption(display, stats->dropped);
	jobs_judge(jobs, &verdict);
	return display_summary(display, jobs, stats, &verdict);
}

static int run_jobs(const struct arguments *a, struct jobs *jobs, struct pawl_service_stats *stats)
{
	struct display display;
	int error;

	display_begin(&display, jobs, (unsigned)a->workers, a->seed);
	error = run_to_the_end(&display, jobs, stats);
	if (error) {
		complain("demo: the service refused a task: %s", strerror(-error));
		return EXIT_FAULT;
	}
	if (!stop_and_account(&display, jobs, stats))
		return EXIT_FAULT;
	return ended_by ? EXIT_INTERRUPTED + ended_by : EXIT_FINE;
}

static bool inspect(const struct arguments *a, struct pawl_service *service)
{
	int error = a->inspect ? pawl_service_inspect(service, a->inspect) : 0;

	if (error)
		complain("demo: --inspect '%s' cannot be served: %s", a->inspect, strerror(-error));
	return !error;
}

static int demo(const struct arguments *a)
{
	struct pawl_service_options service_options = {.name = "demo",
	                                               .workers = (unsigned)a->workers};
	struct pawl_service_stats stats = {0};
	struct pawl_service *service = NULL;
	struct jobs jobs = {0};
	int error = pawl_service_open(&service, &service_options), code = EXIT_FAULT;

	end_by_signal(SIGINT);
	end_by_signal(SIGTERM);
	if (!error)
		error = jobs_open(&jobs, service, a->count, (uint64_t)(a->seconds * SECOND),
		                  a->seed);
	if (error)
		complain("demo: there is no memory for %llu tasks, or no thread for a worker",
		         (unsigned long long)a->count);
	else if (inspect(a, service))
		code = run_jobs(a, &jobs, &stats);
	pawl_service_close(service, NULL);
	jobs_close(&jobs);
	return finish_output(code);
}

int command_demo(int argc, char **argv)
{
	struct arguments a = {.count = 1000000, .workers = 1, .seed = clock_now(), .seconds = 10};
	const struct setting settings[] = {
	        {"count", .number = &a.count, .least = 1, .most = COUNT_MAX},
	        {"seconds", .decimal = &a.seconds, .low = 0.1, .high = 3600},
	        {"workers", .number = &a.workers, .least = 1, .most = 1024},
	        {"seed", .number = &a.seed, .least = 0, .most = UINT64_MAX},
	        {"inspect", .text = &a.inspect},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (optind < argc) {
		complain("demo: '%s' is not expected; it takes options only", argv[optind]);
		return EXIT_USAGE;
	}
	return demo(&a);
}
