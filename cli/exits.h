/* SPDX-License-Identifier: MIT */
/* The command's exit codes. */
#ifndef PAWL_CLI_EXITS_H
#define PAWL_CLI_EXITS_H

enum {
	EXIT_FINE = 0,
	EXIT_FAULT = 1,        /* done, but something was wrong */
	EXIT_USAGE = 2,        /* the arguments are wrong, and nothing was done */
	EXIT_INTERRUPTED = 128 /* plus the number of the signal that ended it */
};

#endif
