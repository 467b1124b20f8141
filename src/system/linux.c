/* SPDX-License-Identifier: MIT */
/* The parts of Linux beyond POSIX: sleeping by any clock, timerfds, random bytes, timer slack. */
#define _GNU_SOURCE
#include "system.h"

#ifdef PAWL_ON_LINUX
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void sleep_by_condition(struct sleeper *sleeper, uint64_t until_ns)
{
	struct timespec until = timespec_of(until_ns);
	int timed_out = 0;

	mutex_lock(&sleeper->mutex);
	while (!sleeper->wake && !timed_out)
		timed_out = until_ns == UINT64_MAX
		                    ? pthread_cond_wait(&sleeper->woken.pthread,
		                                        &sleeper->mutex.pthread)
		                    : pthread_cond_timedwait(&sleeper->woken.pthread,
		                                             &sleeper->mutex.pthread, &until);
	sleeper->wake = false;
	mutex_unlock(&sleeper->mutex);
}

/* Wait until one of the two descriptors is readable. If one could not be opened, which is rare, wait for 10 ms. */
static void wait_for_either(int timer, int event)
{
	struct pollfd fds[2] = {{timer, POLLIN, 0}, {event, POLLIN, 0}};

	poll(fds, 2, timer < 0 || event < 0 ? 10 : -1);
}

/*
 * Set the eventfd that a wake is to write to; -1: none. Returns whether to sleep: false if a wake has come since the
 * last sleep.
 */
static bool publish_event(struct sleeper *sleeper, int event)
{
	bool sleep;

	mutex_lock(&sleeper->mutex);
	sleep = !sleeper->wake;
	sleeper->wake = false;
	sleeper->event = event;
	mutex_unlock(&sleeper->mutex);
	return sleep;
}

/*
 * No condition variable waits by CLOCK_BOOTTIME, but a timerfd does. The descriptors are open only during the sleep: so
 * a sleeper needs no close, and its init cannot fail.
 */
static void sleep_by_timerfd(struct sleeper *sleeper, int clock, uint64_t until_ns)
{
	const struct itimerspec until = {.it_value = timespec_of(until_ns ? until_ns : 1)};
	int timer = timerfd_create(clock, TFD_CLOEXEC);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (timer >= 0 && until_ns < UINT64_MAX)
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &until, NULL);
	if (publish_event(sleeper, event))
		wait_for_either(timer, event);
	publish_event(sleeper, -1);
	if (timer >= 0)
		close(timer);
	if (event >= 0)
		close(event);
}

void pawl__system_sleep(struct sleeper *sleeper, int clock, uint64_t until_ns)
{
	if (clock == MONOTONIC)
		sleep_by_condition(sleeper, until_ns);
	else
		sleep_by_timerfd(sleeper, clock, until_ns);
}

void pawl__system_wake(struct sleeper *sleeper)
{
	mutex_lock(&sleeper->mutex);
	sleeper->wake = true;
	if (sleeper->event >= 0)
		eventfd_write(sleeper->event, 1); /* fails only if full: then it was woken before */
	mutex_unlock(&sleeper->mutex);
	condition_signal(&sleeper->woken);
}

int pawl__system_timer_open(int clock)
{
	int timer = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);

	return timer < 0 ? -errno : timer;
}

/*
 * Setting a timerfd also clears its expiry, so it needs no read. A time in the past makes it readable again, which an
 * edge-triggered loop also notices. Zero would switch it off.
 */
void pawl__system_timer_set(int timer, uint64_t at_ns)
{
	struct itimerspec at = {.it_value = timespec_of(at_ns ? at_ns : 1)};

	if (at_ns == UINT64_MAX)
		at = (struct itimerspec){0};
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void pawl__system_timer_close(int timer)
{
	close(timer);
}

/* By default Linux lets a thread sleep up to 50 us longer than asked, so as to wake several threads at once. */
void pawl__system_limit_slack(uint64_t slack_ns)
{
	int present = prctl(PR_GET_TIMERSLACK);

	if (present > 0 && slack_ns < (uint64_t)present)
		prctl(PR_SET_TIMERSLACK, slack_ns ? (unsigned long)slack_ns : 1ul);
}

int pawl__system_random(void *bytes, size_t size)
{
	ssize_t drawn;

	do
		drawn = getrandom(bytes, size, 0);
	while (drawn < 0 && errno == EINTR);
	return drawn == (ssize_t)size ? 0 : drawn < 0 ? -errno : -EIO;
}
#endif
