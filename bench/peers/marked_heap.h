/* SPDX-License-Identifier: MIT */
/*
 * marked_heap.h: a heap in which cancel only marks an entry, and a sweep removes marked entries. Kafka kept its delayed
 * requests like this before it had a timing wheel.
 *
 * DelayQueue has no cheap way to remove an entry from its middle. So a completed request stayed in the heap, marked,
 * until its deadline brought it to the top, or until a sweep. A sweep looks at all entries and builds the heap again.
 * Kafka swept at a fixed number of marked requests. Here a sweep comes when more entries are marked than not, which
 * costs a constant number of steps for each cancel, however many timers there are.
 *
 * An entry outlives its timer's arming, so it is not part of the timer: a timer that is armed again has a second entry.
 * Each arming has a number. An entry is dead if its timer has another number.
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

/* Mark the entry of an armed timer, and sweep if enough are marked. */
void marked_heap_cancel(struct marked_heap *heap, struct marked_timer *timer);

bool marked_heap_advance(struct marked_heap *heap, uint64_t now);

/* The next due timer, which is idle from now on; or NULL. */
struct marked_timer *marked_heap_pop(struct marked_heap *heap);

/* The first deadline; now if that has passed; UINT64_MAX if all are idle. */
uint64_t marked_heap_next(struct marked_heap *heap);

#endif
