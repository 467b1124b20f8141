/* SPDX-License-Identifier: MIT */
/* The code that posix.c and windows.c share: a sleep by a condition variable; timerfds are not supported. */
#define _GNU_SOURCE
#include "system.h"

#ifndef PAWL_ON_LINUX
#include <errno.h>

void pawl__system_sleep(struct sleeper *sleeper, int clock, uint64_t until_ns)
{
	uint64_t now;

	mutex_lock(&sleeper->mutex);
	while (!sleeper->wake && (now = system_now(clock)) < until_ns)
		if (until_ns == UINT64_MAX)
			condition_wait(&sleeper->woken, &sleeper->mutex);
		else
			pawl__system_wait_for(sleeper, clock, until_ns - now);
	sleeper->wake = false;
	mutex_unlock(&sleeper->mutex);
}

void pawl__system_wake(struct sleeper *sleeper)
{
	mutex_lock(&sleeper->mutex);
	sleeper->wake = true;
	mutex_unlock(&sleeper->mutex);
	condition_signal(&sleeper->woken);
}

int pawl__system_timer_open(int clock)
{
	(void)clock;
	return -ENOTSUP;
}

void pawl__system_timer_set(int timer, uint64_t at_ns)
{
	(void)timer;
	(void)at_ns;
}

void pawl__system_timer_close(int timer)
{
	(void)timer;
}

void pawl__system_limit_slack(uint64_t slack_ns)
{
	(void)slack_ns;
}
#endif
