/* SPDX-License-Identifier: MIT */
/* `pawl run` itself: reads lines, and writes them when they are due. */
#ifndef PAWL_CLI_PIPE_H
#define PAWL_CLI_PIPE_H

#include <stdbool.h>
#include <stdint.h>

struct pipe_options {
	const char *path;    /* NULL: standard input */
	const char *command; /* NULL: lines are written to standard output */
	uint64_t jobs;       /* commands at once */
	const char *zone;    /* of lines that name none; NULL: such lines are bad */
	bool replay;
	double speed;
	bool strict;
};

/* Returns the exit code. */
int pipe_run(const struct pipe_options *options);

#endif
