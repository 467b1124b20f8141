/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "service_options.h"

#include "arguments.h"
#include "service_peer.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const service_row_names[SERVICE_ROWS] = {
        [CHURN] = "churn", [BACKLOG] = "backlog", [LIVE] = "live",
        [RATES] = "rates", [MEMORY] = "memory",
};

static const char *row_name(uint32_t row)
{
	return service_row_names[row];
}

static const char *peer_name(uint32_t peer)
{
	return service_peers[peer]->name;
}

static void help(void)
{
	puts("usage: pawl-bench-service [options]\n"
	     "\n"
	     "Measures pawl's service against a heap under a mutex; medians.\n"
	     "\n"
	     "  --quick           a quarter of a minute: shorter, and fewer repetitions\n"
	     "  --reps R          repetitions; default 5, with --quick 3, and 1 of what takes "
	     "long\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --help            this\n"
	     "\n"
	     "workloads:\n"
	     "  churn      arm + cancel by 1, 2 and 4 threads, alone and with 1,000,000 pending\n"
	     "  backlog    1,000,000 tasks that are due at once\n"
	     "  live       1,000,000 tasks that fall due within a second\n"
	     "  rates      10,000 and 100,000 tasks a second: lateness and CPU\n"
	     "  memory     bytes\n"
	     "\n"
	     "peers:");
	for (uint32_t i = 0; i < SERVICE_PEERS; i++)
		printf("  %-12s %s\n", service_peers[i]->name, service_peers[i]->about);
}

static uint32_t find_name(const char *option, const char *item, const char *(*name)(uint32_t),
                          uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(item, name(i)) == 0)
			return i;
	refuse(option, item);
	for (uint32_t i = 0; i < count; i++)
		fprintf(stderr, " %s", name(i));
	fputs(" (a list with commas between)\n", stderr);
	exit(2);
}

static uint32_t parse_names(const char *option, char *list, const char *(*name)(uint32_t),
                            uint32_t count)
{
	uint32_t bits = 0;

	for (char *item; (item = strsep(&list, ",")) != NULL;)
		bits |= 1u << find_name(option, item, name, count);
	return bits;
}

#define ALLOWED "--quick --reps --only --peers --csv --help"

void service_options_parse(struct service_options *options, int argc, char **argv)
{
	static const struct option known[] = {
	        {"quick", no_argument, NULL, 'q'},
	        {"reps", required_argument, NULL, 'r'},
	        {"only", required_argument, NULL, 'o'},
	        {"peers", required_argument, NULL, 'p'},
	        {"csv", required_argument, NULL, 'c'},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	int option;

	*options = (struct service_options){.rows = ~0u, .peers = ~0u};
	while ((option = getopt_long(argc, argv, "-:", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			options->quick = true;
			break;
		case 'r':
			options->repetitions = parse_number("--reps", optarg, MAX_REPETITIONS);
			break;
		case 'o':
			options->rows = parse_names("--only", optarg, row_name, SERVICE_ROWS);
			break;
		case 'p':
			options->peers = parse_names("--peers", optarg, peer_name, SERVICE_PEERS);
			break;
		case 'c':
			options->csv = optarg;
			break;
		case 'h':
			help();
			exit(0);
		case ':':
			usage_error("a value is missing after", argv[optind - 1], ALLOWED);
		case 1:
			usage_error("unexpected argument", optarg, ALLOWED);
		default:
			usage_error("unknown option", argv[optind - 1], ALLOWED);
		}
	}
	if (optind < argc)
		usage_error("unexpected argument", argv[optind], ALLOWED);
}
