/* SPDX-License-Identifier: MIT */
/* The state of the pipe tool, for the files that make it up. */
#ifndef PAWL_CLI_STATE_H
#define PAWL_CLI_STATE_H

#include <time.h>

#include "children.h"
#include "entries.h"
#include "input.h"
#include "output.h"
#include "pipe.h"
#include "zones.h"

enum stop { STOP_NOT, STOP_INTERRUPTED, STOP_STRICT, STOP_CLOSED, STOP_FAILED };

struct counts {
	uint64_t read, bad, fired, replaced, cancelled, skipped, failed;
	uint64_t late_sum, late_max;
};

struct pipe {
	const struct pipe_options *options;
	struct pawl_wheel *wheel; /* its time is CLOCK_BOOTTIME in ns */
	struct names names;
	struct zones zones;
	struct children children;
	struct counts counts;
	enum stop stop;
	int timer_fd;
	int moments_fd; /* tells that the clock on the wall was set */
	bool announced; /* that commands are being waited for */
	bool based;     /* --replay: the first line has set where the two times meet */
	uint64_t base_stamp, base_time;
	struct input input;
	struct output output;
};

/* Read once, and arm what has come. */
void pipe_take_input(struct pipe *pipe);

/* Fire what is due, as far as it can be. */
void pipe_fire_due(struct pipe *pipe);
bool pipe_can_fire(const struct pipe *pipe);

/* Commands that have ended: tell how, and make room. */
void pipe_reap(struct pipe *pipe);

/* Tell why, and stop. */
void pipe_fail(struct pipe *pipe, const char *what, int error);

uint64_t pipe_time(clockid_t clock); /* ns */

#endif
