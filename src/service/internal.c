/* SPDX-License-Identifier: MIT */
/* The questions of the purgatory and the live view to a service: internal.h. */
#define _GNU_SOURCE
#include "layout.h"

struct pawl_clock *pawl__service_clock(const struct pawl_service *service)
{
	return service->clock;
}

struct ticks pawl__service_ticks(const struct pawl_service *service)
{
	return service->ticks;
}

unsigned pawl__service_shards(const struct pawl_service *service)
{
	return service->shard_count;
}

unsigned pawl__service_workers(const struct pawl_service *service)
{
	return service->worker_count;
}

bool pawl__service_manual(const struct pawl_service *service)
{
	return service->manual;
}

/* Once the shards are closed, no task is armed. */
bool pawl__service_stopped(const struct pawl_service *service)
{
	return __atomic_load_n(&service->shards[0].closed, __ATOMIC_RELAXED);
}

void pawl__service_add_part(struct pawl_service *service, struct service_part *part)
{
	mutex_lock(&service->mutex);
	part->next = service->parts;
	service->parts = part;
	mutex_unlock(&service->mutex);
}

void pawl__service_hide_part(struct pawl_service *service, struct service_part *part)
{
	mutex_lock(&service->mutex);
	part->hidden = true;
	while (part->busy)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

void pawl__service_remove_part(struct pawl_service *service, struct service_part *part)
{
	struct service_part **at = &service->parts;

	mutex_lock(&service->mutex);
	ASSERT(part->hidden && !part->busy);
	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	mutex_unlock(&service->mutex);
}

/* Calls `write` without the mutex, since that calls the user's functions. A busy part stays in the list. */
void pawl__service_write_parts(struct pawl_service *service, struct json *json)
{
	mutex_lock(&service->mutex);
	for (struct service_part *part = service->parts; part; part = part->next) {
		if (part->hidden)
			continue;
		part->busy = true;
		mutex_unlock(&service->mutex);
		part->write(part, json);
		mutex_lock(&service->mutex);
		part->busy = false;
		condition_broadcast(&service->changed);
	}
	mutex_unlock(&service->mutex);
}
