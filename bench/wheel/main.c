/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-wheel: pawl's wheel compared with other structures, libraries and the kernel.
 *
 * All peers are verified before the first is timed. Then, for each N and each workload, the first repetition of every
 * peer is run, then the second of every peer, and so on, so that other work on the machine affects all peers alike. The
 * tables show medians, the spread of the repetitions, and ratios to the plain wheel.
 */
#define _GNU_SOURCE
#include "../peers/peer.h"
#include "../support/machine.h"
#include "../support/report.h"
#include "options.h"
#include "table.h"
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 20240229;

static bool wanted(const struct names *names, const struct peer *peer)
{
	if (names->count == 0 && peer->on_request)
		return false;
	return names_have(names, peer->name);
}

static void choose_peers(struct table *table)
{
	for (size_t i = 0; i < peer_count; i++)
		if (wanted(&table->options->peers, peers[i]))
			table->peers[table->peer_count++] = peers[i];
}

/* The peer that does nothing fails, so it is verified only if --peers names it. */
static bool to_be_verified(const struct table *table, const struct peer *peer)
{
	return !peer->null ||
	       (table->options->common.only_verify && table->options->peers.count > 0);
}

/* The names are printed at the end: on a terminal the progress bar would erase them. */
static void verify_peers(const struct table *table)
{
	size_t verified = 0;

	for (size_t i = 0; i < table->peer_count; i++) {
		const struct peer *peer = table->peers[i];

		if (!to_be_verified(table, peer))
			continue;
		progress_show("verifying %s", peer->name);
		if (!verify_peer(peer, SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     peer->name, SEED);
	}
	progress_clear();
	for (size_t i = 0; i < table->peer_count; i++)
		if (to_be_verified(table, table->peers[i]))
			printf("%s%s", verified++ ? " " : "verified  ", table->peers[i]->name);
	if (verified)
		printf("\n");
}

static bool any_chosen(const struct table *table, bool sparse)
{
	for (size_t i = 0; i < workload_count; i++)
		if (workloads[i].sparse == sparse && workload_chosen(table, &workloads[i]))
			return true;
	return false;
}

static uint32_t *memory_for_advances(void)
{
	uint32_t *advance_ns = malloc(MAX_DELAY * sizeof(*advance_ns));

	if (!advance_ns)
		fail("no memory for %d samples", MAX_DELAY);
	return advance_ns;
}

static void sample_peer(struct table *table, const struct workload *workload, uint32_t repetition,
                        size_t peer)
{
	struct result *result = &table->results[peer][repetition];
	uint32_t steps = table->options->steps_per_tick;
	char text[GROUPED];

	if (!workload_possible(workload, table->peers[peer], &table->arena))
		return;
	if (!result->advance_ns)
		result->advance_ns = memory_for_advances();
	if (!result->call_ns)
		result->call_ns = memory_for_advances();
	progress_show("N = %s x %zu bytes, %s, %u of %u, %s", grouped(table->arena.n, text),
	              table->arena.object_size, workload->rows[0].label, repetition + 1,
	              table->repetitions, table->peers[peer]->name);
	uint64_t begin = clock_ns();
	workload_run(workload, table->peers[peer], &table->arena, steps, SEED, result);
	table->seconds[workload - workloads][peer] += (double)(clock_ns() - begin) / 1e9;
	progress_done(workload_weight(workload, table->peers[peer], &table->arena, steps));
}

static void sample(struct table *table, const struct workload *workload)
{
	for (uint32_t repetition = 0; repetition < table->repetitions; repetition++)
		for (size_t peer = 0; peer < table->peer_count; peer++)
			sample_peer(table, workload, repetition, peer);
	progress_clear();
}

static double median_advance(const struct table *table, size_t peer, uint32_t tick,
                             enum row_kind kind)
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < table->repetitions; i++) {
		const struct result *result = &table->results[peer][i];

		values[i] = (kind == LONGEST ? result->advance_ns : result->call_ns)[tick];
	}
	return median(values, table->repetitions);
}

/* The median of each tick over all repetitions; so there is one figure for all of them. */
static struct figure longest_advance(const struct table *table, size_t peer, enum row_kind kind)
{
	double longest = 0;

	for (uint32_t tick = 0; tick < MAX_DELAY; tick++) {
		double ns = median_advance(table, peer, tick, kind);

		longest = ns > longest ? ns : longest;
	}
	return (struct figure){longest, longest, longest, table->repetitions};
}

static struct figure median_result(const struct table *table, size_t peer, size_t row)
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < table->repetitions; i++)
		values[i] = table->results[peer][i].figure[row];
	return figure_of(values, table->repetitions);
}

