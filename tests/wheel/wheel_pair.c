/* SPDX-License-Identifier: MIT */
#include "wheel_pair.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) void pair_fail(struct pair *pair, const char *format, ...)
{
	va_list arguments;

	if (pair->failed)
		return;
	pair->failed = true;
	fprintf(stderr,
	        "start %" PRIu64 ", tick %" PRIu64
	        ", wheel_size %u, chains %u, ahead %d: operation %u: ",
	        pair->options.start, pair->options.tick, pair->options.wheel_size,
	        pair->options.chains, pair->options.ahead, pair->operation);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

__attribute__((format(printf, 2, 3))) void pair_trace(struct pair *pair, const char *format, ...)
{
	va_list arguments;

	if (!pair->trace)
		return;
	fprintf(pair->trace, "%4u  ", pair->operation);
	va_start(arguments, format);
	vfprintf(pair->trace, format, arguments);
	va_end(arguments);
	fputc('\n', pair->trace);
}

void pair_expect(struct pair *pair, const char *what, uint64_t actual, uint64_t expected)
{
	if (actual != expected)
		pair_fail(pair, "%s is %" PRIu64 ", expected %" PRIu64, what, actual, expected);
}

static void compare_timer(struct pair *pair, size_t i)
{
	const struct model_timer *truth = &pair->truth[i];
	struct pawl_wheel_place place = {.level = 77};
	bool waits = pawl_wheel_get_place(pair->wheel, &pair->timers[i], &place, sizeof(place));

	if (pawl_wheel_due(pair->wheel, &pair->timers[i]) != (truth->state == MODEL_DUE))
		pair_fail(pair, "timer %zu: due is wrong, expected state %d", i, (int)truth->state);
	if (pawl_timer_armed(&pair->timers[i]) != (truth->state != MODEL_IDLE))
		pair_fail(pair, "timer %zu: armed is wrong", i);
	if (pair->ever_armed[i] && pair->timers[i].deadline != truth->deadline)
		pair_fail(pair, "timer %zu: deadline reads %" PRIu64 ", expected %" PRIu64, i,
		          pair->timers[i].deadline, truth->deadline);
	if (waits != (truth->state == MODEL_WAITING)) {
		pair_fail(pair, "timer %zu: %s, expected state %d", i,
		          waits ? "waits" : "does not wait", (int)truth->state);
	} else if (!waits) {
		if (place.level != 77)
			pair_fail(pair, "timer %zu: place was written without a place", i);
	} else if (!model_same_place(&place, &truth->place)) {
		pair_fail(pair,
		          "timer %zu, deadline %" PRIu64 ": level %u slot %u opens %" PRIu64
		          ", expected level %u slot %u opens %" PRIu64,
		          i, truth->deadline, place.level, place.slot, place.opens,
		          truth->place.level, truth->place.slot, truth->place.opens);
	}
}

void pair_compare(struct pair *pair)
{
	const char *broken;

	if (pair->failed)
		return;
	broken = pawl_wheel_check(pair->wheel);
	if (broken)
		pair_fail(pair, "the wheel is broken; this should hold: \"%s\"", broken);
	pair_expect(pair, "now", pawl_wheel_now(pair->wheel), pair->model.now);
	pair_expect(pair, "count", pawl_wheel_count(pair->wheel), model_count(&pair->model));
	pair_expect(pair, "earliest", pawl_wheel_earliest(pair->wheel),
	            model_earliest(&pair->model));
	for (size_t i = 0; i < pair->model.timers_count && !pair->failed; i++)
		compare_timer(pair, i);
}

bool pair_arm_only(struct pair *pair, size_t i, uint64_t deadline)
{
	if (i % 2 && pair->truth[i].state == MODEL_IDLE) {
		memset(&pair->timers[i], 0xA5, sizeof(pair->timers[i]));
		return pawl_wheel_arm_idle_at(pair->wheel, &pair->timers[i], deadline);
	}
	return pawl_wheel_arm_at(pair->wheel, &pair->timers[i], deadline);
}

void pair_arm(struct pair *pair, size_t i, uint64_t deadline)
{
	bool waits = pair_arm_only(pair, i, deadline);

	pair_trace(pair, "pair_arm_only(%zu, %" PRIu64 ") = %d", i, deadline, waits);
	pair->ever_armed[i] = true;
	pair_expect(pair, "arm", waits, model_arm(&pair->model, i, deadline));
}

static bool stayed(const struct pair *pair, size_t i)
{
	struct pawl_wheel_place place;

	return pawl_wheel_get_place(pair->wheel, &pair->timers[i], &place, sizeof(place)) &&
	       model_same_place(&place, &pair->truth[i].place);
}

void pair_touch(struct pair *pair, size_t i, uint64_t deadline)
{
	bool waits = pawl_wheel_touch_at(pair->wheel, &pair->timers[i], deadline);
	bool as_arm = model_overripe(&pair->model, i) && !stayed(pair, i);

	pair_trace(pair, "touch(%zu, %" PRIu64 ") = %d", i, deadline, waits);
	pair->ever_armed[i] = true;
	pair_expect(pair, "touch", waits,
	            as_arm ? model_arm(&pair->model, i, deadline)
	                   : model_touch(&pair->model, i, deadline));
}

void pair_cancel(struct pair *pair, size_t i)
{
	bool was_armed = pawl_wheel_cancel(pair->wheel, &pair->timers[i]);

	pair_trace(pair, "cancel(%zu) = %d", i, was_armed);
	pair_expect(pair, "cancel", was_armed, model_cancel(&pair->model, i));
}

void pair_next(struct pair *pair)
{
	uint64_t next = pawl_wheel_next(pair->wheel);

	pair_trace(pair, "next() = %" PRIu64, next);
	if (!model_may_be_next(&pair->model, next))
		pair_expect(pair, "next", next, model_next(&pair->model));
}

/* The bound stopped the wheel at `now`: tell the model how far it came in the slot that opens then. */
static void follow_stop(struct pair *pair)
{
	const char *wrong;

	model_stop(&pair->model);
	for (size_t i = 0; i < pair->model.timers_count; i++) {
		struct pawl_wheel_place place;
		bool waits;

		if (!model_at_stake(&pair->model, i))
			continue;
		waits = pawl_wheel_get_place(pair->wheel, &pair->timers[i], &place, sizeof(place));
		if (!model_saw(&pair->model, i, waits ? &place : NULL))
			pair_fail(pair, "timer %zu: stopped at an impossible place", i);
	}
	wrong = model_stopped_wrongly(&pair->model);
	if (wrong)
		pair_fail(pair, "stopped at %" PRIu64 ": %s", pair->model.now, wrong);
}

static void compare_advance(struct pair *pair, uint64_t time, size_t max_moves, size_t moves)
{
	uint64_t reached = pawl_wheel_now(pair->wheel);

	if (time < pair->model.now)
		time = pair->model.now;
	if (reached < pair->model.now || reached > time) {
		pair_fail(pair, "advance reached %" PRIu64, reached);
		return;
	}
	model_advance_begin(&pair->model);
	model_reach(&pair->model, reached);
	if (reached < time) {
		if (max_moves == 0 || moves != max_moves)
			pair_fail(pair, "advance stopped at %" PRIu64 " before its bound", reached);
		follow_stop(pair);
	}
	if (max_moves && moves > max_moves)
		pair_fail(pair, "advance made %zu moves, allowed were %zu", moves, max_moves);
	if (moves < pair->model.least_moves || moves > pair->model.most_moves)
		pair_fail(pair, "advance counted %zu moves, expected %" PRIu64 " to %" PRIu64,
		          moves, pair->model.least_moves, pair->model.most_moves);
}

size_t pair_advance(struct pair *pair, uint64_t time, size_t max_moves)
{
	size_t moves;

	moves = pawl_wheel_advance(pair->wheel, time, max_moves);
	pair_trace(pair, "advance(%" PRIu64 ", %zu) = %zu, now() = %" PRIu64, time, max_moves,
	           moves, pawl_wheel_now(pair->wheel));
	compare_advance(pair, time, max_moves, moves);
	return moves;
}

/*
 * Move in the model the timers that the wheel has moved out of the begun slot. Returns how many. (Their new places are
 * compared later: they may have moved on from there.)
 */
static size_t follow_begun(struct pair *pair)
{
	size_t moved = 0;

	for (size_t i = 0; i < pair->model.timers_count; i++) {
		if (!model_is_begun(&pair->model, i) || stayed(pair, i))
			continue;
		model_move_ahead(&pair->model, i);
		moved++;
	}
	return moved;
}

size_t pair_ahead(struct pair *pair, size_t max_moves)
{
	size_t moves = pawl_wheel_ahead(pair->wheel, max_moves), expected = 0;
	const char *wrong;

	pair_trace(pair, "ahead(%zu) = %zu", max_moves, moves);
	while (!pair->failed && (max_moves == 0 || expected < max_moves) &&
	       model_begin_ahead(&pair->model)) {
		size_t moved = follow_begun(pair);

		if (moved == 0)
			pair_fail(pair, "ahead moved nothing of a slot that is to be begun");
		expected += moved;
	}
	pair_expect(pair, "ahead", moves, expected);
	wrong = model_ahead_wrongly(&pair->model);
	if (wrong)
		pair_fail(pair, "ahead: %s", wrong);
	return moves;
}

bool pair_pop(struct pair *pair)
{
	struct pawl_timer *timer = pawl_wheel_pop(pair->wheel);
	size_t i = (size_t)(timer - pair->timers);

	if (!timer) {
		pair_trace(pair, "pop() = NULL");
		for (i = 0; i < pair->model.timers_count; i++)
			if (pair->truth[i].state == MODEL_DUE)
				pair_fail(pair, "pop gave nothing, but timer %zu is due", i);
		return false;
	}
	pair_trace(pair, "pop() = %zu", i);
	if (!model_may_pop(&pair->model, i))
		pair_fail(pair, "pop gave timer %zu out of order", i);
	model_pop(&pair->model, i);
	return true;
}
