/* SPDX-License-Identifier: MIT */
/* What the purgatory asks a service: inside.h. */
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
