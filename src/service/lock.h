/* SPDX-License-Identifier: MIT */
/*
 * A lock for a few dozen instructions: one locked instruction to acquire it, a plain store to release it,
 * where a mutex has two locked ones and two calls. What it gives up is fairness and a queue: who finds it
 * taken spins for a while and then naps. That is right here because a shard is held for one operation
 * on a wheel, or for a bounded batch of them, never while user code runs; and because napping, unlike
 * spinning on, lets a holder go on that was preempted, whatever its priority.
 *
 * A function that is called under a lock says so by lock_assert_held(). With PAWL_ASSERT, which development builds
 * define, that ends the program where the calling thread does not hold that lock; and so does taking a lock
 * while holding another one: the order of locks is one, then nothing. Without it there is no code for either.
 */
#ifndef PAWL_SERVICE_LOCK_H
#define PAWL_SERVICE_LOCK_H

#include "../system/system.h"

/*
 * A word that threads read and write without a lock. It has an alignment of its own since that of uint64_t is 4 bytes on
 * i386: then a word may lie in two cache lines, and is not read as a whole.
 */
typedef uint64_t shared_uint64 __attribute__((aligned(8)));

struct lock {
	int held;
};

#ifdef PAWL_ASSERT
/* lock.c: which lock the calling thread holds, or NULL; and the end, with a message, if that is wrong. */
extern _Thread_local const struct lock *pawl__lock_held;
void pawl__lock_expect_held(const struct lock *expected, const char *function);
#define lock_assert_held(lock) pawl__lock_expect_held(lock, __func__)
#define lock_assert_none()     pawl__lock_expect_held(NULL, __func__)
#define lock_note_held(lock)   (pawl__lock_held = (lock))
#else
#define lock_assert_held(lock) ((void)(lock))
#define lock_assert_none()     ((void)0)
#define lock_note_held(lock)   ((void)(lock))
#endif

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

/* Wait until it looks free: without writing, so that the holder keeps the cache line. */
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
	lock_assert_none();
	while (!lock_try(lock))
		lock_wait(lock);
	lock_note_held(lock);
}

static inline void lock_release(struct lock *lock)
{
	lock_assert_held(lock);
	lock_note_held(NULL);
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
