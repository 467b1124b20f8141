/* SPDX-License-Identifier: MIT */
/*
 * A heap in which cancel only marks an entry, and a sweep removes marked entries. Kafka kept its delayed requests like
 * this before it had a timing wheel.
 *
 * DelayQueue has no cheap way to remove an entry from its middle. So a completed request stayed in the heap, marked,
 * until its deadline brought it to the top, or until a sweep. A sweep looks at all entries and builds the heap again.
 * Kafka swept at a fixed number of marked requests. Here a sweep comes when more entries are marked than not, which
 * costs a constant number of steps for each cancel, however many timers there are.
 *
 * An entry outlives its timer's arming, so it is not part of the timer: a timer that is armed again has a second entry.
 * Each arming has a number. An entry is dead if its timer has another number.
 */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <stdlib.h>

/* All zeroes is an idle timer. */
struct timer {
	uint64_t arming; /* 0: idle */
};

struct entry {
	uint64_t deadline;
	struct timer *timer;
	uint64_t arming;
};

struct heap {
	struct entry *entries; /* a binary heap, the root at 0 */
	size_t count, capacity;
	size_t marked; /* of these */
	uint64_t now;
	uint64_t armings;
};

enum {
	FIRST_CAPACITY = 1024,
	LEAST_MARKED = 1000, /* with fewer marked entries there is no sweep: Kafka's default */
};

static bool dead(const struct entry *entry)
{
	return entry->arming != entry->timer->arming;
}

static void sift_up(struct heap *heap, size_t hole, struct entry entry)
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

static void sift_down(struct heap *heap, size_t hole, struct entry entry)
{
	struct entry *entries = heap->entries;
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

static struct entry remove_first(struct heap *heap)
{
	struct entry first = heap->entries[0];

	heap->count--;
	if (heap->count > 0)
		sift_down(heap, 0, heap->entries[heap->count]);
	return first;
}

/* Keep the entries that are not dead, and make a heap of them. */
static void sweep(struct heap *heap)
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
static void drop_dead(struct heap *heap)
{
	while (heap->count > 0 && dead(&heap->entries[0])) {
		remove_first(heap);
		heap->marked--;
	}
}

static void grow(struct heap *heap)
{
	heap->capacity = heap->capacity ? 2 * heap->capacity : FIRST_CAPACITY;
	heap->entries = realloc(heap->entries, heap->capacity * sizeof(*heap->entries));
	if (!heap->entries)
		fail("no memory for %zu entries of a heap", heap->capacity);
}

/* Arm a timer that is idle. Exits if there is no memory. */
OUT_OF_LINE void heap_arm(struct heap *heap, struct timer *timer, uint64_t deadline)
{
	timer->arming = ++heap->armings;
	if (heap->count == heap->capacity)
		grow(heap);
	sift_up(heap, heap->count++,
	        (struct entry){.deadline = deadline, .timer = timer, .arming = timer->arming});
}

/* Mark the entry of an armed timer, and sweep if enough are marked. */
OUT_OF_LINE void heap_cancel(struct heap *heap, struct timer *timer)
{
	timer->arming = 0;
	heap->marked++;
	if (heap->marked >= LEAST_MARKED && heap->marked > heap->count / 2)
		sweep(heap);
}

OUT_OF_LINE bool heap_advance(struct heap *heap, uint64_t now)
{
	heap->now = now;
	drop_dead(heap);
	return heap->count > 0 && heap->entries[0].deadline <= now;
}

OUT_OF_LINE struct timer *heap_pop(struct heap *heap)
{
	struct timer *timer;

	drop_dead(heap);
	if (heap->count == 0 || heap->entries[0].deadline > heap->now)
		return NULL;
	timer = remove_first(heap).timer;
	timer->arming = 0;
	return timer;
}

OUT_OF_LINE uint64_t heap_next(struct heap *heap)
{
	drop_dead(heap);
	if (heap->count == 0)
		return UINT64_MAX;
	return heap->entries[0].deadline > heap->now ? heap->entries[0].deadline : heap->now;
}

static void *open_heap(const struct peer *peer, size_t capacity)
{
	(void)peer;
	(void)capacity;
	return calloc(1, sizeof(struct heap));
}

static void close_heap(void *self)
{
	free(((struct heap *)self)->entries);
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	heap_arm(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	heap_cancel(self, timer);
}

static void refresh(void *self, void *timer, uint64_t deadline)
{
	heap_cancel(self, timer);
	heap_arm(self, timer, deadline);
}

static bool advance(void *self, uint64_t now)
{
	return heap_advance(self, now);
}

static void *pop(void *self)
{
	return heap_pop(self);
}

static uint64_t next(void *self)
{
	return heap_next(self);
}

static size_t entries(void *self)
{
	return ((struct heap *)self)->count;
}

/*
 * With ten million timers the seven million steps of churn cause no sweep, and without dead entries it expires like any
 * binary heap. So nothing is measured there in which time passes.
 */
const struct peer peer_marked = {
        .name = "marked-heap",
        .about = "a binary heap whose cancel only marks, and a sweeper: Kafka's old design",
        .timer_size = sizeof(struct timer),
        .cascades = true, /* dead entries pile up as time passes, so churn runs its whole length */
        .most_in_time = 5000000,
        .open = open_heap,
        .close = close_heap,
        .arm = arm,
        .cancel = cancel,
        .refresh = refresh,
        .advance = advance,
        .pop = pop,
        .next = next,
        .entries = entries,
};
