/* SPDX-License-Identifier: MIT */
/* The subcommands. Each gets its own arguments, with its name as argv[0], and returns the exit code. */
#ifndef PAWL_CLI_COMMANDS_H
#define PAWL_CLI_COMMANDS_H

int command_board(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_next(int argc, char **argv);
int command_run(int argc, char **argv);
int command_store(int argc, char **argv);
int command_top(int argc, char **argv);

#endif
