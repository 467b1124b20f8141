/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-purgatory: Kafka's own workloads for a purgatory, with Kafka's figures.
 *
 * Kafka's figures are constants here. They were given as a target, measured with Kafka's own code on a machine with two
 * Zen 4 CPUs and 32 MiB of L3. Its version, the JVM and the flags are not recorded, and Kafka was not run on this
 * machine. Ratios to them are for orientation and prove nothing.
 *
 * There is no verification before: each run fails if an operation is lost, or completed too soon.
 */
#define _GNU_SOURCE
#include "../support/arguments.h"
#include "../support/machine.h"
#include "../support/report.h"
#include "workloads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	REPETITIONS_PACED = 3,
	REPETITIONS_PACED_QUICK = 1,
	UNPACED_MS = 300,
	UNPACED_MS_QUICK = 50,
	PACED_MS = 1000,
	PACED_MS_QUICK = 300,
	HALVINGS = 4,     /* of a factor of two: to 4 % */
	SEARCH = 30,      /* the search for a rate takes as long as this many unpaced runs */
	LABEL_WIDTH = 48, /* of a workload in the report */
};

static const double LEAST_RATE = 100e3, FIRST_RATE = 400e3, HELD = 0.95;

struct settings {
	struct common common;
	struct names parts;
};

static const char *part_name(size_t index)
{
	static const char *const names[] = {"unpaced", "paced"};

	return index < sizeof(names) / sizeof(names[0]) ? names[index] : NULL;
}

static void report(const char *workload, uint32_t n, const char *peer, const char *unit,
                   const struct figure *figure)
{
	const struct report_key key = {.workload = workload, .peer = peer, .unit = unit, .n = n};

	report_figure(&key, figure);
}

/* A constant, or a single measurement. */
static struct figure single(double value)
{
	return (struct figure){value, value, value, 1};
}

/* How keys are given. */
enum way { KEPT, BYTES, WAYS };

static const char *const way_peers[WAYS] = {"pawl-kept", "pawl-bytes"};

struct cell {
	uint32_t keys, threads, pending;
	double kafka; /* thousands a second */
	double rates[WAYS][MAX_REPETITIONS];
	struct figure figures[WAYS];
};

static struct cell cells[] = {
        {.keys = 100, .threads = 1, .pending = 1, .kafka = 2580},
        {.keys = 100, .threads = 1, .pending = 1000, .kafka = 1218},
        {.keys = 100, .threads = 2, .pending = 1, .kafka = 1876},
        {.keys = 100, .threads = 2, .pending = 1000, .kafka = 1094},
        {.keys = 100000, .threads = 1, .pending = 1, .kafka = 438},
        {.keys = 100000, .threads = 1, .pending = 1000, .kafka = 351},
        {.keys = 100000, .threads = 2, .pending = 1, .kafka = 695},
        {.keys = 100000, .threads = 2, .pending = 1000, .kafka = 500},
};

enum { CELLS = sizeof(cells) / sizeof(cells[0]) };

static uint32_t unpaced_repetitions(const struct settings *settings)
{
	return repetitions_or(&settings->common, REPETITIONS, REPETITIONS_QUICK);
}

static double run_cell(const struct settings *settings, const struct cell *cell, enum way way)
{
	const struct unpaced unpaced = {
	        .keys = cell->keys,
	        .threads = cell->threads,
	        .pending = cell->pending,
	        .kept = way == KEPT,
	        .ms = settings->common.quick ? UNPACED_MS_QUICK : UNPACED_MS,
	};

	return unpaced_rate(&unpaced) / 1e3;
}

/* The first repetition of all, then the second of all, so that other work on the machine affects all alike. */
static void sample_unpaced(const struct settings *settings)
{
	uint32_t repetitions = unpaced_repetitions(settings);

	for (uint32_t repetition = 0; repetition < repetitions; repetition++) {
		for (size_t i = 0; i < CELLS * WAYS; i++) {
			struct cell *cell = &cells[i / WAYS];

			progress_show("unpaced, %u of %u, %u keys, %u threads", repetition + 1,
			              repetitions, cell->keys, cell->threads);
			cell->rates[i % WAYS][repetition] = run_cell(settings, cell, i % WAYS);
			progress_done(1);
		}
	}
	progress_clear();
	for (size_t i = 0; i < CELLS * WAYS; i++)
		cells[i / WAYS].figures[i % WAYS] =
		        figure_of(cells[i / WAYS].rates[i % WAYS], repetitions);
}

