/* SPDX-License-Identifier: MIT */
/*
 * marked_heap.h: a heap whose cancel only marks, and a sweeper that cleans: how Kafka kept its delayed
 * requests before it had a timing wheel.
 *
 * DelayQueue has no cheap way to take out what is in its middle. So a request that was completed stayed
 * in the heap, marked, until its deadline brought it to the top, or a sweep came by: when enough are
 * marked, all entries are looked at and the heap is built anew. Kafka swept at a fixed number of marked
 * requests; here a sweep comes when the marked outnumber the living, which costs a constant number of
 * steps for each cancel however many timers there are.
 *
 * An entry outlives its timer's arming, so it cannot be part of the timer: armed anew, the timer has a
 * second entry. Each arming has a number, and an entry is dead when its timer's is another.
 */
#ifndef PAWL_BENCH_MARKED_HEAP_H
#define PAWL_BENCH_MARKED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes is an idle timer. */
struct marked_timer {
	uint64_t arming; /* 0: idle */
};

struct marked_entry {
	uint64_t deadline;
	struct marked_timer *timer;
	uint64_t arming;
};

struct marked_heap {
	struct marked_entry *entries; /* a binary heap, the root at 0 */
	size_t count, capacity;
	size_t marked; /* of these */
	uint64_t now;
	uint64_t armings;
};

void marked_heap_init(struct marked_heap *heap);
void marked_heap_free(struct marked_heap *heap);

/* Arm a timer that is idle. Exits if there is no memory. */
void marked_heap_arm(struct marked_heap *heap, struct marked_timer *timer, uint64_t deadline);

/* Mark a timer that is armed, and sweep if it is time to. */
void marked_heap_cancel(struct marked_heap *heap, struct marked_timer *timer);

bool marked_heap_advance(struct marked_heap *heap, uint64_t now);

/* The next due timer, now idle, or NULL. */
struct marked_timer *marked_heap_pop(struct marked_heap *heap);

/* The first deadline; now if that has passed; UINT64_MAX if all are idle. */
uint64_t marked_heap_next(struct marked_heap *heap);

#endif
