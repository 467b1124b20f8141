/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-service: pawl's service compared with the obvious one, a heap under a mutex.
 *
 * All services are verified before the first is timed. Then, for each row, the first repetition of every service is
 * run, then the second of every service, and so on, so that other work on the machine affects all alike. The tables show
 * medians; for lateness also the least and the greatest of all repetitions.
 */
#define _GNU_SOURCE
#include "../support/report.h"
#include "options.h"
#include "verify.h"
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
	LABEL_WIDTH = 30,
	CELL_WIDTH = 11,
};

const struct service_peer *const service_peers[SERVICE_PEERS] = {
        &service_peer_pawl, &service_peer_pawl_without, &service_peer_pawl_50us,
        &service_peer_pawl_2_workers, &service_peer_obvious};

struct bench {
	struct service_options options;
	struct object *objects;
};

/* With --quick the longest row runs only if --only names it. */
static bool row_chosen(const struct bench *bench, enum service_row row)
{
	if (row == LIVE && bench->options.common.quick && bench->options.rows.count == 0)
		return false;
	return names_have(&bench->options.rows, service_row_names[row]);
}

static bool peer_chosen(const struct bench *bench, size_t peer)
{
	return names_have(&bench->options.peers, service_peers[peer]->name);
}

/* Outside of live and rates each service has one column, without variants. */
static bool in_columns(const struct bench *bench, size_t peer)
{
	return peer_chosen(bench, peer) && service_peers[peer]->measured == EVERYWHERE;
}

/* `rate` tasks a second; 0: live. */
static bool in_late(const struct bench *bench, size_t peer, uint32_t rate)
{
	return peer_chosen(bench, peer) && (rate || service_peers[peer]->measured != IN_RATES);
}

static uint32_t repetitions(const struct bench *bench, bool takes_long)
{
	return repetitions_or(&bench->options.common, REPETITIONS,
	                      takes_long ? REPETITIONS_QUICK_LONG : REPETITIONS_QUICK);
}

static void show_progress(const char *label, uint32_t repetition, size_t peer)
{
	progress_show("%s, repetition %u, %s", label, repetition + 1, service_peers[peer]->name);
}

static void verify(const struct bench *bench)
{
	for (size_t i = 0; i < SERVICE_PEERS; i++)
		if (peer_chosen(bench, i) && !verify_service(service_peers[i], SEED))
			fail("%s failed its verification (seed %" PRIu64 "); nothing was measured",
			     service_peers[i]->name, SEED);
	printf("verified ");
	for (size_t i = 0; i < SERVICE_PEERS; i++)
		if (peer_chosen(bench, i))
			printf(" %s", service_peers[i]->name);
	printf("\n");
}

static void print_head(const struct bench *bench, const char *title, const char *compare)
{
	printf("\n%-*s", LABEL_WIDTH, title);
	for (size_t i = 0; i < SERVICE_PEERS; i++)
		if (in_columns(bench, i))
			printf("%*s", CELL_WIDTH, service_peers[i]->name);
	printf("%s%s\n", compare ? "   | " : "", compare ? compare : "");
}

/* A row of figures, one for each column. `ratio` is pawl's to the heap's; 0: none. */
static void print_row(const struct bench *bench, const char *label, const double *figures,
                      int digits, double ratio)
{
	printf("%-*s", LABEL_WIDTH, label);
	for (size_t i = 0; i < SERVICE_PEERS; i++)
		if (in_columns(bench, i))
			printf("%*.*f", CELL_WIDTH, digits, figures[i]);
	if (ratio > 0)
		printf("   | %.2f", ratio);
	printf("\n");
	fflush(stdout);
}

static double ratio_of(double above, double below)
{
	return below > 0 ? above / below : 0;
}

/* One repetition: its figure. */
typedef double run_fn(const struct bench *bench, const struct service_peer *peer, const void *arg);

static void report_row(const struct report_key *key, const struct figure figures[SERVICE_PEERS])
{
	struct report_key of_peer = *key;

	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		of_peer.peer = service_peers[i]->name;
		report_figure(&of_peer, &figures[i]);
	}
}

/* The medians of all columns. They also go to the CSV file. */
static void sample(const struct bench *bench, const struct report_key *key, run_fn *run,
                   const void *arg, double medians[SERVICE_PEERS])
{
	double values[SERVICE_PEERS][MAX_REPETITIONS];
	struct figure figures[SERVICE_PEERS] = {0};
	uint32_t count = repetitions(bench, key->n == OBJECTS);

	for (uint32_t repetition = 0; repetition < count; repetition++) {
		for (size_t i = 0; i < SERVICE_PEERS; i++) {
			if (!in_columns(bench, i))
				continue;
			show_progress(key->workload, repetition, i);
			values[i][repetition] = run(bench, service_peers[i], arg);
			progress_done(1);
		}
	}
	progress_clear();
	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		if (in_columns(bench, i))
			figures[i] = figure_of(values[i], count);
		medians[i] = figures[i].median;
	}
	report_row(key, figures);
}

