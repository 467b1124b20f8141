/* SPDX-License-Identifier: MIT */
/* Tasks that may be late by a tenth of their delay: how often the service wakes up for them, and its CPU time. */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "workloads.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_NS = 50000 };

/* CLOCK_MONOTONIC, and how often a wait on it has ended. */
struct counting_clock {
	struct pawl_clock clock;
	struct pawl_clock_system real;
	uint64_t waits; /* one thread waits */
};

struct window {
	uint64_t earliest, latest;
};

static uint64_t count_now(struct pawl_clock *clock)
{
	struct counting_clock *self = (struct counting_clock *)clock;

	return self->real.clock.now(&self->real.clock);
}

static void count_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct counting_clock *self = (struct counting_clock *)clock;

	self->real.clock.wait(&self->real.clock, deadline);
	__atomic_store_n(&self->waits, self->waits + 1, __ATOMIC_RELAXED);
}

static void count_wake(struct pawl_clock *clock)
{
	struct counting_clock *self = (struct counting_clock *)clock;

	self->real.clock.wake(&self->real.clock);
}

struct steady {
	struct pawl_service *service;
	struct object *objects;
	struct window *windows;
	bool exact;
	struct random random;
};

static struct window arm(struct pawl_service *service, struct object *object, bool exact,
                         struct random *random)
{
	uint64_t earliest = LEAD_NS + random_below32(random, SPAN_NS);
	uint64_t latest = exact ? earliest : earliest + earliest / 10, now = clock_ns();

	pawl_service_arm_within(service, &object->task.pawl, earliest, latest);
	return (struct window){now + earliest, now + latest};
}

static void arm_batch(void *arg, uint32_t first, uint32_t count)
{
	struct steady *steady = arg;

	for (uint32_t i = first; i < first + count; i++)
		steady->windows[i] =
		        arm(steady->service, &steady->objects[i], steady->exact, &steady->random);
}

static int by_latest(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return (x->latest > y->latest) - (x->latest < y->latest);
}

/* The fewest times such that each window contains one: again and again the end of the first window without one. */
static uint64_t fewest_times(struct window *windows, uint32_t count)
{
	uint64_t times = 0, last = 0;

	qsort(windows, count, sizeof(*windows), by_latest);
	for (uint32_t i = 0; i < count; i++)
		if (windows[i].earliest > last) {
			last = windows[i].latest;
			times++;
		}
	return times;
}

static struct pawl_service *open_on(struct counting_clock *clock)
{
	const struct pawl_service_options options = {.tick_ns = TICK_NS, .clock = &clock->clock};
	struct pawl_service *service;

	*clock = (struct counting_clock){
	        .clock = {.now = count_now, .wait = count_wait, .wake = count_wake}};
	pawl_clock_monotonic_init(&clock->real);
	if (pawl_service_open(&service, &options) != 0)
		fail("pawl cannot be opened");
	return service;
}

struct wakeups windows_run(struct object *objects, uint32_t rate, uint32_t ms, bool exact,
                           uint64_t seed)
{
	const uint32_t count = rate / 1000 * ms;
	struct wakeups wakeups = {.tasks = count};
	struct counting_clock clock;
	struct steady steady = {.service = open_on(&clock),
	                        .objects = objects,
	                        .windows = malloc(count * sizeof(struct window)),
	                        .exact = exact,
	                        .random = {seed}};

	if (!steady.windows)
		fail("no memory for %u windows", count);
	init_stamped(&service_peer_pawl, objects, count);
	tally.shared = false;
	wakeups.cpu_ns = run_at_rate(&service_peer_pawl, rate, ms, arm_batch, &steady);
	wakeups.count = __atomic_load_n(&clock.waits, __ATOMIC_RELAXED);
	pawl_service_close(steady.service, NULL);
	for (uint32_t i = 0; i < count; i++)
		if (objects[i].ran_ns < steady.windows[i].earliest)
			fail("pawl: a task was early, before its window");
	wakeups.fewest = fewest_times(steady.windows, count);
	free(steady.windows);
	return wakeups;
}
