/* SPDX-License-Identifier: MIT */
/* The checks of builds with assertions: see lock.h. */
#define _GNU_SOURCE
#include "lock.h"

#ifdef PAWL_ASSERT
_Thread_local const struct lock *pawl__lock_held;

void pawl__lock_expect_held(const struct lock *expected, const char *function)
{
	if (pawl__lock_held == expected)
		return;
	pawl__mistake(function, "the thread should hold %s, but holds %s",
	              expected ? "the lock that this is done under" : "no lock",
	              pawl__lock_held ? "another one" : "none");
}

/* The mutexes that the thread holds: the live view, or a manual clock, locks the service's mutex under its own. */
enum { MUTEXES = 4 };
static _Thread_local const struct mutex *mutexes[MUTEXES];
static _Thread_local unsigned mutex_count;

static bool holds_mutex(const struct mutex *mutex)
{
	for (unsigned i = 0; i < mutex_count; i++)
		if (mutexes[i] == mutex)
			return true;
	return false;
}

void pawl__mutex_expect_held(const struct mutex *expected, const char *function)
{
	if (expected ? holds_mutex(expected) : mutex_count == 0)
		return;
	pawl__mistake(function, "the thread should hold %s",
	              expected ? "the mutex that this is done under, but does not"
	                       : "no mutex, but holds one");
}

void pawl__mutex_note_locked(const struct mutex *mutex)
{
	ASSERT(mutex_count < MUTEXES);
	mutexes[mutex_count++] = mutex;
}

void pawl__mutex_note_unlocked(const struct mutex *mutex)
{
	pawl__mutex_expect_held(mutex, "mutex_unlock");
	for (unsigned i = 0; i < mutex_count; i++)
		if (mutexes[i] == mutex)
			mutexes[i] = mutexes[mutex_count - 1];
	mutex_count--;
}
#endif