static double run_churn(const struct bench *bench, const struct service_peer *peer, const void *arg)
{
	return churn_run(peer, bench->objects, arg, SEED) / 1e6;
}

static void measure_churn(const struct bench *bench, bool crowded)
{
	static const unsigned threads[] = {1, 2, 4};
	struct churn churn = {
	        .crowded = crowded,
	        .ns = (bench->options.common.quick ? CHURN_MS_QUICK : CHURN_MS) * MILLISECOND,
	};

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double figures[SERVICE_PEERS];
		char label[LABEL_WIDTH];
		const struct report_key key = {
		        .workload = label, .unit = "M pairs/s", .n = crowded ? OBJECTS : 0};

		churn.threads = threads[i];
		snprintf(label, sizeof(label), "%s, %u thread%s",
		         crowded ? "1,000,000 pending" : "nothing pending", threads[i],
		         threads[i] > 1 ? "s" : "");
		sample(bench, &key, run_churn, &churn, figures);
		print_row(bench, label, figures, 2,
		          ratio_of(figures[0], figures[SERVICE_PEERS - 1]));
	}
}

static double run_backlog(const struct bench *bench, const struct service_peer *peer,
                          const void *polled)
{
	return backlog_run(peer, bench->objects, *(const bool *)polled, SEED);
}

static void measure_backlog(const struct bench *bench, bool polled)
{
	const char *label = polled ? "polled" : "by the service's thread";
	const struct report_key key = {
	        .workload = polled ? "backlog polled" : "backlog", .unit = "ns", .n = OBJECTS};
	double figures[SERVICE_PEERS];

	sample(bench, &key, run_backlog, &polled, figures);
	print_row(bench, label, figures, 1, ratio_of(figures[SERVICE_PEERS - 1], figures[0]));
}

/* One row of a table of lateness: the samples of one service. */
struct late_row {
	struct lateness lateness[MAX_REPETITIONS];
	uint32_t count;
};

static struct figure figure_of_row(const struct late_row *row,
                                   double (*get)(const struct lateness *))
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < row->count; i++)
		values[i] = get(&row->lateness[i]);
	return figure_of(values, row->count);
}

static struct figure quantile_of(const struct late_row *row, size_t quantile)
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < row->count; i++)
		values[i] = (double)row->lateness[i].ns_at[quantile];
	return figure_of(values, row->count);
}

static double get_cpu_percent(const struct lateness *lateness)
{
	return 100 * (double)lateness->cpu_ns / (double)lateness->ns;
}

static double get_cpu_ns(const struct lateness *lateness)
{
	return (double)lateness->cpu_ns / (double)lateness->tasks;
}

static uint64_t early(const struct late_row *row)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < row->count; i++)
		sum += row->lateness[i].early;
	return sum;
}

static void print_late_head(const char *title)
{
	printf("\n%-*s%10s%10s%10s%10s%10s%9s%9s%8s\n", LABEL_WIDTH, title, "min", "p50", "p99",
	       "p99.9", "max", "CPU %", "CPU ns", "early");
}

/* The minimum and maximum over all repetitions; for the other quantiles the median. */
static void print_late_row(const char *label, const struct late_row *row)
{
	printf("%-*s%10.1f%10.1f%10.1f%10.1f%10.1f%9.2f%9.0f%8" PRIu64 "\n", LABEL_WIDTH, label,
	       quantile_of(row, Q_MIN).least / 1e3, quantile_of(row, Q_50).median / 1e3,
	       quantile_of(row, Q_99).median / 1e3, quantile_of(row, Q_999).median / 1e3,
	       quantile_of(row, Q_MAX).greatest / 1e3, figure_of_row(row, get_cpu_percent).median,
	       figure_of_row(row, get_cpu_ns).median, early(row));
	fflush(stdout);
}

/* `rate` tasks a second; 0: all of them within one. */
static void report_late(const char *peer, uint32_t rate, const struct late_row *row)
{
	struct figure cpu = figure_of_row(row, get_cpu_ns);
	struct report_key key = {.peer = peer, .unit = "ns", .n = rate ? rate : OBJECTS};
	char workload[LABEL_WIDTH];

	key.workload = workload;
	for (size_t i = 0; i < QUANTILES; i++) {
		struct figure figure = quantile_of(row, i);

		snprintf(workload, sizeof(workload), "%s p%g", rate ? "late" : "live",
		         quantiles[i] / 100.0);
		report_figure(&key, &figure);
	}
	snprintf(workload, sizeof(workload), "%s cpu", rate ? "late" : "live");
	report_figure(&key, &cpu);
}

