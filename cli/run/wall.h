/* SPDX-License-Identifier: MIT */
/*
 * Lines for a time of the wall clock. On the wheel they wait by a clock that is never set. So when the wall clock is
 * set, they have to be armed again.
 */
#ifndef PAWL_CLI_WALL_H
#define PAWL_CLI_WALL_H

#include "entries.h"

/* A descriptor that is readable after the wall clock was set; or -errno. */
int wall_open(void);

/* Make it unreadable until the wall clock is set again. */
void wall_read(int fd);

/* The deadline on the wheel of a `time` of the wall clock, if the wheel's time is `now` and the wall clock's `wall`. */
uint64_t wall_deadline(uint64_t time, uint64_t now, uint64_t wall);

/* Arm all of these lines again. false: there is no memory, and they are unchanged. */
bool wall_rearm(struct pawl_wheel *wheel, uint64_t now, uint64_t wall);

#endif
