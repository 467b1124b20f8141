/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include "../peers/peer.h"
#include "../support/machine.h"
#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	REPETITIONS_CALLS = 7, /* of five, three may have an interrupt in the same tick of 60,000 */
	REPETITIONS_LARGE = 2, /* above this many timers: */
	LARGE = 1000000,
	BETWEEN =
	        10000, /* timers: the figures are like those above and below, so in large objects only */
	LARGEST = 10000000,
	STEPS_PER_TICK = 100,
	STEPS_PER_TICK_QUICK = 50,
};

static const size_t BYTES_FOR_EACH = 200;

/* If a workload has fewer rows than others, the last one is repeated. */
static const char *row_key(size_t index)
{
	const struct workload *workload = &workloads[index / ROWS_PER_WORKLOAD];
	size_t row = index % ROWS_PER_WORKLOAD;

	if (index / ROWS_PER_WORKLOAD >= workload_count)
		return NULL;
	while (!workload->rows[row].key)
		row--;
	return workload->rows[row].key;
}

_Static_assert((int)MAX_PEERS <= (int)MAX_NAMES, "arguments.h: MAX_NAMES, for --peers");

static const char *peer_name(size_t index)
{
	return index < peer_count ? peers[index]->name : NULL;
}

static void help(void)
{
	const char *key, *last = "";

	puts("usage: pawl-bench-wheel [options]\n"
	     "\n"
	     "Measures pawl's wheel against other structures, libraries and the kernel: median ns "
	     "an\n"
	     "operation.\n"
	     "\n"
	     "  --quick           half a minute: 1,000 and 100,000 timers, 3 repetitions, and in "
	     "churn\n"
	     "                    and refresh 50 steps a tick instead of 100\n"
	     "  --n N[,N...]      how many timers; default 1000,100000,1000000, in objects of "
	     "192 bytes\n"
	     "                    also 10000, and of 64 bytes also 10000000\n"
	     "  --reps R          repetitions; default 5, and 2 above 1,000,000 timers; 7 in "
	     "ahead\n"
	     "  --objects S[,S..] bytes of the objects that the timers are in; default 192,64\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the peers: each timer fires once, and not early\n"
	     "  --help            this\n");
	fputs("workloads:", stdout);
	for (size_t i = 0; (key = row_key(i)) != NULL; last = key, i++)
		if (strcmp(key, last) != 0)
			printf(" %s", key);
	puts("\n\npeers (*: only when named):");
	for (size_t i = 0; i < peer_count; i++)
		printf("%c %-12s %s\n", peers[i]->on_request ? '*' : ' ', peers[i]->name,
		       peers[i]->about);
}

bool options_have(const struct options *options, uint32_t n, uint32_t object_size)
{
	if (!options->spare)
		return true;
	if (object_size > CACHE_LINE)
		return n <= LARGE;
	return n != BETWEEN;
}

uint32_t options_repetitions(const struct options *options, uint32_t n, bool calls)
{
	uint32_t normal = n > LARGE ? REPETITIONS_LARGE : REPETITIONS;

	return repetitions_or(&options->common, calls ? REPETITIONS_CALLS : normal,
	                      REPETITIONS_QUICK);
}

/* The largest only if there is memory for objects, two orders and a heap's entries. */
static void default_sizes(struct options *options)
{
	options->spare = true;
	options->sizes = options->common.quick
	                         ? (struct numbers){{1000, 100000}, 2}
	                         : (struct numbers){{1000, BETWEEN, 100000, LARGE, LARGEST}, 5};
	if (!options->common.quick && memory_available() < LARGEST * BYTES_FOR_EACH) {
		fprintf(stderr,
		        "pawl-bench-wheel: without %d timers, for which %zu MiB should be free\n",
		        LARGEST, LARGEST * BYTES_FOR_EACH >> 20);
		options->sizes.count--;
	}
}

/* After all options are read: the defaults depend on --quick. */
static void fill_in(struct options *options)
{
	bool quick = options->common.quick;

	options->steps_per_tick = quick ? STEPS_PER_TICK_QUICK : STEPS_PER_TICK;
	if (!options->sizes.count)
		default_sizes(options);
	if (!options->objects.count)
		options->objects = (struct numbers){{192, 64}, quick ? 1 : 2};
}

void options_parse(struct options *options, int argc, char **argv)
{
	const struct argument known[] = {
	        {.name = "--quick", .flag = &options->common.quick},
	        {.name = "--n", .numbers = &options->sizes, .least = 1, .most = MAX_TIMERS},
	        {.name = "--reps",
	         .number = &options->common.repetitions,
	         .least = 1,
	         .most = MAX_REPETITIONS},
	        {.name = "--objects",
	         .numbers = &options->objects,
	         .least = CACHE_LINE,
	         .most = MAX_OBJECT_SIZE},
	        {.name = "--only", .names = &options->rows, .allowed = row_key},
	        {.name = "--peers", .names = &options->peers, .allowed = peer_name},
	        {.name = "--csv", .text = &options->common.csv},
	        {.name = "--verify", .flag = &options->common.only_verify},
	        {.name = "--help", .help = help},
	};

	*options = (struct options){0};
	arguments_parse(known, sizeof(known) / sizeof(known[0]), argc, argv);
	fill_in(options);
}