static void report_cell(const struct cell *cell)
{
	const struct figure kafka = single(cell->kafka);
	char workload[LABEL_WIDTH];

	snprintf(workload, sizeof(workload), "unpaced %u keys %u threads", cell->keys,
	         cell->threads);
	for (int way = 0; way < WAYS; way++)
		report(workload, cell->pending, way_peers[way], "k/s", &cell->figures[way]);
	report(workload, cell->pending, "kafka", "k/s", &kafka);
}

/* The same with one thread. */
static const struct cell *alone(const struct cell *cell)
{
	for (size_t i = 0; i < CELLS; i++)
		if (cells[i].threads == 1 && cells[i].keys == cell->keys &&
		    cells[i].pending == cell->pending)
			return &cells[i];
	return cell;
}

static void print_cell(const struct cell *cell)
{
	const struct figure *kept = &cell->figures[KEPT], *bytes = &cell->figures[BYTES];

	printf("%7u %8u %8u %9.0f ±%-3.0f%% %8.0f ±%-3.0f%% %7.0f %7.1fx %8.1fx", cell->keys,
	       cell->threads, cell->pending, kept->median, figure_spread(kept), bytes->median,
	       figure_spread(bytes), cell->kafka, bytes->median / cell->kafka,
	       kept->median / cell->kafka);
	if (cell->threads > 1)
		printf(" %12.2f", kept->median / alone(cell)->figures[KEPT].median);
	puts("");
}

static void measure_unpaced(const struct settings *settings)
{
	sample_unpaced(settings);
	printf("\nunpaced: watch on 3 random keys for 30 s, make completable, check the first "
	       "key;\n"
	       "thousands of operations a second, median of %u\n\n",
	       unpaced_repetitions(settings));
	puts("   keys  threads  pending         kept         bytes          Kafka    bytes  "
	     "    kept  two threads");
	puts("                  a thread        keys                        bytes  / Kafka   "
	     "/ Kafka        / one");
	for (size_t i = 0; i < CELLS; i++) {
		print_cell(&cells[i]);
		report_cell(&cells[i]);
	}
	fflush(stdout);
}

/* The results of the repetitions of a pace, with keys given in one way. */
struct found {
	double rate[MAX_REPETITIONS]; /* thousands a second */
	double cpu_us[MAX_REPETITIONS], cpu_100k_us[MAX_REPETITIONS];
	double timed_out[MAX_REPETITIONS]; /* per cent */
};

/* A timeout and the times to complete, and the results. */
struct pace {
	uint32_t timeout_ms, p75_ms, p50_ms;
	double kafka;   /* thousands a second */
	double bracket; /* is held with kept keys, and twice as many are not */
	int ways;       /* KEPT alone, or also BYTES: half a minute of a full run */
	struct found found[WAYS];
};

static struct pace paces[] = {
        {.timeout_ms = 200, .p75_ms = 20, .p50_ms = 10, .kafka = 590, .ways = WAYS},
        {.timeout_ms = 30000, .p75_ms = 200, .p50_ms = 100, .kafka = 385, .ways = 1},
};

/* With --quick only the first pace: requests that complete after a fifth of a second need a longer run. */
static size_t pace_count(const struct settings *settings)
{
	return settings->common.quick ? 1 : sizeof(paces) / sizeof(paces[0]);
}

static uint32_t paced_repetitions(const struct settings *settings)
{
	return repetitions_or(&settings->common, REPETITIONS_PACED, REPETITIONS_PACED_QUICK);
}

static struct paced_result run_pace(const struct settings *settings, const struct pace *pace,
                                    enum way way, double rate, bool idle)
{
	const struct paced paced = {
	        .timeout_ms = pace->timeout_ms,
	        .p75_ms = pace->p75_ms,
	        .p50_ms = pace->p50_ms,
	        .rate = rate,
	        .ms = settings->common.quick ? PACED_MS_QUICK : PACED_MS,
	        .kept = way == KEPT,
	        .idle = idle,
	};

