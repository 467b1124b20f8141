/* SPDX-License-Identifier: MIT */
/*
 * Patterns as the server's KEYS has them: `*` any text, `?` any byte, `[a-c]` and `[^a-c]` one of these bytes or none
 * of them, `\` before a byte that means itself. The server does not lend its own.
 */
#ifndef PAWL_REDIS_GLOB_H
#define PAWL_REDIS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { GLOB_MAX = 255 }; /* bytes in a pattern: with a text of as many, some 65,000 steps at most */

struct glob {
	const char *pattern; /* borrowed */
	size_t size;
};

bool glob_matches(const struct glob *glob, const char *text, size_t size);

#endif
