/* SPDX-License-Identifier: MIT */
/*
 * A lock for a few dozen instructions: one locked instruction to acquire it, a plain store to release it; a mutex has
 * two locked instructions and two calls. The price is fairness: there is no queue. A thread that finds the lock held
 * spins for a while and then naps. That is right here because a shard's lock is held for one operation on a wheel, or
 * for a bounded batch of them (only pawl_service_get_stats walks all due tasks), and never while user code runs (only
 * wall.c reads the clock, which may be the user's). And a nap, unlike spinning, lets a preempted holder
 * run, whatever its priority.
 *
 * A function that must be called under a lock begins with lock_assert_held(), or mutex_assert_held() for a mutex. With
 * PAWL_ASSERT (base/assert.h) it ends the program if the calling thread does not hold it. So does a
 * wrong order: a thread that holds a lock acquires no other lock and no mutex, and a thread that holds a mutex acquires
 * no lock. A mutex that is locked by (mutex_lock)(), with parentheses, does not count: see pawl_purgatory_stop; nor does
 * one between mutex_ignore() and mutex_heed(). Without PAWL_ASSERT this is not compiled.
 */
#ifndef PAWL_BASE_LOCK_H
#define PAWL_BASE_LOCK_H

#include "../system/system.h"
#include "assert.h"
#include "mistake.h"

/*
 * A word that threads read and write without a lock. On i386 a uint64_t is aligned to 4 bytes only: it may lie in two
 * cache lines, and then it is not read as a whole.
 */
typedef uint64_t shared_uint64 __attribute__((aligned(8)));

struct lock {
	int held;
};

#ifdef PAWL_ASSERT
/* lock.c: the lock that the calling thread holds, and the checks, which end the program with a message. */
extern _Thread_local const struct lock *pawl__lock_held; /* or NULL */
void pawl__lock_expect_held(const struct lock *expected, const char *function);
void pawl__mutex_expect_held(const struct mutex *expected, const char *function); /* NULL: none */
void pawl__mutex_note_locked(const struct mutex *mutex);
void pawl__mutex_note_unlocked(const struct mutex *mutex);
#define lock_assert_held(lock)   pawl__lock_expect_held(lock, __func__)
#define lock_assert_none()       pawl__lock_expect_held(NULL, __func__)
#define lock_note_held(lock)     (pawl__lock_held = (lock))
#define mutex_assert_held(mutex) pawl__mutex_expect_held(mutex, __func__)
#define mutex_assert_none()      pawl__mutex_expect_held(NULL, __func__)
#define mutex_lock(mutex)        (lock_assert_none(), mutex_lock(mutex), pawl__mutex_note_locked(mutex))
#define mutex_unlock(mutex)      (pawl__mutex_note_unlocked(mutex), mutex_unlock(mutex))
#define mutex_ignore(mutex)      pawl__mutex_note_unlocked(mutex)
#define mutex_heed(mutex)        pawl__mutex_note_locked(mutex)
#else
#define lock_assert_held(lock)   ((void)(lock))
#define lock_assert_none()       ((void)0)
#define lock_note_held(lock)     ((void)(lock))
#define mutex_assert_held(mutex) ((void)(mutex))
#define mutex_assert_none()      ((void)0)
#define mutex_ignore(mutex)      ((void)(mutex))
#define mutex_heed(mutex)        ((void)(mutex))
#endif

/* Before a lock is acquired, and before a user's function is called. */
#define assert_nothing_held() (lock_assert_none(), mutex_assert_none())

enum { SPINS_BEFORE_YIELD = 100, YIELDS_BEFORE_NAP = 10, NAP_NS = 50000 };

static inline bool lock_try(struct lock *lock)
{
	return !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
}

static inline void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Wait until the lock looks free. Reads only, so that the holder keeps the cache line. */
static __attribute__((noinline, unused)) void lock_wait(const struct lock *lock)
{
	for (int spins = 0; __atomic_load_n(&lock->held, __ATOMIC_RELAXED); spins++) {
		if (spins < SPINS_BEFORE_YIELD)
			relax_cpu();
		else if (spins < SPINS_BEFORE_YIELD + YIELDS_BEFORE_NAP)
			yield_cpu();
		else
			nap(NAP_NS);
	}
}

static inline void lock_acquire(struct lock *lock)
{
	assert_nothing_held();
	while (!lock_try(lock))
		lock_wait(lock);
	lock_note_held(lock);
}

/* Between two batches of one thread: threads that wait for the lock can get it. */
static inline void lock_acquire_after_pause(struct lock *lock)
{
	for (int i = 0; i < SPINS_BEFORE_YIELD / 2; i++)
		relax_cpu();
	lock_acquire(lock);
}

static inline void lock_release(struct lock *lock)
{
	lock_assert_held(lock);
	lock_note_held(NULL);
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
