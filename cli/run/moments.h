/* SPDX-License-Identifier: MIT */
/*
 * Lines that wait for a moment of the clock on the wall. On the wheel, as all others, they wait by a clock that is never
 * set; so when the one on the wall is, they have to be put right.
 */
#ifndef PAWL_CLI_MOMENTS_H
#define PAWL_CLI_MOMENTS_H

#include "entries.h"

/* A descriptor that is readable when the clock on the wall was set; -errno. */
int moments_open(void);

/* Ask once more to be told. */
void moments_read(int fd);

/* When the moment is by the wheel's time, seen from `now`, when the clock on the wall shows `wall`. */
uint64_t moment_deadline(uint64_t moment, uint64_t now, uint64_t wall);

/* Put all of them right. False: no memory, and they stay as they are. */
bool moments_rearm(struct pawl_wheel *wheel, uint64_t now, uint64_t wall);

#endif
