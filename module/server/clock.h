/* SPDX-License-Identifier: MIT */
/* The server's wall clock in milliseconds; in tests, a clock that only clock_set() changes. */
#ifndef PAWL_MODULE_CLOCK_H
#define PAWL_MODULE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_now(void);

/* The time is `ms` until the next call. */
void clock_set(uint64_t ms);
bool clock_is_set(void);

#endif
