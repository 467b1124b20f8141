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
	HALVINGS = 4, /* of a factor of two: to 4 % */
	SEARCH = 30,  /* the search for a rate takes as long as this many unpaced runs */
	LABEL = 64,
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

static void add(const char *workload, uint32_t n, const char *peer, const char *unit, double value)
{
	const struct report_key key = {.workload = workload, .peer = peer, .unit = unit, .n = n};

	report_add(&key, value);
}

/* How keys are given. */
enum way { KEPT, BYTES, WAYS };

static const char *const way_peers[WAYS] = {"pawl-kept", "pawl-bytes"};

static const uint32_t pending[] = {1, 1000}; /* operations of each thread */

static const struct cell {
	uint32_t keys, threads;
	double kafka[2]; /* for each number of pending ones, in thousands a second */
} cells[] = {
        {100, 1, {2580, 1218}},
        {100, 2, {1876, 1094}},
        {100000, 1, {438, 351}},
        {100000, 2, {695, 500}},
};

enum { PENDING = sizeof(pending) / sizeof(pending[0]), CELLS = sizeof(cells) / sizeof(cells[0]) };

static uint32_t unpaced_repetitions(const struct settings *settings)
{
	return repetitions_or(&settings->common, REPETITIONS, REPETITIONS_QUICK);
}

static void sample_cell(const struct settings *settings, const struct cell *cell, size_t which,
                        bool first)
{
	struct unpaced unpaced = {
	        .keys = cell->keys,
	        .threads = cell->threads,
	        .pending = pending[which],
	        .ms = settings->common.quick ? UNPACED_MS_QUICK : UNPACED_MS,
	};
	char workload[LABEL];

	snprintf(workload, sizeof(workload), "unpaced %u keys %u threads", cell->keys,
	         cell->threads);
	progress_show("%s, %u pending", workload, pending[which]);
	for (int way = 0; way < WAYS; way++) {
		unpaced.kept = way == KEPT;
		add(workload, pending[which], way_peers[way], "k/s", unpaced_rate(&unpaced) / 1e3);
		progress_done(1);
	}
	if (first)
		add(workload, pending[which], "kafka", "k/s", cell->kafka[which]);
}

/* The first repetition of all, then the second of all, so that other work on the machine affects all alike. */
static void measure_unpaced(const struct settings *settings, size_t which)
{
	char text[GROUPED];

	for (uint32_t repetition = 0; repetition < unpaced_repetitions(settings); repetition++)
		for (size_t i = 0; i < CELLS; i++)
			sample_cell(settings, &cells[i], which, repetition == 0);
	report_table("thousands of operations a second, with %s pending a thread: watch on 3 "
	             "random keys for 30 s,\nmake completable, check the first key",
	             grouped(pending[which], text));
}

/* A timeout and the times to complete. */
static struct pace {
	uint32_t timeout_ms, p75_ms, p50_ms;
	double kafka;   /* thousands a second */
	int ways;       /* KEPT alone, or also BYTES: half a minute of a full run */
	double bracket; /* found: this rate is held with kept keys, and twice as many are not */
} paces[] = {
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

static void add_pace(const struct pace *pace, const char *what, const char *peer, const char *unit,
                     double value)
{
	char workload[LABEL];

	snprintf(workload, sizeof(workload), "paced %u/%u/%u%s", pace->timeout_ms, pace->p75_ms,
	         pace->p50_ms, what);
	add(workload, 0, peer, unit, value);
}

static void sample_pace(const struct settings *settings, const struct pace *pace, enum way way)
{
	const char *peer = way_peers[way];
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
	result = run_pace(settings, pace, way, LEAST_RATE, false);
	add_pace(pace, "", peer, "k/s", rate / 1e3);
	add_pace(pace, " cpu at 100000/s", peer, "us", cpu_us(settings, pace, LEAST_RATE, &result));
	add_pace(pace, " cpu", peer, "us", cpu_us(settings, pace, rate, &last));
	add_pace(pace, " timed out", peer, "%",
	         (double)last.timed_out * 100 / (double)(last.timed_out + last.completed));
	progress_done(SEARCH);
}

static void measure_paced(const struct settings *settings)
{
	size_t count = pace_count(settings);

	for (size_t i = 0; i < count; i++)
		find_bracket(settings, &paces[i]);
	for (size_t i = 0; i < paced_repetitions(settings) * count; i++)
		for (int way = 0; way < paces[i % count].ways; way++)
			sample_pace(settings, &paces[i % count], way);
	for (size_t i = 0; i < count; i++)
		add_pace(&paces[i], "", "kafka", "k/s", paces[i].kafka);
	report_table("a Poisson process, 3 keys, each completed directly after a log-normal time, "
	             "by one thread: timeout/p75/p50\nin ms; the highest rate of which 95 %% is "
	             "held, to 4 %%; CPU time a request, without that of the benchmark itself");
}

static void help(void)
{
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
}

int main(int argc, char **argv)
{
	struct settings settings = {0};
	const struct argument known[] = {
	        {.name = "--quick", .flag = &settings.common.quick},
	        {.name = "--reps",
	         .number = &settings.common.repetitions,
	         .least = 1,
	         .most = MAX_REPETITIONS},
	        {.name = "--only", .names = &settings.parts, .allowed = part_name},
	        {.name = "--csv", .text = &settings.common.csv},
	        {.name = "--help", .help = help},
	};
	bool unpaced, paced;

	arguments_parse(known, sizeof(known) / sizeof(known[0]), argc, argv);
	unpaced = names_have(&settings.parts, "unpaced");
	paced = names_have(&settings.parts, "paced");
	machine_keep_memory();
	machine_describe();
	report_open(settings.common.csv, "purgatory");
	progress_begin((unpaced ? PENDING * CELLS * WAYS * unpaced_repetitions(&settings) : 0) +
	               (paced ? SEARCH * searches(&settings) : 0));
	add("bytes an operation", PAWL_OP_WATCHES, "pawl", "bytes", sizeof(struct pawl_op));
	report_table("memory, with up to %d keys", PAWL_OP_WATCHES);
	for (size_t i = 0; unpaced && i < PENDING; i++)
		measure_unpaced(&settings, i);
	if (paced)
		measure_paced(&settings);
	report_close();
	return 0;
}
