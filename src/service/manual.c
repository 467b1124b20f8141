/* SPDX-License-Identifier: MIT */
/*
 * Manual mode: one of the user's threads, the loop, polls. In between it sleeps: until the time that
 * pawl_service_next() returned, or on the descriptor of pawl_service_fd(). Any thread may arm for sooner meanwhile. So
 * the loop has the role of the leader in sleep.c and uses its word: `sleeps_until` is the tick until which the loop
 * sleeps, or 0 while it is awake. Without a descriptor it is awake from a poll or a wake() until it asks for the next
 * time.
 *
 *	arms for sooner: set_visit(), mark_ready()     is about to sleep: doze()
 *	------------------------------------------     -------------------------
 *	write visit_by = tick, or ready                write sleeps_until = the earliest visit
 *	read  sleeps_until                             read  visit_by, then ready, of all shards
 *	  later than tick: wake the loop                 earlier: write that, and read again
 *
 * `sleeps_until` and the timer of the descriptor are set together, under the mutex.
 */
#define _GNU_SOURCE
#include "shard.h"

#include <errno.h>

/* A release build does not notice: there the second poll runs nothing. Under the mutex. */
static void refuse_second_loop(const struct pawl_service *service, const char *call)
{
	mutex_assert_held(&service->mutex);
#ifdef PAWL_ASSERT
	if (service->polling)
		pawl__mistake(
		        call,
		        "another thread polls service %p: poll, next, fd and settle of a manual "
		        "service are for one thread at a time, that of its loop",
		        (const void *)service);
#else
	(void)call;
#endif
}

/* The time to which the descriptor's timer is set. A manual clock sets it again whenever it is moved. */
static uint64_t timer_of(const struct pawl_service *service, uint64_t tick)
{
	uint64_t ns = ns_of_tick(&service->ticks, tick);

	if (!pawl__clock_by_hand(service->clock))
		return ns;
	return ns <= clock_now(service) && tick != PAWL_NEVER ? 0 : PAWL_NEVER;
}

/* After a stop there is no reason to poll. Under the mutex. */
static uint64_t earliest_poll(const struct pawl_service *service)
{
	mutex_assert_held(&service->mutex);
	return service->state == OPEN ? pawl__sleep_earliest_visit(service) : PAWL_NEVER;
}

/* The loop is about to sleep, or sleeps for too long. Returns until which tick; 0: a task is due. Under the mutex. */
static uint64_t doze(struct pawl_service *service)
{
	uint64_t tick;

	do {
		tick = earliest_poll(service);
		__atomic_store_n(&service->sleeps_until, tick, __ATOMIC_SEQ_CST);
	} while (earliest_poll(service) < tick);
	if (service->fd >= 0)
		pawl__system_timer_set(service->fd, timer_of(service, tick));
	return tick;
}

/* Called by any thread, not under a shard's lock: the loop must poll sooner, or the manual clock was moved. */
void pawl__service_wake_loop(struct pawl_service *service)
{
	bool asleep, has_fd;

	mutex_lock(&service->mutex);
	asleep = service->sleeps_until != 0;
	has_fd = service->fd >= 0;
	if (asleep && has_fd)
		doze(service);
	else
		__atomic_store_n(&service->sleeps_until, 0, __ATOMIC_SEQ_CST);
	mutex_unlock(&service->mutex);
	if (asleep && !has_fd)
		service->clock->wake(service->clock);
}

/*
 * Advances all wheels, also those in which no slot opens: the next visit depends on how far a wheel has advanced. In
 * manual mode `visit_by` and `ready` are exact then, so the loop does not wake up for a task that was cancelled. True
 * if a timer moved.
 */
static bool advance_all(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {0};
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		lock_acquire(&shard->lock);
		moved |= pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
		if (service->manual && !anything_due(shard))
			clear_ready(shard);
		lock_release(&shard->lock);
	}
	if (!service->manual) /* or this is the loop, and it is awake */
		wake(service, &wakes);
	return moved;
}

static bool begin_poll(struct pawl_service *service)
{
	bool begins;

	mutex_lock(&service->mutex);
	refuse_second_loop(service, "pawl_service_poll");
	begins = service->state == OPEN && !service->polling;
	if (begins) {
		service->polling = true;
		__atomic_store_n(&service->sleeps_until, 0, __ATOMIC_SEQ_CST);
	}
	mutex_unlock(&service->mutex);
	return begins;
}

/* Without a descriptor the loop is awake until it asks for the next time. */
static void end_poll(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	if (service->fd >= 0)
		doze(service);
	service->polling = false;
	if (service->state != OPEN)
		condition_broadcast(&service->changed);
	mutex_unlock(&service->mutex);
}

/* The poll starts no further task, since the shards are closed. Wait for its last one. */
void pawl__service_stop_polling(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	if (service->fd >= 0)
		doze(service);
	while (service->polling)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

size_t pawl_service_poll(struct pawl_service *service, size_t max)
{
	size_t most, ran = 0;
	uint64_t tick;
	bool more;

	IN_SERVICE(service);
	if (service->pool.dispatch)
		return pawl__pool_poll(service, max);
	if (!service->manual || pawl__service_is_here(service) || !begin_poll(service))
		return 0;
	most = pawl__service_poll_bound(service, max);
	tick = ticks_down(&service->ticks, clock_now(service));
	do {
		size_t before = ran;

		more = advance_all(service, tick);
		ran += pawl__worker_run_due(service->workers, most - ran);
		more |= ran > before || pawl__sleep_anything_ready(service);
	} while (more && ran < most);
	pawl__service_move_ahead(service, service->workers->shard);
	if (service->fd >= 0)
		advance_all(service, tick);
	end_poll(service);
	return ran;
}

/* Inside a task the loop is not about to sleep, and a service with threads has no loop. */
uint64_t pawl_service_next(struct pawl_service *service)
{
	uint64_t now, tick;

	IN_SERVICE(service);
	now = clock_now(service);
	advance_all(service, ticks_down(&service->ticks, now));
	if (!service->manual || pawl__service_is_here(service)) {
		tick = pawl__sleep_earliest_visit(service);
	} else {
		mutex_lock(&service->mutex);
		refuse_second_loop(service, "pawl_service_next");
		tick = doze(service);
		mutex_unlock(&service->mutex);
	}
	return tick == 0 ? now : ns_of_tick(&service->ticks, tick);
}

int pawl_service_fd(struct pawl_service *service)
{
	int clock, fd;

	IN_SERVICE(service);
	clock = pawl__clock_of_system(service->clock);
	if (!service->manual)
		return -EINVAL;
	if (clock < 0)
		return clock;
	mutex_lock(&service->mutex);
	if (!pawl__service_is_here(service))
		refuse_second_loop(service, "pawl_service_fd");
	fd = service->fd;
	if (fd < 0)
		fd = pawl__system_timer_open(clock);
	if (fd >= 0) {
		service->fd = fd;
		doze(service);
	}
	mutex_unlock(&service->mutex);
	if (fd >= 0)
		pawl__clock_tell_loop(service->clock, service);
	return fd;
}

void pawl__service_close_fd(struct pawl_service *service)
{
	pawl__clock_tell_loop(service->clock, NULL);
	if (service->fd >= 0)
		pawl__system_timer_close(service->fd);
}
