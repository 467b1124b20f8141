/* SPDX-License-Identifier: MIT */
/*
 * heap.h: timers in a binary or 4-ary heap, as in most event loops and Java's DelayQueue.
 *
 * The array has the deadline next to the pointer, so comparing does not touch the timers. Each timer knows its index,
 * so cancelling needs no search. The children of a parent are adjacent and aligned: four of them are one cache line.
 *
 * Advancing moves due timers to a list, as libuv and libev do before they call back.
 */
#ifndef PAWL_BENCH_HEAP_H
#define PAWL_BENCH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes is an idle timer. */
struct heap_timer {
	struct heap_timer *next, *prev; /* in the due list */
	size_t index;
};

struct heap_entry {
	uint64_t deadline;
	struct heap_timer *timer;
};

struct heap {
	struct heap_entry *entries;
	size_t root; /* its index: so that the children of each parent are aligned */
	size_t end;  /* the index after the last entry */
	uint64_t now;
	struct heap_timer *due_first, *due_last;
};

/* Room for `capacity` timers; more must not be armed. false if there is no memory. */
bool heap2_init(struct heap *heap, size_t capacity);
bool heap4_init(struct heap *heap, size_t capacity);
void heap_free(struct heap *heap);

/* Arm it; an armed timer gets the new deadline. */
void heap2_arm(struct heap *heap, struct heap_timer *timer, uint64_t deadline);
void heap4_arm(struct heap *heap, struct heap_timer *timer, uint64_t deadline);

/* Remove a timer, waiting or due. An idle timer stays as it is. */
void heap2_cancel(struct heap *heap, struct heap_timer *timer);
void heap4_cancel(struct heap *heap, struct heap_timer *timer);

bool heap2_advance(struct heap *heap, uint64_t now);
bool heap4_advance(struct heap *heap, uint64_t now);

/* The next due timer, which is idle from now on; or NULL. */
struct heap_timer *heap_pop(struct heap *heap);

/* The first deadline; now if a timer is due; UINT64_MAX if the heap is empty. */
uint64_t heap_next(const struct heap *heap);

#endif
