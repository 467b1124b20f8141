/* SPDX-License-Identifier: MIT */
/*
 * Both heaps are one algorithm with the arity as an argument. It is inlined into the public functions, where the arity
 * is a constant, so neither heap pays for the other.
 *
 * The root is at index arity - 1. Then the first child of i is at arity * (i + 2 - arity), a multiple
 * of the arity; for the binary heap this is the textbook's root at 1 and children at 2i and 2i + 1.
 */
#include "heap.h"

#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

enum { CACHE_LINE = 64 };

#define IDLE ((size_t)0) /* no entry is there: the root is at 1 at least */
#define DUE  SIZE_MAX

INLINE size_t parent(size_t index, size_t arity)
{
	return index / arity + arity - 2;
}

INLINE size_t first_child(size_t index, size_t arity)
{
	return arity * (index + 2 - arity);
}

INLINE void put(struct heap *heap, size_t index, struct heap_entry entry)
{
	heap->entries[index] = entry;
	entry.timer->index = index;
}

/* Put the entry at the hole or above it. */
INLINE void sift_up(struct heap *heap, size_t hole, struct heap_entry entry, size_t arity)
{
	while (hole != arity - 1) {
		size_t above = parent(hole, arity);

		if (heap->entries[above].deadline <= entry.deadline)
			break;
		put(heap, hole, heap->entries[above]);
		hole = above;
	}
	put(heap, hole, entry);
}

INLINE size_t earliest_child(const struct heap *heap, size_t first, size_t arity)
{
	const struct heap_entry *entries = heap->entries;
	size_t last = first + arity <= heap->end ? first + arity : heap->end;
	size_t best = first;

	for (size_t child = first + 1; child < last; child++)
		best = entries[child].deadline < entries[best].deadline ? child : best;
	return best;
}

/* Put the entry at the hole or below it. */
INLINE void sift_down(struct heap *heap, size_t hole, struct heap_entry entry, size_t arity)
{
	size_t first;

	while ((first = first_child(hole, arity)) < heap->end) {
		size_t child = earliest_child(heap, first, arity);

		if (entry.deadline <= heap->entries[child].deadline)
			break;
		put(heap, hole, heap->entries[child]);
		hole = child;
	}
	put(heap, hole, entry);
}

INLINE void sift(struct heap *heap, size_t hole, struct heap_entry entry, size_t arity)
{
	if (hole != arity - 1 && entry.deadline < heap->entries[parent(hole, arity)].deadline)
		sift_up(heap, hole, entry, arity);
	else
		sift_down(heap, hole, entry, arity);
}

/* The last entry fills its hole. */
INLINE void remove_entry(struct heap *heap, size_t index, size_t arity)
{
	struct heap_entry last = heap->entries[--heap->end];

	if (index != heap->end)
		sift(heap, index, last, arity);
}

static void due_append(struct heap *heap, struct heap_timer *timer)
{
	timer->index = DUE;
	timer->next = NULL;
	timer->prev = heap->due_last;
	if (timer->prev)
		timer->prev->next = timer;
	else
		heap->due_first = timer;
	heap->due_last = timer;
}

static void due_remove(struct heap *heap, struct heap_timer *timer)
{
	if (timer->prev)
		timer->prev->next = timer->next;
	else
		heap->due_first = timer->next;
	if (timer->next)
		timer->next->prev = timer->prev;
	else
		heap->due_last = timer->prev;
	timer->index = IDLE;
}

INLINE bool init(struct heap *heap, size_t capacity, size_t arity)
{
	size_t bytes = (capacity + arity) * sizeof(struct heap_entry);

	*heap = (struct heap){.root = arity - 1, .end = arity - 1};
	heap->entries =
	        aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	return heap->entries != NULL;
}

INLINE void arm(struct heap *heap, struct heap_timer *timer, uint64_t deadline, size_t arity)
{
	struct heap_entry entry = {.deadline = deadline, .timer = timer};

	if (timer->index == DUE)
		due_remove(heap, timer);
	if (timer->index == IDLE)
		sift_up(heap, heap->end++, entry, arity);
	else
		sift(heap, timer->index, entry, arity);
}

INLINE void cancel(struct heap *heap, struct heap_timer *timer, size_t arity)
{
	if (timer->index == IDLE)
		return;
	if (timer->index == DUE) {
		due_remove(heap, timer);
		return;
	}
	remove_entry(heap, timer->index, arity);
	timer->index = IDLE;
}

INLINE bool advance(struct heap *heap, uint64_t now, size_t arity)
{
	size_t root = arity - 1;

	heap->now = now;
	while (heap->end > root && heap->entries[root].deadline <= now) {
		struct heap_timer *timer = heap->entries[root].timer;

		remove_entry(heap, root, arity);
		due_append(heap, timer);
	}
	return heap->due_first != NULL;
}

bool heap2_init(struct heap *heap, size_t capacity)
{
	return init(heap, capacity, 2);
}

bool heap4_init(struct heap *heap, size_t capacity)
{
	return init(heap, capacity, 4);
}

void heap_free(struct heap *heap)
{
	free(heap->entries);
}

void heap2_arm(struct heap *heap, struct heap_timer *timer, uint64_t deadline)
{
	arm(heap, timer, deadline, 2);
}

void heap4_arm(struct heap *heap, struct heap_timer *timer, uint64_t deadline)
{
	arm(heap, timer, deadline, 4);
}

void heap2_cancel(struct heap *heap, struct heap_timer *timer)
{
	cancel(heap, timer, 2);
}

void heap4_cancel(struct heap *heap, struct heap_timer *timer)
{
	cancel(heap, timer, 4);
}

bool heap2_advance(struct heap *heap, uint64_t now)
{
	return advance(heap, now, 2);
}

bool heap4_advance(struct heap *heap, uint64_t now)
{
	return advance(heap, now, 4);
}

struct heap_timer *heap_pop(struct heap *heap)
{
	struct heap_timer *timer = heap->due_first;

	if (timer)
		due_remove(heap, timer);
	return timer;
}

uint64_t heap_next(const struct heap *heap)
{
	if (heap->due_first)
		return heap->now;
	return heap->end > heap->root ? heap->entries[heap->root].deadline : UINT64_MAX;
}
