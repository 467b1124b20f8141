/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-wheel: pawl's wheel compared with other structures, libraries and the kernel.
 *
 * All peers are verified before the first is timed. Then, for each N and each workload, the first repetition of every
 * peer is run, then the second of every peer, and so on, so that other work on the machine affects all peers alike.
 */
#define _GNU_SOURCE
#include "../peers/peer.h"
#include "../support/arguments.h"
#include "../support/machine.h"
#include "../support/report.h"
#include "verify.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 20240229;

struct options {
	struct common common;
	struct numbers sizes;   /* the Ns */
	struct numbers objects; /* their sizes in bytes */
	bool spare;             /* leave out the sizes that say least: the user chose none */
	uint32_t steps_per_tick;
	struct names rows, peers;
};

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

/* Whether to measure n timers in objects of this size. */
static bool options_have(const struct options *options, uint32_t n, uint32_t object_size)
{
	if (!options->spare)
		return true;
	if (object_size > CACHE_LINE)
		return n <= LARGE;
	return n != BETWEEN;
}

/* How often to measure with n timers; `calls`: the longest single call is measured. */
static uint32_t options_repetitions(const struct options *options, uint32_t n, bool calls)
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

static void options_parse(struct options *options, int argc, char **argv)
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

/* The chosen peers, and the objects for one number of timers and one object size. */
struct run {
	const struct options *options;
	const struct peer *peers[MAX_PEERS];
	size_t peer_count;
	struct arena arena;
	struct result results[MAX_PEERS][MAX_REPETITIONS]; /* of the current workload */
};

static bool row_chosen(const struct run *run, const struct row *row)
{
	return row->key && names_have(&run->options->rows, row->key);
}

/* For the sparse workload, or for all others. */
static bool workload_chosen(const struct run *run, const struct workload *workload, bool sparse)
{
	for (size_t i = 0; i < ROWS_PER_WORKLOAD; i++)
		if (workload->sparse == sparse && row_chosen(run, &workload->rows[i]))
			return true;
	return false;
}

static bool any_chosen(const struct run *run, bool sparse)
{
	for (size_t i = 0; i < workload_count; i++)
		if (workload_chosen(run, &workloads[i], sparse))
			return true;
	return false;
}

static void choose_peers(struct run *run)
{
	const struct names *names = &run->options->peers;

	for (size_t i = 0; i < peer_count; i++)
		if (names_have(names, peers[i]->name) && (names->count || !peers[i]->on_request))
			run->peers[run->peer_count++] = peers[i];
}

/* The peer that does nothing fails, so it is verified only if --peers names it. */
static bool to_be_verified(const struct options *options, const struct peer *peer)
{
	return !peer->null || (options->common.only_verify && options->peers.count > 0);
}

