/* SPDX-License-Identifier: MIT */
/*
 * A lock for a few dozen instructions: one locked instruction to take it, a plain store to give it back,
 * where a mutex has two locked ones and two calls. What it gives up is fairness and a queue: who finds it
 * taken spins for a while and then naps. That is right here because a shard is held for one operation
 * on a wheel, or for a bounded batch of them, never while user code runs; and because napping, unlike
 * spinning on, lets a holder go on that was preempted, whatever its priority.
 */
#ifndef PAWL_SERVICE_LOCK_H
#define PAWL_SERVICE_LOCK_H

#include <sched.h>
#include <stdbool.h>
#include <time.h>

struct lock {
	int taken;
};

enum { SPINS_BEFORE_YIELD = 100, YIELDS_BEFORE_NAP = 10, NAP_NS = 50000 };

static inline bool lock_try(struct lock *lock)
{
	return !__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE);
}

static inline void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Wait until it looks free: without writing, so that the holder keeps the cache line. */
static __attribute__((noinline, unused)) void lock_wait(const struct lock *lock)
{
	const struct timespec nap = {0, NAP_NS};

	for (int spins = 0; __atomic_load_n(&lock->taken, __ATOMIC_RELAXED); spins++) {
		if (spins < SPINS_BEFORE_YIELD)
			relax_cpu();
		else if (spins < SPINS_BEFORE_YIELD + YIELDS_BEFORE_NAP)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

static inline void lock_take(struct lock *lock)
{
	while (!lock_try(lock))
		lock_wait(lock);
}

static inline void lock_give(struct lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

#endif
