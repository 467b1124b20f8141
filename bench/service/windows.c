/* SPDX-License-Identifier: MIT */
/* Tasks that may be late by a tenth of their delay: how often the service wakes up for them, and its CPU time. */
#define _GNU_SOURCE
#include "workloads.h"

#include <stdlib.h>

struct window {
	uint64_t earliest, latest;
};

struct windowed {
	struct steady steady; /* first */
	struct window *windows;
	bool exact;
};

static void arm(struct steady *steady, uint32_t i, uint64_t earliest)
{
	struct windowed *windowed = (struct windowed *)steady;
	uint64_t latest = windowed->exact ? earliest : earliest + earliest / 10, now = clock_ns();

	pawl_service_arm_within(service_of(steady->self), &steady->objects[i].task.pawl, earliest,
	                        latest);
	windowed->windows[i] = (struct window){now + earliest, now + latest};
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

struct wakeups windows_run(struct object *objects, uint32_t rate, uint32_t ms, bool exact,
                           uint64_t seed)
{
	const struct service_peer *peer = &service_peer_pawl_50us;
	const uint32_t count = rate / 1000 * ms;
	struct wakeups wakeups = {.tasks = count};
	struct windowed windowed = {
	        .steady = {.peer = peer, .objects = objects, .random = {seed}, .arm = arm},
	        .windows = malloc(count * sizeof(struct window)),
	        .exact = exact};

	if (!windowed.windows)
		fail("no memory for %u windows", count);
	windowed.steady.self = open_service(peer, &(struct service_setup){.skips = true});
	wakeups.cpu_ns = run_at_rate(&windowed.steady, rate, ms);
	wakeups.count = waits_of(windowed.steady.self);
	peer->close(windowed.steady.self);
	for (uint32_t i = 0; i < count; i++)
		if (objects[i].ran_ns < windowed.windows[i].earliest)
			fail("pawl: a task was early, before its window");
	wakeups.fewest = fewest_times(windowed.windows, count);
	free(windowed.windows);
	return wakeups;
}
