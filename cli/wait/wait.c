/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

bool wait_for(int fd, short events, uint64_t end_ms)
{
	struct pollfd descriptor = {fd, events, 0};
	uint64_t now = clock_ms();
	int ready = now < end_ms ? poll(&descriptor, 1, (int)(end_ms - now)) : 0;

	if (ready == 0)
		errno = EAGAIN;
	return ready > 0;
}

volatile sig_atomic_t ended_by;

static void note_signal(int number)
{
	ended_by = number;
}

void end_by_signal(int number)
{
	struct sigaction action = {.sa_handler = note_signal,
	                           .sa_flags = SA_RESTART | (int)SA_RESETHAND};

	sigaction(number, &action, NULL);
}
