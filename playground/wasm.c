/* SPDX-License-Identifier: MIT */
/*
 * What the page's C needs and Debian does not ship for wasm32: memory, behind the part that the linker placed, which grows
 * and never shrinks; and a product of 128 bits.
 */
#include "memory.h"

#include <stdint.h>

#define PAGE  65536u
#define ALIGN 16u

extern char __heap_base; /* the linker's */

static size_t top;  /* the first free address */
static size_t used; /* the first that was never taken, and so is still zero */

void memory_reset(void)
{
	top = 0;
}

static size_t rounded_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

void *memory_take(size_t size)
{
	size_t begin = rounded_up(top ? top : (size_t)(uintptr_t)&__heap_base, ALIGN);
	size_t pages = __builtin_wasm_memory_size(0);

	if (size > SIZE_MAX - begin - PAGE)
		return NULL;
	if (begin + size > pages * PAGE) {
		size_t more = rounded_up(begin + size, PAGE) / PAGE - pages;

		if (__builtin_wasm_memory_grow(0, more) == SIZE_MAX)
			return NULL;
	}
	if (begin < used)
		__builtin_memset((void *)begin, 0, used - begin < size ? used - begin : size);
	top = begin + size;
	used = top > used ? top : used;
	return (void *)begin;
}

/*
 * The one function that the compiler calls: to see whether a product of two 64-bit numbers overflows, it multiplies them as
 * 128-bit numbers.
 */
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define LOW(x)  ((x)&UINT32_MAX)
#define HIGH(x) ((x) >> 32)

/* The upper half of a product of 64-bit numbers, from products of their halves. */
static uint64_t upper_half(uint64_t a, uint64_t b)
{
	uint64_t middle = HIGH(a) * LOW(b) + HIGH(LOW(a) * LOW(b));
	uint64_t other = LOW(a) * HIGH(b) + LOW(middle);

	return HIGH(a) * HIGH(b) + HIGH(middle) + HIGH(other);
}

int128 __multi3(int128 a, int128 b);

int128 __multi3(int128 a, int128 b)
{
	uint64_t a_low = (uint64_t)a, a_high = (uint64_t)((uint128)a >> 64);
	uint64_t b_low = (uint64_t)b, b_high = (uint64_t)((uint128)b >> 64);
	uint64_t high = upper_half(a_low, b_low) + a_high * b_low + a_low * b_high;

	return (int128)((uint128)high << 64 | a_low * b_low);
}
