/* SPDX-License-Identifier: MIT */
#include "wheel_property.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/saturate.h"
#include "wheel_model.h"
#include "pawl/wheel.h"

/* Enough to fill 16 chains of one slot unevenly, several times over. */
#define TIMERS     96
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
	FILE *trace;
	bool failed;
	unsigned operation;
	struct pawl_wheel_options options;
	size_t footprint;
	struct pawl_wheel *wheel;
	struct pawl_timer timers[TIMERS];
	struct model model;
	struct model_timer truth[TIMERS];
	bool ever_armed[TIMERS];
};

__attribute__((format(printf, 2, 3))) static void fail(struct run *run, const char *format, ...)
{
	va_list arguments;

	if (run->failed)
		return;
	run->failed = true;
	fprintf(stderr,
	        "start %" PRIu64 ", tick %" PRIu64
	        ", wheel_size %u, chains %u, ahead %d: operation %u: ",
	        run->options.start, run->options.tick, run->options.wheel_size, run->options.chains,
	        run->options.ahead, run->operation);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

__attribute__((format(printf, 2, 3))) static void trace(struct run *run, const char *format, ...)
{
	va_list arguments;

	if (!run->trace)
		return;
	fprintf(run->trace, "%4u  ", run->operation);
	va_start(arguments, format);
	vfprintf(run->trace, format, arguments);
	va_end(arguments);
	fputc('\n', run->trace);
}

static void expect(struct run *run, const char *what, uint64_t actual, uint64_t expected)
{
	if (actual != expected)
		fail(run, "%s is %" PRIu64 ", expected %" PRIu64, what, actual, expected);
}

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
	uint64_t span = run->model.tick;

	while (level-- > 0)
		span = saturating_product(span, run->model.wheel_size);
	return span;
}

/* Near the beginning of a slot, where every off-by-one lives. */
static uint64_t take_edge(struct run *run)
{
	uint64_t span = slot_span(run, take_u8(run) % 8);
	uint8_t byte = take_u8(run);
	uint64_t edge = saturating_product(saturating_sum(run->model.now / span, byte >> 2), span);

	return (byte & 3) == 0 ? subtract(edge, 1) : saturating_sum(edge, (byte & 3) - 1u);
}

/* A time: of interest, near, or any. */
static uint64_t take_time(struct run *run)
{
	uint64_t now = run->model.now, tick = run->model.tick;
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
		return run->truth[take_u8(run) % TIMERS].deadline;
	case 11:
		return saturating_sum(run->truth[take_u8(run) % TIMERS].deadline, 1);
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

	run->options.chains = chains[byte % (sizeof(chains) / sizeof(chains[0]))];
	run->options.ahead = byte >= 64;
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
		return subtract(UINT64_MAX, saturating_product(take_u8(run), run->options.tick));
	default:
		return saturating_product(take_u16(run), run->options.tick);
	}
}

/* Whether nothing was written behind the memory that the wheel asked for. */
static void check_guard(struct run *run)
{
	const uint8_t *guard = (const uint8_t *)run->wheel + run->footprint;

	for (size_t i = 0; i < GUARD_SIZE; i++)
		if (guard[i] != GUARD_BYTE)
			fail(run, "byte %zu behind the wheel was overwritten", i);
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
		fail(run, "init refused good options");
		free(memory);
	}
	return wheel;
}

static bool set_up(struct run *run)
{
	run->options.tick = take_tick(run);
	run->options.wheel_size = take_wheel_size(run);
	take_chains(run);
	run->options.start = take_start(run);
	run->footprint = pawl_wheel_footprint(&run->options);
	run->wheel = make_wheel(run, &run->options);
	if (!run->wheel)
		return false;
	model_init(&run->model, &run->options, run->truth, TIMERS);
	trace(run, "start %" PRIu64 ", tick %" PRIu64 ", wheel_size %u, chains %u, ahead %d",
	      run->options.start, run->options.tick, run->options.wheel_size, run->options.chains,
	      run->options.ahead);
	return true;
}

