/* SPDX-License-Identifier: MIT */
/* How workers sleep and are woken: explained and drawn in sleep.c. */
#ifndef PAWL_SERVICE_SLEEP_H
#define PAWL_SERVICE_SLEEP_H

#include "layout.h"

/* For workers. */
bool pawl__sleep_lead(struct pawl_service *service, uint64_t tick); /* false: there is a leader */
void pawl__sleep_follow(struct pawl_service *service);
bool pawl__sleep_call_pool(struct pawl_service *service);       /* true: and so it is to be told */
void pawl__sleep_precisely(const struct pawl_service *service); /* once for each thread */

/* For a loop of the user's: 0 if a task is due, else the tick by which somebody has to come. */
uint64_t pawl__sleep_first_visit(const struct pawl_service *service);

/* For those that wake them. */
void pawl__sleep_wake_worker(struct pawl_service *service); /* a task is due, or nobody leads */
void pawl__sleep_wake_leader(struct pawl_service *service); /* it sleeps for too long */
void pawl__sleep_stop(struct pawl_service *service);        /* all of them, for ever */

/* Whom to wake, once the shard's lock has been given back. */
struct wakes {
	bool worker;  /* a task is due */
	bool leader;  /* it sleeps for too long */
	bool waiting; /* threads that wait for the end of a run: await.c */
};

static inline void wake(struct pawl_service *service, const struct wakes *wakes)
{
	if (wakes->worker)
		pawl__sleep_wake_worker(service);
	if (wakes->leader)
		pawl__sleep_wake_leader(service);
	if (wakes->waiting)
		pawl__service_changed(service);
}

static inline bool has_leader(const struct pawl_service *service)
{
	return __atomic_load_n(&service->has_leader, __ATOMIC_SEQ_CST);
}

/* A task of the shard is due. Under the shard's lock. */
static inline void mark_ready(struct shard *shard, struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->ready, true, __ATOMIC_SEQ_CST);
	wakes->worker = true;
}

/* A worker must come by this tick. Under the shard's lock. */
static inline void promise_anew(struct pawl_service *service, struct shard *shard, uint64_t tick,
                                struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	__atomic_store_n(&shard->promised, tick, __ATOMIC_SEQ_CST);
	wakes->leader |= tick < __atomic_load_n(&service->sleeps_until, __ATOMIC_SEQ_CST);
}

/* The same, if no worker is to come by then anyway. Under the shard's lock. */
static inline void promise(struct pawl_service *service, struct shard *shard, uint64_t tick,
                           struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	if (tick < shard->promised)
		promise_anew(service, shard, tick, wakes);
}

#endif
