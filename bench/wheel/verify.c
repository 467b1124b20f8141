/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include "../support/report.h"
#include "script.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { STEPS = 20000, OPERATIONS_PER_STEP = 20 };

struct play {
	struct script script;
	uint64_t now;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct play *play, const char *format, ...)
{
	va_list args;

	play->failed = true;
	progress_clear();
	fprintf(stderr, "%s is wrong at time %" PRIu64 ": ", play->script.peer->name, play->now);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Mostly within the workloads' range, sometimes at once, sometimes far beyond. */
static uint64_t random_delay(struct play *play)
{
	switch (random_below32(&play->script.random, 8)) {
	case 0:
		return 1 + random_below32(&play->script.random, 4);
	case 1:
		return 1 + random_below32(&play->script.random, 100000000);
	case 2:
		return 1 + random_below32(&play->script.random, 500);
	default:
		return 1 + random_below32(&play->script.random, 60000);
	}
}

static void operate(struct play *play)
{
	uint32_t i = random_below32(&play->script.random, SCRIPT_TIMERS);
	uint64_t deadline = play->now + random_delay(play);

	script_operate(&play->script, i, deadline, deadline);
}

static void check_next(struct play *play)
{
	uint64_t first = script_first(&play->script), next;

	if (!play->script.peer->next)
		return;
	next = play->script.peer->next(play->script.self);
	if (first < play->now) /* due, and left there by the last pop */
		first = play->now;
	if (first == PEER_NEVER ? next != PEER_NEVER : next > first)
		wrong(play, "next is %" PRIu64 " with the first deadline at %" PRIu64, next, first);
	else if (next < play->now)
		wrong(play, "next is %" PRIu64 ", in the past", next);
}

static void check_popped(struct play *play, void *timer)
{
	size_t i = script_number(&play->script, timer);

	if (i == SCRIPT_TIMERS)
		wrong(play, "pop returned %p, which is not a timer", timer);
	else if (play->script.due[i] == PEER_NEVER)
		wrong(play, "timer %zu came out, but is not armed", i);
	else if (play->script.due[i] > play->now)
		wrong(play, "timer %zu, due at %" PRIu64 ", is early", i, play->script.due[i]);
	else
		play->script.due[i] = PEER_NEVER;
}

/* Sometimes only a few are popped, so that others are cancelled or refreshed while they are due. */
static void pop(struct play *play)
{
	uint32_t most = random_below32(&play->script.random, 4) ? UINT32_MAX : 2;
	void *timer = NULL;

	while (most-- && !play->failed) {
		timer = play->script.peer->pop(play->script.self);
		if (!timer)
			break;
		check_popped(play, timer);
	}
	if (!timer && !play->failed && script_first(&play->script) <= play->now)
		wrong(play, "nothing came out, with a timer due at %" PRIu64,
		      script_first(&play->script));
}

/* Tell the peer the time. If it returns false, no timer may have become due. */
static void tell_time(struct play *play, uint64_t now)
{
	uint64_t before = play->now;

	play->now = now;
	if (play->script.peer->advance(play->script.self, now))
		return;
	for (size_t i = 0; i < SCRIPT_TIMERS; i++)
		if (play->script.due[i] > before && play->script.due[i] <= now)
			wrong(play,
			      "timer %zu, due at %" PRIu64
			      ", became due, but advance returned false",
			      i, play->script.due[i]);
}

/* Mostly by a tick, sometimes by more, sometimes to the time that the peer's next says. */
static void advance(struct play *play)
{
	uint32_t choice = random_below32(&play->script.random, 100);
	uint64_t now = play->now;

	if (choice < 80)
		now++;
	else if (choice < 90 && play->script.peer->next &&
	         script_first(&play->script) != PEER_NEVER)
		now = play->script.peer->next(play->script.self);
	else
		now += random_delay(play);
	tell_time(play, now);
}

/* After the last step all timers that are still armed must come out. */
static void finish(struct play *play)
{
	uint64_t first;

	while (!play->failed && (first = script_first(&play->script)) != PEER_NEVER) {
		tell_time(play, first > play->now ? first : play->now);
		pop(play);
	}
	if (!play->failed && play->script.peer->pop(play->script.self))
		wrong(play, "a timer came out after the last");
}

static void play_all(struct play *play)
{
	for (uint32_t step = 0; step < STEPS && !play->failed; step++) {
		uint32_t operations = random_below32(&play->script.random, OPERATIONS_PER_STEP);

		while (operations--)
			operate(play);
		advance(play);
		pop(play);
		check_next(play);
	}
	finish(play);
}

bool verify_peer(const struct peer *peer, uint64_t seed)
{
	struct play play = {.script.peer = peer};

	if (peer->timer_size > MAX_OBJECT_SIZE) {
		wrong(&play, "its timers do not fit into %d bytes", MAX_OBJECT_SIZE);
		return false;
	}
	if (peer->pass)
		return verify_in_real_time(peer, seed);
	if (script_open(&play.script, peer, seed))
		play_all(&play);
	else
		wrong(&play, "no memory");
	script_close(&play.script);
	return !play.failed;
}