/*
 * Every question that does not change the wheel. Not `next`: it forgets empty slots, and so would hide an advance that
 * fails at one.
 */
static void compare_timer(struct run *run, size_t i)
{
	const struct model_timer *truth = &run->truth[i];
	struct pawl_wheel_place place = {.level = 77};
	bool waits = pawl_wheel_get_place(run->wheel, &run->timers[i], &place, sizeof(place));

	if (pawl_wheel_due(run->wheel, &run->timers[i]) != (truth->state == MODEL_DUE))
		fail(run, "timer %zu: due is wrong, expected state %d", i, (int)truth->state);
	if (pawl_timer_armed(&run->timers[i]) != (truth->state != MODEL_IDLE))
		fail(run, "timer %zu: armed is wrong", i);
	if (run->ever_armed[i] && run->timers[i].deadline != truth->deadline)
		fail(run, "timer %zu: deadline reads %" PRIu64 ", expected %" PRIu64, i,
		     run->timers[i].deadline, truth->deadline);
	if (waits != (truth->state == MODEL_WAITING)) {
		fail(run, "timer %zu: %s, expected state %d", i, waits ? "waits" : "does not wait",
		     (int)truth->state);
	} else if (!waits) {
		if (place.level != 77)
			fail(run, "timer %zu: place was written without a place", i);
	} else if (!model_same_place(&place, &truth->place)) {
		fail(run,
		     "timer %zu, deadline %" PRIu64 ": level %u slot %u opens %" PRIu64
		     ", expected level %u slot %u opens %" PRIu64,
		     i, truth->deadline, place.level, place.slot, place.opens, truth->place.level,
		     truth->place.slot, truth->place.opens);
	}
}

static void compare(struct run *run)
{
	const char *broken;

	if (run->failed)
		return;
	broken = pawl_wheel_check(run->wheel);
	if (broken)
		fail(run, "the wheel is broken; this should hold: \"%s\"", broken);
	expect(run, "now", pawl_wheel_now(run->wheel), run->model.now);
	expect(run, "count", pawl_wheel_count(run->wheel), model_count(&run->model));
	expect(run, "earliest", pawl_wheel_earliest(run->wheel), model_earliest(&run->model));
	for (size_t i = 0; i < TIMERS && !run->failed; i++)
		compare_timer(run, i);
}

/* Every other idle timer is armed as such, whatever is in its memory. */
static bool arm(struct run *run, size_t i, uint64_t deadline)
{
	if (i % 2 && run->truth[i].state == MODEL_IDLE) {
		memset(&run->timers[i], 0xA5, sizeof(run->timers[i]));
		return pawl_wheel_arm_idle_at(run->wheel, &run->timers[i], deadline);
	}
	return pawl_wheel_arm_at(run->wheel, &run->timers[i], deadline);
}

static void do_arm(struct run *run, size_t i, uint64_t deadline)
{
	bool waits = arm(run, i, deadline);

	trace(run, "arm(%zu, %" PRIu64 ") = %d", i, deadline, waits);
	run->ever_armed[i] = true;
	expect(run, "arm", waits, model_arm(&run->model, i, deadline));
}

static bool stayed(const struct run *run, size_t i)
{
	struct pawl_wheel_place place;

	return pawl_wheel_get_place(run->wheel, &run->timers[i], &place, sizeof(place)) &&
	       model_same_place(&place, &run->truth[i].place);
}

static void do_touch(struct run *run, size_t i, uint64_t deadline)
{
	bool waits = pawl_wheel_touch_at(run->wheel, &run->timers[i], deadline);
	bool as_arm = model_overripe(&run->model, i) && !stayed(run, i);

	trace(run, "touch(%zu, %" PRIu64 ") = %d", i, deadline, waits);
	run->ever_armed[i] = true;
	expect(run, "touch", waits,
	       as_arm ? model_arm(&run->model, i, deadline)
	              : model_touch(&run->model, i, deadline));
}

