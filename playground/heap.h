/* SPDX-License-Identifier: MIT */
/*
 * The same timers in a binary heap, as in Java's DelayQueue and most event loops. It is for comparison, so it counts
 * its steps. Each timer's index is kept, so cancelling needs no search.
 */
#ifndef PAWL_PLAYGROUND_HEAP_H
#define PAWL_PLAYGROUND_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	uint64_t deadline;
	uint32_t id;
};

#define HEAP_TRACE 128u

struct heap {
	struct heap_entry
	        *entries;   /* borrowed; the root is at 0, the children of i at 2i + 1 and 2i + 2 */
	uint32_t *index_of; /* borrowed: where an id is, plus one; 0: nowhere */
	uint32_t count;
	uint32_t comparisons, moves; /* of two deadlines; of an entry to an index */
	uint32_t trace[HEAP_TRACE];  /* the first indexes written to since `traced` was 0 */
	uint32_t traced;             /* how many of them the trace holds */
};

/* Arm a timer, or move it if it is in the heap. */
void heap_arm(struct heap *heap, uint32_t id, uint64_t deadline);
void heap_cancel(struct heap *heap, uint32_t id);

/* Remove the timers that are due by now, at most `max`. Returns how many. */
uint32_t heap_expire(struct heap *heap, uint64_t now, uint32_t max);

#endif
