/* SPDX-License-Identifier: MIT */
/* The abilities of an output: colours, and characters beyond ASCII. */
#ifndef PAWL_CLI_TERMINAL_H
#define PAWL_CLI_TERMINAL_H

#include <stdbool.h>

struct terminal {
	bool live;      /* a terminal that can move its cursor */
	bool utf8;      /* the locale's characters are UTF-8 */
	unsigned width; /* columns; 80 if unknown */

	/* Written before and after coloured text; empty if there are no colours. */
	const char *bold, *dim, *good, *bad, *accent, *plain;
};

/* For a file descriptor. Colours only on a terminal, and not if NO_COLOR is set or TERM is dumb. */
struct terminal terminal_of(int fd);

#endif