	progress_show("paced, %u/%u/%u ms, %.0f a second", pace->timeout_ms, pace->p75_ms,
	              pace->p50_ms, rate);
	return paced_run(&paced);
}

/* Twice, so that one delay by other work does not count as the limit. */
static bool is_held(const struct settings *settings, const struct pace *pace, double rate)
{
	return run_pace(settings, pace, KEPT, rate, false).held >= HELD ||
	       run_pace(settings, pace, KEPT, rate, false).held >= HELD;
}

static void find_bracket(const struct settings *settings, struct pace *pace)
{
	pace->bracket = FIRST_RATE;
	while (!is_held(settings, pace, pace->bracket)) {
		pace->bracket /= 2;
		if (pace->bracket < LEAST_RATE)
			fail("not even %.0f requests a second were held: is the machine busy?",
			     LEAST_RATE);
	}
	while (pace->bracket >= FIRST_RATE && is_held(settings, pace, 2 * pace->bracket))
		pace->bracket *= 2;
	progress_done(SEARCH);
}

/* How many there are to make: for a pace its bracket, and a rate of each repetition. */
static double searches(const struct settings *settings)
{
	double count = 0;

	for (size_t i = 0; i < pace_count(settings); i++)
		count += 1 + (double)paces[i].ways * paced_repetitions(settings);
	return count;
}

/* The cost of a request, without that of the benchmark itself at this rate, which is mostly waking up. */
static double cpu_us(const struct settings *settings, const struct pace *pace, double rate,
                     const struct paced_result *result)
{
	return (result->cpu_ns - run_pace(settings, pace, KEPT, rate, true).cpu_ns) / 1e3;
}

static void sample_pace(const struct settings *settings, struct pace *pace, enum way way,
                        uint32_t repetition)
{
	struct found *found = &pace->found[way];
	struct paced_result last, result;
	double rate = pace->bracket, step = 2;

	while ((last = run_pace(settings, pace, way, rate, false)).held < HELD && rate > LEAST_RATE)
		rate /= 2;
	for (int i = 0; i < HALVINGS; i++) {
		step = sqrt(step);
		result = run_pace(settings, pace, way, rate * step, false);
		if (result.held < HELD)
			continue;
		rate *= step;
		last = result;
	}
	found->rate[repetition] = rate / 1e3;
	found->cpu_us[repetition] = cpu_us(settings, pace, rate, &last);
	found->timed_out[repetition] =
	        (double)last.timed_out * 100 / (double)(last.timed_out + last.completed);
	result = run_pace(settings, pace, way, LEAST_RATE, false);
	found->cpu_100k_us[repetition] = cpu_us(settings, pace, LEAST_RATE, &result);
	progress_done(SEARCH);
}

static void report_found(const char *name, const char *peer, struct found *found, double kafka,
                         uint32_t repetitions)
{
	struct figure rate = figure_of(found->rate, repetitions);
	struct figure cpu = figure_of(found->cpu_us, repetitions);
	struct figure cpu_100k = figure_of(found->cpu_100k_us, repetitions);
	struct figure timed_out = figure_of(found->timed_out, repetitions);
	char workload[2 * LABEL_WIDTH];

	printf("%14s  %-13s %7.0f ±%-3.0f%% %8.0f %6.1fx %12.2f %13.2f %11.2f\n",
	       name + sizeof("paced"), peer, rate.median, figure_spread(&rate), kafka,
	       rate.median / kafka, cpu_100k.median, cpu.median, timed_out.median);
	report(name, 0, peer, "k/s", &rate);
	snprintf(workload, sizeof(workload), "%s cpu at 100000/s", name);
	report(workload, 0, peer, "us", &cpu_100k);
	snprintf(workload, sizeof(workload), "%s cpu", name);
	report(workload, 0, peer, "us", &cpu);
	snprintf(workload, sizeof(workload), "%s timed out", name);
	report(workload, 0, peer, "%", &timed_out);
}

