/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-service: pawl's service beside the obvious one, a heap under a mutex.
 *
 * Every service is verified before any is timed. Then, for each row, the first repetition of every
 * service is run, then the second, and so on: whatever else the machine does hits all of them alike. The
 * tables show medians; of lateness, the least and the greatest of all repetitions.
 */
#define _GNU_SOURCE
#include "service_options.h"
#include "service_verify.h"
#include "service_workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t SEED = 20240229;

enum {
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	REPETITIONS_QUICK_REAL = 1, /* of what takes real time */
	CHURN_MS = 500,
	CHURN_MS_QUICK = 150,
	RATE_S = 3,
	RATE_S_QUICK = 1,
	LABEL_WIDTH = 30,
	CELL_WIDTH = 11,
};

const struct service_peer *const service_peers[SERVICE_PEERS] = {
        &service_peer_pawl, &service_peer_pawl_50us, &service_peer_pawl_2_workers,
        &service_peer_obvious};

struct bench {
	struct service_options options;
	struct object *objects;
};

static bool row_chosen(const struct bench *bench, enum service_row row)
{
	return bench->options.rows >> row & 1;
}

static bool peer_chosen(const struct bench *bench, size_t peer)
{
	return bench->options.peers >> peer & 1;
}

/* Outside of the rates each service is one column, whatever its variants. */
static bool in_columns(const struct bench *bench, size_t peer)
{
	return peer_chosen(bench, peer) && !service_peers[peer]->only_rates;
}

static uint32_t repetitions(const struct bench *bench, bool real_time)
{
	if (bench->options.repetitions)
		return bench->options.repetitions;
	if (!bench->options.quick)
		return REPETITIONS;
	return real_time ? REPETITIONS_QUICK_REAL : REPETITIONS_QUICK;
}

static void show_progress(const char *label, uint32_t repetition, size_t peer)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s, repetition %u, %s", label, repetition + 1,
		        service_peers[peer]->name);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
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

/* A row of figures, one of each column. `ratio` is pawl's against the heap's; 0 if there is none. */
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

/* The median of each column. */
static void sample(const struct bench *bench, const char *label, run_fn *run, const void *arg,
                   double figures[SERVICE_PEERS])
{
	double values[SERVICE_PEERS][MAX_REPETITIONS];
	uint32_t count = repetitions(bench, false);

	for (uint32_t repetition = 0; repetition < count; repetition++) {
		for (size_t i = 0; i < SERVICE_PEERS; i++) {
			if (!in_columns(bench, i))
				continue;
			show_progress(label, repetition, i);
			values[i][repetition] = run(bench, service_peers[i], arg);
		}
	}
	clear_progress();
	for (size_t i = 0; i < SERVICE_PEERS; i++)
		figures[i] = in_columns(bench, i) ? median(values[i], count) : 0;
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
	        .ns = (bench->options.quick ? CHURN_MS_QUICK : CHURN_MS) * MILLISECOND,
	};

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double figures[SERVICE_PEERS];
		char label[LABEL_WIDTH];

		churn.threads = threads[i];
		snprintf(label, sizeof(label), "%s, %u thread%s",
		         crowded ? "1,000,000 pending" : "nothing pending", threads[i],
		         threads[i] > 1 ? "s" : "");
		sample(bench, label, run_churn, &churn, figures);
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
	double figures[SERVICE_PEERS];

	sample(bench, label, run_backlog, &polled, figures);
	print_row(bench, label, figures, 1, ratio_of(figures[SERVICE_PEERS - 1], figures[0]));
}

/* One row of a table of lateness: the samples of one service. */
struct late_row {
	struct lateness lateness[MAX_REPETITIONS];
	uint32_t count;
};

static double median_of(const struct late_row *row, double (*get)(const struct lateness *))
{
	double values[MAX_REPETITIONS];

	for (uint32_t i = 0; i < row->count; i++)
		values[i] = get(&row->lateness[i]);
	return median(values, row->count);
}

static double get_p50(const struct lateness *lateness)
{
	return (double)lateness->p50;
}

static double get_p99(const struct lateness *lateness)
{
	return (double)lateness->p99;
}

static double get_p999(const struct lateness *lateness)
{
	return (double)lateness->p999;
}

