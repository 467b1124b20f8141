/* SPDX-License-Identifier: MIT */
/*
 * Patterns as in the command KEYS: `*` any text, `?` any byte, `[a-c]` one of these bytes, `[^a-c]` any other byte,
 * `\x` the byte x. The server's own function is not part of its module interface.
 */
#ifndef PAWL_MODULE_GLOB_H
#define PAWL_MODULE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes in a pattern: with a text of the same size, about 65,000 steps at most. */
enum { GLOB_MAX = 255 };

struct glob {
	const char *pattern; /* borrowed */
	size_t size;
};

bool glob_matches(const struct glob *glob, const char *text, size_t size);

#endif
