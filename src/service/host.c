/* SPDX-License-Identifier: MIT */
/* The service as a host of the purgatory's: see host.h. */
#define _GNU_SOURCE
#include "placing.h"

static struct shard *shard_of(struct host *host)
{
	return (struct shard *)host; /* its first member */
}

unsigned pawl__service_hosts(const struct pawl_service *service)
{
	return service->shard_count;
}

struct host *pawl__service_host(struct pawl_service *service, unsigned number)
{
	return &service->shards[number % service->shard_count].host;
}

struct pawl_clock *pawl__service_clock(const struct pawl_service *service)
{
	return service->clock;
}

bool pawl__host_arm(struct pawl_service *service, struct host *host, struct pawl_task *task,
                    uint64_t now_ns, uint64_t delay_ns, struct wakes *wakes)
{
	struct shard *shard = shard_of(host);

	if (shard->closed)
		return false;
	task->missed = UNCOUNTED;
	task->deadline_ns = add_ns(now_ns, delay_ns);
	shard->armed++;
	put_on_wheel(service, shard, task, now_ns, false, wakes);
	return true;
}

bool pawl__host_cancel(struct host *host, struct pawl_task *task)
{
	struct shard *shard = shard_of(host);
	bool cancelled = pawl_wheel_cancel(shard->wheel, &task->timer);

	shard->cancelled += cancelled;
	return cancelled;
}

void pawl__service_wake(struct pawl_service *service, const struct wakes *wakes)
{
	wake(service, wakes);
}