static struct figure figure_at(const struct table *table, const struct workload *workload,
                               size_t peer, size_t row)
{
	if (!row_chosen(table, &workload->rows[row]) ||
	    !row_possible(&workload->rows[row], table->peers[peer]) ||
	    !workload_possible(workload, table->peers[peer], &table->arena))
		return (struct figure){0};
	if (workload->rows[row].kind == LONGEST || workload->rows[row].kind == LONGEST_CALL)
		return longest_advance(table, peer, workload->rows[row].kind);
	return median_result(table, peer, row);
}

static void evaluate(struct table *table, size_t workload)
{
	for (size_t row = 0; row < ROWS_PER_WORKLOAD; row++) {
		for (size_t peer = 0; peer < table->peer_count; peer++) {
			struct figure *figure = &table->figures[workload][row][peer];
			const struct report_key key = {
			        .workload = workloads[workload].rows[row].label,
			        .peer = table->peers[peer]->name,
			        .unit = workloads[workload].rows[row].unit,
			        .object_bytes = table->arena.object_size,
			        .n = table->arena.n,
			};

			*figure = figure_at(table, &workloads[workload], peer, row);
			report_figure(&key, figure);
		}
	}
}

static void report_floor(const struct table *table, const char *peer, double ns)
{
	const struct report_key key = {.workload = "floor",
	                               .peer = peer,
	                               .unit = "ns",
	                               .object_bytes = table->arena.object_size,
	                               .n = table->arena.n};

	report_figure(&key, &(struct figure){ns, ns, ns, 1});
}

static void print_title(const struct table *table, struct random *random)
{
	struct memory_floor floor = memory_floor(&table->arena, random);
	char text[GROUPED];

	printf("\nN = %s objects of %zu bytes, median of %u; ±: half from the least to the "
	       "greatest\n",
	       grouped(table->arena.n, text), table->arena.object_size, table->repetitions);
	printf("floor: one object of these read at random takes %.1f ns, %.1f ns if its address "
	       "depends on the one before\n",
	       floor.independent, floor.dependent);
	report_floor(table, "read", floor.independent);
	report_floor(table, "dependent-read", floor.dependent);
}

static void measure(struct table *table, uint32_t n, size_t object_size, bool sparse)
{
	struct random random = {.state = SEED};

	arena_resize(&table->arena, n, object_size, &random);
	table->repetitions = options_repetitions(table->options, n, false);
	memset(table->seconds, 0, sizeof(table->seconds));
	print_title(table, &random);
	for (size_t i = 0; i < workload_count; i++) {
		if (workloads[i].sparse != sparse || !workload_chosen(table, &workloads[i]))
			continue;
		table->repetitions = options_repetitions(table->options, n, workloads[i].calls);
		sample(table, &workloads[i]);
		evaluate(table, i);
	}
	table_print(table, sparse);
}

typedef double table_fn(struct table *table, uint32_t n, size_t object_size, bool sparse);

/* How much work all of it is: the sum of the weights of all repetitions. */
static double work_of(struct table *table, uint32_t n, size_t object_size, bool sparse)
{
	const struct arena arena = {.n = n, .object_size = object_size};
	double work = 0;

	for (size_t i = 0; i < workload_count; i++) {
		if (workloads[i].sparse != sparse || !workload_chosen(table, &workloads[i]))
			continue;
		for (size_t peer = 0; peer < table->peer_count; peer++)
			if (workload_possible(&workloads[i], table->peers[peer], &arena))
				work += options_repetitions(table->options, n, workloads[i].calls) *
				        workload_weight(&workloads[i], table->peers[peer], &arena,
				                        table->options->steps_per_tick);
	}
	return work;
}

static double measure_one(struct table *table, uint32_t n, size_t object_size, bool sparse)
{
	measure(table, n, object_size, sparse);
	return 0;
}

/* All chosen combinations. */
static double each_table(struct table *table, table_fn *fn)
{
	const struct options *options = table->options;
	double sum = 0;

	for (size_t object = 0; object < options->objects.count; object++) {
		uint32_t bytes = options->objects.value[object];

		for (size_t i = 0; any_chosen(table, false) && i < options->sizes.count; i++)
			if (options_have(options, options->sizes.value[i], bytes))
				sum += fn(table, options->sizes.value[i], bytes, false);
		if (any_chosen(table, true))
			sum += fn(table, SPARSE_TIMERS, bytes, true);
	}
	return sum;
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
	static struct table table;
	struct options options;

	options_parse(&options, argc, argv);
	machine_prepare();
	machine_describe();
	printf("seed      %" PRIu64 "\n", SEED);
	printf("steps     %u a tick, in churn and refresh\n", options.steps_per_tick);

	table.options = &options;
	choose_peers(&table);
	verify_peers(&table);
	if (options.common.only_verify)
		return 0;

	report_open(options.common.csv, "wheel");
	arena_open(&table.arena, largest(&options.sizes, SPARSE_TIMERS),
	           largest(&options.objects, CACHE_LINE));
	progress_begin(each_table(&table, work_of));
	each_table(&table, measure_one);
	arena_close(&table.arena);
	report_close();
	return 0;
}
