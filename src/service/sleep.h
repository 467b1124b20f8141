/* SPDX-License-Identifier: MIT */
/* How workers sleep and are woken: explained and drawn in sleep.c. */
#ifndef PAWL_SERVICE_SLEEP_H
#define PAWL_SERVICE_SLEEP_H

#include "layout.h"

/* For workers. */
bool pawl__sleep_lead(struct pawl_service *service, uint64_t tick); /* false: there is a leader */
void pawl__sleep_follow(struct pawl_service *service);
void pawl__sleep_precisely(const struct pawl_service *service); /* once for each thread */

bool pawl__sleep_anything_ready(const struct pawl_service *service); /* a task is due */

/* For a user's loop: 0 if a task is due, else the tick by which it must poll. */
uint64_t pawl__sleep_earliest_visit(const struct pawl_service *service);

/* For threads that wake workers. */
void pawl__sleep_wake_worker(
        struct pawl_service *service); /* a task is due, or there is no leader */
void pawl__sleep_wake_leader(struct pawl_service *service); /* it would sleep for too long */
void pawl__sleep_stop(struct pawl_service *service);        /* wakes all workers, to end */

/* Which threads to wake, once the shard's lock has been released. */
struct wakes {
	bool worker;  /* a task is due */
	bool leader;  /* it would sleep for too long */
	bool waiting; /* threads that wait in await.c */
	bool wall;    /* not a thread: the clocks must be compared, see wall.h */
};

static inline void wake(struct pawl_service *service, const struct wakes *wakes)
{
	if (wakes->worker)
		pawl__sleep_wake_worker(service);
	if (wakes->leader)
		pawl__sleep_wake_leader(service);
	if (wakes->waiting)
		pawl__service_changed(service);
	if (wakes->wall)
		pawl__wall_armed(service);
}

static inline bool has_leader(const struct pawl_service *service)
{
	return __atomic_load_n(&service->has_leader, __ATOMIC_SEQ_CST);
}

/* A due task needs no further thread of the pool, or has to wait for one. */
static inline bool pool_full(const struct pawl_service *service)
{
	return __atomic_load_n(&service->pool.full, __ATOMIC_SEQ_CST);
}

/* A task of the shard is due. Under the shard's lock. */
static inline void mark_ready(struct shard *shard, struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->ready, true, __ATOMIC_SEQ_CST);
	wakes->worker = true;
}

/* A worker must visit the shard by this tick. Under the shard's lock. */
static inline void set_visit(struct pawl_service *service, struct shard *shard, uint64_t tick,
                             struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->visit_by, tick, __ATOMIC_SEQ_CST);
	wakes->leader |= tick < __atomic_load_n(&service->sleeps_until, __ATOMIC_SEQ_CST);
}

/* The same, unless a worker will visit it by then anyway. Under the shard's lock. */
static inline void schedule_visit(struct pawl_service *service, struct shard *shard, uint64_t tick,
                                  struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	if (tick < shard->visit_by)
		set_visit(service, shard, tick, wakes);
}

#endif
