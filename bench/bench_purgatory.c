/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-purgatory: Kafka's own workloads for a purgatory, beside what Kafka itself reaches with them.
 *
 * Kafka's numbers were measured with its own code on a machine with the same two CPUs (Zen 4, 32 MiB of L3). They
 * stand here as constants, since it takes a JVM to run it.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "purgatory_workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 5, REPETITIONS_QUICK = 3, UNPACED_MS = 500, UNPACED_MS_QUICK = 100 };
enum { PACED_MS = 3000, PACED_MS_QUICK = 1000 };

static bool quick;

static double unpaced_median(struct unpaced unpaced)
{
	double rates[REPETITIONS];
	size_t count = quick ? REPETITIONS_QUICK : REPETITIONS;

	for (size_t i = 0; i < count; i++)
		rates[i] = unpaced_rate(&unpaced);
	return median(rates, count);
}

struct cell {
	uint32_t keys, threads, pending;
	double kafka; /* thousands a second */
};

static void show_unpaced(const struct cell *cell, double one_thread[2])
{
	struct unpaced unpaced = {cell->keys, cell->threads, cell->pending, true,
	                          quick ? UNPACED_MS_QUICK : UNPACED_MS};
	double resolved = unpaced_median(unpaced) / 1e3, bytes;

	unpaced.resolved = false;
	bytes = unpaced_median(unpaced) / 1e3;
	printf("%7u %8u %8u %10.0f %10.0f %7.0f %7.1fx", cell->keys, cell->threads, cell->pending,
	       resolved, bytes, cell->kafka, resolved / cell->kafka);
	if (cell->threads == 1)
		one_thread[cell->pending > 1] = resolved;
	else
		printf(" %12.2f", resolved / one_thread[cell->pending > 1]);
	puts("");
	fflush(stdout);
}

static void run_unpaced(void)
{
	static const struct cell cells[] = {
	        {100, 1, 1, 2580},    {100, 1, 1000, 1218},   {100, 2, 1, 1876},
	        {100, 2, 1000, 1094}, {100000, 1, 1, 438},    {100000, 1, 1000, 351},
	        {100000, 2, 1, 695},  {100000, 2, 1000, 500},
	};
	double one_thread[2] = {0, 0};

	puts("\nunpaced: watch on 3 random keys for 30 s, make completable, check the first key;\n"
	     "thousands of operations a second\n");
	puts("   keys  threads  pending   resolved      bytes   Kafka  resolved  two threads");
	puts("                  a thread       keys             bytes   / Kafka     / one");
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		show_unpaced(&cells[i], one_thread);
}

/* Raise the rate until less than 95 % of it is held. Returns the last that was, with its result. */
static double highest_rate(struct paced paced, struct paced_result *last)
{
	double held = 0;

	for (paced.rate = 100e3;; paced.rate *= quick ? 1.5 : 1.2) {
		struct paced_result result = paced_run(&paced);

		if (result.held < 0.95)
			return held;
		held = paced.rate;
		*last = result;
	}
}

static void show_paced(uint32_t timeout_ms, uint32_t p75_ms, uint32_t p50_ms, double kafka)
{
	struct paced paced = {.timeout_ms = timeout_ms,
	                      .p75_ms = p75_ms,
	                      .p50_ms = p50_ms,
	                      .ms = quick ? PACED_MS_QUICK : PACED_MS};
	struct paced_result at_100k, idle_100k, last = {0}, idle;
	double rate = highest_rate(paced, &last);

	if (rate == 0)
		fail("not even 100,000 requests a second were held: is the machine busy?");
	paced.rate = 100e3;
	at_100k = paced_run(&paced);
	paced.idle = true;
	idle_100k = paced_run(&paced);
	paced.rate = rate;
	idle = paced_run(&paced);
	printf("%6u/%u/%u %12.0f %10.0f %12.2f %12.2f %10.2f\n", timeout_ms, p75_ms, p50_ms,
	       rate / 1e3, kafka, (at_100k.cpu_ns - idle_100k.cpu_ns) / 1e3,
	       (last.cpu_ns - idle.cpu_ns) / 1e3,
	       (double)last.timed_out * 100 / (double)(last.timed_out + last.completed));
	fflush(stdout);
}

static void run_paced(void)
{
	puts("\npaced: a Poisson process, completion log-normal, 3 keys; the rate raised until "
	     "less than\n"
	     "95 % of it is held. CPU: us a request, without what the benchmark itself takes\n"
	     "(Kafka: 0.7 to 1.8)\n");
	puts("time-out/    thousands      Kafka       CPU at    CPU at the  timed out,");
	puts("p75/p50 ms    a second                100,000 /s     highest          %");
	show_paced(200, 20, 10, 590);
	show_paced(30000, 200, 100, 385);
}

static _Noreturn void usage(const char *argument)
{
	fprintf(stderr, "pawl-bench-purgatory: bad argument '%s'; allowed: --quick --help\n",
	        argument);
	exit(2);
}

static void help(void)
{
	puts("usage: pawl-bench-purgatory [--quick]\n"
	     "\n"
	     "Measures pawl's purgatory with Kafka's own workloads; medians.\n"
	     "\n"
	     "  --quick   about half a minute: shorter, and fewer repetitions\n"
	     "  --help    this");
	exit(0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			help();
		if (strcmp(argv[i], "--quick") != 0)
			usage(argv[i]);
		quick = true;
	}
	machine_keep_memory();
	machine_describe();
	printf("an operation takes %zu bytes with up to %d keys\n", sizeof(struct pawl_op),
	       PAWL_OP_WATCHES);
	run_unpaced();
	run_paced();
	return 0;
}
