/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "wait.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
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
