/* SPDX-License-Identifier: MIT */
/* Tasks that run: a backlog, a crowd within a second, and a steady rate. */
#define _GNU_SOURCE
#include "workloads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	PATIENCE_S = 60,
	BACKLOG_SPAN_NS = 1000000000,
	LEAD_NS = 10000000, /* and at random up to so much more: */
	SPAN_NS = 100000000,
	LIVE_LEAD_S = 2, /* enough to arm all of them before the first is due */
};

struct tally tally;

void expect_runs(uint64_t runs)
{
	static bool made;

	if (!made)
		sem_init(&tally.done, 0, 0);
	made = true;
	tally.count = 0;
	tally.target = runs;
}

void await_runs(const struct service_peer *peer)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	while (sem_timedwait(&tally.done, &end) != 0)
		if (errno != EINTR)
			fail("%s: %" PRIu64 " of %" PRIu64 " tasks have run in time", peer->name,
			     __atomic_load_n(&tally.count, __ATOMIC_RELAXED), tally.target);
}

void *open_service(const struct service_peer *peer, const struct service_setup *setup)
{
	void *service = peer->open(peer, setup);

	if (!service)
		fail("%s cannot be opened", peer->name);
	tally.shared = peer->workers > 1;
	return service;
}

double backlog_run(const struct service_peer *peer, struct object *objects, bool polled,
                   uint64_t seed)
{
	const struct service_setup setup = {.capacity = OBJECTS, .polled = polled, .skips = true};
	struct random random = {.state = seed};
	void *service = open_service(peer, &setup);
	uint64_t base = clock_ns() + PATIENCE_S * SECOND, begin, end;

	expect_runs(OBJECTS);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		peer->init(&objects[i], COUNT);
		peer->arm_at(service, &objects[i], base + random_below32(&random, BACKLOG_SPAN_NS));
	}
	begin = clock_ns();
	peer->skip(service, 2 * PATIENCE_S * SECOND);
	if (polled)
		peer->poll(service);
	await_runs(peer);
	end = clock_ns();
	peer->close(service);
	return (double)(end - begin) / OBJECTS;
}

/* CPU time of all threads except the calling one: the service's. */
static uint64_t cpu_of_others(void)
{
	uint64_t own = read_clock(CLOCK_THREAD_CPUTIME_ID);

	return read_clock(CLOCK_PROCESS_CPUTIME_ID) - own;
}

static int compare_samples(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

const uint32_t quantiles[QUANTILES] = {0, 5000, 9900, 9990, 10000};

/* The smallest sample that at least this share of the samples does not exceed. */
static int64_t quantile(const int64_t *sorted, size_t count, size_t share)
{
	size_t rank = (count * share + 9999) / 10000;

	return sorted[rank > 0 ? rank - 1 : 0];
}

/* From the times at which the tasks ran. */
static struct lateness lateness_of(const struct service_peer *peer, const struct object *objects,
                                   size_t count, uint64_t cpu_ns)
{
	int64_t *samples = malloc(count * sizeof(*samples));
	struct lateness lateness = {.tasks = count, .cpu_ns = cpu_ns};

	if (!samples)
		fail("no memory for %zu samples", count);
	for (size_t i = 0; i < count; i++) {
		samples[i] = (int64_t)(objects[i].ran_ns - objects[i].deadline_ns);
		if (samples[i] < 0)
			fail("%s: a task was early by %" PRId64 " ns", peer->name, -samples[i]);
	}
	qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t i = 0; i < QUANTILES; i++)
		lateness.ns_at[i] = quantile(samples, count, quantiles[i]);
	free(samples);
	return lateness;
}

static void arm_stamped(const struct service_peer *peer, void *service, struct object *object,
                        uint64_t deadline_ns)
{
	object->deadline_ns = deadline_ns;
	peer->arm_at(service, object, deadline_ns);
}

static void init_stamped(const struct service_peer *peer, struct object *objects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		objects[i].runs = 0;
		objects[i].ran_ns = 0;
		peer->init(&objects[i], STAMP);
	}
}

struct lateness live_run(const struct service_peer *peer, struct object *objects, uint64_t seed)
{
	struct random random = {.state = seed};
	uint64_t base, cpu;
	void *service;

	init_stamped(peer, objects, OBJECTS);
	service = open_service(peer, &(struct service_setup){.capacity = OBJECTS});
	expect_runs(OBJECTS);
	base = clock_ns() + LIVE_LEAD_S * SECOND;
	for (uint32_t i = 0; i < OBJECTS; i++)
		arm_stamped(peer, service, &objects[i], base + random_below32(&random, SECOND));
	cpu = cpu_of_others();
	await_runs(peer);
	cpu = cpu_of_others() - cpu;
	peer->close(service);
	return lateness_of(peer, objects, OBJECTS, cpu);
}

uint64_t run_at_rate(struct steady *steady, uint32_t rate, uint32_t ms)
{
	uint32_t batch = rate / 1000, next = 0;
	uint64_t begin, cpu;

	init_stamped(steady->peer, steady->objects, batch * ms);
	expect_runs((uint64_t)batch * ms);
	cpu = cpu_of_others();
	begin = clock_ns();
	for (uint32_t i = 0; i < ms; i++) {
		sleep_until(begin + i * MILLISECOND);
		for (; next < (i + 1) * batch; next++)
			steady->arm(steady, next,
			            LEAD_NS + random_below32(&steady->random, SPAN_NS));
	}
	await_runs(steady->peer);
	return cpu_of_others() - cpu;
}

static void arm_late(struct steady *steady, uint32_t i, uint64_t delay_ns)
{
	arm_stamped(steady->peer, steady->self, &steady->objects[i], clock_ns() + delay_ns);
}

struct lateness rate_run(const struct service_peer *peer, struct object *objects, uint32_t rate,
                         uint32_t ms, uint64_t seed)
{
	const uint32_t count = rate / 1000 * ms;
	struct steady steady = {
	        .peer = peer, .objects = objects, .random = {seed}, .arm = arm_late};
	uint64_t cpu;

	steady.self = open_service(peer, &(struct service_setup){.capacity = count});
	cpu = run_at_rate(&steady, rate, ms);
	peer->close(steady.self);
	return lateness_of(peer, objects, count, cpu);
}
