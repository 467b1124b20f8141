/* SPDX-License-Identifier: MIT */
/*
 * Manual mode, and pools: threads of the user's that poll.
 *
 * In manual mode the user's loop polls, and sleeps in between: until the time that pawl_service_next() returned, or on
 * the descriptor of pawl_service_fd(). Any thread may arm for sooner meanwhile. So the loop has the role of the leader
 * in sleep.c, and uses the same words. `sleeps_until` is the tick that the loop was told; or 0 while it polls, or once
 * it was woken: then it will ask again. Each side writes its own word, then reads the other side's:
 *
 *	arms for sooner: schedule_visit()       tells the loop when to poll: tell_loop(), set_descriptor()
 *	---------------------------------       ----------------------------------------------------------
 *	write visit_by = tick, or ready         write sleeps_until
 *	read  sleeps_until                      read  visit_by, then ready, of all shards: see sleep.c
 *	  later than tick: wake the loop          sooner: tell the loop that
 *
 * `sleeps_until` is written under the mutex, together with the timer of the descriptor. A thread that makes it smaller
 * also wakes the loop, because a thread that arms and reads the smaller value does not.
 */
#define _GNU_SOURCE
#include "shard.h"

#include <errno.h>

static uint64_t told_to_loop(const struct pawl_service *service)
{
	return __atomic_load_n(&service->sleeps_until, __ATOMIC_SEQ_CST);
}

/* Under the mutex. */
static void set_told(struct pawl_service *service, uint64_t tick)
{
	mutex_assert_held(&service->mutex);
	__atomic_store_n(&service->sleeps_until, tick, __ATOMIC_SEQ_CST);
}

/* The time to which the descriptor's timer is set. A manual clock sets it again whenever it is moved. */
static uint64_t timer_of(const struct pawl_service *service, uint64_t tick)
{
	uint64_t ns = ns_of_tick(&service->ticks, tick);

	if (!pawl__clock_by_hand(service->clock))
		return ns;
	return ns <= clock_now(service) && tick != PAWL_NEVER ? 0 : PAWL_NEVER;
}

/* Under the mutex. After a stop there is no reason to poll. */
static void set_descriptor(struct pawl_service *service)
{
	bool stopped = service->state != OPEN;
	uint64_t tick;

	mutex_assert_held(&service->mutex);
	do {
		tick = stopped ? PAWL_NEVER : pawl__sleep_earliest_visit(service);
		set_told(service, tick);
	} while (!stopped && pawl__sleep_earliest_visit(service) < tick);
	pawl__system_timer_set(service->fd, timer_of(service, tick));
}

/* Called by any thread, under no lock. A loop that was woken needs no second wake-up until it sleeps again. */
void pawl__service_wake_loop(struct pawl_service *service)
{
	bool sleeps, has_fd;

	mutex_lock(&service->mutex);
	sleeps = told_to_loop(service) != 0;
	has_fd = service->fd >= 0;
	if (sleeps && has_fd)
		set_descriptor(service);
	else
		set_told(service, 0);
	mutex_unlock(&service->mutex);
	if (sleeps && !has_fd)
		service->clock->wake(service->clock);
}

/*
 * The loop is about to be told to poll by this tick; 0: at once. False: by now it must poll sooner. With a descriptor
 * only its timer says when to poll.
 */
static bool tell_loop(struct pawl_service *service, uint64_t tick)
{
	bool in_time = true, sooner = false;

	mutex_lock(&service->mutex);
	if (service->fd < 0) {
		sooner = tick < told_to_loop(service);
		set_told(service, tick);
		in_time = tick == 0 || pawl__sleep_earliest_visit(service) >= tick;
	}
	mutex_unlock(&service->mutex);
	if (sooner)
		service->clock->wake(service->clock);
	return in_time;
}

