/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "verify.h"

#include "../../src/base/random.h"
#include "../support/machine.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMERS = 500,
	STEPS = 20000,
	OPERATIONS_PER_STEP = 20,

	/* In real time. */
	PASSES = 400, /* of a millisecond */
	OPERATIONS_PER_PASS = 50,
	DELAY_SPAN_MS = 40,
	COMMON_DELAY_MS = 20,  /* in place of the peer's own, which would take too long */
	AFTERMATH_PASSES = 60, /* longer than any delay: no timer may still fire */
	PATIENCE_S = 60,
};

struct play {
	const struct peer *peer;
	void *self;
	unsigned char *objects;
	uint64_t due[TIMERS]; /* the model: when each timer is due; PEER_NEVER: idle */
	struct random random;
	bool failed;

	uint64_t now;            /* as the peer was told */
	uint64_t (*clock)(void); /* in real time: the peer's; `due` is in ns by this clock */
	uint64_t opened_ns;
};

/* Only the first thing counts. */
__attribute__((format(printf, 2, 3))) static void wrong(struct play *play, const char *format, ...)
{
	va_list args;

	if (play->failed)
		return;
	play->failed = true;
	fprintf(stderr, "%s is wrong at time %" PRIu64 ": ", play->peer->name, play->now);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void *timer_at(const struct play *play, size_t i)
{
	return play->objects + i * MAX_OBJECT_SIZE;
}

/* Arm a random timer if it is idle; else refresh it, or, one time in three, cancel it. `due`: the model's `deadline`. */
static void operate(struct play *play, uint64_t deadline, uint64_t due)
{
	uint32_t i = random_below32(&play->random, TIMERS);
	void *timer = timer_at(play, i);

	if (play->due[i] == PEER_NEVER) {
		play->peer->arm(play->self, timer, deadline);
		play->due[i] = due;
	} else if (random_below32(&play->random, 3)) {
		play->peer->refresh(play->self, timer, deadline);
		play->due[i] = due;
	} else {
		play->peer->cancel(play->self, timer);
		play->due[i] = PEER_NEVER;
	}
}

/* The first time in the model; PEER_NEVER: all timers are idle. */
static uint64_t first_due(const struct play *play)
{
	uint64_t first = PEER_NEVER;

	for (size_t i = 0; i < TIMERS; i++)
		if (play->due[i] < first)
			first = play->due[i];
	return first;
}

static void came_out(struct play *play, const unsigned char *timer, uint64_t now)
{
	size_t i = (size_t)(timer - play->objects) / MAX_OBJECT_SIZE;

	if (i >= TIMERS || timer != timer_at(play, i))
		wrong(play, "%p came out, which is not a timer", (const void *)timer);
	else if (play->due[i] == PEER_NEVER)
		wrong(play, "timer %zu came out, but is not armed", i);
	else if (play->due[i] > now)
		wrong(play, "timer %zu, due at %" PRIu64 ", is early", i, play->due[i]);
	else
		play->due[i] = PEER_NEVER;
}

/* Mostly within the workloads' range, sometimes at once, sometimes far beyond. */
static uint64_t random_delay(struct play *play)
{
	static const uint32_t spans[8] = {4, 100000000, 500, 60000, 60000, 60000, 60000, 60000};

	return 1 + random_below32(&play->random, spans[random_below32(&play->random, 8)]);
}

static void check_next(struct play *play)
{
	uint64_t first = first_due(play), next;

	if (!play->peer->next)
		return;
	next = play->peer->next(play->self);
	if (first < play->now) /* due, and left there by the last pop */
		first = play->now;
	if (first == PEER_NEVER ? next != PEER_NEVER : next > first)
		wrong(play, "next is %" PRIu64 " with the first deadline at %" PRIu64, next, first);
	else if (next < play->now)
		wrong(play, "next is %" PRIu64 ", in the past", next);
}

/* Sometimes only a few are popped, so that others are cancelled or refreshed while they are due. */
static void pop(struct play *play)
{
	uint32_t most = random_below32(&play->random, 4) ? UINT32_MAX : 2;
	void *timer = NULL;

	while (most-- && !play->failed) {
		timer = play->peer->pop(play->self);
		if (!timer)
			break;
		came_out(play, timer, play->now);
	}
	if (!timer && first_due(play) <= play->now)
		wrong(play, "nothing came out, with a timer due at %" PRIu64, first_due(play));
}

/* Tell the peer the time. If it returns false, no timer may have become due. */
static void tell_time(struct play *play, uint64_t now)
{
	uint64_t before = play->now;

	play->now = now;
	if (play->peer->advance(play->self, now))
		return;
	for (size_t i = 0; i < TIMERS; i++)
		if (play->due[i] > before && play->due[i] <= now)
			wrong(play,
			      "timer %zu, due at %" PRIu64
			      ", became due, but advance returned false",
			      i, play->due[i]);
}

/* Mostly by a tick, sometimes by more, sometimes to the time that the peer's next says. */
static void advance(struct play *play)
{
	uint32_t choice = random_below32(&play->random, 100);
	uint64_t now = play->now;

	if (choice < 80)
		now++;
	else if (choice < 90 && play->peer->next && first_due(play) != PEER_NEVER)
		now = play->peer->next(play->self);
	else
		now += random_delay(play);
	tell_time(play, now);
}

/* After the last step all timers that are still armed must come out. */
static void play_told(struct play *play)
{
	uint64_t first;

	for (uint32_t step = 0; step < STEPS && !play->failed; step++) {
		for (uint32_t i = random_below32(&play->random, OPERATIONS_PER_STEP); i > 0; i--) {
			uint64_t deadline = play->now + random_delay(play);

			operate(play, deadline, deadline);
		}
		advance(play);
		pop(play);
		check_next(play);
	}
	while (!play->failed && (first = first_due(play)) != PEER_NEVER) {
		tell_time(play, first > play->now ? first : play->now);
		pop(play);
	}
	if (!play->failed && play->peer->pop(play->self))
		wrong(play, "a timer came out after the last");
}

/* A timer must not fire before its deadline, or before the peer's common delay is over. */
static void operate_in_real_time(struct play *play)
{
	uint64_t now = play->clock(), common = play->peer->common_delay;
	uint64_t deadline = (now - play->opened_ns) / MILLISECOND + 1 +
	                    random_below32(&play->random, DELAY_SPAN_MS);

	operate(play, deadline,
	        common ? now + common * MILLISECOND : play->opened_ns + deadline * MILLISECOND);
}

static void fired(void *timer, void *arg)
{
	struct play *play = arg;

	came_out(play, timer, play->clock() + play->peer->resolution_ns);
}

static void make_pass(struct play *play)
{
	sleep_for(MILLISECOND);
	play->now++;
	play->peer->pass(play->self, fired, play);
}

/* At the end it waits until all armed timers have fired, and then a while, in which none may fire. */
static void play_in_real_time(struct play *play)
{
	uint64_t end;

	for (uint32_t pass = 0; pass < PASSES && !play->failed; pass++) {
		for (uint32_t i = 0; i < OPERATIONS_PER_PASS; i++)
			operate_in_real_time(play);
		make_pass(play);
	}
	end = clock_ns() + PATIENCE_S * SECOND;
	while (!play->failed && first_due(play) != PEER_NEVER) {
		make_pass(play);
		if (clock_ns() > end)
			wrong(play, "a timer never fired");
	}
	for (uint32_t pass = 0; pass < AFTERMATH_PASSES && !play->failed; pass++)
		make_pass(play);
}

bool verify_peer(const struct peer *peer, uint64_t seed)
{
	uint64_t (*clock)(void) = peer->clock ? peer->clock : clock_ns;
	struct peer verified = *peer;
	struct play play = {
	        .peer = &verified, .random = {seed}, .clock = clock, .opened_ns = clock()};

	if (verified.common_delay)
		verified.common_delay = COMMON_DELAY_MS;
	if (peer->timer_size > MAX_OBJECT_SIZE)
		fail("%s: its timers do not fit into %d bytes", peer->name, MAX_OBJECT_SIZE);
	play.objects = aligned_alloc(CACHE_LINE, TIMERS * MAX_OBJECT_SIZE);
	play.self = peer->open(&verified, TIMERS);
	if (!play.objects || !play.self)
		fail("%s cannot be opened for %d timers", peer->name, TIMERS);
	memset(play.objects, 0, TIMERS * MAX_OBJECT_SIZE);
	memset(play.due, 0xff, sizeof(play.due)); /* PEER_NEVER */
	if (peer->pass)
		play_in_real_time(&play);
	else
		play_told(&play);
	peer->close(play.self);
	free(play.objects);
	return !play.failed;
}
