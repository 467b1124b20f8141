/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-wheel: pawl's wheel beside other structures.
 *
 * Every peer is verified before any is timed. Then, for each N and each workload, the first repetition
 * of every peer is run, then the second, and so on: whatever else the machine does hits all of them
 * alike. The table shows medians, and ratios against the plain wheel.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "options.h"
#include "peer.h"
#include "verify.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t SEED = 20240229;

enum { MAX_PEERS = 32, LABEL_WIDTH = 16, CELL_WIDTH = 11, RATIO_WIDTH = 8 };

/* The chosen peers, and the samples of one workload. */
struct table {
	const struct options *options;
	const struct peer *peers[MAX_PEERS];
	size_t peer_count;
	uint32_t repetitions;
	struct result results[MAX_PEERS][MAX_REPETITIONS];
};

static bool wanted(const struct names *names, const struct peer *peer)
{
	if (names->count == 0 && peer->on_request)
		return false;
	return names_have(names, peer->name);
}

static void choose_peers(struct table *table)
{
	for (size_t i = 0; i < peer_count && table->peer_count < MAX_PEERS; i++)
		if (wanted(&table->options->peers, peers[i]))
			table->peers[table->peer_count++] = peers[i];
}

static void verify_peers(const struct table *table)
{
	for (size_t i = 0; i < table->peer_count; i++)
		if (!verify_peer(table->peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     table->peers[i]->name, SEED);
	printf("verified ");
	for (size_t i = 0; i < table->peer_count; i++)
		printf(" %s", table->peers[i]->name);
	printf("\n");
}

static bool row_chosen(const struct table *table, const struct row *row)
{
	return row->key && names_have(&table->options->rows, row->key);
}

static bool workload_chosen(const struct table *table, const struct workload *workload)
{
	for (size_t i = 0; i < ROWS_PER_WORKLOAD; i++)
		if (row_chosen(table, &workload->rows[i]))
			return true;
	return false;
}

static bool any_chosen(const struct table *table, bool sparse)
{
	for (size_t i = 0; i < workload_count; i++)
		if (workloads[i].sparse == sparse && workload_chosen(table, &workloads[i]))
			return true;
	return false;
}

static void show_progress(const struct table *table, const struct workload *workload,
                          uint32_t repetition, size_t peer)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s, repetition %u of %u, %s", workload->rows[0].label,
		        repetition + 1, table->repetitions, table->peers[peer]->name);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static void sample_peer(struct table *table, const struct workload *workload,
                        const struct arena *arena, uint32_t repetition, size_t peer)
{
	struct result *result = &table->results[peer][repetition];

	if (!result->advance_ns)
		result->advance_ns = malloc(MAX_DELAY * sizeof(*result->advance_ns));
	if (!result->advance_ns)
		fail("no memory for %d samples", MAX_DELAY);
	if (!workload_possible(workload, table->peers[peer]))
		return;
	show_progress(table, workload, repetition, peer);
	workload_run(workload, table->peers[peer], arena, table->options->steps_per_tick, SEED,
	             result);
}

static void sample(struct table *table, const struct workload *workload, const struct arena *arena)
{
	for (uint32_t repetition = 0; repetition < table->repetitions; repetition++)
		for (size_t peer = 0; peer < table->peer_count; peer++)
			sample_peer(table, workload, arena, repetition, peer);
	clear_progress();
}

static double median_advance(const struct table *table, size_t peer, uint32_t tick)
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < table->repetitions; i++)
		values[i] = table->results[peer][i].advance_ns[tick];
	return median(values, table->repetitions);
}

static double longest_advance(const struct table *table, size_t peer)
{
	double longest = 0;

	for (uint32_t tick = 0; tick < MAX_DELAY; tick++) {
		double ns = median_advance(table, peer, tick);

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

static double median_result(const struct table *table, size_t peer, size_t row)
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < table->repetitions; i++)
		values[i] = table->results[peer][i].ns[row];
	return median(values, table->repetitions);
}

