/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include "peer.h"

#include <stdio.h>
#include <stdlib.h>

const char *const service_row_names[SERVICE_ROWS] = {
        [CHURN] = "churn",     [BACKLOG] = "backlog", [LIVE] = "live",     [RATES] = "rates",
        [WINDOWS] = "windows", [INSPECT] = "inspect", [MEMORY] = "memory",
};

static const char *row_name(size_t row)
{
	return row < SERVICE_ROWS ? service_row_names[row] : NULL;
}

static const char *peer_name(size_t peer)
{
	return peer < SERVICE_PEERS ? service_peers[peer]->name : NULL;
}

static void help(void *settings)
{
	(void)settings;
	puts("usage: pawl-bench-service [options]\n"
	     "\n"
	     "Measures pawl's service against a heap under a mutex; medians.\n"
	     "\n"
	     "  --quick           a quarter of a minute: shorter, fewer repetitions, without live\n"
	     "  --reps R          repetitions; default 5, with --quick 3, and 1 of what takes "
	     "long\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --wheel-size N    in live, pawl with so many slots a level, 2 to 4096\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the services\n"
	     "  --help            this\n"
	     "\n"
	     "workloads:\n"
	     "  churn      arm + cancel by 1, 2 and 4 threads, alone and with 1,000,000 pending\n"
	     "  backlog    1,000,000 tasks that are due at once\n"
	     "  live       1,000,000 tasks that fall due within a second\n"
	     "  rates      10,000 and 100,000 tasks a second: lateness and CPU\n"
	     "  windows    10,000 tasks a second, exact and with a tenth of the delay as a window: "
	     "wake-ups, CPU\n"
	     "  inspect    100,000 tasks a second, with and without a live view: CPU\n"
	     "  memory     bytes\n"
	     "\n"
	     "peers:");
	for (uint32_t i = 0; i < SERVICE_PEERS; i++)
		printf("  %-12s %s\n", service_peers[i]->name, service_peers[i]->about);
	exit(0);
}

static void set_rows(void *settings, const char *option, char *value)
{
	parse_names(&((struct service_options *)settings)->rows, option, value, row_name);
}

static void set_peers(void *settings, const char *option, char *value)
{
	parse_names(&((struct service_options *)settings)->peers, option, value, peer_name);
}

static void set_wheel_size(void *settings, const char *option, char *value)
{
	((struct service_options *)settings)->wheel_size = number_within(option, value, 2, 4096);
}

void service_options_parse(struct service_options *options, int argc, char **argv)
{
	static const struct argument known[] = {
	        {"--quick", set_quick, NULL},
	        {"--reps", NULL, set_repetitions},
	        {"--only", NULL, set_rows},
	        {"--peers", NULL, set_peers},
	        {"--csv", NULL, set_csv},
	        {"--verify", set_verify, NULL},
	        {"--wheel-size", NULL, set_wheel_size},
	        {"--help", help, NULL},
	};

	*options = (struct service_options){0};
	arguments_parse(known, sizeof(known) / sizeof(known[0]), options, argc, argv);
}
