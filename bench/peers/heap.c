/* SPDX-License-Identifier: MIT */
#include "../support/heap.h"
#include "peer.h"

#include <stdlib.h>

static void *open_heap(size_t capacity, bool (*init)(struct heap *, size_t))
{
	struct heap *heap = malloc(sizeof(*heap));

	if (heap && !init(heap, capacity)) {
		free(heap);
		return NULL;
	}
	return heap;
}

static void *open_2(const struct peer *peer, size_t capacity)
{
	(void)peer;
	return open_heap(capacity, heap2_init);
}

static void *open_4(const struct peer *peer, size_t capacity)
{
	(void)peer;
	return open_heap(capacity, heap4_init);
}

static void close_heap(void *self)
{
	heap_free(self);
	free(self);
}

static void arm_2(void *self, void *timer, uint64_t deadline)
{
	heap2_arm(self, timer, deadline);
}

static void arm_4(void *self, void *timer, uint64_t deadline)
{
	heap4_arm(self, timer, deadline);
}

static void cancel_2(void *self, void *timer)
{
	heap2_cancel(self, timer);
}

static void cancel_4(void *self, void *timer)
{
	heap4_cancel(self, timer);
}

static bool advance_2(void *self, uint64_t now)
{
	return heap2_advance(self, now);
}

static bool advance_4(void *self, uint64_t now)
{
	return heap4_advance(self, now);
}

static void *pop(void *self)
{
	return heap_pop(self);
}

static uint64_t next(void *self)
{
	return heap_next(self);
}

const struct peer peer_heap_2 = {
        .name = "heap-2",
        .about = "a binary heap",
        .timer_size = sizeof(struct heap_timer),
        .open = open_2,
        .close = close_heap,
        .arm = arm_2,
        .cancel = cancel_2,
        .refresh = arm_2, /* it sifts what is armed from where it is */
        .advance = advance_2,
        .pop = pop,
        .next = next,
};

const struct peer peer_heap_4 = {
        .name = "heap-4",
        .about = "a 4-ary heap, four children in a cache line",
        .timer_size = sizeof(struct heap_timer),
        .open = open_4,
        .close = close_heap,
        .arm = arm_4,
        .cancel = cancel_4,
        .refresh = arm_4, /* as above */
        .advance = advance_4,
        .pop = pop,
        .next = next,
};