static void verify_peers(const struct run *run)
{
	for (size_t i = 0; i < run->peer_count; i++) {
		if (!to_be_verified(run->options, run->peers[i]))
			continue;
		if (!verify_peer(run->peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     run->peers[i]->name, SEED);
		printf("verified  %s\n", run->peers[i]->name);
	}
}

static void add(const struct run *run, const struct row *row, const char *peer, double value)
{
	const struct report_key key = {
	        .workload = row->label,
	        .peer = peer,
	        .unit = row->unit,
	        .object_bytes = run->arena.object_size,
	        .n = run->arena.n,
	};

	report_add(&key, value);
}

static uint32_t *memory_for_advances(void)
{
	uint32_t *advance_ns = malloc(MAX_DELAY * sizeof(*advance_ns));

	if (!advance_ns)
		fail("no memory for %d samples", MAX_DELAY);
	return advance_ns;
}

static bool is_longest(const struct row *row)
{
	return row->kind == LONGEST || row->kind == LONGEST_CALL;
}

static void sample_peer(struct run *run, const struct workload *workload, uint32_t repetition,
                        size_t peer)
{
	struct result *result = &run->results[peer][repetition];
	uint32_t steps = run->options->steps_per_tick;
	char text[GROUPED];

	if (!result->advance_ns)
		result->advance_ns = memory_for_advances();
	if (!result->call_ns)
		result->call_ns = memory_for_advances();
	progress_show("N = %s x %zu bytes, %s, %u, %s", grouped(run->arena.n, text),
	              run->arena.object_size, workload->rows[0].label, repetition + 1,
	              run->peers[peer]->name);
	workload_run(workload, run->peers[peer], &run->arena, steps, SEED, result);
	for (size_t i = 0; i < ROWS_PER_WORKLOAD; i++) {
		const struct row *row = &workload->rows[i];

		if (row_chosen(run, row) && row_possible(row, run->peers[peer]) && !is_longest(row))
			add(run, row, run->peers[peer]->name, result->figure[i]);
	}
	progress_done(workload_weight(workload, run->peers[peer], &run->arena, steps));
}

/* The longest of the ticks' medians over all repetitions; so there is one figure for all of them. */
static double longest_advance(struct result *results, uint32_t repetitions, enum row_kind kind)
{
	double values[MAX_REPETITIONS], longest = 0;

	for (uint32_t tick = 0; tick < MAX_DELAY; tick++) {
		for (uint32_t i = 0; i < repetitions; i++)
			values[i] = (kind == LONGEST ? results[i].advance_ns
			                             : results[i].call_ns)[tick];
		double ns = median(values, repetitions);

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

static void sample(struct run *run, const struct workload *workload)
{
	uint32_t repetitions = options_repetitions(run->options, run->arena.n, workload->calls);

	for (uint32_t repetition = 0; repetition < repetitions; repetition++)
		for (size_t i = 0; i < run->peer_count; i++)
			if (workload_possible(workload, run->peers[i], &run->arena))
				sample_peer(run, workload, repetition, i);
	for (const struct row *row = workload->rows; row < workload->rows + ROWS_PER_WORKLOAD;
	     row++)
		for (size_t i = 0; i < run->peer_count; i++)
			if (row_chosen(run, row) && is_longest(row) &&
			    workload_possible(workload, run->peers[i], &run->arena))
				add(run, row, run->peers[i]->name,
				    longest_advance(run->results[i], repetitions, row->kind));
}

static void measure(struct run *run, uint32_t n, size_t object_size, bool sparse)
{
	static const struct row floor_row = {.label = "floor", .unit = "ns"};
	struct random random = {.state = SEED};
	struct memory_floor floor;
	char text[GROUPED];
	const char *timers = grouped(n, text);

	arena_resize(&run->arena, n, object_size, &random);
	floor = memory_floor(&run->arena, &random);
	add(run, &floor_row, "read", floor.independent);
	add(run, &floor_row, "dependent-read", floor.dependent);
	report_table("%s objects of %zu bytes: one read at random; its address depends on the last",
	             timers, object_size);
	for (size_t i = 0; i < workload_count; i++)
		if (workload_chosen(run, &workloads[i], sparse))
			sample(run, &workloads[i]);
	report_table("%s timers in objects of %zu bytes", timers, object_size);
}

/* How much work that is: the sum of the weights of all repetitions. */
static double work_of(const struct run *run, uint32_t n, size_t object_size, bool sparse)
{
	const struct arena arena = {.n = n, .object_size = object_size};
	double work = 0;

	for (size_t i = 0; i < workload_count; i++) {
		uint32_t repetitions = options_repetitions(run->options, n, workloads[i].calls);

		for (size_t peer = 0; peer < run->peer_count; peer++)
			if (workload_chosen(run, &workloads[i], sparse) &&
			    workload_possible(&workloads[i], run->peers[peer], &arena))
				work += repetitions * workload_weight(&workloads[i],
				                                      run->peers[peer], &arena,
				                                      run->options->steps_per_tick);
	}
	return work;
}

/* All chosen combinations: measure them, or else only add up their work. */
static double each_table(struct run *run, bool measured)
{
	const struct options *options = run->options;
	double work = 0;

	for (size_t object = 0; object < options->objects.count; object++) {
		uint32_t bytes = options->objects.value[object];

		for (size_t i = 0; i <= options->sizes.count; i++) {
			bool sparse = i == options->sizes.count;
			uint32_t n = sparse ? SPARSE_TIMERS : options->sizes.value[i];

			if (!any_chosen(run, sparse) ||
			    (!sparse && !options_have(options, n, bytes)))
				continue;
			work += work_of(run, n, bytes, sparse);
			if (measured)
				measure(run, n, bytes, sparse);
		}
	}
	return work;
}

static uint32_t largest(const struct numbers *numbers, uint32_t at_least)
{
	for (size_t i = 0; i < numbers->count; i++)
		if (numbers->value[i] > at_least)
			at_least = numbers->value[i];
	return at_least;
}

int main(int argc, char **argv)
{
	static struct run run;
	struct options options;

	options_parse(&options, argc, argv);
	machine_prepare();
	machine_describe();
	printf("seed      %" PRIu64 "\n", SEED);
	printf("steps     %u a tick, in churn and refresh\n", options.steps_per_tick);

	run.options = &options;
	choose_peers(&run);
	verify_peers(&run);
	if (options.common.only_verify)
		return 0;

	report_open(options.common.csv, "wheel");
	arena_open(&run.arena, largest(&options.sizes, SPARSE_TIMERS),
	           largest(&options.objects, CACHE_LINE));
	progress_begin(each_table(&run, false));
	each_table(&run, true);
	arena_close(&run.arena);
	report_close();
	return 0;
}
