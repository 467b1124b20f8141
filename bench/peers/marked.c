/* SPDX-License-Identifier: MIT */
#include "marked_heap.h"
#include "peer.h"

#include <stdlib.h>

static void *open_heap(const struct peer *peer, size_t capacity)
{
	struct marked_heap *heap = malloc(sizeof(*heap));

	(void)peer;
	(void)capacity;
	if (heap)
		marked_heap_init(heap);
	return heap;
}

static void close_heap(void *self)
{
	marked_heap_free(self);
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	marked_heap_arm(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	marked_heap_cancel(self, timer);
}

static void refresh(void *self, void *timer, uint64_t deadline)
{
	marked_heap_cancel(self, timer);
	marked_heap_arm(self, timer, deadline);
}

static bool advance(void *self, uint64_t now)
{
	return marked_heap_advance(self, now);
}

static void *pop(void *self)
{
	return marked_heap_pop(self);
}

static uint64_t next(void *self)
{
	return marked_heap_next(self);
}

static size_t entries(void *self)
{
	return ((struct marked_heap *)self)->count;
}

/*
 * With ten million timers the seven million steps of churn cause no sweep, and without dead entries it expires like any
 * binary heap. So nothing is measured there in which time passes.
 */
const struct peer peer_marked = {
        .name = "marked-heap",
        .about = "a binary heap whose cancel only marks, and a sweeper: Kafka's old design",
        .timer_size = sizeof(struct marked_timer),
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
