/* SPDX-License-Identifier: MIT */
/*
 * Everything beyond C11: for gcc and clang, and in plain C for every other compiler. Only speed depends on it, so the
 * plain macros may be empty. With -DPAWL_PLAIN_C gcc and clang also use the plain ones: the tests run the wheel with
 * both.
 */
#ifndef PAWL_WHEEL_COMPILER_H
#define PAWL_WHEEL_COMPILER_H

#include "../base/assert.h"

#include <stddef.h>
#include <stdint.h>

/*
 * An assertion about the links of a timer that is unlinked: they are in the user's memory, so a mistake there shows
 * here first. A release build has it only if it is asked for (PAWL_CHECK_LINKS): it reads both neighbours, which may be
 * cold, where unlinking only writes to them. docs/design/wheel.md has the cost.
 */
#if defined(PAWL_CHECK_LINKS) && !defined(PAWL_ASSERT)
#define ASSERT_LINKS(holds) ((holds) ? (void)0 : TRAP())
#else
#define ASSERT_LINKS(holds) ASSERT(holds)
#endif

#if defined(__GNUC__) && !defined(PAWL_PLAIN_C)

#define ALWAYS_INLINE             inline __attribute__((__always_inline__))
#define NEVER_INLINE              __attribute__((__noinline__)) /* underscores: kernels have a macro noinline */
#define PREFETCH(address)         __builtin_prefetch(address, 1) /* it will be written to */
#define PREFETCH_TO_READ(address) __builtin_prefetch(address)
#define UNREACHABLE()             __builtin_unreachable()

/* The number of the lowest bit that is set. One must be. */
static inline uint64_t lowest_bit(uint64_t word)
{
	ASSERT(word != 0);
	return (uint64_t)__builtin_ctzll(word);
}

#else

#define ALWAYS_INLINE inline
#define NEVER_INLINE
#define PREFETCH(address)         ((void)0)
#define PREFETCH_TO_READ(address) ((void)0)
#define UNREACHABLE()             ((void)0)

static inline uint64_t lowest_bit(uint64_t word)
{
	uint64_t number = 0;

	ASSERT(word != 0);
	for (unsigned half = 32; half > 0; half /= 2)
		if ((word & ((UINT64_C(1) << half) - 1)) == 0) {
			word >>= half;
			number += half;
		}
	return number;
}

#endif

/* MSVC's C has no max_align_t. */
#ifdef _MSC_VER
union strictest {
	long double number;
	uint64_t word;
	void *pointer;
};
#define STRICTEST_ALIGNMENT _Alignof(union strictest)
#else
#define STRICTEST_ALIGNMENT _Alignof(max_align_t)
#endif

#endif
