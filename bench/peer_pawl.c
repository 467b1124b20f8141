/* SPDX-License-Identifier: MIT */
/* pawl's own wheel with its default size, once with ordered slots and once with eight chains. */
#include "peer.h"

#include <pawl/wheel.h>
#include <stdlib.h>

static void *open_chains(uint32_t chains)
{
	const struct pawl_wheel_options options = {.chains = chains};
	size_t size = pawl_wheel_footprint(&options);

	/* Memory that init refuses would be lost here; but this init has nothing to refuse. */
	return pawl_wheel_init(malloc(size), size, &options);
}

static void *open_1(size_t capacity)
{
	(void)capacity;
	return open_chains(1);
}

static void *open_8(size_t capacity)
{
	(void)capacity;
	return open_chains(8);
}

static void close_wheel(void *self)
{
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	pawl_wheel_arm(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	pawl_wheel_cancel(self, timer);
}

static void refresh(void *self, void *timer, uint64_t deadline)
{
	pawl_wheel_touch(self, timer, deadline);
}

static void advance(void *self, uint64_t now)
{
	pawl_wheel_advance(self, now, 0);
}

static void *pop(void *self)
{
	return pawl_wheel_pop(self);
}

static uint64_t next(void *self)
{
	return pawl_wheel_next(self);
}

const struct peer peer_pawl_1 = {
        .name = "pawl-1",
        .about = "pawl's wheel, chains = 1: exact order",
        .timer_size = sizeof(struct pawl_timer),
        .cascades = true,
        .open = open_1,
        .close = close_wheel,
        .arm = arm,
        .cancel = cancel,
        .refresh = refresh,
        .advance = advance,
        .pop = pop,
        .next = next,
};

const struct peer peer_pawl_8 = {
        .name = "pawl-8",
        .about = "pawl's wheel, chains = 8: order open within a tick",
        .timer_size = sizeof(struct pawl_timer),
        .cascades = true,
        .open = open_8,
        .close = close_wheel,
        .arm = arm,
        .cancel = cancel,
        .refresh = refresh,
        .advance = advance,
        .pop = pop,
        .next = next,
};
