/* SPDX-License-Identifier: MIT */
/* pawl: the command. It finds the subcommand and calls it. */
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
        "  pawl board              serve a page for the queues of Redis and Valkey\n"
        "  pawl demo               run a million tasks in ten seconds and check each\n"
        "  pawl explain DELAY...   draw the way of a timer through the wheels\n"
        "  pawl next RULE          say when a cron expression fires\n"
        "  pawl run [FILE]         write lines, or run commands, when they are due\n"
        "  pawl store ACTION DIR   check, list or repair the directory of a store\n"
        "  pawl top SOCKET         show what a service of a running program does\n"
        "\n"
        "  pawl help [COMMAND]     print this text, or the options of a command\n"
        "  pawl --version          print the version\n"
        "\n"
        "The manual is pawl(1).\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
        {"board", command_board}, {"demo", command_demo}, {"explain", command_explain},
        {"next", command_next},   {"run", command_run},   {"store", command_store},
        {"top", command_top},
};

static int print(const char *text)
{
	fputs(text, stdout);
	return finish_output(EXIT_FINE);
}

/*
 * If standard input or output is closed, the next file opened would get its number. So /dev/null gets it, opened such
 * that reading or writing fails.
 */
static void guard_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			return;
}

/* Whether so many edits, or fewer, turn one word into the other: a letter more, less or another, or two swapped. */
static bool is_near(const char *a, const char *b, size_t edits)
{
	for (; *a && *a == *b; a++)
		b++;
	if (!*a && !*b)
		return true;
	if (edits == 0)
		return false;
	if ((*a && is_near(a + 1, b, edits - 1)) || (*b && is_near(a, b + 1, edits - 1)))
		return true;
	if (!*a || !*b)
		return false;
	return is_near(a + 1, b + 1, edits - 1) ||
	       (a[0] == b[1] && a[1] == b[0] && is_near(a + 2, b + 2, edits - 1));
}

/* With more edits than one in three letters it would be a guess. */
static bool may_mean(const char *word, const char *name)
{
	return is_near(word, name, strlen(name) / 3);
}

static int refuse(const char *word)
{
	const char *meant = may_mean(word, "help") ? "help" : NULL;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (may_mean(word, commands[i].name))
			meant = commands[i].name;
	if (meant)
		complain("unknown command '%s'; did you mean %s?", word, meant);
	else
		complain("unknown command '%s'; expected board, demo, explain, help, next, run, "
		         "store or top",
		         word);
	return EXIT_USAGE;
}

/* argv[0] is the name of the subcommand. */
static int run_command(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
	return refuse(argv[0]);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* pawl help COMMAND is pawl COMMAND --help. */
static int help_on(int argc, char **argv)
{
	char option[] = "--help", *arguments[] = {argc > 1 ? argv[1] : NULL, option, NULL};

	if (argc == 1 || (argc == 2 && is_help(argv[1])))
		return print(help);
	if (argc == 2)
		return run_command(2, arguments);
	complain("help: '%s' is one COMMAND too many; expected at most one", argv[2]);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	guard_standard_files();
	if (argc < 2) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (is_help(argv[1]))
		return help_on(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0) {
		printf("pawl %s\n", pawl_version());
		return finish_output(EXIT_FINE);
	}
	return run_command(argc - 1, argv + 1);
}
