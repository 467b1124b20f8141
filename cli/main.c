/* SPDX-License-Identifier: MIT */
/* pawl: the command. Finds the subcommand and leaves the rest to it. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pawl/pawl.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "text/arguments.h"

static const char help[] =
        "usage: pawl COMMAND [OPTION...] [ARGUMENT...]\n"
        "\n"
        "  pawl board              a page for the queues of the Redis and Valkey module\n"
        "  pawl demo               a million tasks in ten seconds, all accounted for\n"
        "  pawl explain DELAY...   the journey of a timer through the wheels, drawn\n"
        "  pawl run [FILE]         write lines, or run commands, when they are due\n"
        "\n"
        "  pawl COMMAND --help     the options of a command\n"
        "  pawl --version          the version\n"
        "\n"
        "The manual is pawl(1).\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
        {"board", command_board},
        {"demo", command_demo},
        {"explain", command_explain},
        {"run", command_run},
};

static int print(const char *text)
{
	fputs(text, stdout);
	return finish_output(EXIT_FINE);
}

/*
 * If standard input or output is closed, the next file opened would take its place. So something takes it that can
 * be neither read nor written, and who tries is told.
 */
static void guard_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	guard_standard_files();
	if (argc < 2) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print(help);
	if (strcmp(argv[1], "--version") == 0) {
		printf("pawl %s\n", pawl_version());
		return finish_output(EXIT_FINE);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	complain("unknown command '%s'; expected board, demo, explain or run", argv[1]);
	return EXIT_USAGE;
}
