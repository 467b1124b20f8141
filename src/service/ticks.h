/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds and ticks. The wheels count in ticks, so that arming takes their quick way; a deadline is
 * rounded up and now is rounded down, so nothing is early.
 */
#ifndef PAWL_SERVICE_TICKS_H
#define PAWL_SERVICE_TICKS_H

#include "layout.h"

__extension__ typedef unsigned __int128 uint128;

/* 2^64 / tick_ns, rounded down, for 2 and more. */
static inline uint64_t inverse_of(uint64_t tick_ns)
{
	return (uint64_t)(((uint128)1 << 64) / tick_ns);
}

/*
 * ns / tick_ns by a multiplication with the inverse: a division whose divisor is in memory would wait, on
 * some CPUs, for the addresses of all stores before it. The inverse is rounded down, so the quotient is
 * right or one too small.
 */
static inline uint64_t ticks_down(const struct pawl_service *service, uint64_t ns)
{
	uint64_t ticks = (uint64_t)((uint128)ns * service->tick_inverse >> 64);

	if (service->tick_ns == 1)
		return ns; /* the inverse would be 2^64 */
	return ns - ticks * service->tick_ns >= service->tick_ns ? ticks + 1 : ticks;
}

static inline uint64_t ticks_up(const struct pawl_service *service, uint64_t ns)
{
	return ns == 0 ? 0 : ticks_down(service, ns - 1) + 1;
}

/* When a tick begins; PAWL_NEVER for what is beyond all time. */
static inline uint64_t ns_of_tick(const struct pawl_service *service, uint64_t tick)
{
	uint64_t ns;

	return __builtin_mul_overflow(tick, service->tick_ns, &ns) ? PAWL_NEVER : ns;
}

static inline uint64_t add_ns(uint64_t now, uint64_t delay)
{
	return delay <= PAWL_NEVER - now ? now + delay : PAWL_NEVER;
}

static inline uint64_t clock_now(const struct pawl_service *service)
{
	return service->clock->now(service->clock);
}

#endif
