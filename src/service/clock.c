/* SPDX-License-Identifier: MIT */
/* The system's clocks, and the manual clock. */
#define _GNU_SOURCE
#include "shard.h"

#include <errno.h>

/* In `state` of the public struct. */
struct manual {
	struct mutex mutex;
	struct condition woken; /* for wait(): woken, or the time has come */
	shared_uint64 now;
	uint64_t deadline;         /* of the wait(); or PAWL_NEVER */
	bool wake;                 /* a wake() that no wait() has seen yet */
	shared_uint64 wall;        /* minus now, modulo 2^64 */
	struct pawl_service *loop; /* its descriptor follows this clock; or NULL */
};

_Static_assert(sizeof(struct sleeper) <= sizeof(((struct pawl_clock_system *)0)->state),
               "the public struct has room for the state of a system clock");
_Static_assert(sizeof(struct manual) <= sizeof(((struct pawl_clock_manual *)0)->state),
               "the public struct has room for the state of a manual clock");

static struct sleeper *sleeper_of(struct pawl_clock *clock)
{
	return (struct sleeper *)(void *)((struct pawl_clock_system *)clock)->state;
}

static uint64_t monotonic_now(struct pawl_clock *clock)
{
	(void)clock;
	return system_now(MONOTONIC);
}

static uint64_t boottime_now(struct pawl_clock *clock)
{
	(void)clock;
	return system_now(BOOTTIME);
}

static void system_wait(struct pawl_clock *clock, uint64_t deadline)
{
	pawl__system_sleep(sleeper_of(clock), ((struct pawl_clock_system *)clock)->id, deadline);
}

static void system_wake(struct pawl_clock *clock)
{
	pawl__system_wake(sleeper_of(clock));
}

static void system_init(struct pawl_clock_system *clock, uint64_t (*now)(struct pawl_clock *clock),
                        int id)
{
	*clock = (struct pawl_clock_system){
	        .clock = {now, system_wait, system_wake, NULL},
	        .id = id,
	};
	pawl__system_sleeper_init(sleeper_of(&clock->clock));
}

void pawl_clock_monotonic_init(struct pawl_clock_system *clock)
{
	system_init(clock, monotonic_now, MONOTONIC);
}

void pawl_clock_boottime_init(struct pawl_clock_system *clock)
{
	system_init(clock, boottime_now, BOOTTIME);
}

static struct manual *manual_of(struct pawl_clock *clock)
{
	return (struct manual *)(void *)((struct pawl_clock_manual *)clock)->state;
}

static uint64_t manual_now(struct pawl_clock *clock)
{
	return __atomic_load_n(&manual_of(clock)->now, __ATOMIC_ACQUIRE);
}

static void manual_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct manual *manual = manual_of(clock);

	mutex_lock(&manual->mutex);
	manual->deadline = deadline;
	while (!manual->wake && (manual->now < deadline || deadline == PAWL_NEVER))
		condition_wait(&manual->woken, &manual->mutex);
	manual->deadline = PAWL_NEVER;
	manual->wake = false;
	mutex_unlock(&manual->mutex);
}

static void manual_wake(struct pawl_clock *clock)
{
	struct manual *manual = manual_of(clock);

	mutex_lock(&manual->mutex);
	manual->wake = true;
	condition_signal(&manual->woken);
	mutex_unlock(&manual->mutex);
}

void pawl_clock_manual_init(struct pawl_clock_manual *clock)
{
	struct manual *manual;

	*clock = (struct pawl_clock_manual){.clock = {manual_now, manual_wait, manual_wake, NULL}};
	manual = manual_of(&clock->clock);
	mutex_init(&manual->mutex);
	condition_init(&manual->woken);
	manual->now = 0;
	manual->wall = 0;
	manual->deadline = PAWL_NEVER;
	manual->loop = NULL;
}

int pawl__clock_of_system(const struct pawl_clock *clock)
{
	if (clock->now == boottime_now)
		return BOOTTIME;
	return clock->now == monotonic_now || pawl__clock_by_hand(clock) ? MONOTONIC : -ENOTSUP;
}