/* Also the shards in which no slot opens: the next visit depends on how far the wheel has advanced. */
static bool advance_all(struct pawl_service *service, uint64_t tick)
{
	struct wakes wakes = {0}; /* not used: see let_loop_sleep() */
	bool moved = false;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		lock_acquire(&shard->lock);
		moved |= pawl__shard_advance(service, shard, tick, FIRST_DUE, &wakes);
		lock_release(&shard->lock);
	}
	return moved;
}

/*
 * Returns the tick of the next visit, and in *due whether a task is due now. In manual mode this is what the loop will
 * be told, so `visit_by` is set to exactly that; and `ready`, which may be left from a task that ran or was cancelled,
 * to *due.
 */
static uint64_t update_visit(struct pawl_service *service, struct shard *shard, bool *due)
{
	struct wakes wakes = {0}; /* not used: the caller tells the loop */
	uint64_t next;

	lock_acquire(&shard->lock);
	*due = anything_due(shard);
	next = next_visit(shard);
	if (service->manual) {
		__atomic_store_n(&shard->ready, *due, __ATOMIC_SEQ_CST);
		set_visit(service, shard, next, &wakes);
	}
	next = *due ? pawl_wheel_next(shard->wheel) : next;
	lock_release(&shard->lock);
	return next;
}

static uint64_t update_visits(struct pawl_service *service, bool *due)
{
	uint64_t first = PAWL_NEVER;

	*due = false;
	for (unsigned i = 0; i < service->shard_count; i++) {
		bool shard_due;
		uint64_t next = update_visit(service, &service->shards[i], &shard_due);

		first = next < first ? next : first;
		*due |= shard_due;
	}
	return first;
}

/* Returns what the loop was told: for let_loop_sleep(). During the poll it does not sleep. */
static uint64_t keep_loop_awake(struct pawl_service *service)
{
	uint64_t told;

	mutex_lock(&service->mutex);
	told = told_to_loop(service);
	set_told(service, 0);
	mutex_unlock(&service->mutex);
	return told;
}

/* The thread that polled may not be the loop's thread, which then sleeps on until it was told. */
static void let_loop_sleep(struct pawl_service *service, uint64_t told)
{
	bool wakes = false, due;

	update_visits(service, &due);
	mutex_lock(&service->mutex);
	if (service->fd >= 0) {
		set_descriptor(service);
	} else if (told && !told_to_loop(service)) {
		set_told(service, told);
		wakes = pawl__sleep_earliest_visit(service) < told;
	}
	mutex_unlock(&service->mutex);
	if (wakes)
		pawl__service_wake_loop(service);
}

static void end_poll(struct pawl_service *service)
{
	__atomic_store_n(&service->polling, 0, __ATOMIC_SEQ_CST);
	pawl__service_changed(service);
}

/*
 * A poll and a stop: each writes its own word and then reads the other's, so at least one of them sees the other.
 *
 *	begin_poll                              pawl__service_stop_polling
 *	----------                              --------------------------
 *	write polling = true                    write stopping = true
 *	read  stopping: do not poll             read  polling: wait until it is false
 */
static bool begin_poll(struct pawl_service *service)
{
	if (!service->manual || __atomic_exchange_n(&service->polling, 1, __ATOMIC_SEQ_CST))
		return false;
	if (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST))
		return true;
	end_poll(service);
	return false;
}