/* The figure in the table; 0 if there is none. */
static double figure(const struct table *table, const struct workload *workload, size_t peer,
                     size_t row)
{
	if (!workload_possible(workload, table->peers[peer]))
		return 0;
	return workload->rows[row].longest ? longest_advance(table, peer)
	                                   : median_result(table, peer, row);
}

static void print_head(const struct table *table)
{
	printf("%-*s", LABEL_WIDTH, "ns");
	for (size_t i = 0; i < table->peer_count; i++)
		printf("%*s", CELL_WIDTH, table->peers[i]->name);
	printf("   |");
	for (size_t i = 0; i < table->peer_count; i++)
		if (table->peers[i] != &peer_plain)
			printf("%*s", RATIO_WIDTH, table->peers[i]->name);
	printf("   x as fast as plain\n");
}

static void print_ns(double ns)
{
	if (ns > 0)
		printf("%*.*f", CELL_WIDTH, ns < 100000 ? 1 : 0, ns);
	else
		printf("%*s", CELL_WIDTH, "-");
}

static void print_ratio(double plain, double ns)
{
	if (plain > 0 && ns > 0)
		printf("%*.2f", RATIO_WIDTH, plain / ns);
	else
		printf("%*s", RATIO_WIDTH, "-");
}

static void print_row(const struct table *table, const struct workload *workload, size_t row)
{
	double plain = 0, ns[MAX_PEERS];

	printf("%-*s", LABEL_WIDTH, workload->rows[row].label);
	for (size_t i = 0; i < table->peer_count; i++) {
		ns[i] = figure(table, workload, i, row);
		if (table->peers[i] == &peer_plain)
			plain = ns[i];
		print_ns(ns[i]);
	}
	printf("   |");
	for (size_t i = 0; i < table->peer_count; i++)
		if (table->peers[i] != &peer_plain)
			print_ratio(plain, ns[i]);
	printf("\n");
	fflush(stdout);
}

/* 1234567 as 1,234,567. */
static const char *grouped(uint32_t number, char text[16])
{
	char *at = text + 15;
	int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		digits++;
	} while (number /= 10);
	return at;
}

static void print_title(const struct table *table, const struct arena *arena, struct random *random)
{
	struct memory_floor floor = memory_floor(arena, random);
	char text[16];

	printf("\nN = %s, median of %u\n", grouped(arena->n, text), table->repetitions);
	printf("floor: one object of these read at random takes %.1f ns, %.1f ns if its address "
	       "depends on the one before\n",
	       floor.independent, floor.dependent);
	print_head(table);
}

/* The table of one N. */
static void measure(struct table *table, struct arena *arena, uint32_t n, bool sparse)
{
	struct random random = {.state = SEED};

	arena_resize(arena, n, &random);
	table->repetitions = options_repetitions(table->options, n);
	print_title(table, arena, &random);
	for (size_t i = 0; i < workload_count; i++) {
		const struct workload *workload = &workloads[i];

		if (workload->sparse != sparse || !workload_chosen(table, workload))
			continue;
		sample(table, workload, arena);
		for (size_t row = 0; row < ROWS_PER_WORKLOAD; row++)
			if (row_chosen(table, &workload->rows[row]))
				print_row(table, workload, row);
	}
}

static uint32_t largest_size(const struct options *options)
{
	uint32_t largest = SPARSE_TIMERS;

	for (size_t i = 0; i < options->size_count; i++)
		if (options->sizes[i] > largest)
			largest = options->sizes[i];
	return largest;
}

int main(int argc, char **argv)
{
	static struct table table;
	struct options options;
	struct arena arena;

	options_parse(&options, argc, argv);
	machine_settle();
	machine_describe();
	printf("seed      %" PRIu64 "\n", SEED);
	printf("steps     %u a tick, in churn and refresh\n", options.steps_per_tick);

	table.options = &options;
	choose_peers(&table);
	verify_peers(&table);

	arena_open(&arena, largest_size(&options));
	for (size_t i = 0; any_chosen(&table, false) && i < options.size_count; i++)
		measure(&table, &arena, options.sizes[i], false);
	if (any_chosen(&table, true))
		measure(&table, &arena, SPARSE_TIMERS, true);
	arena_close(&arena);
	return 0;
}
