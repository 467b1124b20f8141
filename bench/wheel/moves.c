/* SPDX-License-Identifier: MIT */
/*
 * pawl-count-moves: how often a timer is moved until it is popped or cancelled, with moving ahead and without. The
 * timers are timeouts, and most are cancelled. A timer that is moved ahead and then cancelled was moved in vain. How
 * often that happens depends on how early src/wheel/ahead.c begins a slot (EARLY_PART).
 *
 * It counts and measures no time, so the result is the same on every machine. A unit of time is a millisecond. A timer
 * that is popped or cancelled is armed again. After each tick pawl_wheel_ahead is called without a bound.
 */
#include "../../src/base/random.h"

#include <inttypes.h>
#include <math.h>
#include <pawl/wheel.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMERS = 20000, WARM_UP = 300000, END = 1500000, CANCELS = 1 << 21 };

struct load {
	uint64_t timeout;
	double cancelled_after; /* the mean of an exponential distribution */
};

struct state {
	struct pawl_wheel *wheel;
	struct random random;
	uint64_t now, moves, lives, popped;
	struct pawl_timer timer[TIMERS];
	uint64_t cancel_at[TIMERS];
	uint32_t next[TIMERS],
	        cancels[CANCELS]; /* by the tick, a list of numbers from 1 on; 0 ends it */
};

static void arm(struct state *state, const struct load *load, uint32_t i)
{
	double one = ((double)(random_next(&state->random) >> 11) + 1) / 9007199254740993.0;
	double after = 1 - log(one) * load->cancelled_after;

	state->lives++;
	pawl_wheel_arm_at(state->wheel, &state->timer[i], state->now + load->timeout);
	state->cancel_at[i] = after <= (double)load->timeout ? state->now + (uint64_t)after : 0;
	if (state->cancel_at[i] == 0 || state->cancel_at[i] >= CANCELS)
		return;
	state->next[i] = state->cancels[state->cancel_at[i]];
	state->cancels[state->cancel_at[i]] = i + 1;
}

static void tick(struct state *state, const struct load *load, bool ahead)
{
	struct pawl_timer *timer;

	state->moves += pawl_wheel_advance(state->wheel, ++state->now, 0);
	while ((timer = pawl_wheel_pop(state->wheel)) != NULL) {
		state->popped++;
		arm(state, load, (uint32_t)(timer - state->timer));
	}
	for (uint32_t i = state->cancels[state->now], next; i != 0; i = next) {
		next = state->next[i - 1];
		if (state->cancel_at[i - 1] != state->now)
			continue;
		pawl_wheel_cancel(state->wheel, &state->timer[i - 1]);
		arm(state, load, i - 1);
	}
	if (ahead)
		state->moves += pawl_wheel_ahead(state->wheel, 0);
}

/* Moves per timer, and the share of timers that expired. */
static double count(const struct load *load, bool ahead, double *expired)
{
	const struct pawl_wheel_options options = {.ahead = ahead};
	size_t size = pawl_wheel_footprint(&options);
	struct state *state = calloc(1, sizeof(*state));
	double moves;

	if (!state || !(state->wheel = pawl_wheel_init(malloc(size), size, &options)))
		abort();
	state->random.state = 20240229;
	for (uint32_t i = 0; i < TIMERS; i++)
		arm(state, load, i);
	while (state->now < END) {
		tick(state, load, ahead);
		if (state->now == WARM_UP)
			state->moves = state->lives = state->popped = 0;
	}
	moves = (double)state->moves / (double)state->lives;
	*expired = (double)state->popped / (double)state->lives;
	free(state->wheel);
	free(state);
	return moves;
}

int main(void)
{
	static const struct load loads[] = {{30000, 10000},
	                                    {120000, 10000},
	                                    {120000, 60000},
	                                    {120000, 1000000},
	                                    {300000, 60000}};

	printf(" timeout, ms  cancelled after  expire   moves a timer   with ahead\n");
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		double expired, without = count(&loads[i], false, &expired);
		double with = count(&loads[i], true, &expired);

		printf("%12" PRIu64 "  %15.0f  %5.1f %%  %14.3f  %11.3f\n", loads[i].timeout,
		       loads[i].cancelled_after, 100 * expired, without, with);
	}
	return 0;
}
