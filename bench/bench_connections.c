/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-connections: idle connections whose time-outs are refreshed at each message, through real
 * loops and real sockets: the CPU time that a message takes.
 */
#define _GNU_SOURCE
#include "arguments.h"
#include "connections.h"
#include "machine.h"
#include "report.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 20240229;

enum {
	MAX_LOOPS = 16,
	MAX_SIZES = 8,
	MAX_REPETITIONS = 99,
	MAX_CONNECTIONS = 1000000,
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	MESSAGES = 100000,
	MESSAGES_QUICK = 20000,
	NAME_WIDTH = 18,
};

struct settings {
	uint32_t sizes[MAX_SIZES];
	size_t size_count;
	uint32_t repetitions; /* 0: the default */
	bool quick;
	bool only_verify;
	const char *csv;
};

static void help(void)
{
	puts("usage: pawl-bench-connections [options]\n"
	     "\n"
	     "Idle connections whose time-outs are refreshed at each message, through real loops: "
	     "CPU.\n"
	     "\n"
	     "  --quick           a few seconds: fewer messages, 3 repetitions\n"
	     "  --n N[,N...]      how many connections; default 1000, and 10000 or as many as the "
	     "limit\n"
	     "                    of descriptors allows\n"
	     "  --reps R          repetitions; default 5\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the loops: each time-out ends once, and not early\n"
	     "  --help            this\n"
	     "\n"
	     "loops:");
	for (size_t i = 0; i < loop_peer_count; i++)
		printf("  %-16s %s\n", loop_peers[i]->name, loop_peers[i]->about);
}

static void parse_sizes(struct settings *settings, char *list)
{
	settings->size_count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		uint32_t most = most_connections();

		if (settings->size_count == MAX_SIZES) {
			refuse("--n", item);
			fprintf(stderr, " at most %d sizes\n", MAX_SIZES);
			exit(2);
		}
		settings->sizes[settings->size_count++] =
		        parse_number("--n", item, most < MAX_CONNECTIONS ? most : MAX_CONNECTIONS);
	}
}

static void default_sizes(struct settings *settings)
{
	uint32_t most = most_connections();

	settings->sizes[0] = most < 1000 ? most : 1000;
	settings->sizes[1] = most < 10000 ? most : 10000;
	settings->size_count = most > 1000 ? 2 : 1;
}

static void parse(struct settings *settings, int argc, char **argv)
{
	static const char allowed[] = "--quick --n --reps --csv --verify --help";
	static const struct option known[] = {
	        {"quick", no_argument, NULL, 'q'},
	        {"n", required_argument, NULL, 'n'},
	        {"reps", required_argument, NULL, 'r'},
	        {"csv", required_argument, NULL, 'c'},
	        {"verify", no_argument, NULL, 'v'},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "-:", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			settings->quick = true;
			break;
		case 'n':
			parse_sizes(settings, optarg);
			break;
		case 'r':
			settings->repetitions = parse_number("--reps", optarg, MAX_REPETITIONS);
			break;
		case 'c':
			settings->csv = optarg;
			break;
		case 'v':
			settings->only_verify = true;
			break;
		case 'h':
			help();
			exit(0);
		case ':':
			usage_error("a value is missing after", argv[optind - 1], allowed);
		case 1:
			usage_error("unexpected argument", optarg, allowed);
		default:
			usage_error("unknown option", argv[optind - 1], allowed);
		}
	}
	if (optind < argc)
		usage_error("unexpected argument", argv[optind], allowed);
	if (!settings->size_count)
		default_sizes(settings);
	if (!settings->repetitions)
		settings->repetitions = settings->quick ? REPETITIONS_QUICK : REPETITIONS;
}

static void verify_loops(void)
{
	printf("verified ");
	for (size_t i = 0; i < loop_peer_count; i++) {
		if (loop_peers[i]->untimed)
			continue;
		if (!verify_loop(loop_peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     loop_peers[i]->name, SEED);
		printf(" %s", loop_peers[i]->name);
		fflush(stdout);
	}
	printf("\n");
}

static void sample(const struct settings *settings, uint32_t n,
                   double values[MAX_LOOPS][MAX_REPETITIONS])
{
	uint64_t messages = settings->quick ? MESSAGES_QUICK : MESSAGES;
	struct connections connections;

	connections_open(&connections, n);
	for (uint32_t repetition = 0; repetition < settings->repetitions; repetition++) {
		for (size_t i = 0; i < loop_peer_count; i++) {
			progress_show("%u connections, %u of %u, %s", n, repetition + 1,
			              settings->repetitions, loop_peers[i]->name);
			values[i][repetition] =
			        message_cost(loop_peers[i], &connections, messages, SEED);
			progress_done(1);
		}
	}
	progress_clear();
	connections_close(&connections);
}

static void print_row(const struct loop_peer *peer, const struct figure *figure, double without)
{
	printf("%-*s %8.0f ±%-3.0f %%", NAME_WIDTH, peer->name, figure->median,
	       figure_spread(figure));
	if (!peer->untimed)
		printf("%+12.0f", figure->median - without);
	printf("\n");
}

static void measure(const struct settings *settings, uint32_t n)
{
	static double values[MAX_LOOPS][MAX_REPETITIONS];
	char text[GROUPED];
	double without = 0;

	sample(settings, n, values);
	printf("\n%s idle connections, CPU ms for a million messages, median of %u\n",
	       grouped(n, text), settings->repetitions);
	printf("%-*s %8s %6s%12s\n", NAME_WIDTH, "", "CPU ms", "", "time-outs");
	for (size_t i = 0; i < loop_peer_count; i++) {
		struct figure figure = figure_of(values[i], settings->repetitions);
		const struct report_key key = {.workload = "message",
		                               .peer = loop_peers[i]->name,
		                               .unit = "cpu-ns",
		                               .n = n};

		without = i == 0 ? figure.median : without;
		print_row(loop_peers[i], &figure, without);
		report_figure(&key, &figure);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct settings settings = {0};

	parse(&settings, argc, argv);
	machine_settle();
	machine_describe();
	verify_loops();
	if (settings.only_verify)
		return 0;
	report_open(settings.csv, "connections");
	progress_begin((double)(settings.size_count * settings.repetitions * loop_peer_count));
	for (size_t i = 0; i < settings.size_count; i++)
		measure(&settings, settings.sizes[i]);
	report_close();
	return 0;
}
