/* SPDX-License-Identifier: MIT */
/*
 * The time; waiting for a descriptor until a point in time, a limit for a whole answer, however many pieces it comes in;
 * and signals that end a command.
 */
#ifndef PAWL_CLI_WAIT_H
#define PAWL_CLI_WAIT_H

#include <signal.h>
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

/*
 * From now on this signal sets `ended_by` to its number. A write goes on after it: stdio would lose the rest of its text. If
 * it comes once more, it ends the command at once.
 */
void end_by_signal(int number);
extern volatile sig_atomic_t ended_by; /* 0: none has come */

#endif
