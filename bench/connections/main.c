/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-connections: idle connections whose timeouts are refreshed at each message, with real loops and sockets;
 * the CPU time of a message.
 */
#define _GNU_SOURCE
#include "../support/arguments.h"
#include "../support/machine.h"
#include "../support/report.h"
#include "connections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t SEED = 20240229;

extern const struct loop_peer loop_epoll_none, loop_epoll_pawl, loop_epoll_heap;
extern const struct loop_peer loop_libuv, loop_libev, loop_libevent, loop_libevent_common;

static const struct loop_peer *const loop_peers[] = {
        &loop_epoll_none, &loop_epoll_pawl,      &loop_epoll_heap,
#ifdef PAWL_BENCH_LIBUV
        &loop_libuv,
#endif
#ifdef PAWL_BENCH_LIBEV
        &loop_libev,
#endif
#ifdef PAWL_BENCH_LIBEVENT
        &loop_libevent,   &loop_libevent_common,
#endif
};

static const size_t loop_peer_count = sizeof(loop_peers) / sizeof(loop_peers[0]);

enum {
	MAX_CONNECTIONS = 1000000,
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	MESSAGES = 100000,
	MESSAGES_QUICK = 10000,
};

struct settings {
	struct common common;
	struct numbers sizes;
};

static void help(void *settings)
{
	(void)settings;
	puts("usage: pawl-bench-connections [options]\n"
	     "\n"
	     "Idle connections whose timeouts are refreshed at each message, through real loops: "
	     "CPU.\n"
	     "\n"
	     "  --quick           a few seconds: fewer messages, 3 repetitions\n"
	     "  --n N[,N...]      how many connections; default 1000, and 10000 or as many as the "
	     "limit\n"
	     "                    of descriptors allows\n"
	     "  --reps R          repetitions; default 5\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the loops: each timeout ends once, and not early\n"
	     "  --help            this\n"
	     "\n"
	     "loops:");
	for (size_t i = 0; i < loop_peer_count; i++)
		printf("  %-16s %s\n", loop_peers[i]->name, loop_peers[i]->about);
	exit(0);
}

static void set_sizes(void *settings, const char *option, char *value)
{
	uint32_t most = most_connections();

	parse_numbers(&((struct settings *)settings)->sizes, option, value, 1,
	              most < MAX_CONNECTIONS ? most : MAX_CONNECTIONS);
}

static void default_sizes(struct numbers *sizes)
{
	uint32_t most = most_connections();

	sizes->value[0] = most < 1000 ? most : 1000;
	sizes->value[1] = most < 10000 ? most : 10000;
	sizes->count = most > 1000 ? 2 : 1;
}

static void parse(struct settings *settings, int argc, char **argv)
{
	static const struct argument known[] = {
	        {"--quick", set_quick, NULL},      {"--n", NULL, set_sizes},
	        {"--reps", NULL, set_repetitions}, {"--csv", NULL, set_csv},
	        {"--verify", set_verify, NULL},    {"--help", help, NULL},
	};

	arguments_parse(known, sizeof(known) / sizeof(known[0]), settings, argc, argv);
	if (!settings->sizes.count)
		default_sizes(&settings->sizes);
	settings->common.repetitions =
	        repetitions_or(&settings->common, REPETITIONS, REPETITIONS_QUICK);
}

static void verify_loops(void)
{
	for (size_t i = 0; i < loop_peer_count; i++) {
		if (loop_peers[i]->untimed)
			continue;
		if (!verify_loop(loop_peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     loop_peers[i]->name, SEED);
		printf("verified  %s\n", loop_peers[i]->name);
	}
}

static void measure(const struct settings *settings, uint32_t n)
{
	uint64_t messages = settings->common.quick ? MESSAGES_QUICK : MESSAGES;
	struct connections connections;
	char text[GROUPED];

	connections_open(&connections, n);
	for (uint32_t repetition = 0; repetition < settings->common.repetitions; repetition++) {
		for (size_t i = 0; i < loop_peer_count; i++) {
			const struct report_key key = {.workload = "message",
			                               .peer = loop_peers[i]->name,
			                               .unit = "cpu-ns",
			                               .n = n};

			progress_show("%u connections, %u of %u, %s", n, repetition + 1,
			              settings->common.repetitions, loop_peers[i]->name);
			report_add(&key, message_cost(loop_peers[i], &connections, messages, SEED));
			progress_done(1);
		}
	}
	connections_close(&connections);
	report_table("%s idle connections", grouped(n, text));
}

int main(int argc, char **argv)
{
	struct settings settings = {0};

	parse(&settings, argc, argv);
	machine_prepare();
	machine_describe();
	verify_loops();
	if (settings.common.only_verify)
		return 0;
	report_open(settings.common.csv, "connections");
	progress_begin(
	        (double)(settings.sizes.count * settings.common.repetitions * loop_peer_count));
	for (size_t i = 0; i < settings.sizes.count; i++)
		measure(&settings, settings.sizes.value[i]);
	report_close();
	return 0;
}