static void do_cancel(struct run *run, size_t i)
{
	bool was_armed = pawl_wheel_cancel(run->wheel, &run->timers[i]);

	trace(run, "cancel(%zu) = %d", i, was_armed);
	expect(run, "cancel", was_armed, model_cancel(&run->model, i));
}

static void do_next(struct run *run)
{
	uint64_t next = pawl_wheel_next(run->wheel);

	trace(run, "next() = %" PRIu64, next);
	if (!model_may_be_next(&run->model, next))
		expect(run, "next", next, model_next(&run->model));
}

/* The bound stopped the wheel at `now`: tell the model how far it came in the slot that opens then. */
static void follow_stop(struct run *run)
{
	const char *wrong;

	model_stop(&run->model);
	for (size_t i = 0; i < TIMERS; i++) {
		struct pawl_wheel_place place;
		bool waits;

		if (!model_at_stake(&run->model, i))
			continue;
		waits = pawl_wheel_get_place(run->wheel, &run->timers[i], &place, sizeof(place));
		if (!model_saw(&run->model, i, waits ? &place : NULL))
			fail(run, "timer %zu: stopped at an impossible place", i);
	}
	wrong = model_stopped_wrongly(&run->model);
	if (wrong)
		fail(run, "stopped at %" PRIu64 ": %s", run->model.now, wrong);
}

static void compare_advance(struct run *run, uint64_t time, size_t max_moves, size_t moves)
{
	uint64_t reached = pawl_wheel_now(run->wheel);

	if (time < run->model.now)
		time = run->model.now;
	if (reached < run->model.now || reached > time) {
		fail(run, "advance reached %" PRIu64, reached);
		return;
	}
	model_advance_begin(&run->model);
	model_reach(&run->model, reached);
	if (reached < time) {
		if (max_moves == 0 || moves != max_moves)
			fail(run, "advance stopped at %" PRIu64 " before its bound", reached);
		follow_stop(run);
	}
	if (max_moves && moves > max_moves)
		fail(run, "advance made %zu moves, allowed were %zu", moves, max_moves);
	if (moves < run->model.least_moves || moves > run->model.most_moves)
		fail(run, "advance counted %zu moves, expected %" PRIu64 " to %" PRIu64, moves,
		     run->model.least_moves, run->model.most_moves);
}

static void do_advance(struct run *run, uint64_t time, size_t max_moves)
{
	size_t moves;

	moves = pawl_wheel_advance(run->wheel, time, max_moves);
	trace(run, "advance(%" PRIu64 ", %zu) = %zu, now() = %" PRIu64, time, max_moves, moves,
	      pawl_wheel_now(run->wheel));
	compare_advance(run, time, max_moves, moves);
}

/*
 * Move in the model the timers that the wheel has moved out of the begun slot. Returns how many. (Their new places are
 * compared later: they may have moved on from there.)
 */
static size_t follow_begun(struct run *run)
{
	size_t moved = 0;

	for (size_t i = 0; i < TIMERS; i++) {
		if (!model_is_begun(&run->model, i) || stayed(run, i))
			continue;
		model_move_ahead(&run->model, i);
		moved++;
	}
	return moved;
}

static void do_ahead(struct run *run, size_t max_moves)
{
	size_t moves = pawl_wheel_ahead(run->wheel, max_moves), expected = 0;
	const char *wrong;

	trace(run, "ahead(%zu) = %zu", max_moves, moves);
	while (!run->failed && (max_moves == 0 || expected < max_moves) &&
	       model_begin_ahead(&run->model)) {
		size_t moved = follow_begun(run);

		if (moved == 0)
			fail(run, "ahead moved nothing of a slot that is to be begun");
		expected += moved;
	}
	expect(run, "ahead", moves, expected);
	wrong = model_ahead_wrongly(&run->model);
	if (wrong)
		fail(run, "ahead: %s", wrong);
}

