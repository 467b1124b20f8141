/* SPDX-License-Identifier: MIT */
/* The state of `pawl run`, for its files. */
#ifndef PAWL_CLI_STATE_H
#define PAWL_CLI_STATE_H

#include "../text/arguments.h"
#include "../wait/wait.h"
#include "children.h"
#include "entries.h"
#include "input.h"
#include "output.h"
#include "zones.h"

struct pipe_options {
	struct texts lines;  /* of -e: they come before the input */
	bool no_input;       /* there are only these lines */
	const char *path;    /* NULL: standard input */
	const char *command; /* NULL: lines are written to standard output */
	uint64_t jobs;       /* commands at once */
	const char *zone;    /* of lines that name none; NULL: such lines are bad */
	bool replay;
	double speed;
	bool strict;
};

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
	int wall_fd;    /* readable after the wall clock was set */
	bool announced; /* the message that it waits for commands */
	bool based;     /* --replay: base_stamp and base_time are set, by the first line */
	uint64_t base_stamp, base_time;
	struct input input;
	struct output output;
};

/* `pawl run` itself: reads lines, and writes them when they are due. Returns the exit code. */
int pipe_run(const struct pipe_options *options);

/* Arm the lines of -e. */
void pipe_read_lines(struct pipe *pipe);

/* Read once, and arm the lines that were read. */
void pipe_read_input(struct pipe *pipe);

/* Fire lines that are due, while they can fire. */
void pipe_fire_due(struct pipe *pipe);
bool pipe_can_fire(const struct pipe *pipe);

/* Remove the entry. It is freed now or, if it repeats and its command runs, when the command has ended. */
void pipe_remove(struct pipe *pipe, struct entry *entry);

/* Report commands that have ended, and make room for others. */
void pipe_reap(struct pipe *pipe);

/* Print why, and stop. */
void pipe_fail(struct pipe *pipe, const char *what, int error);

#endif
