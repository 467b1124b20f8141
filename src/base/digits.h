/* SPDX-License-Identifier: MIT */
/* Numbers as digits, decimal and hexadecimal, without a zero at the end. */
#ifndef PAWL_BASE_DIGITS_H
#define PAWL_BASE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DECIMAL_TEXT = 20 }; /* digits in the largest number */

/* Write a number in decimal; returns the end. Two digits at a time, which halves the number of divisions. */
static inline char *decimal_write(char *to, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
	                            "25262728293031323334353637383940414243444546474849"
	                            "50515253545556575859606162636465666768697071727374"
	                            "75767778798081828384858687888990919293949596979899";
	char digits[DECIMAL_TEXT], *first = digits + sizeof(digits);
	size_t count;

	for (; value >= 10; value /= 100)
		memcpy(first -= 2, pairs + value % 100 * 2, 2);
	if (value > 0 || first == digits + sizeof(digits))
		*--first = (char)('0' + value);
	count = (size_t)(digits + sizeof(digits) - first);
	memcpy(to, first, count);
	return to + count;
}

/* The value of a lower-case hexadecimal digit, or -1. A table, since a branch would be unpredictable. */
static inline int hex_digit(char c)
{
	static const unsigned char above[256] = {
	        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	};

	return above[(unsigned char)c] - 1;
}

/* Write the lowest `digits` hexadecimal digits of a number; returns the end. */
static inline char *hex_write(char *to, uint64_t value, unsigned digits)
{
	for (unsigned i = digits; i-- > 0;)
		*to++ = "0123456789abcdef"[value >> (4 * i) & 15];
	return to;
}

/* Read so many digits, 16 at most. False: one of them is not a lower-case hexadecimal digit. */
static inline bool hex_read(const char *text, unsigned digits, uint64_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < digits; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return false;
		*value = *value << 4 | (uint64_t)digit;
	}
	return true;
}

#endif
