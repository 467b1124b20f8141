/* SPDX-License-Identifier: MIT */
/* The display of `pawl demo`: its progress, in place on a terminal, else one line a second; and the summary. */
#ifndef PAWL_CLI_DISPLAY_H
#define PAWL_CLI_DISPLAY_H

#include "../text/terminal.h"
#include "jobs.h"

struct display {
	struct terminal terminal;
	uint64_t start;     /* ns */
	uint64_t next_line; /* without a terminal: when to write again */
	bool drawn;
};

void display_begin(struct display *display, const struct jobs *jobs, unsigned workers,
                   uint64_t seed);
void display_progress(struct display *display, const struct jobs *jobs,
                      const struct pawl_service_stats *stats);

/* Before the summary, if stop has dropped so many tasks. */
void display_interruption(const struct display *display, uint64_t dropped);

/* Returns whether there was no fault. */
bool display_summary(struct display *display, const struct jobs *jobs,
                     const struct pawl_service_stats *stats, const struct verdict *verdict);

#endif
