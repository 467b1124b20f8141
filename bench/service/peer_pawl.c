/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "peer.h"

#include <stdlib.h>

/*
 * CLOCK_MONOTONIC plus the skipped time; it counts the waits. The manual clock is cheaper to read than a real one, so a backlog on it would
 * look faster than it is.
 */
struct skipping_clock {
	struct pawl_clock clock;
	struct pawl_clock_system real;
	uint64_t skipped;
	uint64_t waits; /* one thread waits */
};

struct opened {
	struct pawl_service *service;
	struct skipping_clock clock; /* if it skips */
};

static uint64_t skipping_now(struct pawl_clock *clock)
{
	struct skipping_clock *self = (struct skipping_clock *)clock;

	return clock_ns() + __atomic_load_n(&self->skipped, __ATOMIC_RELAXED);
}

static void skipping_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct skipping_clock *self = (struct skipping_clock *)clock;
	uint64_t skipped = __atomic_load_n(&self->skipped, __ATOMIC_RELAXED);

	if (deadline != PAWL_NEVER)
		deadline = deadline > skipped ? deadline - skipped : 0;
	self->real.clock.wait(&self->real.clock, deadline);
	__atomic_store_n(&self->waits, self->waits + 1, __ATOMIC_RELAXED);
}

static void skipping_wake(struct pawl_clock *clock)
{
	struct skipping_clock *self = (struct skipping_clock *)clock;

	self->real.clock.wake(&self->real.clock);
}

static void skipping_init(struct skipping_clock *clock)
{
	*clock = (struct skipping_clock){
	        .clock = {.now = skipping_now, .wait = skipping_wait, .wake = skipping_wake}};
	pawl_clock_monotonic_init(&clock->real);
}

static void *open_pawl(const struct service_peer *peer, const struct service_setup *setup)
{
	struct pawl_service_options options = {.tick_ns = peer->tick_ns, .workers = peer->workers};
	struct opened *self = malloc(sizeof(*self));

	if (!self)
		return NULL;
	if (setup->polled)
		options.workers = PAWL_SERVICE_MANUAL;
	if (setup->skips) {
		skipping_init(&self->clock);
		options.clock = &self->clock.clock;
	}
	if (pawl_service_open(&self->service, &options) == 0)
		return self;
	free(self);
	return NULL;
}

struct pawl_service *service_of(void *self)
{
	return ((struct opened *)self)->service;
}

uint64_t waits_of(void *self)
{
	return __atomic_load_n(&((struct opened *)self)->clock.waits, __ATOMIC_RELAXED);
}

static void close_pawl(void *self)
{
	struct opened *opened = self;

	pawl_service_close(opened->service, NULL);
	free(opened);
}

static void count(struct pawl_task *task)
{
	object_count((struct object *)task);
}

static void stamp(struct pawl_task *task)
{
	object_stamp((struct object *)task);
}

static void init(struct object *object, enum behaviour behaviour)
{
	pawl_task_init(&object->task.pawl, behaviour == COUNT ? count : stamp);
}

static void arm(void *self, struct object *object, uint64_t delay_ns)
{
	struct opened *opened = self;

	pawl_service_arm(opened->service, &object->task.pawl, delay_ns);
}

static void arm_at(void *self, struct object *object, uint64_t deadline_ns)
{
	struct opened *opened = self;

	pawl_service_arm_at(opened->service, &object->task.pawl, deadline_ns);
}

static enum pawl_service_found cancel(void *self, struct object *object)
{
	struct opened *opened = self;

	return pawl_service_cancel(opened->service, &object->task.pawl);
}

static void skip(void *self, uint64_t ns)
{
	struct opened *opened = self;

	__atomic_fetch_add(&opened->clock.skipped, ns, __ATOMIC_RELAXED);
	skipping_wake(&opened->clock.clock);
}

static size_t run_due(void *self)
{
	struct opened *opened = self;

	return pawl_service_poll(opened->service, 0);
}

static size_t pending_bytes(void)
{
	return sizeof(struct pawl_task);
}

#define PAWL_PEER                                                                             \
	.pending_bytes = pending_bytes, .open = open_pawl, .close = close_pawl, .init = init, \
	.arm = arm, .arm_at = arm_at, .cancel = cancel, .skip = skip, .poll = run_due

#ifdef PAWL_WITHOUT_AHEAD

/*
 * This file is compiled twice: see CMakeLists.txt. There the linker replaces pawl_wheel_init() by this function, for the
 * service's wheels do move ahead.
 */
struct pawl_wheel *__real_pawl_wheel_init(void *mem, size_t size,
                                          const struct pawl_wheel_options *options);
struct pawl_wheel *__wrap_pawl_wheel_init(void *mem, size_t size,
                                          const struct pawl_wheel_options *options)
{
	struct pawl_wheel_options without = *options;

	without.ahead = false;
	return __real_pawl_wheel_init(mem, size, &without);
}

const struct service_peer service_peer_pawl_without = {
        .name = "no-ahead",
        .about = "pawl's service built without moving ahead; in live and rates only",
        .tick_ns = 1000000,
        .measured = IN_LATENESS,
        PAWL_PEER,
};

#else

const struct service_peer service_peer_pawl = {
        .name = "pawl",
        .about = "pawl's service with its defaults: ticks of 1 ms, one worker",
        .tick_ns = 1000000,
        PAWL_PEER,
};

const struct service_peer service_peer_pawl_50us = {
        .name = "pawl-50us",
        .about = "the same with ticks of 50 us; in rates only",
        .tick_ns = 50000,
        .measured = IN_RATES,
        PAWL_PEER,
};

const struct service_peer service_peer_pawl_2_workers = {
        .name = "pawl-2-workers",
        .about = "the same with two workers; in rates only",
        .tick_ns = 50000,
        .workers = 2,
        .measured = IN_RATES,
        PAWL_PEER,
};

#endif
