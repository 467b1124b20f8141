/* SPDX-License-Identifier: MIT */
#include "peer.h"
#include "plain_wheel.h"

#include <stdlib.h>

static void *open_wheel(const struct peer *peer, size_t capacity)
{
	struct plain_wheel *wheel = malloc(sizeof(*wheel));

	(void)peer;
	(void)capacity;
	if (wheel)
		plain_wheel_init(wheel);
	return wheel;
}

static void close_wheel(void *self)
{
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	plain_wheel_arm(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	plain_wheel_cancel(self, timer);
}

static bool advance(void *self, uint64_t now)
{
	return plain_wheel_advance(self, now);
}

static void *pop(void *self)
{
	return plain_wheel_pop(self);
}

static uint64_t next(void *self)
{
	return plain_wheel_next(self);
}

/* Enough to see the noise: ten million, or also the larger objects, would take minutes. */
static size_t a_million(void)
{
	return 1000000;
}

#define PLAIN_PEER                                                                              \
	.timer_size = sizeof(struct plain_timer), .cascades = true, .open = open_wheel,         \
	.close = close_wheel, .arm = arm, .cancel = cancel, .refresh = arm, .advance = advance, \
	.pop = pop, .next = next /* arm moves what is armed */

const struct peer peer_plain = {
        .name = "plain",
        .about = "a plain wheel of lists, 64 slots a level: what the others are compared with",
        PLAIN_PEER,
};

const struct peer peer_plain_again = {
        .name = "plain-again",
        .about = "the same once more: by how much it differs from plain is noise",
        .object_size = 64,
        .limit = a_million,
        PLAIN_PEER,
};
