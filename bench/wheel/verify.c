/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include "../../support/random.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMERS = 500, STEPS = 20000, OPERATIONS_PER_STEP = 20 };

struct object {
	_Alignas(CACHE_LINE) unsigned char bytes[MAX_OBJECT_SIZE];
};

struct script {
	const struct peer *peer;
	void *self;
	struct object *objects;
	uint64_t deadline[TIMERS]; /* the model: PEER_NEVER is idle */
	uint64_t now;
	struct random random;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct script *script, const char *format,
                                                        ...)
{
	va_list args;

	script->failed = true;
	fprintf(stderr, "%s is wrong at time %" PRIu64 ": ", script->peer->name, script->now);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Mostly within the workloads' range, sometimes at once, sometimes far beyond. */
static uint64_t random_delay(struct script *script)
{
	switch (random_below32(&script->random, 8)) {
	case 0:
		return 1 + random_below32(&script->random, 4);
	case 1:
		return 1 + random_below32(&script->random, 100000000);
	case 2:
		return 1 + random_below32(&script->random, 500);
	default:
		return 1 + random_below32(&script->random, 60000);
	}
}

static void operate(struct script *script)
{
	uint32_t i = random_below32(&script->random, TIMERS);
	void *timer = &script->objects[i];
	uint64_t deadline = script->now + random_delay(script);

	if (script->deadline[i] == PEER_NEVER) {
		script->peer->arm(script->self, timer, deadline);
		script->deadline[i] = deadline;
	} else if (random_below32(&script->random, 3)) {
		script->peer->refresh(script->self, timer, deadline);
		script->deadline[i] = deadline;
	} else {
		script->peer->cancel(script->self, timer);
		script->deadline[i] = PEER_NEVER;
	}
}

static uint64_t first_deadline(const struct script *script)
{
	uint64_t first = PEER_NEVER;

	for (uint32_t i = 0; i < TIMERS; i++)
		if (script->deadline[i] < first)
			first = script->deadline[i];
	return first;
}

static void check_next(struct script *script)
{
	uint64_t first = first_deadline(script), next;

	if (!script->peer->next)
		return;
	next = script->peer->next(script->self);
	if (first < script->now) /* due, and left there by the last pop */
		first = script->now;
	if (first == PEER_NEVER ? next != PEER_NEVER : next > first)
		wrong(script, "next is %" PRIu64 " with the first deadline at %" PRIu64, next,
		      first);
	else if (next < script->now)
		wrong(script, "next is %" PRIu64 ", in the past", next);
}

static void check_popped(struct script *script, struct object *object)
{
	size_t i = (size_t)(object - script->objects);

	if (i >= TIMERS || object != &script->objects[i])
		wrong(script, "pop returned %p, which is no timer", (void *)object);
	else if (script->deadline[i] == PEER_NEVER)
		wrong(script, "timer %zu came out, but is not armed", i);
	else if (script->deadline[i] > script->now)
		wrong(script, "timer %zu of %" PRIu64 " is early", i, script->deadline[i]);
	else
		script->deadline[i] = PEER_NEVER;
}

/* Sometimes only a few are taken, so that others are cancelled or moved while they are due. */
static void pop(struct script *script)
{
	uint32_t most = random_below32(&script->random, 4) ? UINT32_MAX : 2;
	struct object *object = NULL;

	while (most-- && !script->failed) {
		object = script->peer->pop(script->self);
		if (!object)
			break;
		check_popped(script, object);
	}
	if (!object && !script->failed && first_deadline(script) <= script->now)
		wrong(script, "nothing came out, with %" PRIu64 " due", first_deadline(script));
}

/* Tell the peer the time; what it says must be true: false means that nothing has become due by that. */
static void tell_time(struct script *script, uint64_t now)
{
	uint64_t before = script->now;

	script->now = now;
	if (script->peer->advance(script->self, now))
		return;
	for (size_t i = 0; i < TIMERS; i++)
		if (script->deadline[i] > before && script->deadline[i] <= now)
			wrong(script, "timer %zu of %" PRIu64 " is due, but advance says no", i,
			      script->deadline[i]);
}

/* Mostly a tick, sometimes a jump, sometimes to where the peer says that there is something to do. */
static void advance(struct script *script)
{
	uint32_t choice = random_below32(&script->random, 100);
	uint64_t now = script->now;

	if (choice < 80)
		now++;
	else if (choice < 90 && script->peer->next && first_deadline(script) != PEER_NEVER)
		now = script->peer->next(script->self);
	else
		now += random_delay(script);
	tell_time(script, now);
}

/* After the last step let all that is still armed come out. */
static void finish(struct script *script)
{
	uint64_t first;

	while (!script->failed && (first = first_deadline(script)) != PEER_NEVER) {
		tell_time(script, first > script->now ? first : script->now);
		pop(script);
	}
	if (!script->failed && script->peer->pop(script->self))
		wrong(script, "a timer came out after the last");
}

static void play(struct script *script)
{
	for (uint32_t step = 0; step < STEPS && !script->failed; step++) {
		uint32_t operations = random_below32(&script->random, OPERATIONS_PER_STEP);

		while (operations--)
			operate(script);
		advance(script);
		pop(script);
		check_next(script);
	}
	finish(script);
}

bool verify_peer(const struct peer *peer, uint64_t seed)
{
	struct script script = {.peer = peer, .random = {.state = seed}};

	if (peer->timer_size > MAX_OBJECT_SIZE) {
		wrong(&script, "its timers do not fit into %d bytes", MAX_OBJECT_SIZE);
		return false;
	}
	if (peer->pass)
		return verify_in_real_time(peer, seed);
	script.self = peer->open(peer, TIMERS);
	script.objects = aligned_alloc(CACHE_LINE, TIMERS * sizeof(struct object));
	if (!script.self || !script.objects)
		wrong(&script, "no memory");
	else {
		memset(script.objects, 0, TIMERS * sizeof(struct object));
		memset(script.deadline, 0xff, sizeof(script.deadline));
		play(&script);
	}
	if (script.self)
		peer->close(script.self);
	free(script.objects);
	return !script.failed;
}
