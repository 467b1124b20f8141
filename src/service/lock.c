/* SPDX-License-Identifier: MIT */
/* The checks of development builds: see lock.h. */
#define _GNU_SOURCE
#include "lock.h"

#ifdef PAWL_ASSERT
#include <stdio.h>
#include <stdlib.h>

_Thread_local const struct lock *pawl__lock_held;

void pawl__lock_expect_held(const struct lock *expected, const char *function)
{
	if (pawl__lock_held == expected)
		return;
	fprintf(stderr, "pawl: %s: the thread should hold %s, but holds %s\n", function,
	        expected ? "the lock that this is done under" : "no lock",
	        pawl__lock_held ? "another one" : "none");
	abort();
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
	fprintf(stderr, "pawl: %s: the thread should hold %s\n", function,
	        expected ? "the mutex that this is done under, but does not"
	                 : "no mutex, but holds one");
	abort();
}

void pawl__mutex_note_locked(const struct mutex *mutex)
{
	if (mutex_count == MUTEXES)
		abort();
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
