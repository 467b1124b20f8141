/* SPDX-License-Identifier: MIT */
#include "wheel_property.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/saturate.h"
#include "pawl/wheel.h"
#include "wheel_pair.h"

#define TIMERS     PAIR_TIMERS
#define GUARD_SIZE 64
#define GUARD_BYTE 0xA5

/* Larger memory than this is not filled with GUARD_BYTE: a wheel of 4096 slots would cost the most. */
#define FILL_MAX (64u << 10)

/* The source of the operations. After its end come zeroes. */
struct input {
	const uint8_t *at;
	size_t left;
};

struct run {
	struct input in;
	size_t footprint;
	struct pair pair;
};

static uint8_t take_u8(struct run *run)
{
	if (run->in.left == 0)
		return 0;
	run->in.left--;
	return *run->in.at++;
}

static uint16_t take_u16(struct run *run)
{
	unsigned high = take_u8(run);

	return (uint16_t)(high << 8 | take_u8(run));
}

static uint64_t take_u64(struct run *run)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | take_u8(run);
	return value;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/* The span of a slot of the level, in time units. */
static uint64_t slot_span(const struct run *run, unsigned level)
{
	uint64_t span = run->pair.model.tick;

	while (level-- > 0)
		span = saturating_product(span, run->pair.model.wheel_size);
	return span;
}

/* Near the beginning of a slot, where every off-by-one lives. */
static uint64_t take_edge(struct run *run)
{
	uint64_t span = slot_span(run, take_u8(run) % 8);
	uint8_t byte = take_u8(run);
	uint64_t edge =
	        saturating_product(saturating_sum(run->pair.model.now / span, byte >> 2), span);

	return (byte & 3) == 0 ? subtract(edge, 1) : saturating_sum(edge, (byte & 3) - 1u);
}

/* A time: of interest, near, or any. */
static uint64_t take_time(struct run *run)
{
	uint64_t now = run->pair.model.now, tick = run->pair.model.tick;
	uint8_t shift;

	switch (take_u8(run) % 20) {
	case 0:
		return 0;
	case 1:
		return now;
	case 2:
		return saturating_sum(now, 1);
	case 3:
		return MODEL_LAST;
	case 4:
		return PAWL_NEVER;
	case 5:
		return subtract(now, take_u8(run));
	case 6:
		return take_u64(run);
	case 7:
		return UINT64_MAX - take_u8(run);
	case 8:
	case 9:
	case 10:
		return run->pair.truth[take_u8(run) % TIMERS].deadline;
	case 11:
		return saturating_sum(run->pair.truth[take_u8(run) % TIMERS].deadline, 1);
	case 12:
	case 13:
		return take_edge(run);
	case 14:
		shift = take_u8(run) % 64;
		return saturating_sum(now, (uint64_t)take_u8(run) << shift);
	case 15:
		return saturating_sum(now, saturating_product(take_u16(run), tick));
	case 16:
		return saturating_sum(now, take_u8(run));
	case 17:
		return saturating_sum(now, saturating_product(take_u8(run) % 8u, tick));
	default:
		return saturating_sum(now, saturating_product(take_u8(run), tick));
	}
}

static uint64_t take_tick(struct run *run)
{
	static const uint64_t ticks[] = {
	        0,
	        1,
	        1,
	        1,
	        1,
	        1,
	        2,
	        3,
	        4,
	        7,
	        10,
	        16,
	        60,
	        1000,
	        1024,
	        1u << 20,
	        1000000000,
	        UINT32_MAX,
	        1ull << 32,
	        (1ull << 32) + 1,
	        1ull << 40,
	        1ull << 63,
	        (1ull << 63) + 1,
	        UINT64_MAX - 1,
	        UINT64_MAX,
	};
	size_t choice = take_u8(run) % (sizeof(ticks) / sizeof(ticks[0]) + 2);

	if (choice < sizeof(ticks) / sizeof(ticks[0]))
		return ticks[choice];
	return choice % 2 ? take_u64(run) : 1ull << take_u8(run) % 64;
}

