/* SPDX-License-Identifier: MIT */
/* A snapshot as one line of JSON: see pawl_inspect(3). */
#define _GNU_SOURCE
#include "../service/stats.h"
#include "snapshot.h"
#include "stats_json.h"

#include <pawl/pawl.h>

#define FORMAT 1 /* changes when a reader of the old format would misread it */

static double tasks_for_each(const struct snapshot *snapshot)
{
	return snapshot->sampled ? (double)snapshot->stats.pending / (double)snapshot->sampled : 0;
}

/* How many pending tasks these stand for. *sum counts the sampled tasks so far: so the rounded estimates add up. */
static uint64_t estimate(const struct snapshot *snapshot, uint64_t sampled, uint64_t *sum)
{
	double each = tasks_for_each(snapshot);
	uint64_t before = (uint64_t)((double)*sum * each + 0.5);

	*sum += sampled;
	return (uint64_t)((double)*sum * each + 0.5) - before;
}

/* Without libm. */
static double square_root(double number)
{
	double root = number > 1 ? number : 1;

	for (unsigned i = 0; i < 64 && root * root > number; i++)
		root = (root + number / root) / 2;
	return root;
}

/*
 * Two standard errors of such an estimate, that of a random sample without replacement; by the rule of Agresti and Coull,
 * which adds two tasks that are counted and two that are not, so that it also holds for few or no sampled tasks.
 */
static uint64_t margin(const struct snapshot *snapshot, uint64_t sampled)
{
	double all = (double)snapshot->stats.pending, drawn = (double)snapshot->sampled;
	double share = ((double)sampled + 2) / (drawn + 4);

	if (drawn >= all)
		return 0;
	return (uint64_t)(2 * all *
	                          square_root(share * (1 - share) / (drawn + 4) *
	                                      (1 - drawn / all)) +
	                  0.5);
}

static void write_function_name(struct json *json, pawl_task_fn *run)
{
	char hex[2 + 2 * sizeof(uintptr_t)] = "0x";
	unsigned digits = 1;

	while (digits < 2 * sizeof(uintptr_t) && (uint64_t)(uintptr_t)run >> 4 * digits)
		digits++;
	hex_write(hex + 2, (uintptr_t)run, digits);
	json_name(json, "function");
	json_string(json, hex, run ? 2 + digits : 0);
}

static void write_due(const struct snapshot *snapshot, struct json *json)
{
	uint64_t sum = 0;

	json_name(json, "due");
	json_open(json, '[');
	for (unsigned i = 0; i < CELLS_DUE; i++) {
		json_open(json, '[');
		if (i < CELLS_DUE - 1)
			json_number(json, pawl__snapshot_due_within[i]);
		else
			json_null(json);
		json_number(json, estimate(snapshot, snapshot->due[i], &sum));
		json_number(json, margin(snapshot, snapshot->due[i]));
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void write_function(const struct snapshot *snapshot, const struct function *function,
                           uint64_t *sum, struct json *json)
{
	uint64_t pending = estimate(snapshot, function->sampled, sum);

	if (pending == 0 && function->count == 0)
		return;
	json_open(json, '{');
	write_function_name(json, function->run);
	json_member(json, "pending", pending);
	json_member(json, "margin", margin(snapshot, function->sampled));
	json_member(json, "runs", function->count);
	json_member(json, "total_ns", function->total_ns);
	json_member(json, "longest_ns", function->longest_ns);
	json_close(json, '}');
}

static void write_functions(const struct snapshot *snapshot, struct json *json)
{
	uint64_t sum = 0;

	json_name(json, "functions");
	json_open(json, '[');
	for (unsigned i = 0; i < snapshot->function_count; i++)
		write_function(snapshot, &snapshot->functions[i], &sum, json);
	write_function(snapshot, &snapshot->others, &sum, json);
	json_close(json, ']');
}

static void write_latest(const struct snapshot *snapshot, struct json *json)
{
	json_name(json, "latest");
	json_open(json, '[');
	for (unsigned i = 0; i < snapshot->latest_count; i++) {
		const struct latest *latest = &snapshot->latest[i];

		json_open(json, '{');
		write_function_name(json, latest->note.run);
		json_member(json, "worker", latest->worker);
		json_member(json, "deadline_ns", latest->note.deadline_ns);
		json_member(json, "start_ns", latest->note.start_ns);
		json_member(json, "took_ns", latest->note.took_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_service(const struct snapshot *snapshot, struct json *json)
{
	const struct pawl_service *service = snapshot->service;

	json_name(json, "name");
	json_string(json, service->name, strlen(service->name));
	json_member(json, "process", pawl__system_process());
	json_member(json, "now_ns", snapshot->now);
	json_member(json, "tick_ns", service->ticks.ns);
	json_member(json, "workers", service->manual ? 0 : service->worker_count);
	json_member(json, "shards", service->shard_count);
	write_statistics(json, pawl__service_statistics, &snapshot->stats);
	json_member(json, "sampled", snapshot->sampled);
}

void pawl__snapshot_write(const struct snapshot *snapshot, struct json *json)
{
	json_open(json, '{');
	json_name(json, "pawl");
	json_string(json, PAWL_VERSION, strlen(PAWL_VERSION));
	json_member(json, "format", FORMAT);
	write_service(snapshot, json);
	write_due(snapshot, json);
	write_functions(snapshot, json);
	write_latest(snapshot, json);
	write_histogram(json, "lateness", &snapshot->lateness);
	write_histogram(json, "run_time", &snapshot->run_time);
	json_name(json, "slowest");
	json_open(json, '{');
	write_function_name(json, snapshot->stats.slowest);
	json_member(json, "took_ns", snapshot->stats.slowest_ns);
	json_close(json, '}');
	json_name(json, "purgatories");
	json_open(json, '[');
	pawl__service_write_parts(snapshot->service, json);
	json_close(json, ']');
	json_close(json, '}');
	json_add(json, "\n", 1);
}
