/* SPDX-License-Identifier: MIT */
#ifndef PAWL_REDIS_DECIMAL_H
#define PAWL_REDIS_DECIMAL_H

#include <stdint.h>
#include <string.h>

enum { DECIMAL_TEXT = 20 }; /* the most digits that a number has */

/* A number in decimal; returns the end. */
static inline char *decimal_write(char *to, uint64_t value)
{
	char digits[DECIMAL_TEXT], *first = digits + sizeof(digits);
	size_t count;

	do
		*--first = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	count = (size_t)(digits + sizeof(digits) - first);
	memcpy(to, first, count);
	return to + count;
}

#endif
