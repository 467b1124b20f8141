/* SPDX-License-Identifier: MIT */
/* pawl's own wheel: with ordered slots, with eight chains, and in other sizes on request. */
#include "peer.h"

#include <pawl/wheel.h>
#include <stdlib.h>

static void *open_wheel(const struct peer *peer, size_t capacity)
{
	const struct pawl_wheel_options *options = peer->variant;
	size_t size = pawl_wheel_footprint(options);

	(void)capacity;
	/* Memory that init refuses would be lost here; but this init has nothing to refuse. */
	return pawl_wheel_init(malloc(size), size, options);
}

static void *open_wheel_ahead(const struct peer *peer, size_t capacity)
{
	struct pawl_wheel_options options = *(const struct pawl_wheel_options *)peer->variant;
	size_t size;

	(void)capacity;
	options.ahead = true;
	size = pawl_wheel_footprint(&options);
	return pawl_wheel_init(malloc(size), size, &options);
}

static void close_wheel(void *self)
{
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	pawl_wheel_arm_idle_at(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	pawl_wheel_cancel(self, timer);
}

static void refresh(void *self, void *timer, uint64_t deadline)
{
	pawl_wheel_touch_at(self, timer, deadline);
}

static bool advance(void *self, uint64_t now)
{
	return pawl_wheel_advance(self, now, 0) > 0;
}

static bool advance_bounded(void *self, uint64_t now, size_t max_moves)
{
	return pawl_wheel_advance(self, now, max_moves) < max_moves;
}

static size_t ahead(void *self, size_t max_moves)
{
	return pawl_wheel_ahead(self, max_moves);
}

static void *pop(void *self)
{
	return pawl_wheel_pop(self);
}

static uint64_t next(void *self)
{
	return pawl_wheel_next(self);
}

#define PAWL_PEER(NAME, SLOTS, CHAINS)                                                            \
	.name = (NAME), .timer_size = sizeof(struct pawl_timer), .cascades = true,                \
	.variant = &(const struct pawl_wheel_options){.wheel_size = (SLOTS), .chains = (CHAINS)}, \
	.open = open_wheel, .close = close_wheel, .arm = arm, .cancel = cancel,                   \
	.refresh = refresh, .advance = advance, .advance_bounded = advance_bounded, .pop = pop,   \
	.next = next, .open_ahead = open_wheel_ahead, .ahead = ahead

#define PAWL_VARIANT(NAME, SLOTS, CHAINS)                                                \
	{                                                                                \
		PAWL_PEER(NAME, SLOTS, CHAINS),                                          \
		        .on_request = true,                                              \
		        .about = "pawl's wheel with " #SLOTS " slots, chains = " #CHAINS \
	}

const struct peer peer_pawl_1 = {
        PAWL_PEER("pawl-1", 0, 1),
        .about = "pawl's wheel, chains = 1: exact order",
};

const struct peer peer_pawl_8 = {
        PAWL_PEER("pawl-8", 0, 8),
        .about = "pawl's wheel, chains = 8: order open within a tick",
};

const struct peer peer_pawl_variants[] = {
        PAWL_VARIANT("64x8", 64, 8),     PAWL_VARIANT("128x8", 128, 8),
        PAWL_VARIANT("256x1", 256, 1),   PAWL_VARIANT("256x2", 256, 2),
        PAWL_VARIANT("256x4", 256, 4),   PAWL_VARIANT("256x8", 256, 8),
        PAWL_VARIANT("256x16", 256, 16), PAWL_VARIANT("512x8", 512, 8),
        PAWL_VARIANT("1024x8", 1024, 8),
};