/* Small wheels most often: they have many levels and near edges, and checking them is fast. */
static uint32_t take_wheel_size(struct run *run)
{
	static const uint32_t sizes[] = {2, 2,  2,  3,  3,  4,  4,  5,  7, 8,
	                                 8, 16, 20, 20, 20, 32, 60, 64, 64};
	uint8_t choice = take_u8(run);

	if (choice == 255)
		return 4096;
	if (choice == 254)
		return 2 + take_u16(run) % 4095u;
	if (choice >= 248)
		return 0;
	if (choice >= 232)
		return 2 + take_u8(run);
	return sizes[choice % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void take_chains(struct run *run)
{
	static const uint32_t chains[] = {0, 1, 1, 1, 1, 2, 4, 8, 16};
	uint8_t byte = take_u8(run);

	run->pair.options.chains = chains[byte % (sizeof(chains) / sizeof(chains[0]))];
	run->pair.options.ahead = byte >= 64;
}

static uint64_t take_start(struct run *run)
{
	switch (take_u8(run) % 8) {
	case 0:
	case 1:
		return 0;
	case 2:
		return take_u8(run);
	case 3:
		return take_u64(run);
	case 4:
		return UINT64_MAX - take_u8(run);
	case 5:
		return UINT64_MAX - take_u16(run);
	case 6:
		return subtract(UINT64_MAX,
		                saturating_product(take_u8(run), run->pair.options.tick));
	default:
		return saturating_product(take_u16(run), run->pair.options.tick);
	}
}

/* Whether nothing was written behind the memory that the wheel asked for. */
static void check_guard(struct run *run)
{
	const uint8_t *guard = (const uint8_t *)run->pair.wheel + run->footprint;

	for (size_t i = 0; i < GUARD_SIZE; i++)
		if (guard[i] != GUARD_BYTE)
			pair_fail(&run->pair, "byte %zu behind the wheel was overwritten", i);
}

/* A wheel in memory of its footprint, filled with GUARD_BYTE and followed by a guard. NULL: no memory, or failed. */
static struct pawl_wheel *make_wheel(struct run *run, const struct pawl_wheel_options *options)
{
	uint8_t *memory = malloc(run->footprint + GUARD_SIZE);
	struct pawl_wheel *wheel;

	if (!memory)
		return NULL;
	if (run->footprint <= FILL_MAX)
		memset(memory, GUARD_BYTE, run->footprint);
	memset(memory + run->footprint, GUARD_BYTE, GUARD_SIZE);
	wheel = pawl_wheel_init(memory, run->footprint, options);
	if (!wheel) {
		pair_fail(&run->pair, "init refused good options");
		free(memory);
	}
	return wheel;
}

static bool set_up(struct run *run)
{
	run->pair.options.tick = take_tick(run);
	run->pair.options.wheel_size = take_wheel_size(run);
	take_chains(run);
	run->pair.options.start = take_start(run);
	run->footprint = pawl_wheel_footprint(&run->pair.options);
	run->pair.wheel = make_wheel(run, &run->pair.options);
	if (!run->pair.wheel)
		return false;
	model_init(&run->pair.model, &run->pair.options, run->pair.truth, TIMERS);
	pair_trace(&run->pair,
	           "start %" PRIu64 ", tick %" PRIu64 ", wheel_size %u, chains %u, ahead %d",
	           run->pair.options.start, run->pair.options.tick, run->pair.options.wheel_size,
	           run->pair.options.chains, run->pair.options.ahead);
	return true;
}

static void do_pops(struct run *run, unsigned count)
{
	while (!run->pair.failed && count-- > 0 && pair_pop(&run->pair))
		;
}

/* The state of a walk with `each`, and its task. */
struct walk {
	struct run *run;
	size_t seen[TIMERS];
	size_t count;
	size_t stop_after;
	uint8_t cancels; /* of eight timers in turn, which are cancelled */
};

static bool visit(struct pawl_timer *timer, void *arg)
{
	struct walk *walk = arg;
	size_t i = (size_t)(timer - walk->run->pair.timers);

	if (walk->count == TIMERS) {
		pair_fail(&walk->run->pair, "each never ends");
		return false;
	}
	walk->seen[walk->count++] = i;
	if (walk->cancels >> i % 8 & 1 && !pawl_wheel_cancel(walk->run->pair.wheel, timer))
		pair_fail(&walk->run->pair, "each gave timer %zu, which is idle", i);
	return walk->count < walk->stop_after;
}

static bool may_follow(const struct run *run, size_t a, size_t b)
{
	const struct model_timer *first = &run->pair.truth[a], *second = &run->pair.truth[b];

	if (first->state != second->state)
		return first->state == MODEL_DUE;
	if (first->state == MODEL_DUE)
		return model_may_precede(&run->pair.model, a, b);
	if (first->place.level != second->place.level)
		return first->place.level > second->place.level;
	return first->place.opens <= second->place.opens;
}

static void compare_walk(struct run *run, const struct walk *walk)
{
	size_t count = model_count(&run->pair.model);
	bool seen[TIMERS] = {false};

	pair_expect(&run->pair, "timers given by each", walk->count,
	            count < walk->stop_after ? count : walk->stop_after);
	for (size_t k = 0; k < walk->count; k++) {
		size_t i = walk->seen[k];

		if (seen[i] || run->pair.truth[i].state == MODEL_IDLE)
			pair_fail(&run->pair, "each gave timer %zu twice, or idle", i);
		seen[i] = true;
		if (k > 0 && !may_follow(run, walk->seen[k - 1], i))
			pair_fail(&run->pair, "each gave timer %zu after %zu", i,
			          walk->seen[k - 1]);
	}
	for (size_t k = 0; k < walk->count; k++)
		if (walk->cancels >> walk->seen[k] % 8 & 1)
			model_cancel(&run->pair.model, walk->seen[k]);
}

static void do_each(struct run *run, size_t stop_after, uint8_t cancels)
{
	struct walk walk = {.run = run, .stop_after = stop_after, .cancels = cancels};

	pair_trace(&run->pair, "each(): at most %zu, cancelling %02x", stop_after, cancels);
	pawl_wheel_each(run->pair.wheel, visit, &walk);
	if (!run->pair.failed)
		compare_walk(run, &walk);
}

/* A saved wheel, in the order of `each`. */
struct saved {
	struct run *run;
	size_t count;
	struct {
		size_t timer;
		uint64_t deadline;
		bool due;
	} timers[TIMERS];
};

static bool save_timer(struct pawl_timer *timer, void *arg)
{
	struct saved *saved = arg;

	saved->timers[saved->count].timer = (size_t)(timer - saved->run->pair.timers);
	saved->timers[saved->count].deadline = timer->deadline;
	saved->timers[saved->count].due = pawl_wheel_due(saved->run->pair.wheel, timer);
	return ++saved->count < TIMERS;
}

static void arm_saved(struct run *run, const struct saved *saved, bool due)
{
	for (size_t k = 0; k < saved->count; k++)
		if (saved->timers[k].due == due)
			pair_expect(&run->pair, "an arming that loads",
			            pair_arm_only(&run->pair, saved->timers[k].timer,
			                          saved->timers[k].deadline),
			            !due);
}

/* Load what was saved into a wheel that begins with the present tick: the recipe of pawl_wheel(3). */
static void load(struct run *run, const struct saved *saved, uint64_t now)
{
	struct pawl_wheel_options options = run->pair.options;

	options.start = now - now % run->pair.model.tick;
	free(run->pair.wheel);
	run->pair.wheel = make_wheel(run, &options);
	if (!run->pair.wheel)
		abort();
	for (size_t k = 0; k < saved->count; k++)
		run->pair.timers[saved->timers[k].timer] = (struct pawl_timer)PAWL_TIMER_INIT;
	arm_saved(run, saved, false);
	pair_expect(&run->pair, "moves while loading", pawl_wheel_advance(run->pair.wheel, now, 0),
	            0);
	arm_saved(run, saved, true);
}

/*
 * Go on with a copy: the wheel is saved and loaded, and whatever comes must be right as if it were the old one. Its
 * timers are placed as seen from now.
 */
static void do_save(struct run *run)
{
	struct saved saved = {.run = run};

	if (run->pair.model.placing_from > run->pair.model.now)
		pair_advance(&run->pair, run->pair.model.placing_from,
		             0); /* it was stopped: finish it */
	pair_trace(&run->pair, "save and load");
	pawl_wheel_each(run->pair.wheel, save_timer, &saved);
	check_guard(run);
	load(run, &saved, run->pair.model.now);
	model_place_again(&run->pair.model);
}

/* The memory of an idle timer is the user's: overwrite it, and begin again with zeroes. */
static void do_recycle(struct run *run)
{
	pair_trace(&run->pair, "zero what is idle");
	for (size_t i = 0; i < TIMERS; i++) {
		if (run->pair.truth[i].state != MODEL_IDLE)
			continue;
		memset(&run->pair.timers[i], GUARD_BYTE, sizeof(run->pair.timers[i]));
		memset(&run->pair.timers[i], 0, sizeof(run->pair.timers[i]));
		run->pair.ever_armed[i] = false;
	}
}

/* The same for a whole row of timers: slots with something in every chain. */
static void do_row(struct run *run)
{
	uint8_t what = take_u8(run);
	size_t first = take_u8(run), count = 1 + take_u8(run) % 40u;
	uint64_t deadline = take_time(run);
	uint64_t step = what & 16 ? run->pair.model.tick : what & 32 ? 1 : 0;

	for (size_t k = 0; k < count && !run->pair.failed; k++) {
		size_t i = (first + k) % TIMERS;

		switch (what % 4) {
		case 0:
		case 1:
			pair_arm(&run->pair, i, deadline);
			break;
		case 2:
			pair_touch(&run->pair, i, deadline);
			break;
		default:
			pair_cancel(&run->pair, i);
			break;
		}
		deadline = saturating_sum(deadline, step);
	}
}

/* Small bounds, and often the smallest: the states between two moves are what matters. */
static size_t take_bound(uint8_t byte)
{
	static const size_t bounds[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 8, 13, 50, SIZE_MAX};

	return bounds[byte >> 4];
}

static void step(struct run *run)
{
	uint8_t byte = take_u8(run);
	size_t i;

	switch (byte % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
		i = take_u8(run) % TIMERS;
		pair_arm(&run->pair, i, take_time(run));
		break;
	case 4:
	case 5:
		i = take_u8(run) % TIMERS;
		pair_touch(&run->pair, i, take_time(run));
		break;
	case 6:
		pair_cancel(&run->pair, take_u8(run) % TIMERS);
		break;
	case 7:
		pair_advance(&run->pair, take_time(run), take_bound(byte));
		break;
	case 8:
		pair_advance(&run->pair, model_next(&run->pair.model), take_bound(byte));
		break;
	case 9:
		pair_advance(&run->pair, saturating_sum(run->pair.model.now, run->pair.model.tick),
		             take_bound(byte));
		break;
	case 10:
		do_pops(run, 1 + (byte >> 4));
		break;
	case 11:
		do_pops(run, TIMERS + 1);
		break;
	case 12:
		pair_next(&run->pair);
		break;
	case 13:
		if (byte >> 4 == 0)
			do_recycle(run);
		else if (byte >> 4 == 1)
			do_save(run);
		else
			do_each(run, byte & 128 ? TIMERS : byte >> 4, byte & 64 ? take_u8(run) : 0);
		break;
	case 14:
		do_row(run);
		break;
	default:
		pair_ahead(&run->pair, take_bound(byte));
		break;
	}
}

/*
 * Nothing is lost: advance to the end of time, in bounded advances if the last byte says so, and every timer comes out.
 */
static void finish(struct run *run, size_t max_moves)
{
	while (!run->pair.failed && run->pair.model.now < MODEL_LAST) {
		run->pair.operation++;
		pair_advance(&run->pair, MODEL_LAST, max_moves);
		pair_compare(&run->pair);
		do_pops(run, 3);
	}
	do_pops(run, TIMERS + 1);
	if (run->pair.failed)
		return;
	pair_expect(&run->pair, "count in the end", pawl_wheel_count(run->pair.wheel), 0);
	pair_expect(&run->pair, "next in the end", pawl_wheel_next(run->pair.wheel), PAWL_NEVER);
	pair_expect(&run->pair, "earliest in the end", pawl_wheel_earliest(run->pair.wheel),
	            PAWL_NEVER);
	pair_compare(&run->pair);
}

int wheel_property(const uint8_t *data, size_t size, FILE *trace_to)
{
	struct run run = {.in = {data, size}, .pair.trace = trace_to};
	size_t last_bound = take_bound(size ? data[size - 1] : 0);

	if (!set_up(&run))
		return run.pair.failed;
	pair_compare(&run.pair);
	while (run.in.left > 0 && !run.pair.failed) {
		run.pair.operation++;
		step(&run);
		pair_compare(&run.pair);
	}
	finish(&run, last_bound);
	check_guard(&run);
	free(run.pair.wheel);
	return run.pair.failed;
}
