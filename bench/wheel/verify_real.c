/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "../support/report.h"
#include "script.h"
#include "verify.h"

#include <stdio.h>

enum {
	PASSES = 400, /* of a millisecond */
	OPERATIONS_PER_PASS = 50,
	DELAY_SPAN_MS = 40,
	COMMON_DELAY_MS = 20,  /* in place of the peer's own, which would take too long */
	AFTERMATH_PASSES = 60, /* longer than any delay: no timer may still fire */
	PATIENCE_S = 60,
};

struct play {
	struct script script; /* due: in ns, by `clock` */
	uint64_t (*clock)(void);
	uint64_t opened_ns;
	const char *wrong; /* the first thing; NULL if there is none */
};

/* In ms since it was opened. */
static uint64_t random_deadline(struct play *play)
{
	uint64_t now = (play->clock() - play->opened_ns) / MILLISECOND;

	return now + 1 + random_below32(&play->script.random, DELAY_SPAN_MS);
}

/* It must not fire before this time. */
static uint64_t due_ns(const struct play *play, uint64_t deadline)
{
	if (play->script.peer->common_delay)
		return play->clock() + play->script.peer->common_delay * MILLISECOND;
	return play->opened_ns + deadline * MILLISECOND;
}

static void operate(struct play *play)
{
	uint32_t i = random_below32(&play->script.random, SCRIPT_TIMERS);
	uint64_t deadline = random_deadline(play);

	script_operate(&play->script, i, deadline, due_ns(play, deadline));
}

static void fired(void *timer, void *arg)
{
	struct play *play = arg;
	size_t i = script_number(&play->script, timer);

	if (i == SCRIPT_TIMERS) {
		play->wrong = "something fired that is not a timer";
		return;
	}
	if (play->script.due[i] == PEER_NEVER)
		play->wrong = "a timer fired that is not armed";
	else if (play->clock() + play->script.peer->resolution_ns < play->script.due[i])
		play->wrong = "a timer was early";
	play->script.due[i] = PEER_NEVER;
}

static void make_pass(struct play *play)
{
	sleep_for(MILLISECOND);
	play->script.peer->pass(play->script.self, fired, play);
}

static void play_all(struct play *play)
{
	for (uint32_t pass = 0; pass < PASSES && !play->wrong; pass++) {
		for (uint32_t i = 0; i < OPERATIONS_PER_PASS; i++)
			operate(play);
		make_pass(play);
	}
}

/* Wait until all armed timers have fired, and then a while, in which none may fire. */
static void finish(struct play *play)
{
	uint64_t end = clock_ns() + PATIENCE_S * SECOND;

	while (!play->wrong && script_first(&play->script) != PEER_NEVER) {
		make_pass(play);
		if (clock_ns() > end)
			play->wrong = "a timer never fired";
	}
	for (uint32_t pass = 0; pass < AFTERMATH_PASSES && !play->wrong; pass++)
		make_pass(play);
}

bool verify_in_real_time(const struct peer *peer, uint64_t seed)
{
	struct peer verified = *peer;
	uint64_t (*clock)(void) = peer->clock ? peer->clock : clock_ns;
	struct play play = {.clock = clock, .opened_ns = clock()};

	if (verified.common_delay)
		verified.common_delay = COMMON_DELAY_MS;
	if (!script_open(&play.script, &verified, seed)) {
		progress_clear();
		fail("%s cannot be opened for %d timers", peer->name, SCRIPT_TIMERS);
	}
	play_all(&play);
	finish(&play);
	script_close(&play.script);
	progress_clear();
	if (play.wrong)
		fprintf(stderr, "%s, in real time: %s\n", peer->name, play.wrong);
	return !play.wrong;
}
