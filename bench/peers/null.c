/* SPDX-License-Identifier: MIT */
/* Does nothing, and is called like every peer: the cost of the harness. */
#include "peer.h"

static void *open_null(const struct peer *peer, size_t capacity)
{
	static char something;

	(void)peer;
	(void)capacity;
	return &something;
}

static void close_null(void *self)
{
	(void)self;
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	(void)self;
	(void)timer;
	(void)deadline;
}

static void cancel(void *self, void *timer)
{
	(void)self;
	(void)timer;
}

static bool advance(void *self, uint64_t now)
{
	(void)self;
	(void)now;
	return true;
}

static void *pop(void *self)
{
	(void)self;
	return NULL;
}

static uint64_t next(void *self)
{
	(void)self;
	return PEER_NEVER;
}

const struct peer peer_null = {
        .name = "null",
        .about = "does nothing: the harness's own cost",
        .null = true,
        .open = open_null,
        .close = close_null,
        .arm = arm,
        .cancel = cancel,
        .refresh = arm,
        .advance = advance,
        .pop = pop,
        .next = next,
};
