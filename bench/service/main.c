/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-service: pawl's service compared with the obvious one, a heap under a mutex.
 *
 * All services are verified before the first is timed. Then, for each row, the first repetition of every service is
 * run, then the second of every service, and so on, so that other work on the machine affects all alike.
 */
#define _GNU_SOURCE
#include "../support/arguments.h"
#include "../support/report.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 20240229;

enum {
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	REPETITIONS_QUICK_LONG = 1, /* of the rows with a million tasks, or in real time */
	CHURN_MS = 300,
	CHURN_MS_QUICK = 100,
	RATE_TASKS = 20000, /* but at least for so long: */
	RATE_MS = 1000,
	RATE_MS_QUICK = 300,
	WINDOWS_RATE = 10000,
	INSPECT_RATE = 100000,
	INSPECT_MS = 3000,
	INSPECT_MS_QUICK = 1000,
	LABEL = 64,
};

static const struct service_peer *const peers[] = {
        &service_peer_pawl, &service_peer_pawl_without, &service_peer_pawl_50us,
        &service_peer_pawl_2_workers, &service_peer_obvious};

enum { PEERS = sizeof(peers) / sizeof(peers[0]) };

struct bench {
	struct common common;
	struct names rows, peers;
	struct object *objects;
};

static bool peer_chosen(const struct bench *bench, size_t peer)
{
	return names_have(&bench->peers, peers[peer]->name);
}

/* Outside of live and rates each service has one column, without variants. */
static bool in_columns(const struct bench *bench, size_t peer)
{
	return peer_chosen(bench, peer) && peers[peer]->measured == EVERYWHERE;
}

/* `rate` tasks a second; 0: live. */
static bool in_late(const struct bench *bench, size_t peer, uint32_t rate)
{
	return peer_chosen(bench, peer) && (rate || peers[peer]->measured != IN_RATES);
}

static uint32_t repetitions(const struct bench *bench, bool takes_long)
{
	return repetitions_or(&bench->common, REPETITIONS,
	                      takes_long ? REPETITIONS_QUICK_LONG : REPETITIONS_QUICK);
}

