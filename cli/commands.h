/* SPDX-License-Identifier: MIT */
/* The subcommands. Each takes its own arguments, argv[0] being its name, and returns the exit code. */
#ifndef PAWL_CLI_COMMANDS_H
#define PAWL_CLI_COMMANDS_H

enum {
	EXIT_FINE = 0,
	EXIT_FAULT = 1,        /* what was asked for was done, but something in it was wrong */
	EXIT_USAGE = 2,        /* what was asked for was not understood, and nothing was done */
	EXIT_INTERRUPTED = 128 /* plus the number of the signal that ended it */
};

int command_demo(int argc, char **argv);
int command_explain(int argc, char **argv);

#endif
