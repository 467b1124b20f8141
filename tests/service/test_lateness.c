/* SPDX-License-Identifier: MIT */
/*
 * In real time: a thousand tasks over a second on each of the system's clocks. All of them run and none is early; how
 * late they are is printed, but not checked.
 */
#include <semaphore.h>

#include "../../src/base/random.h"
#include "../support/test.h"
#include "pawl/service.h"

#define TASKS 1000

struct timed {
	struct pawl_task task; /* first */
	struct pawl_clock *clock;
	uint64_t deadline, ran_at;
	unsigned runs;
	sem_t *done;
};

static void note_time(struct pawl_task *task)
{
	struct timed *timed = (struct timed *)(void *)task;

	timed->ran_at = timed->clock->now(timed->clock);
	timed->runs++;
	sem_post(timed->done);
}

static void arm_all(struct pawl_service *service, struct timed *timed, struct pawl_clock *clock,
                    sem_t *done)
{
	struct random random = {1};

	for (unsigned i = 0; i < TASKS; i++) {
		timed[i] = (struct timed){.clock = clock, .done = done};
		timed[i].deadline = clock->now(clock) + random_below(&random, PAWL_SECOND);
		pawl_task_init(&timed[i].task, note_time);
		EXPECT_EQ(pawl_service_arm_at(service, &timed[i].task, timed[i].deadline), 0);
	}
}

static void print_lateness(struct pawl_service *service)
{
	static struct pawl_histogram lateness;
	struct pawl_service_stats stats;

	pawl_service_get_stats(service, &stats, sizeof(stats));
	EXPECT_EQ(stats.ran, TASKS);
	pawl_service_get_lateness(service, &lateness);
	EXPECT_EQ(lateness.count, TASKS);
	printf("lateness in us: p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64 ", wakeups %" PRIu64
	       "\n",
	       pawl_histogram_percentile(&lateness, 50) / 1000,
	       pawl_histogram_percentile(&lateness, 99) / 1000, lateness.max / 1000, stats.wakeups);
}

static void expect_none_early(struct pawl_clock *clock)
{
	const struct pawl_service_options options = {.clock = clock};
	struct timed *timed = malloc(TASKS * sizeof(*timed));
	struct pawl_service *service;
	sem_t done;

	sem_init(&done, 0, 0);
	EXPECT_EQ(pawl_service_open(&service, &options), 0);
	arm_all(service, timed, clock, &done);
	for (unsigned i = 0; i < TASKS; i++)
		sem_wait(&done);
	pawl_service_settle(service);
	for (unsigned i = 0; i < TASKS; i++) {
		EXPECT_EQ(timed[i].runs, 1);
		EXPECT(timed[i].ran_at >= timed[i].deadline);
	}
	print_lateness(service);
	pawl_service_close(service, NULL);
	free(timed);
}

static void no_task_is_early_by_the_monotonic_clock(void)
{
	struct pawl_clock_system clock;

	pawl_clock_monotonic_init(&clock);
	expect_none_early(&clock.clock);
}

static void no_task_is_early_by_the_boottime_clock(void)
{
	struct pawl_clock_system clock;

	pawl_clock_boottime_init(&clock);
	expect_none_early(&clock.clock);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(no_task_is_early_by_the_monotonic_clock),
	        TEST(no_task_is_early_by_the_boottime_clock),
	};

	return RUN_TESTS(tests);
}