/* `rate` tasks a second; 0: all of them within one. */
static struct lateness run_late(const struct bench *bench, const struct service_peer *peer,
                                uint32_t rate)
{
	uint32_t ms = RATE_MS;

	if (rate == 0)
		return live_run(peer, bench->objects, bench->options.wheel_size, SEED);
	if (bench->options.common.quick)
		ms = RATE_MS_QUICK;
	else if (rate < RATE_TASKS)
		ms = RATE_MS * (RATE_TASKS / rate);
	return rate_run(peer, bench->objects, rate, ms, SEED);
}

static void measure_late(const struct bench *bench, const char *what, uint32_t rate)
{
	static struct late_row rows[SERVICE_PEERS];
	uint32_t count = repetitions(bench, true);

	for (uint32_t repetition = 0; repetition < count; repetition++) {
		for (size_t i = 0; i < SERVICE_PEERS; i++) {
			if (!in_late(bench, i, rate))
				continue;
			show_progress(what, repetition, i);
			rows[i].count = repetition + 1;
			rows[i].lateness[repetition] = run_late(bench, service_peers[i], rate);
			progress_done(1);
		}
	}
	progress_clear();
	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		char label[LABEL_WIDTH];

		if (!in_late(bench, i, rate))
			continue;
		snprintf(label, sizeof(label), "%s, %s", what, service_peers[i]->name);
		print_late_row(label, &rows[i]);
		report_late(service_peers[i]->name, rate, &rows[i]);
	}
}

static void print_windows_row(const char *label, const struct figure *wakeups,
                              const struct figure *cpu)
{
	printf("%-*s%12.0f%12.0f\n", LABEL_WIDTH, label, wakeups->median, cpu->median);
}

static void report_windows(const char *peer, const struct figure *wakeups, const struct figure *cpu)
{
	struct report_key key = {.peer = peer, .n = WINDOWS_RATE};

	key.workload = "wake-ups";
	key.unit = "a second";
	report_figure(&key, wakeups);
	key.workload = "wake-ups cpu";
	key.unit = "ns";
	report_figure(&key, cpu);
}

/* The fewest possible wake-ups have no CPU time: they can be computed only afterwards. */
static void measure_windows(const struct bench *bench)
{
	static const char *const peers[] = {"window", "exact", "fewest"};
	uint32_t ms = bench->options.common.quick ? RATE_MS_QUICK : RATE_MS;
	uint32_t count = repetitions(bench, true);
	double wakeups[3][MAX_REPETITIONS], cpu[3][MAX_REPETITIONS] = {{0}};
	uint64_t early = 0, late = 0, tasks = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (int exact = 0; exact < 2; exact++) {
			struct wakeups got =
			        windows_run(bench->objects, WINDOWS_RATE, ms, exact, SEED + i);

			wakeups[exact][i] = (double)got.count * 1000 / ms;
			cpu[exact][i] = (double)got.cpu_ns / (double)got.tasks;
			if (exact)
				continue;
			wakeups[2][i] = (double)got.fewest * 1000 / ms;
			early += got.early;
			late += got.late;
			tasks += got.tasks;
		}
		progress_done(2);
	}
	progress_clear();
	printf("\n%-*s%12s%12s\n", LABEL_WIDTH, "10,000/s, windows of 10 %", "wake-ups/s",
	       "CPU ns");
	for (int i = 0; i < 3; i++) {
		struct figure many = figure_of(wakeups[i], count), took = figure_of(cpu[i], count);

		print_windows_row(peers[i], &many, &took);
		report_windows(peers[i], &many, &took);
	}
	printf("outside of its window: %" PRIu64 " early, %" PRIu64
	       " late by more than a tick, of %" PRIu64 " tasks\n",
	       early, late, tasks);
}

