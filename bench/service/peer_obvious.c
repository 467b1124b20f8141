/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "peer.h"

static void *open_obvious(const struct service_peer *peer, const struct service_setup *setup)
{
	(void)peer;
	return obvious_service_open(setup->capacity, setup->polled);
}

static void close_obvious(void *self)
{
	obvious_service_close(self);
}

static void count(struct obvious_task *task)
{
	object_count((struct object *)task);
}

static void stamp(struct obvious_task *task)
{
	object_stamp((struct object *)task);
}

static void init(struct object *object, enum behaviour behaviour)
{
	obvious_task_init(&object->task.obvious, behaviour == COUNT ? count : stamp);
}

static void arm(void *self, struct object *object, uint64_t delay_ns)
{
	obvious_service_arm(self, &object->task.obvious, delay_ns);
}

static void arm_at(void *self, struct object *object, uint64_t deadline_ns)
{
	obvious_service_arm_at(self, &object->task.obvious, deadline_ns);
}

static enum pawl_service_found cancel(void *self, struct object *object)
{
	return obvious_service_cancel(self, &object->task.obvious) ? PAWL_SERVICE_CANCELLED
	                                                           : PAWL_SERVICE_IDLE;
}

static void skip(void *self, uint64_t ns)
{
	obvious_service_skip(self, ns);
}

static size_t run_due(void *self)
{
	return obvious_service_poll(self);
}

static size_t empty_bytes(void)
{
	size_t before = memory_in_use(), bytes;
	struct obvious_service *service = obvious_service_open(0, true);

	if (!service)
		return 0;
	bytes = memory_in_use() - before;
	obvious_service_close(service);
	return bytes;
}

const struct service_peer service_peer_obvious = {
        .name = "heap",
        .about = "a binary heap under one mutex, a condition variable and a thread",
        .pending_bytes = obvious_task_bytes,
        .empty_bytes = empty_bytes,
        .open = open_obvious,
        .close = close_obvious,
        .init = init,
        .arm = arm,
        .arm_at = arm_at,
        .cancel = cancel,
        .skip = skip,
        .poll = run_due,
};
