/* SPDX-License-Identifier: MIT */
/*
 * The naive truth about a wheel: an array of timers, scanned from end to end for everything, and the formulas of
 * pawl_wheel(3), written so that they cannot overflow. Timers are known by number.
 *
 * The model knows all that the contract fixes. It accepts what the contract leaves open: the order within a tick of
 * timers touched since they were armed, any order with several chains, and which timers of a slot a bounded advance or
 * a move ahead handled (there the wheel is asked, and its answer must be one that is allowed).
 */
#ifndef PAWL_TESTS_WHEEL_MODEL_H
#define PAWL_TESTS_WHEEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pawl/wheel.h"

/* The end of time. */
#define MODEL_LAST (UINT64_MAX - 1)

/* With 2 slots and tick 1 there are as many levels as bits. */
#define MODEL_LEVELS 65

enum model_state { MODEL_IDLE, MODEL_WAITING, MODEL_DUE };

struct model_timer {
	enum model_state state;
	bool touched;      /* since it was armed: anywhere within its tick will do */
	uint64_t deadline; /* as read back: PAWL_NEVER is MODEL_LAST */
	uint64_t arming;   /* which arming of the wheel this was: the order within a tick */
	uint64_t batch;    /* while due: those of an earlier batch come first */
	struct pawl_wheel_place place; /* while waiting */
};

struct model {
	uint64_t tick, wheel_size;
	uint32_t chains;
	bool ahead;
	uint64_t upto[MODEL_LEVELS];   /* ticks before it are this level's, in its window or not */
	struct pawl_wheel_place begun; /* the slot that moving ahead is at */
	uint64_t now;
	uint64_t placing_from; /* later than now only while an advance is stopped by its bound */
	uint64_t armings, batches;
	uint64_t least_moves, most_moves; /* what the advance under way may answer */
	struct model_timer *timers;       /* borrowed */
	size_t timers_count;
};

/* All of the timers begin idle. */
void model_init(struct model *model, const struct pawl_wheel_options *options,
                struct model_timer *timers, size_t timers_count);

/* When a timer of this deadline becomes due: the deadline rounded up to the tick. */
uint64_t model_due_time(const struct model *model, uint64_t deadline);

/* Where a timer of this deadline belongs as seen from the time `from`. */
struct pawl_wheel_place model_place(const struct model *model, uint64_t deadline, uint64_t from);

bool model_same_place(const struct pawl_wheel_place *a, const struct pawl_wheel_place *b);

/* These answer what the wheel must answer. */
bool model_arm(struct model *model, size_t i, uint64_t deadline);
bool model_touch(struct model *model, size_t i, uint64_t deadline);
bool model_cancel(struct model *model, size_t i);
size_t model_count(const struct model *model);

/* All timers are armed again on a new wheel, as seen from now, in an order that keeps the order of the pops. */
void model_place_again(struct model *model);

/*
 * Whether the timer waits although its deadline has come, as seen from where timers are placed: for the rest of its
 * tick, or for the rest of an advance that was stopped at its slot. The wheel may then treat a touch as an arm.
 */
bool model_overripe(const struct model *model, size_t i);

/*
 * The time that the wheel's `next` must return; and whether another answer is also right. That is so in one case: a
 * bounded advance was stopped, and all timers that it left in its slot were cancelled since. To go on at once is then
 * as good as to wait for the next slot that holds a timer.
 */
uint64_t model_next(const struct model *model);
bool model_may_be_next(const struct model *model, uint64_t next);

/* The time that the wheel's `earliest` must return. */
uint64_t model_earliest(const struct model *model);

/*
 * An advance is, in this order: begin; reach the time that the wheel says it has reached; and, if that is not the time
 * that was asked for, stop, and then one `saw` for each timer that model_at_stake() names, with its place by the wheel
 * (NULL: it no longer waits).
 */
void model_advance_begin(struct model *model);
void model_reach(struct model *model, uint64_t time);
void model_stop(struct model *model);
bool model_at_stake(const struct model *model, size_t i);
/* Whether this is possible at all. */
bool model_saw(struct model *model, size_t i, const struct pawl_wheel_place *seen);
/* After the last of them: NULL, or what is impossible. */
const char *model_stopped_wrongly(const struct model *model);

/*
 * Moving ahead begins one slot after the other: false if there is none left to begin. The timers in it, which
 * model_is_begun() names, are to be moved if the wheel has them somewhere else by now.
 */
bool model_begin_ahead(struct model *model);
bool model_is_begun(const struct model *model, size_t i);
void model_move_ahead(struct model *model, size_t i);
/* After the last slot: NULL, or what is impossible. */
const char *model_ahead_wrongly(const struct model *model);

/* Whether the wheel may pop this timer now. */
bool model_may_pop(const struct model *model, size_t i);
void model_pop(struct model *model, size_t i);

/* Whether, both being due, `earlier` may come out before `later` does. */
bool model_may_precede(const struct model *model, size_t earlier, size_t later);

#endif
