/* SPDX-License-Identifier: MIT */
/* pawl run: its options. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../commands.h"
#include "../text/arguments.h"
#include "state.h"

static const char help[] =
        "usage: pawl run [OPTION...] [FILE]\n"
        "\n"
        "Reads lines from FILE, or from standard input (also '-'), or from -e, and writes\n"
        "the text of each when it is due.\n"
        "\n"
        "  1h30m TEXT                    after a delay: ns, us, ms, s, m, h or d\n"
        "  in 5m TEXT                    the same\n"
        "  18:00 TEXT                    when clocks show that time next, in the zone of\n"
        "                                --zone, or the machine's\n"
        "  18:00[Europe/Berlin] TEXT     the same in another zone\n"
        "  tomorrow 09:00 TEXT           at that time of the next day\n"
        "  @2026-12-01T09:00Z TEXT       at a time; also @SECONDS since 1970\n"
        "  @2026-12-01T10:00[Europe/Berlin] TEXT     at a local time\n"
        "  every 10s TEXT                repeatedly\n"
        "  daily[Europe/Berlin] 02:30 TEXT           every day at a local time\n"
        "  cron[Europe/Berlin] 30 2 * * MON TEXT     by a cron expression\n"
        "  =NAME 250ms TEXT              with a name: a later line of that name\n"
        "                                replaces this one\n"
        "  !NAME                         cancels the line of that name\n"
        "  # and empty lines             are ignored\n"
        "\n"
        "  -e, --line LINE\n"
        "                 a line, as if it were read; may be repeated. Then input is\n"
        "                 read, after these lines, only if FILE or '-' is given\n"
        "  --exec CMD     run 'sh -c CMD' for each line, with the text on its standard\n"
        "                 input and in $PAWL_TEXT\n"
        "  --jobs N       with --exec: commands at once, 1 to 1024 (default: the\n"
        "                 number of processors)\n"
        "  --replay       each line begins with its own timestamp, ISO 8601 or since\n"
        "                 1970; lines are written at the same distance from the first\n"
        "  --speed X      with --replay: X times faster, 0.001 to 1000000\n"
        "  --zone ZONE    for lines that name none: Europe/Berlin, UTC or local\n"
        "  --strict       stop at the first bad line\n"
        "  --help         this text\n"
        "\n"
        "A bad line is reported on standard error, and the exit code is then 1. At the\n"
        "end of input it waits for pending lines. SIGUSR1 prints statistics. SIGINT ends\n"
        "it, and it says how many lines were left.\n";

static unsigned processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : count > 1024 ? 1024 : (unsigned)count;
}

/* Check that the options go together. */
static bool makes_sense(const struct pipe_options *options, int count, char **arguments)
{
	if (count > 1)
		complain("run: '%s' is one FILE too many; expected at most one", arguments[1]);
	else if (options->speed != 1.0 && !options->replay)
		complain("run: --speed is for --replay only");
	else if (options->jobs && !options->command)
		complain("run: --jobs is for --exec only");
	else if (options->zone && options->replay)
		complain("run: --zone is not for --replay");
	else
		return true;
	return false;
}

static int run(int argc, char **argv, struct pipe_options options)
{
	const struct setting settings[] = {
	        {"line", .letter = 'e', .texts = &options.lines},
	        {"exec", .text = &options.command},
	        {"jobs", .number = &options.jobs, .least = 1, .most = 1024},
	        {"replay", .flag = &options.replay},
	        {"speed", .decimal = &options.speed, .low = 0.001, .high = 1e6},
	        {"zone", .text = &options.zone},
	        {"strict", .flag = &options.strict},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (!makes_sense(&options, argc - optind, argv + optind))
		return EXIT_USAGE;
	if (options.jobs == 0)
		options.jobs = processors();
	if (optind < argc && strcmp(argv[optind], "-") != 0)
		options.path = argv[optind];
	options.no_input = options.lines.count > 0 && optind == argc;
	return pipe_run(&options);
}

int command_run(int argc, char **argv)
{
	const char **lines = calloc((size_t)argc, sizeof(*lines));
	int code = EXIT_FAULT;

	if (lines)
		code = run(argc, argv, (struct pipe_options){.lines.list = lines, .speed = 1.0});
	else
		complain("run: there is no memory for %d arguments", argc);
	free(lines);
	return code;
}
