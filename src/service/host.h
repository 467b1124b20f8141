/* SPDX-License-Identifier: MIT */
/*
 * What the service does for the purgatory alone: a shard of the service is a host, and what the purgatory keeps
 * with it is guarded by the shard's lock. So whoever wins an operation takes it off its keys and its deadline
 * away in one critical section.
 *
 * The tasks armed here count in the service's numbers, but take no place under max_pending, and stop does not
 * hand them to the user's `dropped`.
 */
#ifndef PAWL_SERVICE_HOST_H
#define PAWL_SERVICE_HOST_H

#include "lock.h"

#include <pawl/service.h>

struct place; /* of the purgatory */

/* The beginning of a shard. */
struct host {
	struct lock lock;
	struct place *tried; /* of all purgatories on this host: see ../purgatory/trials.h */
};

/* Whom to wake, once the lock has been given back. */
struct wakes {
	bool worker; /* something is due */
	bool watch;  /* who has it sleeps for too long */
};

unsigned pawl__service_hosts(const struct pawl_service *service); /* how many it has */

/* The number may be higher. */
struct host *pawl__service_host(struct pawl_service *service, unsigned number);

struct pawl_clock *pawl__service_clock(const struct pawl_service *service);

/*
 * Under the lock: arm a task that is not pending, once. `now_ns`: what the clock has said before. False: the
 * service was stopped, and nothing has changed. Call wake in the end.
 */
bool pawl__host_arm(struct pawl_service *service, struct host *host, struct pawl_task *task,
                    uint64_t now_ns, uint64_t delay_ns, struct wakes *wakes);

/* Under the lock. False: its function has been called, or is about to be. */
bool pawl__host_cancel(struct host *host, struct pawl_task *task);

/* Without the lock. */
void pawl__service_wake(struct pawl_service *service, const struct wakes *wakes);

/*
 * Inside the function of such a task: whether it was called because stop takes the task out, and not because
 * its time has come. The user's `dropped`, who knows nothing of the task, does not get it.
 */
bool pawl__service_drops(const struct pawl_task *task);

#endif
