/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "workloads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	THREADS = 2,
	TASKS = 500, /* of each thread */
	STEPS = 40000,
	STEPS_PER_NAP = 100,
	DELAY_SPAN_NS = 20000000,
	LONG_DELAY_S = 3600,
	PATIENCE_MS = 10000,
	AFTERMATH_MS = 50,
};

struct script {
	const struct service_peer *peer;
	void *service;
	struct object *objects;
	uint32_t runs
	        [TASKS]; /* the runs that must come: armings without those that were cancelled */
	uint64_t checked[TASKS]; /* the last deadline that was checked */
	struct random random;
	const char *wrong; /* the first thing; NULL if there is none */
	pthread_t thread;
};

static uint32_t runs_of(const struct object *object)
{
	return __atomic_load_n(&object->runs, __ATOMIC_ACQUIRE);
}

static bool idle(const struct script *script, uint32_t task)
{
	return runs_of(&script->objects[task]) == script->runs[task];
}

/* The task must not run before the time of this call plus the delay, however it is armed. */
static void arm(struct script *script, uint32_t task)
{
	struct object *object = &script->objects[task];
	uint64_t delay = random_below32(&script->random, DELAY_SPAN_NS);
	uint32_t way = random_below32(&script->random, 3);

	script->runs[task]++;
	object->deadline_ns = clock_ns() + delay;
	if (way == 0) /* to be moved at once */
		script->peer->arm(script->service, object, LONG_DELAY_S * SECOND);
	if (way == 1)
		script->peer->arm_at(script->service, object, object->deadline_ns);
	else
		script->peer->arm(script->service, object, delay);
}

/* An idle task has had all its runs, and the last one was not early. */
static void check(struct script *script, uint32_t task)
{
	const struct object *object = &script->objects[task];

	if (runs_of(object) > script->runs[task])
		script->wrong = "a task ran too often, or after it was cancelled";
	if (script->checked[task] == object->deadline_ns || !idle(script, task))
		return;
	if (object->ran_ns < object->deadline_ns)
		script->wrong = "a task was early";
	script->checked[task] = object->deadline_ns;
}

/* This arming has no run. */
static void forget(struct script *script, uint32_t task)
{
	script->runs[task]--;
	script->checked[task] = script->objects[task].deadline_ns;
}

/*
 * A cancel that finds the task running also cancels an arming that came meanwhile. After that run has returned, its
 * count tells whether this arming was the run or was cancelled.
 */
static void cancel(struct script *script, uint32_t task)
{
	struct object *object = &script->objects[task];
	enum pawl_service_found found = script->peer->cancel(script->service, object);

	if (found == PAWL_SERVICE_CANCELLED)
		forget(script, task);
	if (found != PAWL_SERVICE_RUNNING)
		return;
	while (script->peer->cancel(script->service, object) == PAWL_SERVICE_RUNNING)
		sleep_for(MILLISECOND / 10);
	if (runs_of(object) == script->runs[task] - 1)
		forget(script, task);
}

static void step(struct script *script)
{
	uint32_t task = random_below32(&script->random, TASKS);

	check(script, task);
	if (idle(script, task))
		arm(script, task);
	else if (random_below32(&script->random, 2))
		cancel(script, task);
}

static void *play(void *arg)
{
	struct script *script = arg;

	for (uint32_t i = 0; i < STEPS && !script->wrong; i++) {
		step(script);
		if (i % STEPS_PER_NAP == 0)
			sleep_for(MILLISECOND);
	}
	return NULL;
}

static bool all_idle(const struct script *script)
{
	for (uint32_t task = 0; task < TASKS; task++)
		if (!idle(script, task))
			return false;
	return true;
}

/* Wait until all have run, and then a while, in which none may run. */
static void finish(struct script *script)
{
	for (int i = 0; i < PATIENCE_MS && !script->wrong && !all_idle(script); i++)
		sleep_for(MILLISECOND);
	sleep_for(AFTERMATH_MS * MILLISECOND);
	for (uint32_t task = 0; task < TASKS && !script->wrong; task++) {
		check(script, task);
		if (!script->wrong && !idle(script, task))
			script->wrong = "a task was lost";
	}
}

bool verify_service(const struct service_peer *peer, uint64_t seed)
{
	static struct object objects[THREADS][TASKS];
	static struct script scripts[THREADS];
	void *service = open_service(peer, &(struct service_setup){.capacity = THREADS * TASKS});
	const char *wrong = NULL;

	memset(objects, 0, sizeof(objects));
	expect_runs(UINT64_MAX);
	for (uint32_t i = 0; i < THREADS; i++) {
		scripts[i] =
		        (struct script){.peer = peer, .service = service, .objects = objects[i]};
		scripts[i].random.state = seed + i;
		for (uint32_t task = 0; task < TASKS; task++)
			peer->init(&objects[i][task], STAMP);
		if (pthread_create(&scripts[i].thread, NULL, play, &scripts[i]))
			fail("cannot start a thread");
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(scripts[i].thread, NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		finish(&scripts[i]);
		wrong = wrong ? wrong : scripts[i].wrong;
	}
	peer->close(service);
	if (wrong)
		fprintf(stderr, "%s: %s\n", peer->name, wrong);
	return !wrong;
}