static void verify(const struct bench *bench)
{
	for (size_t i = 0; i < PEERS; i++) {
		if (!peer_chosen(bench, i))
			continue;
		if (!verify_service(peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     peers[i]->name, SEED);
		printf("verified  %s\n", peers[i]->name);
	}
}

static void add(const char *workload, const char *unit, uint32_t n, const char *peer, double value)
{
	const struct report_key key = {.workload = workload, .peer = peer, .unit = unit, .n = n};

	report_add(&key, value);
}

static void sample_churn(const struct bench *bench, unsigned threads, bool crowded)
{
	const struct churn churn = {
	        .threads = threads,
	        .crowded = crowded,
	        .ns = (bench->common.quick ? CHURN_MS_QUICK : CHURN_MS) * MILLISECOND,
	};
	char label[LABEL];

	snprintf(label, sizeof(label), "%s %u thread%s",
	         crowded ? "1000000 pending" : "nothing pending", threads, threads > 1 ? "s" : "");
	for (uint32_t i = 0; i < repetitions(bench, crowded); i++) {
		for (size_t peer = 0; peer < PEERS; peer++) {
			if (!in_columns(bench, peer))
				continue;
			progress_show("%s, repetition %u, %s", label, i + 1, peers[peer]->name);
			add(label, "M pairs/s", crowded ? OBJECTS : 0, peers[peer]->name,
			    churn_run(peers[peer], bench->objects, &churn, SEED) / 1e6);
		}
	}
}

static void measure_churn(const struct bench *bench)
{
	for (unsigned crowded = 0; crowded < 2; crowded++)
		for (unsigned threads = 1; threads <= MAX_THREADS; threads *= 2)
			sample_churn(bench, threads, crowded);
	report_table("arm + cancel");
}

static void measure_backlog(const struct bench *bench)
{
	for (uint32_t i = 0; i < repetitions(bench, true); i++) {
		for (size_t peer = 0; peer < PEERS; peer++) {
			if (!in_columns(bench, peer))
				continue;
			progress_show("backlog, repetition %u, %s", i + 1, peers[peer]->name);
			add("backlog polled", "ns", OBJECTS, peers[peer]->name,
			    backlog_run(peers[peer], bench->objects, true, SEED));
			add("backlog", "ns", OBJECTS, peers[peer]->name,
			    backlog_run(peers[peer], bench->objects, false, SEED));
		}
	}
	report_table("a backlog of 1,000,000 tasks: polled, and run by the service's thread");
}

/* `rate` tasks a second; 0: all of them within one. */
static struct lateness run_late(const struct bench *bench, const struct service_peer *peer,
                                uint32_t rate)
{
	uint32_t ms = RATE_MS;

	if (rate == 0)
		return live_run(peer, bench->objects, SEED);
	if (bench->common.quick)
		ms = RATE_MS_QUICK;
	else if (rate < RATE_TASKS)
		ms = RATE_MS * (RATE_TASKS / rate);
	return rate_run(peer, bench->objects, rate, ms, SEED);
}

static void sample_late(const struct bench *bench, const struct service_peer *peer, uint32_t rate)
{
	struct lateness lateness = run_late(bench, peer, rate);
	const char *kind = rate ? "late" : "live";
	uint32_t n = rate ? rate : OBJECTS;
	char label[LABEL];

	for (size_t i = 0; i < QUANTILES; i++) {
		snprintf(label, sizeof(label), "%s p%g", kind, quantiles[i] / 100.0);
		add(label, "ns", n, peer->name, (double)lateness.ns_at[i]);
	}
	snprintf(label, sizeof(label), "%s cpu", kind);
	add(label, "ns", n, peer->name, (double)lateness.cpu_ns / (double)lateness.tasks);
}

static void measure_late(const struct bench *bench, const char *title, uint32_t rate)
{
	for (uint32_t i = 0; i < repetitions(bench, true); i++) {
		for (size_t peer = 0; peer < PEERS; peer++) {
			if (!in_late(bench, peer, rate))
				continue;
			progress_show("%s, repetition %u, %s", title, i + 1, peers[peer]->name);
			sample_late(bench, peers[peer], rate);
		}
	}
	report_table("%s: how late they are, and the CPU time of one", title);
}

static void measure_live(const struct bench *bench)
{
	/* The longest: with --quick only if --only names it. */
	if (!bench->common.quick || bench->rows.count > 0)
		measure_late(bench, "1,000,000 tasks within a second", 0);
}

static void measure_rates(const struct bench *bench)
{
	measure_late(bench, "10,000 tasks a second", 10000);
	measure_late(bench, "100,000 tasks a second", 100000);
}

/* The fewest possible wake-ups have no CPU time: they can be computed only afterwards. */
static void measure_windows(const struct bench *bench)
{
	static const char *const names[] = {"window", "exact"};
	uint32_t ms = bench->common.quick ? RATE_MS_QUICK : RATE_MS;

	for (uint32_t i = 0; i < repetitions(bench, true); i++) {
		for (int exact = 0; exact < 2; exact++) {
			struct wakeups got =
			        windows_run(bench->objects, WINDOWS_RATE, ms, exact, SEED + i);

			progress_show("windows, repetition %u", i + 1);
			add("wake-ups", "a second", WINDOWS_RATE, names[exact],
			    (double)got.count * 1000 / ms);
			add("wake-ups cpu", "ns", WINDOWS_RATE, names[exact],
			    (double)got.cpu_ns / (double)got.tasks);
			if (!exact)
				add("wake-ups", "a second", WINDOWS_RATE, "fewest",
				    (double)got.fewest * 1000 / ms);
		}
	}
	report_table("10,000 tasks a second, with a tenth of the delay as a window");
}

static void measure_inspect(const struct bench *bench)
{
	static const char *const names[] = {"closed", "open", "viewed"};
	uint32_t ms = bench->common.quick ? INSPECT_MS_QUICK : INSPECT_MS;

	for (uint32_t i = 0; i < repetitions(bench, true); i++) {
		for (int how = CLOSED; how <= VIEWED; how++) {
			struct inspected got = inspect_run(bench->objects, INSPECT_RATE, ms,
			                                   (enum inspection)how, SEED + i);

			progress_show("inspect, repetition %u", i + 1);
			add("inspect cpu", "ns", INSPECT_RATE, names[how],
			    (double)got.cpu_ns / (double)got.tasks);
			add("inspect thread", "us a second", INSPECT_RATE, names[how],
			    (double)got.view_ns / ms);
		}
	}
	report_table(
	        "100,000 tasks a second with a live view: CPU time of a task, and of its thread");
}

/* Polled: without the stacks of threads. */
static size_t empty_bytes(const struct service_peer *peer)
{
	size_t before = memory_in_use(), bytes;
	void *service = open_service(peer, &(struct service_setup){.polled = true});

	bytes = memory_in_use() - before;
	peer->close(service);
	return bytes;
}

static void measure_memory(const struct bench *bench)
{
	for (size_t i = 0; i < PEERS; i++) {
		if (!in_columns(bench, i))
			continue;
		add("bytes a task", "bytes", 0, peers[i]->name, (double)peers[i]->pending_bytes());
		add("empty bytes", "bytes", 0, peers[i]->name, (double)empty_bytes(peers[i]));
	}
	report_table("memory: a pending task, and a service without tasks");
}

/* For --only. */
static const struct part {
	const char *name, *about;
	void (*measure)(const struct bench *bench);
} parts[] = {
        {"churn", "arm + cancel by 1, 2 and 4 threads, alone and with 1,000,000 pending",
         measure_churn},
        {"backlog", "1,000,000 tasks that are due at once", measure_backlog},
        {"live", "1,000,000 tasks that fall due within a second", measure_live},
        {"rates", "10,000 and 100,000 tasks a second: lateness and CPU", measure_rates},
        {"windows", "10,000 tasks a second, exact and with a tenth of the delay as a window",
         measure_windows},
        {"inspect", "100,000 tasks a second, with and without a live view: CPU", measure_inspect},
        {"memory", "bytes", measure_memory},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static const char *part_name(size_t i)
{
	return i < PARTS ? parts[i].name : NULL;
}

static const char *peer_name(size_t i)
{
	return i < PEERS ? peers[i]->name : NULL;
}

static void help(void)
{
	puts("usage: pawl-bench-service [options]\n"
	     "\n"
	     "Measures pawl's service against a heap under a mutex; medians.\n"
	     "\n"
	     "  --quick           a quarter of a minute: shorter, fewer repetitions, without live\n"
	     "  --reps R          repetitions; default 5, with --quick 3, and 1 of what takes "
	     "long\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the services\n"
	     "  --help            this\n"
	     "\n"
	     "workloads:");
	for (size_t i = 0; i < PARTS; i++)
		printf("  %-10s %s\n", parts[i].name, parts[i].about);
	puts("\npeers:");
	for (size_t i = 0; i < PEERS; i++)
		printf("  %-14s %s\n", peers[i]->name, peers[i]->about);
}

/* Written to, so that the first repetition does not pay for the pages. */
static struct object *make_objects(void)
{
	struct object *objects = aligned_alloc(_Alignof(struct object), OBJECTS * sizeof(*objects));

	if (!objects)
		fail("no memory for %d objects of %zu bytes", OBJECTS, sizeof(*objects));
	return memset(objects, 0, OBJECTS * sizeof(*objects));
}

int main(int argc, char **argv)
{
	struct bench bench = {0};
	const struct argument known[] = {
	        {.name = "--quick", .flag = &bench.common.quick},
	        {.name = "--reps",
	         .number = &bench.common.repetitions,
	         .least = 1,
	         .most = MAX_REPETITIONS},
	        {.name = "--only", .names = &bench.rows, .allowed = part_name},
	        {.name = "--peers", .names = &bench.peers, .allowed = peer_name},
	        {.name = "--csv", .text = &bench.common.csv},
	        {.name = "--verify", .flag = &bench.common.only_verify},
	        {.name = "--help", .help = help},
	};

	arguments_parse(known, sizeof(known) / sizeof(known[0]), argc, argv);
	machine_keep_memory();
	machine_describe();
	printf("clock     %" PRIu64 " ns a reading\n", clock_cost());
	printf("seed      %" PRIu64 "\n", SEED);
	verify(&bench);
	if (bench.common.only_verify)
		return 0;
	bench.objects = make_objects();
	report_open(bench.common.csv, "service");
	progress_begin(PARTS);
	for (size_t i = 0; i < PARTS; i++) {
		if (names_have(&bench.rows, parts[i].name))
			parts[i].measure(&bench);
		progress_done(1);
	}
	report_close();
	free(bench.objects);
	return 0;
}