bool pawl__clock_by_hand(const struct pawl_clock *clock)
{
	return clock->now == manual_now;
}

/* Without the mutex, since it is read under a lock: once more if the wall clock was set meanwhile. */
static uint64_t manual_wall(const struct manual *manual)
{
	uint64_t wall, now;

	do {
		wall = __atomic_load_n(&manual->wall, __ATOMIC_SEQ_CST);
		now = __atomic_load_n(&manual->now, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&manual->wall, __ATOMIC_SEQ_CST) != wall);
	return now + wall;
}

uint64_t pawl__clock_wall(struct pawl_clock *clock)
{
	return pawl__clock_by_hand(clock) ? manual_wall(manual_of(clock)) : system_now(WALL);
}

/* From now on the manual clock tells the loop of this service whenever it is moved. */
void pawl__clock_tell_loop(struct pawl_clock *clock, struct pawl_service *service)
{
	if (!pawl__clock_by_hand(clock))
		return;
	mutex_lock(&manual_of(clock)->mutex);
	manual_of(clock)->loop = service;
	mutex_unlock(&manual_of(clock)->mutex);
}

/* Under the mutex. */
static void set_time(struct manual *manual, uint64_t now)
{
	mutex_assert_held(&manual->mutex);
	__atomic_store_n(&manual->now, now, __ATOMIC_RELEASE);
	if (now >= manual->deadline)
		condition_signal(&manual->woken);
	if (manual->loop)
		pawl__service_wake_loop(manual->loop);
}

void pawl_clock_manual_advance(struct pawl_clock_manual *clock, uint64_t ns)
{
	struct manual *manual = manual_of(&clock->clock);

	mutex_lock(&manual->mutex);
	set_time(manual, saturating_sum(manual->now, ns));
	mutex_unlock(&manual->mutex);
}

void pawl_clock_manual_set_wall(struct pawl_clock_manual *clock, struct timespec time)
{
	struct manual *manual = manual_of(&clock->clock);

	__atomic_store_n(&manual->wall, wall_ns(time) - manual_now(&clock->clock),
	                 __ATOMIC_SEQ_CST);
}

static struct timespec wall_time(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / PAWL_SECOND),
	                         .tv_nsec = (long)(ns % PAWL_SECOND)};
}

struct timespec pawl_clock_manual_wall(struct pawl_clock_manual *clock)
{
	return wall_time(pawl__clock_wall(&clock->clock));
}

uint64_t pawl_service_now(struct pawl_service *service)
{
	IN_SERVICE(service);
	return clock_now(service);
}

struct timespec pawl_service_wall(struct pawl_service *service)
{
	IN_SERVICE(service);
	return wall_time(wall_now(service));
}

/* When the next task of any shard is due. */
static uint64_t next_due(struct pawl_service *service)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];
		uint64_t next;

		lock_acquire(&shard->lock);
		next = pawl_wheel_earliest(shard->wheel);
		lock_release(&shard->lock);
		first = next < first ? next : first;
	}
	return first == PAWL_NEVER ? PAWL_NEVER : ns_of_tick(&service->ticks, first);
}

/* Another thread may have moved the clock further. */
static void run_until(struct manual *manual, struct pawl_service *service, uint64_t time)
{
	mutex_lock(&manual->mutex);
	if (time > manual->now)
		set_time(manual, time);
	mutex_unlock(&manual->mutex);
	pawl_service_settle(service);
}

/* A task that should have run already is left alone: the service was stopped. */
int pawl_clock_manual_run(struct pawl_clock_manual *clock, struct pawl_service *service,
                          uint64_t ns)
{
	IN_SERVICE(service);
	struct manual *manual = manual_of(&clock->clock);
	uint64_t now = manual_now(&clock->clock), end = saturating_sum(now, ns), next;

	if (service->clock != &clock->clock)
		return -EINVAL;
	pawl__service_refuse_inside_task(service, "pawl_clock_manual_run");
	run_until(manual, service, now);
	for (; (next = next_due(service)) > now && next < end; now = next)
		run_until(manual, service, next);
	run_until(manual, service, end);
	return 0;
}