static void report_pace(struct pace *pace, uint32_t repetitions)
{
	const struct figure kafka = single(pace->kafka);
	char name[LABEL_WIDTH];

	snprintf(name, sizeof(name), "paced %u/%u/%u", pace->timeout_ms, pace->p75_ms,
	         pace->p50_ms);
	for (int way = 0; way < pace->ways; way++)
		report_found(name, way_peers[way], &pace->found[way], pace->kafka, repetitions);
	report(name, 0, "kafka", "k/s", &kafka);
}

static void measure_paced(const struct settings *settings)
{
	uint32_t repetitions = paced_repetitions(settings);
	size_t count = pace_count(settings);

	for (size_t i = 0; i < count; i++)
		find_bracket(settings, &paces[i]);
	for (size_t i = 0; i < repetitions * count; i++)
		for (int way = 0; way < paces[i % count].ways; way++)
			sample_pace(settings, &paces[i % count], way, (uint32_t)(i / count));
	progress_clear();
	printf("\npaced: a Poisson process, 3 keys, each completed directly after a log-normal "
	       "time, by one\n"
	       "thread; the highest rate of which 95 %% is held, to 4 %%, median of %u. CPU: us a "
	       "request,\n"
	       "without what the benchmark itself takes\n\n",
	       repetitions);
	puts("      timeout/  keys            thousands    Kafka   pawl       CPU at    CPU at "
	     "the  timed out,");
	puts("    p75/p50 ms                   a second    bytes  / Kafka  100,000 /s       "
	     "highest           %");
	for (size_t i = 0; i < count; i++)
		report_pace(&paces[i], repetitions);
	fflush(stdout);
}

static void help(void *settings)
{
	(void)settings;
	puts("usage: pawl-bench-purgatory [options]\n"
	     "\n"
	     "Measures pawl's purgatory with Kafka's own workloads; medians.\n"
	     "\n"
	     "  --quick           a quarter of a minute: shorter, and fewer repetitions\n"
	     "  --reps R          repetitions; default 5 and of paced 3, with --quick 3 and 1\n"
	     "  --only W[,W...]   of the workloads unpaced and paced, see below\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --help            this\n"
	     "\n"
	     "workloads, with keys that are kept and with keys as bytes (the second pace: kept "
	     "only):\n"
	     "  unpaced  as fast as it goes: watch on 3 random keys, make completable, check the "
	     "first\n"
	     "           key, by which the operation completes\n"
	     "  paced    by the clock: requests as a Poisson process under the same 3 keys, each "
	     "completed\n"
	     "           directly, without a check, unless it times out before; the highest rate "
	     "held");
	exit(0);
}

static void set_parts(void *settings, const char *option, char *value)
{
	parse_names(&((struct settings *)settings)->parts, option, value, part_name);
}

int main(int argc, char **argv)
{
	static const struct argument known[] = {
	        {"--quick", set_quick, NULL}, {"--reps", NULL, set_repetitions},
	        {"--only", NULL, set_parts},  {"--csv", NULL, set_csv},
	        {"--help", help, NULL},
	};
	struct settings settings = {0};
	struct figure bytes;
	bool unpaced, paced;

	arguments_parse(known, sizeof(known) / sizeof(known[0]), &settings, argc, argv);
	unpaced = names_have(&settings.parts, "unpaced");
	paced = names_have(&settings.parts, "paced");
	machine_keep_memory();
	machine_describe();
	printf("an operation takes %zu bytes with up to %d keys\n", sizeof(struct pawl_op),
	       PAWL_OP_WATCHES);
	report_open(settings.common.csv, "purgatory");
	bytes = single(sizeof(struct pawl_op));
	report("bytes an operation", PAWL_OP_WATCHES, "pawl", "bytes", &bytes);
	progress_begin((unpaced ? CELLS * WAYS * unpaced_repetitions(&settings) : 0) +
	               (paced ? SEARCH * searches(&settings) : 0));
	if (unpaced)
		measure_unpaced(&settings);
	if (paced)
		measure_paced(&settings);
	report_close();
	return 0;
}
