/* SPDX-License-Identifier: MIT */
/*
 * A heap of tasks by `at`, and among equals by arrival. It serves where a wheel does not: for the few
 * tasks of a small queue, and for what is due before the time that a wheel has reached. Each task knows
 * its index, so any of them can be taken out.
 */
#ifndef PAWL_REDIS_HEAP_H
#define PAWL_REDIS_HEAP_H

#include "task.h"

/* Children of a node: four, so that the heap is half as deep as with two. */
enum { HEAP_ARITY = 4 };

struct heap {
	struct task **tasks; /* NULL until the first push */
	size_t count, capacity;
};

/* `sequence` tells who came first; the caller counts it. */
void heap_push(struct heap *heap, struct task *task, uint64_t at, uint64_t sequence);
void heap_remove(struct heap *heap, struct task *task);
void heap_free(struct heap *heap); /* the array; the tasks are yours */

/* The first task; NULL if there is none. */
static inline struct task *heap_first(const struct heap *heap)
{
	return heap->count ? heap->tasks[0] : NULL;
}

#endif