/* Whether anything was popped. */
static bool do_pop(struct run *run)
{
	struct pawl_timer *timer = pawl_wheel_pop(run->wheel);
	size_t i = (size_t)(timer - run->timers);

	if (!timer) {
		trace(run, "pop() = NULL");
		for (i = 0; i < TIMERS; i++)
			if (run->truth[i].state == MODEL_DUE)
				fail(run, "pop gave nothing, but timer %zu is due", i);
		return false;
	}
	trace(run, "pop() = %zu", i);
	if (!model_may_pop(&run->model, i))
		fail(run, "pop gave timer %zu out of order", i);
	model_pop(&run->model, i);
	return true;
}

static void do_pops(struct run *run, unsigned count)
{
	while (!run->failed && count-- > 0 && do_pop(run))
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
	size_t i = (size_t)(timer - walk->run->timers);

	if (walk->count == TIMERS) {
		fail(walk->run, "each never ends");
		return false;
	}
	walk->seen[walk->count++] = i;
	if (walk->cancels >> i % 8 & 1 && !pawl_wheel_cancel(walk->run->wheel, timer))
		fail(walk->run, "each gave timer %zu, which is idle", i);
	return walk->count < walk->stop_after;
}

static bool may_follow(const struct run *run, size_t a, size_t b)
{
	const struct model_timer *first = &run->truth[a], *second = &run->truth[b];

	if (first->state != second->state)
		return first->state == MODEL_DUE;
	if (first->state == MODEL_DUE)
		return model_may_precede(&run->model, a, b);
	if (first->place.level != second->place.level)
		return first->place.level > second->place.level;
	return first->place.opens <= second->place.opens;
}

static void compare_walk(struct run *run, const struct walk *walk)
{
	size_t count = model_count(&run->model);
	bool seen[TIMERS] = {false};

	expect(run, "timers given by each", walk->count,
	       count < walk->stop_after ? count : walk->stop_after);
	for (size_t k = 0; k < walk->count; k++) {
		size_t i = walk->seen[k];

		if (seen[i] || run->truth[i].state == MODEL_IDLE)
			fail(run, "each gave timer %zu twice, or idle", i);
		seen[i] = true;
		if (k > 0 && !may_follow(run, walk->seen[k - 1], i))
			fail(run, "each gave timer %zu after %zu", i, walk->seen[k - 1]);
	}
	for (size_t k = 0; k < walk->count; k++)
		if (walk->cancels >> walk->seen[k] % 8 & 1)
			model_cancel(&run->model, walk->seen[k]);
}

static void do_each(struct run *run, size_t stop_after, uint8_t cancels)
{
	struct walk walk = {.run = run, .stop_after = stop_after, .cancels = cancels};

	trace(run, "each(): at most %zu, cancelling %02x", stop_after, cancels);
	pawl_wheel_each(run->wheel, visit, &walk);
	if (!run->failed)
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

	saved->timers[saved->count].timer = (size_t)(timer - saved->run->timers);
	saved->timers[saved->count].deadline = timer->deadline;
	saved->timers[saved->count].due = pawl_wheel_due(saved->run->wheel, timer);
	return ++saved->count < TIMERS;
}

static void arm_saved(struct run *run, const struct saved *saved, bool due)
{
	for (size_t k = 0; k < saved->count; k++)
		if (saved->timers[k].due == due)
			expect(run, "an arming that loads",
			       arm(run, saved->timers[k].timer, saved->timers[k].deadline), !due);
}

/* Load what was saved into a wheel that begins with the present tick: the recipe of pawl_wheel(3). */
static void load(struct run *run, const struct saved *saved, uint64_t now)
{
	struct pawl_wheel_options options = run->options;

	options.start = now - now % run->model.tick;
	free(run->wheel);
	run->wheel = make_wheel(run, &options);
	if (!run->wheel)
		abort();
	for (size_t k = 0; k < saved->count; k++)
		run->timers[saved->timers[k].timer] = (struct pawl_timer)PAWL_TIMER_INIT;
	arm_saved(run, saved, false);
	expect(run, "moves while loading", pawl_wheel_advance(run->wheel, now, 0), 0);
	arm_saved(run, saved, true);
}

