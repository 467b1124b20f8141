/* SPDX-License-Identifier: MIT */
#include "heap.h"

static bool earlier(struct heap *heap, const struct heap_entry *a, const struct heap_entry *b)
{
	heap->comparisons++;
	return a->deadline < b->deadline;
}

static void put(struct heap *heap, uint32_t index, struct heap_entry entry)
{
	heap->entries[index] = entry;
	heap->index_of[entry.id] = index + 1;
	heap->moves++;
	if (heap->traced < HEAP_TRACE)
		heap->trace[heap->traced++] = index;
}

/* Fill the hole with the entry, or with its parents as long as they are later. */
static void sift_up(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	while (hole > 0 && earlier(heap, &entry, &heap->entries[(hole - 1) / 2])) {
		put(heap, hole, heap->entries[(hole - 1) / 2]);
		hole = (hole - 1) / 2;
	}
	put(heap, hole, entry);
}

static uint32_t earlier_child(struct heap *heap, uint32_t hole)
{
	uint32_t left = 2 * hole + 1, right = left + 1;

	if (right < heap->count && earlier(heap, &heap->entries[right], &heap->entries[left]))
		return right;
	return left;
}

static void sift_down(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	while (2 * hole + 1 < heap->count) {
		uint32_t child = earlier_child(heap, hole);

		if (!earlier(heap, &heap->entries[child], &entry))
			break;
		put(heap, hole, heap->entries[child]);
		hole = child;
	}
	put(heap, hole, entry);
}

static void sift(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	if (hole > 0 && earlier(heap, &entry, &heap->entries[(hole - 1) / 2]))
		sift_up(heap, hole, entry);
	else
		sift_down(heap, hole, entry);
}

void heap_arm(struct heap *heap, uint32_t id, uint64_t deadline)
{
	struct heap_entry entry = {deadline, id};

	if (heap->index_of[id])
		sift(heap, heap->index_of[id] - 1, entry);
	else
		sift_up(heap, heap->count++, entry);
}

void heap_cancel(struct heap *heap, uint32_t id)
{
	uint32_t hole = heap->index_of[id];
	struct heap_entry last;

	if (!hole)
		return;
	heap->index_of[id] = 0;
	last = heap->entries[--heap->count];
	if (hole - 1 < heap->count)
		sift(heap, hole - 1, last);
}

uint32_t heap_expire(struct heap *heap, uint64_t now, uint32_t max)
{
	uint32_t expired = 0;

	while (expired < max && heap->count > 0 && heap->entries[0].deadline <= now) {
		heap_cancel(heap, heap->entries[0].id);
		expired++;
	}
	return expired;
}
