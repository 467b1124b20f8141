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
	const struct snapshot *before;       /* the snapshot before it; NULL: there is none yet */
	const struct snapshot *a_minute_ago; /* or the oldest there is; NULL: there is none */
	uint64_t since_ns, minute_ns;        /* how long ago `before` and `a_minute_ago` are */
	struct symbols *symbols;
	bool paused;
};

void draw(const struct drawing *drawing, FILE *to);

#endif