/*
 * Go on with a copy: the wheel is saved and loaded, and whatever comes must be right as if it were the old one. Its
 * timers are placed as seen from now.
 */
static void do_save(struct run *run)
{
	struct saved saved = {.run = run};

	if (run->model.placing_from > run->model.now)
		do_advance(run, run->model.placing_from, 0); /* it was stopped: finish it */
	trace(run, "save and load");
	pawl_wheel_each(run->wheel, save_timer, &saved);
	check_guard(run);
	load(run, &saved, run->model.now);
	model_place_again(&run->model);
}

/* The memory of an idle timer is the user's: overwrite it, and begin again with zeroes. */
static void do_recycle(struct run *run)
{
	trace(run, "zero what is idle");
	for (size_t i = 0; i < TIMERS; i++) {
		if (run->truth[i].state != MODEL_IDLE)
			continue;
		memset(&run->timers[i], GUARD_BYTE, sizeof(run->timers[i]));
		memset(&run->timers[i], 0, sizeof(run->timers[i]));
		run->ever_armed[i] = false;
	}
}

/* The same for a whole row of timers: slots with something in every chain. */
static void do_row(struct run *run)
{
	uint8_t what = take_u8(run);
	size_t first = take_u8(run), count = 1 + take_u8(run) % 40u;
	uint64_t deadline = take_time(run);
	uint64_t step = what & 16 ? run->model.tick : what & 32 ? 1 : 0;

	for (size_t k = 0; k < count && !run->failed; k++) {
		size_t i = (first + k) % TIMERS;

		switch (what % 4) {
		case 0:
		case 1:
			do_arm(run, i, deadline);
			break;
		case 2:
			do_touch(run, i, deadline);
			break;
		default:
			do_cancel(run, i);
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
		do_arm(run, i, take_time(run));
		break;
	case 4:
	case 5:
		i = take_u8(run) % TIMERS;
		do_touch(run, i, take_time(run));
		break;
	case 6:
		do_cancel(run, take_u8(run) % TIMERS);
		break;
	case 7:
		do_advance(run, take_time(run), take_bound(byte));
		break;
	case 8:
		do_advance(run, model_next(&run->model), take_bound(byte));
		break;
	case 9:
		do_advance(run, saturating_sum(run->model.now, run->model.tick), take_bound(byte));
		break;
	case 10:
		do_pops(run, 1 + (byte >> 4));
		break;
	case 11:
		do_pops(run, TIMERS + 1);
		break;
	case 12:
		do_next(run);
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
		do_ahead(run, take_bound(byte));
		break;
	}
}

/*
 * Nothing is lost: advance to the end of time, in bounded advances if the last byte says so, and every timer comes out.
 */
static void finish(struct run *run, size_t max_moves)
{
	while (!run->failed && run->model.now < MODEL_LAST) {
		run->operation++;
		do_advance(run, MODEL_LAST, max_moves);
		compare(run);
		do_pops(run, 3);
	}
	do_pops(run, TIMERS + 1);
	if (run->failed)
		return;
	expect(run, "count in the end", pawl_wheel_count(run->wheel), 0);
	expect(run, "next in the end", pawl_wheel_next(run->wheel), PAWL_NEVER);
	expect(run, "earliest in the end", pawl_wheel_earliest(run->wheel), PAWL_NEVER);
	compare(run);
}

int wheel_property(const uint8_t *data, size_t size, FILE *trace_to)
{
	struct run run = {.in = {data, size}, .trace = trace_to};
	size_t last_bound = take_bound(size ? data[size - 1] : 0);

	if (!set_up(&run))
		return run.failed;
	compare(&run);
	while (run.in.left > 0 && !run.failed) {
		run.operation++;
		step(&run);
		compare(&run);
	}
	finish(&run, last_bound);
	check_guard(&run);
	free(run.wheel);
	return run.failed;
}
