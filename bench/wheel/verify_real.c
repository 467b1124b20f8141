/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../../support/random.h"
#include "../support/machine.h"
#include "verify.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMERS = 500,
	PASSES = 400, /* of a millisecond */
	OPERATIONS_PER_PASS = 50,
	DELAY_SPAN_MS = 40,
	COMMON_DELAY_MS = 20,  /* in place of the peer's own, which would take too long */
	AFTERMATH_PASSES = 60, /* longer than any delay: nothing may come any more */
	PATIENCE_S = 60,
};

#define MILLISECOND UINT64_C(1000000)
#define SECOND      UINT64_C(1000000000)

struct script {
	const struct peer *peer;
	void *self;
	unsigned char *objects;
	uint64_t due_ns[TIMERS]; /* the model: PEER_NEVER is idle */
	uint64_t opened_ns;
	struct random random;
	const char *wrong; /* the first thing; NULL if there is none */
};

static void nap(void)
{
	const struct timespec time = {0, MILLISECOND};

	nanosleep(&time, NULL);
}

static void *timer_at(const struct script *script, size_t i)
{
	return script->objects + i * MAX_OBJECT_SIZE;
}

/* In ticks since it was opened. */
static uint64_t random_deadline(struct script *script)
{
	uint64_t now = (clock_ns() - script->opened_ns) / MILLISECOND;

	return now + 1 + random_below32(&script->random, DELAY_SPAN_MS);
}

/* Not before this may it fire. */
static uint64_t due_ns(const struct script *script, uint64_t deadline)
{
	if (script->peer->common_delay)
		return clock_ns() + script->peer->common_delay * MILLISECOND;
	return script->opened_ns + deadline * MILLISECOND;
}

static void operate(struct script *script)
{
	uint32_t i = random_below32(&script->random, TIMERS);
	uint64_t deadline = random_deadline(script), due = due_ns(script, deadline);

	if (script->due_ns[i] == PEER_NEVER) {
		script->peer->arm(script->self, timer_at(script, i), deadline);
		script->due_ns[i] = due;
	} else if (random_below32(&script->random, 3)) {
		script->peer->refresh(script->self, timer_at(script, i), deadline);
		script->due_ns[i] = due;
	} else {
		script->peer->cancel(script->self, timer_at(script, i));
		script->due_ns[i] = PEER_NEVER;
	}
}

static void fired(void *timer, void *arg)
{
	struct script *script = arg;
	size_t i = (size_t)((unsigned char *)timer - script->objects) / MAX_OBJECT_SIZE;

	if (i >= TIMERS || timer != timer_at(script, i)) {
		script->wrong = "what fired is no timer";
		return;
	}
	if (script->due_ns[i] == PEER_NEVER)
		script->wrong = "a timer fired that is not armed";
	else if (clock_ns() + script->peer->resolution_ns < script->due_ns[i])
		script->wrong = "a timer was early";
	script->due_ns[i] = PEER_NEVER;
}

static bool all_idle(const struct script *script)
{
	for (size_t i = 0; i < TIMERS; i++)
		if (script->due_ns[i] != PEER_NEVER)
			return false;
	return true;
}

static void make_pass(struct script *script)
{
	nap();
	script->peer->pass(script->self, fired, script);
}

static void play(struct script *script)
{
	for (uint32_t pass = 0; pass < PASSES && !script->wrong; pass++) {
		for (uint32_t i = 0; i < OPERATIONS_PER_PASS; i++)
			operate(script);
		make_pass(script);
	}
}

/* Wait until all that is armed has fired, and then whether anything more does. */
static void finish(struct script *script)
{
	uint64_t end = clock_ns() + PATIENCE_S * SECOND;

	while (!script->wrong && !all_idle(script)) {
		make_pass(script);
		if (clock_ns() > end)
			script->wrong = "a timer never fired";
	}
	for (uint32_t pass = 0; pass < AFTERMATH_PASSES && !script->wrong; pass++)
		make_pass(script);
}

bool verify_in_real_time(const struct peer *peer, uint64_t seed)
{
	struct script script = {.random = {.state = seed}};
	struct peer verified = *peer;

	if (verified.common_delay)
		verified.common_delay = COMMON_DELAY_MS;
	script.peer = &verified;
	script.objects = aligned_alloc(CACHE_LINE, TIMERS * MAX_OBJECT_SIZE);
	script.opened_ns = clock_ns();
	script.self = peer->open(&verified, TIMERS);
	if (!script.self || !script.objects)
		fail("%s cannot be opened for %d timers", peer->name, TIMERS);
	memset(script.objects, 0, TIMERS * MAX_OBJECT_SIZE);
	memset(script.due_ns, 0xff, sizeof(script.due_ns));
	play(&script);
	finish(&script);
	peer->close(script.self);
	free(script.objects);
	if (script.wrong)
		fprintf(stderr, "%s, in real time: %s\n", peer->name, script.wrong);
	return !script.wrong;
}