/* The ratios are of runs one right after the other, because the machine may be slower later. */
static void measure_inspect(const struct bench *bench)
{
	static const char *const peers[] = {"closed", "open", "viewed"};
	uint32_t ms = bench->options.common.quick ? INSPECT_MS_QUICK : INSPECT_MS;
	uint32_t count = repetitions(bench, true);
	double cpu[3][MAX_REPETITIONS], ratio[3][MAX_REPETITIONS], view[3][MAX_REPETITIONS];

	for (uint32_t i = 0; i < count; i++) {
		for (int how = CLOSED; how <= VIEWED; how++) {
			struct inspected got = inspect_run(bench->objects, INSPECT_RATE, ms,
			                                   (enum inspection)how, SEED + i);

			cpu[how][i] = (double)got.cpu_ns / (double)got.tasks;
			ratio[how][i] = cpu[how][i] / cpu[CLOSED][i];
			view[how][i] = (double)got.view_ns / 1e3 * 1000 / ms;
		}
		progress_done(3);
	}
	progress_clear();
	printf("\n%-*s%12s%12s%20s\n", LABEL_WIDTH, "100,000/s, a live view", "CPU ns", "ratio",
	       "its thread, us/s");
	for (int how = CLOSED; how <= VIEWED; how++) {
		struct figure took = figure_of(cpu[how], count);
		struct figure times = figure_of(ratio[how], count),
		              own = figure_of(view[how], count);
		struct report_key key = {.peer = peers[how], .n = INSPECT_RATE};

		printf("%-*s%12.1f%12.3f%20.0f\n", LABEL_WIDTH, peers[how], took.median,
		       times.median, own.median);
		key.workload = "inspect cpu";
		key.unit = "ns";
		report_figure(&key, &took);
		key.workload = "inspect thread";
		key.unit = "us a second";
		report_figure(&key, &own);
	}
}

static void measure_memory(const struct bench *bench)
{
	double pending[SERVICE_PEERS], empty[SERVICE_PEERS];
	struct report_key key = {.unit = "bytes"};

	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		struct figure figure = {.repetitions = in_columns(bench, i)};

		pending[i] = (double)service_peers[i]->pending_bytes();
		empty[i] = (double)service_peers[i]->empty_bytes();
		key.peer = service_peers[i]->name;
		key.workload = "bytes a task";
		figure.median = figure.least = figure.greatest = pending[i];
		report_figure(&key, &figure);
		key.workload = "empty bytes";
		figure.median = figure.least = figure.greatest = empty[i];
		report_figure(&key, &figure);
	}
	print_row(bench, "a pending task", pending, 0, 0);
	print_row(bench, "an empty service", empty, 0, 0);
}

static void measure(const struct bench *bench)
{
	if (row_chosen(bench, CHURN)) {
		print_head(bench, "M pairs of arm + cancel/s", "x as many as the heap");
		measure_churn(bench, false);
		measure_churn(bench, true);
	}
	if (row_chosen(bench, BACKLOG)) {
		print_head(bench, "backlog of 1,000,000, ns each", "x as fast as the heap");
		measure_backlog(bench, true);
		measure_backlog(bench, false);
	}
	if (row_chosen(bench, LIVE) || row_chosen(bench, RATES))
		print_late_head("lateness, us");
	if (row_chosen(bench, LIVE))
		measure_late(bench, "1,000,000 in 1 s", 0);
	if (row_chosen(bench, RATES)) {
		measure_late(bench, "10,000/s", 10000);
		measure_late(bench, "100,000/s", 100000);
	}
	if (row_chosen(bench, WINDOWS))
		measure_windows(bench);
	if (row_chosen(bench, INSPECT))
		measure_inspect(bench);
	if (row_chosen(bench, MEMORY)) {
		print_head(bench, "bytes", NULL);
		measure_memory(bench);
	}
}

/* Repetitions in all, each of one peer. */
static double work(const struct bench *bench)
{
	uint32_t columns = 0, live = 0, rates = 0;

	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		columns += in_columns(bench, i);
		live += in_late(bench, i, 0);
		rates += in_late(bench, i, 1);
	}
	return repetitions(bench, false) * columns * 3.0 * row_chosen(bench, CHURN) +
	       repetitions(bench, true) *
	               (columns *
	                        (3.0 * row_chosen(bench, CHURN) + 2 * row_chosen(bench, BACKLOG)) +
	                live * row_chosen(bench, LIVE) + 2.0 * rates * row_chosen(bench, RATES) +
	                2.0 * row_chosen(bench, WINDOWS) + 3.0 * row_chosen(bench, INSPECT));
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
	static struct bench bench;

	service_options_parse(&bench.options, argc, argv);
	machine_keep_memory();
	machine_describe();
	printf("clock     %" PRIu64 " ns a reading\n", clock_cost());
	printf("seed      %" PRIu64 "\n", SEED);
	printf("median of %u, with a million tasks and of lateness %u\n",
	       repetitions(&bench, false), repetitions(&bench, true));
	verify(&bench);
	if (bench.options.common.only_verify)
		return 0;
	bench.objects = make_objects();
	report_open(bench.options.common.csv, "service");
	progress_begin(work(&bench));
	measure(&bench);
	report_close();
	free(bench.objects);
	return 0;
}
