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
#endif
