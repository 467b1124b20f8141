/* SPDX-License-Identifier: MIT */
/*
 * A wheel and its model: each operation is carried out on both, and their answers are compared. The random test and the
 * search use it.
 */
#ifndef PAWL_TESTS_WHEEL_PAIR_H
#define PAWL_TESTS_WHEEL_PAIR_H

#include <stdbool.h>
#include <stdio.h>

#include "wheel_model.h"

/* Enough to fill 16 chains of one slot unevenly, several times over. */
#define PAIR_TIMERS 96

/* Set `options` and `wheel`, and call model_init() with `truth`: its count says how many timers are in use. */
struct pair {
	FILE *trace; /* each operation is written to it as a call, if it is not NULL */
	bool failed; /* they do not agree; stderr says how */
	unsigned operation;
	struct pawl_wheel_options options;
	struct pawl_wheel *wheel;
	struct pawl_timer timers[PAIR_TIMERS];
	struct model model;
	struct model_timer truth[PAIR_TIMERS];
	bool ever_armed[PAIR_TIMERS];
};

/* Only the first failure is printed. */
__attribute__((format(printf, 2, 3))) void pair_fail(struct pair *pair, const char *format, ...);
__attribute__((format(printf, 2, 3))) void pair_trace(struct pair *pair, const char *format, ...);
void pair_expect(struct pair *pair, const char *what, uint64_t actual, uint64_t expected);

/* Every question that does not change the wheel. Not `next`: it forgets empty slots, and so would hide an advance that
 * fails at one. */
void pair_compare(struct pair *pair);

void pair_arm(struct pair *pair, size_t i, uint64_t deadline);
void pair_touch(struct pair *pair, size_t i, uint64_t deadline);
void pair_cancel(struct pair *pair, size_t i);
void pair_next(struct pair *pair);
/* Whether anything was popped. */
bool pair_pop(struct pair *pair);
/* These return the moves made. */
size_t pair_advance(struct pair *pair, uint64_t time, size_t max_moves);
size_t pair_ahead(struct pair *pair, size_t max_moves);

/* Arm on the wheel alone. Every other idle timer is armed as such, whatever is in its memory. */
bool pair_arm_only(struct pair *pair, size_t i, uint64_t deadline);

#endif
