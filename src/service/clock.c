/* SPDX-License-Identifier: MIT */
/* The system's clocks, and the one that is moved by hand. */
#define _GNU_SOURCE
#include "layout.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* What the public structs have room for. */
struct sleeper {
	pthread_mutex_t mutex;
	pthread_cond_t woken; /* counts by CLOCK_MONOTONIC */
	bool wake;            /* a wake() that no wait() has seen yet */
	int event;            /* an eventfd to be written by wake(), or -1 */
};

struct manual {
	struct sleeper sleeper;
	pthread_cond_t waits; /* somebody has begun to wait */
	uint64_t now;
	uint64_t deadline; /* that is waited for; PAWL_NEVER if there is none */
	bool waiting;
};

_Static_assert(sizeof(struct sleeper) <= sizeof(((struct pawl_clock_system *)0)->state),
               "the public struct has room for the state of a system clock");
_Static_assert(sizeof(struct manual) <= sizeof(((struct pawl_clock_manual *)0)->state),
               "the public struct has room for the state of a manual clock");

static void sleeper_init(struct sleeper *sleeper)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&sleeper->mutex, NULL);
	pthread_cond_init(&sleeper->woken, &attributes);
	pthread_condattr_destroy(&attributes);
	sleeper->wake = false;
	sleeper->event = -1;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

static uint64_t read_clock(int id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static struct sleeper *sleeper_of(struct pawl_clock *clock)
{
	return (struct sleeper *)(void *)((struct pawl_clock_system *)clock)->state;
}

static uint64_t system_now(struct pawl_clock *clock)
{
	return read_clock(((struct pawl_clock_system *)clock)->id);
}

static uint64_t monotonic_now(struct pawl_clock *clock)
{
	(void)clock;
	return read_clock(CLOCK_MONOTONIC);
}

static void monotonic_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct sleeper *sleeper = sleeper_of(clock);
	struct timespec until = timespec_of(deadline);
	int timed_out = 0;

	pthread_mutex_lock(&sleeper->mutex);
	while (!sleeper->wake && !timed_out)
		timed_out =
		        deadline == PAWL_NEVER
		                ? pthread_cond_wait(&sleeper->woken, &sleeper->mutex)
		                : pthread_cond_timedwait(&sleeper->woken, &sleeper->mutex, &until);
	sleeper->wake = false;
	pthread_mutex_unlock(&sleeper->mutex);
}

static void system_wake(struct pawl_clock *clock)
{
	struct sleeper *sleeper = sleeper_of(clock);
	const uint64_t one = 1;

	pthread_mutex_lock(&sleeper->mutex);
	sleeper->wake = true;
	if (sleeper->event >= 0 && write(sleeper->event, &one, sizeof(one)) < 0)
		sleeper->wake = true; /* it is full: somebody has woken it already */
	pthread_mutex_unlock(&sleeper->mutex);
	pthread_cond_signal(&sleeper->woken);
}

void pawl_clock_monotonic_init(struct pawl_clock_system *clock)
{
	*clock = (struct pawl_clock_system){
	        .clock = {monotonic_now, monotonic_wait, system_wake, NULL},
	        .id = CLOCK_MONOTONIC,
	};
	sleeper_init(sleeper_of(&clock->clock));
}

/* Wait for either of two descriptors; without them, which is rare, for a moment. */
static void wait_for_either(int timer, int event)
{
	struct pollfd fds[2] = {{timer, POLLIN, 0}, {event, POLLIN, 0}};

	poll(fds, 2, timer < 0 || event < 0 ? 10 : -1);
}

static bool publish_event(struct sleeper *sleeper, int event)
{
	bool sleep;

	pthread_mutex_lock(&sleeper->mutex);
	sleep = !sleeper->wake;
	sleeper->wake = false;
	sleeper->event = event;
	pthread_mutex_unlock(&sleeper->mutex);
	return sleep;
}

/*
 * No condition variable counts by CLOCK_BOOTTIME, but a timerfd does. The descriptors live only as long as
 * the sleep: so there is nothing to close, and nothing that fails when the clock is made.
 */