/* The poll starts no further task, since the shards are closed. Wait for its last one. */
void pawl__service_stop_polling(struct pawl_service *service)
{
	__atomic_store_n(&service->stopping, true, __ATOMIC_SEQ_CST);
	mutex_lock(&service->mutex);
	if (service->fd >= 0)
		set_descriptor(service);
	while (__atomic_load_n(&service->polling, __ATOMIC_SEQ_CST))
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

void pawl__service_open_pool(struct pawl_service *service)
{
	for (unsigned i = service->worker_count; i-- > 0;) {
		service->workers[i].next_free = service->free;
		service->free = &service->workers[i];
	}
	service->followers = service->worker_count;
}

/* The worker that was called; NULL: there was no call. */
static struct worker *answer_call(struct pawl_service *service)
{
	struct worker *worker = NULL;

	mutex_lock(&service->mutex);
	if (service->calls) {
		service->task_polled |= pawl__service_is_here(service);
		worker = service->free;
		ASSERT(worker);
		service->free = worker->next_free;
		worker->called = true;
		service->calls--;
		service->in_pool++;
	}
	mutex_unlock(&service->mutex);
	return worker;
}

/* The worker is free again and may be called again. A stop waits for the last line, and then close may free all. */
static void leave_pool(struct pawl_service *service, struct worker *worker)
{
	pawl__worker_answered(worker);
	mutex_lock(&service->mutex);
	worker->next_free = service->free;
	service->free = worker;
	__atomic_add_fetch(&service->followers, 1, __ATOMIC_SEQ_CST);
	mutex_unlock(&service->mutex);
	pawl__sleep_wake_worker(service);
	mutex_lock(&service->mutex);
	ASSERT(service->in_pool > 0);
	service->in_pool--;
	if (service->state != OPEN)
		condition_broadcast(&service->changed);
	mutex_unlock(&service->mutex);
}

/* The leader has ended, so there are no new calls. Wait for the workers that it has called. */
void pawl__service_stop_pool(struct pawl_service *service)
{
	mutex_lock(&service->mutex);
	while (service->calls || service->in_pool)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
}

/*
 * The bound of a poll: as many tasks as are pending when it begins. So a task that arms itself with delay 0 does not
 * keep the poll going for ever. (To count the due tasks would take a walk through them.)
 */
static size_t most_to_run(struct pawl_service *service, size_t max)
{
	size_t pending = pawl__service_pending(service, true);

	return max && max < pending ? max : pending;
}

/* Visits the shards even if nothing is pending: after a cancel `ready` would stay set, and call the pool again. */
static size_t poll_for_pool(struct pawl_service *service, size_t max)
{
	struct worker *worker = answer_call(service);
	size_t most, ran = 0, before;

	if (!worker)
		return 0;
	most = most_to_run(service, max);
	most = most ? most : 1;
	do {
		before = ran;
		ran += pawl__worker_run_due(worker, most - ran);
	} while (ran > before && ran < most);
	leave_pool(service, worker);
	return ran;
}

size_t pawl_service_poll(struct pawl_service *service, size_t max)
{
	IN_SERVICE(service);
	size_t most, ran = 0;
	uint64_t tick, told;
	bool more;

	if (service->dispatch)
		return poll_for_pool(service, max);
	if (!begin_poll(service))
		return 0;
	told = keep_loop_awake(service);
	most = most_to_run(service, max);
	tick = ticks_down(&service->ticks, clock_now(service));
	do {
		size_t before = ran;

		more = advance_all(service, tick);
		ran += pawl__worker_run_due(service->workers, most - ran);
		more |= ran > before || pawl__sleep_anything_ready(service);
	} while (more && ran < most);
	pawl__service_move_ahead(service, service->workers->shard);
	let_loop_sleep(service, told);
	end_poll(service);
	return ran;
}

uint64_t pawl_service_next(struct pawl_service *service)
{
	IN_SERVICE(service);
	uint64_t first;
	bool due;

	do
		first = update_visits(service, &due);
	while (service->manual && !tell_loop(service, due ? 0 : first));
	return first == PAWL_NEVER ? PAWL_NEVER : ns_of_tick(&service->ticks, first);
}

int pawl_service_fd(struct pawl_service *service)
{
	IN_SERVICE(service);
	int clock = pawl__clock_of_system(service->clock), fd;

	if (!service->manual)
		return -EINVAL;
	if (clock < 0)
		return clock;
	mutex_lock(&service->mutex);
	fd = service->fd;
	if (fd < 0)
		fd = pawl__system_timer_open(clock);
	if (fd >= 0) {
		service->fd = fd;
		set_descriptor(service);
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
