/* SPDX-License-Identifier: MIT */
/*
 * ASSERT(holds): a condition that must hold. If it does not, pawl itself is wrong, or memory was overwritten.
 *
 *	release       no code
 *	PAWL_ASSERT   a trap ends the program: for a wheel without libc, the module, tests/schedules, the thread sanitizer
 *	PAWL_CHECKED  the program prints where it is and the condition, and aborts: libpawl-debug, and libpawl with PAWL_DEV
 *
 * A user's mistake is reported by a message instead: mistake.h. This header needs no libc.
 */
#ifndef PAWL_BASE_ASSERT_H
#define PAWL_BASE_ASSERT_H

#if defined(PAWL_CHECKED) && !defined(PAWL_ASSERT)
#define PAWL_ASSERT
#endif

#if defined(__GNUC__) && !defined(PAWL_PLAIN_C)
#define TRAP() __builtin_trap()
#else
#define TRAP() trap()

/* Plain C has no other way to end a program without a library. */
static inline void trap(void)
{
	/* cppcheck-suppress nullPointer */
	*(volatile char *)0 = 0; /* NOLINT(clang-analyzer-core.NullDereference) */
}
#endif

#if defined(PAWL_CHECKED)
_Noreturn void pawl__assertion_failed(const char *file, int line,
                                      const char *condition); /* speak.c */
#define ASSERT(holds) ((holds) ? (void)0 : pawl__assertion_failed(__FILE__, __LINE__, #holds))
#elif defined(PAWL_ASSERT)
#define ASSERT(holds) ((holds) ? (void)0 : TRAP())
#else
#define ASSERT(holds) ((void)0)
#endif

#endif
