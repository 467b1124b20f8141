/* SPDX-License-Identifier: MIT */
/* A snapshot as text for a terminal. */
#ifndef PAWL_CLI_TOP_DRAW_H
#define PAWL_CLI_TOP_DRAW_H

#include <stdio.h>

#include "../text/terminal.h"
#include "snapshot.h"
#include "symbols.h"

struct drawing {
	struct terminal terminal;
	const struct snapshot *now;
	const struct snapshot *before;       /* the one before it, or NULL: there is none yet */
	const struct snapshot *a_minute_ago; /* or as long ago as there are any; or NULL */
	uint64_t since_ns, minute_ns;        /* since those */
	struct symbols *symbols;
	bool paused;
};

void draw(const struct drawing *drawing, FILE *to);

#endif
