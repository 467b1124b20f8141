/* SPDX-License-Identifier: MIT */
/*
 * plain_wheel.h: a simple hierarchical timing wheel. The other peers are compared with it.
 *
 * A level has 64 slots, so its occupancy is one word. A slot is a doubly linked list. Timers are placed by Kafka's
 * sliding window. Advancing goes from one occupied slot to the next, not from tick to tick. An opened slot is walked
 * from its head, and each timer is moved down or becomes due.
 *
 * Time starts at 0 and a deadline is at most 2^64-2.
 */
#ifndef PAWL_BENCH_PLAIN_WHEEL_H
#define PAWL_BENCH_PLAIN_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAIN_SLOTS = 64, PLAIN_LEVELS = 11 }; /* 11 levels of 6 bits cover all 64 */

struct plain_node {
	struct plain_node *next, *prev;
};

/* All zeroes is an idle timer. */
struct plain_timer {
	struct plain_node node;
	uint64_t deadline;
};

struct plain_wheel {
	uint64_t now;
	size_t count;
	uint64_t occupied[PLAIN_LEVELS]; /* bit s: slot s of this level is not empty */
	struct plain_node due;
	struct plain_node slots[PLAIN_LEVELS * PLAIN_SLOTS];
};

void plain_wheel_init(struct plain_wheel *wheel);

/* Arm it; an armed timer gets the new deadline. If the deadline is not after now, it is due at once. */
void plain_wheel_arm(struct plain_wheel *wheel, struct plain_timer *timer, uint64_t deadline);

/* Remove a timer, waiting or due. An idle timer stays as it is. */
void plain_wheel_cancel(struct plain_wheel *wheel, struct plain_timer *timer);

bool plain_wheel_advance(struct plain_wheel *wheel, uint64_t now);

/* The next due timer, which is idle from now on; or NULL. */
struct plain_timer *plain_wheel_pop(struct plain_wheel *wheel);

/* When the first occupied slot opens; now if a timer is due; UINT64_MAX if the wheel is empty. */
uint64_t plain_wheel_next(const struct plain_wheel *wheel);

#endif