static double get_cpu_percent(const struct lateness *lateness)
{
	return 100 * (double)lateness->cpu_ns / (double)lateness->ns;
}

static double get_cpu_ns(const struct lateness *lateness)
{
	return (double)lateness->cpu_ns / (double)lateness->tasks;
}

static double least(const struct late_row *row)
{
	int64_t min = INT64_MAX;

	for (uint32_t i = 0; i < row->count; i++)
		min = row->lateness[i].min < min ? row->lateness[i].min : min;
	return (double)min;
}

static double greatest(const struct late_row *row)
{
	int64_t max = INT64_MIN;

	for (uint32_t i = 0; i < row->count; i++)
		max = row->lateness[i].max > max ? row->lateness[i].max : max;
	return (double)max;
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

static void print_late_row(const char *label, const struct late_row *row)
{
	printf("%-*s%10.1f%10.1f%10.1f%10.1f%10.1f%9.2f%9.0f%8" PRIu64 "\n", LABEL_WIDTH, label,
	       least(row) / 1e3, median_of(row, get_p50) / 1e3, median_of(row, get_p99) / 1e3,
	       median_of(row, get_p999) / 1e3, greatest(row) / 1e3, median_of(row, get_cpu_percent),
	       median_of(row, get_cpu_ns), early(row));
	fflush(stdout);
}

/* `rate` tasks a second; 0: all of them within one. */
static struct lateness run_late(const struct bench *bench, const struct service_peer *peer,
                                uint32_t rate)
{
	if (rate == 0)
		return live_run(peer, bench->objects, SEED);
	return rate_run(peer, bench->objects, rate, bench->options.quick ? RATE_S_QUICK : RATE_S,
	                SEED);
}

static void measure_late(const struct bench *bench, const char *what, uint32_t rate)
{
	static struct late_row rows[SERVICE_PEERS];
	uint32_t count = repetitions(bench, true);

	for (uint32_t repetition = 0; repetition < count; repetition++) {
		for (size_t i = 0; i < SERVICE_PEERS; i++) {
			if (!(rate ? peer_chosen(bench, i) : in_columns(bench, i)))
				continue;
			show_progress(what, repetition, i);
			rows[i].count = repetition + 1;
			rows[i].lateness[repetition] = run_late(bench, service_peers[i], rate);
		}
	}
	clear_progress();
	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		char label[LABEL_WIDTH];

		if (!(rate ? peer_chosen(bench, i) : in_columns(bench, i)))
			continue;
		snprintf(label, sizeof(label), "%s, %s", what, service_peers[i]->name);
		print_late_row(label, &rows[i]);
	}
}

static void measure_memory(const struct bench *bench)
{
	double pending[SERVICE_PEERS], empty[SERVICE_PEERS];

	for (size_t i = 0; i < SERVICE_PEERS; i++) {
		pending[i] = (double)service_peers[i]->pending_bytes();
		empty[i] = (double)service_peers[i]->empty_bytes();
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
	if (row_chosen(bench, MEMORY)) {
		print_head(bench, "bytes", NULL);
		measure_memory(bench);
	}
}

/* Touched, so that the first repetition does not pay for the pages. */
static struct object *make_objects(void)
{
	struct object *objects = aligned_alloc(_Alignof(struct object), OBJECTS * sizeof(*objects));

	if (!objects)
		fail("no memory for %d objects of %zu bytes", OBJECTS, sizeof(*objects));
	return memset(objects, 0, OBJECTS * sizeof(*objects));
}

/* With more than a few hundredths the figures are not to be trusted: there are as many threads as cores. */
static void describe_load(void)
{
	double load;

	if (getloadavg(&load, 1) == 1)
		printf("load      %.2f at the start\n", load);
}

int main(int argc, char **argv)
{
	static struct bench bench;

	service_options_parse(&bench.options, argc, argv);
	machine_keep_memory();
	machine_describe();
	describe_load();
	printf("clock     %" PRIu64 " ns a reading\n", clock_cost());
	printf("seed      %" PRIu64 "\n", SEED);
	printf("median of %u, of lateness %u\n", repetitions(&bench, false),
	       repetitions(&bench, true));
	verify(&bench);
	bench.objects = make_objects();
	measure(&bench);
	free(bench.objects);
	return 0;
}
