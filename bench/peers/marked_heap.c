/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "marked_heap.h"

#include "../support/machine.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

/* With fewer marked entries there is no sweep: Kafka's default. */
enum { LEAST_MARKED = 1000 };

static bool dead(const struct marked_entry *entry)
{
	return entry->arming != entry->timer->arming;
}

static void sift_up(struct marked_heap *heap, size_t hole, struct marked_entry entry)
{
	while (hole > 0) {
		size_t parent = (hole - 1) / 2;

		if (heap->entries[parent].deadline <= entry.deadline)
			break;
		heap->entries[hole] = heap->entries[parent];
		hole = parent;
	}
	heap->entries[hole] = entry;
}

static void sift_down(struct marked_heap *heap, size_t hole, struct marked_entry entry)
{
	struct marked_entry *entries = heap->entries;
	size_t child;

	while ((child = 2 * hole + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    entries[child + 1].deadline < entries[child].deadline)
			child++;
		if (entry.deadline <= entries[child].deadline)
			break;
		entries[hole] = entries[child];
		hole = child;
	}
	entries[hole] = entry;
}

static struct marked_entry remove_first(struct marked_heap *heap)
{
	struct marked_entry first = heap->entries[0];

	heap->count--;
	if (heap->count > 0)
		sift_down(heap, 0, heap->entries[heap->count]);
	return first;
}

/* Keep the entries that are not dead, and make a heap of them. */
static void sweep(struct marked_heap *heap)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap->count; i++)
		if (!dead(&heap->entries[i]))
			heap->entries[kept++] = heap->entries[i];
	heap->count = kept;
	heap->marked = 0;
	for (size_t i = kept / 2; i-- > 0;)
		sift_down(heap, i, heap->entries[i]);
}

/* Those that are first; the others stay where they are. */
static void drop_dead(struct marked_heap *heap)
{
	while (heap->count > 0 && dead(&heap->entries[0])) {
		remove_first(heap);
		heap->marked--;
	}
}

static void grow(struct marked_heap *heap)
{
	heap->capacity = heap->capacity ? 2 * heap->capacity : FIRST_CAPACITY;
	heap->entries = realloc(heap->entries, heap->capacity * sizeof(*heap->entries));
	if (!heap->entries)
		fail("no memory for %zu entries of a heap", heap->capacity);
}

void marked_heap_init(struct marked_heap *heap)
{
	*heap = (struct marked_heap){0};
}

void marked_heap_free(struct marked_heap *heap)
{
	free(heap->entries);
}

void marked_heap_arm(struct marked_heap *heap, struct marked_timer *timer, uint64_t deadline)
{
	timer->arming = ++heap->armings;
	if (heap->count == heap->capacity)
		grow(heap);
	sift_up(heap, heap->count++,
	        (struct marked_entry){
	                .deadline = deadline, .timer = timer, .arming = timer->arming});
}

void marked_heap_cancel(struct marked_heap *heap, struct marked_timer *timer)
{
	timer->arming = 0;
	heap->marked++;
	if (heap->marked >= LEAST_MARKED && heap->marked > heap->count / 2)
		sweep(heap);
}

bool marked_heap_advance(struct marked_heap *heap, uint64_t now)
{
	heap->now = now;
	drop_dead(heap);
	return heap->count > 0 && heap->entries[0].deadline <= now;
}

struct marked_timer *marked_heap_pop(struct marked_heap *heap)
{
	struct marked_timer *timer;

	drop_dead(heap);
	if (heap->count == 0 || heap->entries[0].deadline > heap->now)
		return NULL;
	timer = remove_first(heap).timer;
	timer->arming = 0;
	return timer;
}

uint64_t marked_heap_next(struct marked_heap *heap)
{
	drop_dead(heap);
	if (heap->count == 0)
		return UINT64_MAX;
	return heap->entries[0].deadline > heap->now ? heap->entries[0].deadline : heap->now;
}