static void boottime_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct sleeper *sleeper = sleeper_of(clock);
	const struct itimerspec until = {.it_value = timespec_of(deadline ? deadline : 1)};
	int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (timer >= 0 && deadline < PAWL_NEVER)
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &until, NULL);
	if (publish_event(sleeper, event))
		wait_for_either(timer, event);
	publish_event(sleeper, -1);
	if (timer >= 0)
		close(timer);
	if (event >= 0)
		close(event);
}

void pawl_clock_boottime_init(struct pawl_clock_system *clock)
{
	*clock = (struct pawl_clock_system){
	        .clock = {system_now, boottime_wait, system_wake, NULL},
	        .id = CLOCK_BOOTTIME,
	};
	sleeper_init(sleeper_of(&clock->clock));
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

	pthread_mutex_lock(&manual->sleeper.mutex);
	manual->deadline = deadline;
	manual->waiting = true;
	pthread_cond_broadcast(&manual->waits);
	while (!manual->sleeper.wake && (manual->now < deadline || deadline == PAWL_NEVER))
		pthread_cond_wait(&manual->sleeper.woken, &manual->sleeper.mutex);
	manual->waiting = false;
	manual->deadline = PAWL_NEVER;
	manual->sleeper.wake = false;
	pthread_mutex_unlock(&manual->sleeper.mutex);
}

static void manual_wake(struct pawl_clock *clock)
{
	struct manual *manual = manual_of(clock);

	pthread_mutex_lock(&manual->sleeper.mutex);
	manual->sleeper.wake = true;
	pthread_cond_signal(&manual->sleeper.woken);
	pthread_cond_broadcast(&manual->waits);
	pthread_mutex_unlock(&manual->sleeper.mutex);
}

void pawl_clock_manual_init(struct pawl_clock_manual *clock)
{
	struct manual *manual;

	*clock = (struct pawl_clock_manual){.clock = {manual_now, manual_wait, manual_wake, NULL}};
	manual = manual_of(&clock->clock);
	sleeper_init(&manual->sleeper);
	pthread_cond_init(&manual->waits, NULL);
	manual->now = 0;
	manual->deadline = PAWL_NEVER;
	manual->waiting = false;
}

/* Under the mutex. */
static void set_time(struct manual *manual, uint64_t now)
{
	__atomic_store_n(&manual->now, now, __ATOMIC_RELEASE);
	if (now >= manual->deadline)
		pthread_cond_signal(&manual->sleeper.woken);
}

void pawl_clock_manual_advance(struct pawl_clock_manual *clock, uint64_t ns)
{
	struct manual *manual = manual_of(&clock->clock);

	pthread_mutex_lock(&manual->sleeper.mutex);
	set_time(manual, ns < PAWL_NEVER - manual->now ? manual->now + ns : PAWL_NEVER);
	pthread_mutex_unlock(&manual->sleeper.mutex);
}

/* Whether somebody waits, for something that is still to come. Under the mutex. */
static bool settled_down(const struct manual *manual)
{
	return manual->waiting && !manual->sleeper.wake &&
	       (manual->deadline > manual->now || manual->deadline == PAWL_NEVER);
}

/* Whether there is a thread that waits on this clock, or is about to. */
static bool will_wait(const struct pawl_clock_manual *clock)
{
	const struct pawl_service *service =
	        __atomic_load_n(&clock->clock.service, __ATOMIC_ACQUIRE);

	return service && !service->manual &&
	       !__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST);
}

uint64_t pawl_clock_manual_step(struct pawl_clock_manual *clock)
{
	struct manual *manual = manual_of(&clock->clock);
	uint64_t now;

	pthread_mutex_lock(&manual->sleeper.mutex);
	while (will_wait(clock) && !settled_down(manual))
		pthread_cond_wait(&manual->waits, &manual->sleeper.mutex);
	if (manual->deadline != PAWL_NEVER && manual->deadline > manual->now)
		set_time(manual, manual->deadline);
	now = manual->now;
	pthread_mutex_unlock(&manual->sleeper.mutex);
	return now;
}
