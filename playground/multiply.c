/* SPDX-License-Identifier: MIT */
/*
 * The one function that the compiler calls for wasm32 and that Debian does not ship: to see whether a product of two
 * 64-bit numbers overflows, the compiler multiplies them as 128-bit numbers.
 */
#include <stdint.h>

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
