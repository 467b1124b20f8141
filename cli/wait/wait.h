/* SPDX-License-Identifier: MIT */
/*
 * The time; and waiting for a descriptor until a point in time: a limit for a whole answer, however many pieces it comes
 * in.
 */
#ifndef PAWL_CLI_WAIT_H
#define PAWL_CLI_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

uint64_t clock_ns(clockid_t clock);

/* Of CLOCK_MONOTONIC, which is never set. */
uint64_t clock_ms(void);

/*
 * Wait until the descriptor is ready for `events`, those of poll(). False: it was not ready before `end_ms`, and errno is
 * EAGAIN; or a signal came, which ends the command, and errno is EINTR. From `end_ms` on it is false even if the descriptor
 * is ready.
 */
bool wait_for(int fd, short events, uint64_t end_ms);

#endif
