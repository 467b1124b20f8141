/* SPDX-License-Identifier: MIT */
/* UTF-8 that may be invalid. */
#ifndef PAWL_BASE_UTF8_H
#define PAWL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the character at `text` has, of which there are `size` bytes, at least 1. 0: it is not valid UTF-8. */
static inline size_t utf8_length(const unsigned char *text, size_t size)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *text < 0x80   ? 1
	                : *text < 0xC0 ? 0
	                : *text < 0xE0 ? 2
	                : *text < 0xF0 ? 3
	                : *text < 0xF8 ? 4
	                               : 0;
	uint32_t code = *text & 0x7Fu >> length;

	if (length < 2)
		return length;
	for (size_t i = 1; i < length; i++) {
		if (i >= size || (text[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3Fu);
	}
	return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)
	               ? 0
	               : length;
}

#endif
