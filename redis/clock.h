/* SPDX-License-Identifier: MIT */
/* The server's wall clock, in milliseconds; or, in tests, a clock that stands still until it is set. */
#ifndef PAWL_REDIS_CLOCK_H
#define PAWL_REDIS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_now(void);

/* From now on the time is `ms`, until it is set again. */
void clock_set(uint64_t ms);
bool clock_is_set(void);

#endif
