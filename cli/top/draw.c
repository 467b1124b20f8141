/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "draw.h"

#include <inttypes.h>
#include <pawl/wheel.h>
#include <stdlib.h>
#include <string.h>

#include "../text/duration.h"
#include "../text/figures.h"

enum { BAR_WIDTH = 40, ROWS = 10, NAME_WIDTH = 32 };

/* How much a counter grew in a second. */
static uint64_t rate(const struct drawing *drawing, uint64_t now, uint64_t before)
{
	if (drawing->since_ns == 0 || now < before)
		return 0;
	return (uint64_t)((double)(now - before) * 1e9 / (double)drawing->since_ns + 0.5);
}

static void heading(const struct drawing *drawing, const char *text, FILE *to)
{
	fprintf(to, "\n%s%s%s", drawing->terminal.bold, text, drawing->terminal.plain);
}

static void draw_head(const struct drawing *drawing, FILE *to)
{
	const struct snapshot *now = drawing->now, *before = drawing->before;
	const struct terminal *t = &drawing->terminal;

	fprintf(to, "%s%s%s  process %" PRIu64 ", ", t->bold, now->name, t->plain, now->process);
	if (now->workers)
		fprintf(to, "%" PRIu64 " worker%s", now->workers, PLURAL(now->workers));
	else
		fputs("polled", to);
	fprintf(to, ", %" PRIu64 " shard%s, tick %s; pawl %s%s\n", now->shards, PLURAL(now->shards),
	        EXACTLY(now->tick_ns), now->version, drawing->paused ? "; PAUSED" : "");
	fprintf(to, "pending %s%s%s  armed %s  ran %s  cancelled %s  wake-ups %s\n", t->bold,
	        GROUPED(now->pending), t->plain, GROUPED(now->armed), GROUPED(now->ran),
	        GROUPED(now->cancelled), GROUPED(now->wakeups));
	if (before)
		fprintf(to, "a second: armed %s  ran %s%s%s  cancelled %s  wake-ups %s\n",
		        GROUPED(rate(drawing, now->armed, before->armed)), t->bold,
		        GROUPED(rate(drawing, now->ran, before->ran)), t->plain,
		        GROUPED(rate(drawing, now->cancelled, before->cancelled)),
		        GROUPED(rate(drawing, now->wakeups, before->wakeups)));
}

static void draw_percentiles(const struct cells *now, const struct cells *before, FILE *to)
{
	static const double percents[] = {50, 99, 100};

	for (unsigned i = 0; i < 3; i++)
		fprintf(to, " %9s", LASTING(cells_percentile(now, before, percents[i])));
}

static void draw_lateness(const char *when, const struct snapshot *now,
                          const struct snapshot *before, FILE *to)
{
	fprintf(to, "  %-16s", when);
	draw_percentiles(&now->lateness, before ? &before->lateness : NULL, to);
	fputs("   ", to);
	draw_percentiles(&now->run_time, before ? &before->run_time : NULL, to);
	fputc('\n', to);
}

static void draw_times(const struct drawing *drawing, FILE *to)
{
	char when[DURATION_TEXT + 16];

	fprintf(to, "\n%s  %-16s %9s %9s %9s    %9s %9s %9s%s\n", drawing->terminal.bold, "",
	        "late p50", "p99", "max", "took p50", "p99", "max", drawing->terminal.plain);
	if (drawing->before)
		draw_lateness("now", drawing->now, drawing->before, to);
	if (drawing->a_minute_ago) {
		snprintf(when, sizeof(when), "the last %s",
		         EXACTLY((drawing->minute_ns + PAWL_SECOND / 2) / PAWL_SECOND *
		                 PAWL_SECOND));
		draw_lateness(when, drawing->now, drawing->a_minute_ago, to);
	}
	draw_lateness("since it opened", drawing->now, NULL, to);
}

/* A number of tasks and, if it is estimated, how far it may be from the truth. */
static void draw_estimate(const struct drawing *drawing, uint64_t count, uint64_t margin, FILE *to)
{
	fprintf(to, " %11s", GROUPED(count));
	if (drawing->now->sampled < drawing->now->pending)
		fprintf(to, " %s%-9s", drawing->terminal.utf8 ? "\u00b1" : "+-", GROUPED(margin));
}

static void draw_due(const struct drawing *drawing, FILE *to)
{
	const struct snapshot *now = drawing->now;
	uint64_t most = 1, last_ns = 0;

	for (unsigned i = 0; i < now->due_count; i++)
		most = now->due[i].count > most ? now->due[i].count : most;
	heading(drawing, "When they are due", to);
	if (now->sampled < now->pending)
		fprintf(to, "  estimated from %s of %s tasks", GROUPED(now->sampled),
		        GROUPED(now->pending));
	fputc('\n', to);
	for (unsigned i = 0; i < now->due_count; i++) {
		const struct due *due = &now->due[i];
		bool beyond = due->within_ns == UINT64_MAX;

		if (due->within_ns == 0)
			fprintf(to, "  %-16s", "due, not run yet");
		else
			fprintf(to, "  %s %-9s", beyond ? "beyond" : "within",
			        EXACTLY(beyond ? last_ns : due->within_ns));
		last_ns = due->within_ns;
		draw_estimate(drawing, due->count, due->margin, to);
		fprintf(to, "  %s", drawing->terminal.accent);
		print_bar(to, drawing->terminal.utf8,
		          (unsigned)((double)due->count / (double)most * BAR_WIDTH * 8));
		fprintf(to, "%s\n", drawing->terminal.plain);
	}
}

/* The function as it was in an earlier snapshot. */
static struct function earlier(const struct snapshot *before, uint64_t address)
{
	for (unsigned i = 0; before && i < before->function_count; i++)
		if (before->functions[i].address == address)
			return before->functions[i];
	return (struct function){0};
}

static int by_pending(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	if (left->pending != right->pending)
		return left->pending < right->pending ? 1 : -1;
	return left->runs < right->runs ? 1 : left->runs > right->runs ? -1 : 0;
}

static int by_longest(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return left->longest_ns < right->longest_ns   ? 1
	       : left->longest_ns > right->longest_ns ? -1
	                                              : 0;
}

/* Valid until the next call. */
static const struct function *sorted(const struct snapshot *now,
                                     int (*compare)(const void *, const void *))
{
	static struct function functions[FUNCTIONS_MAX];

	memcpy(functions, now->functions, now->function_count * sizeof(functions[0]));
	qsort(functions, now->function_count, sizeof(functions[0]), compare);
	return functions;
}

static void draw_functions(const struct drawing *drawing, FILE *to)
{
	const struct snapshot *now = drawing->now;
	const struct function *functions = sorted(now, by_pending);

	fprintf(to, "\n%s%-*s %11s%s %11s %9s %9s%s\n", drawing->terminal.bold, NAME_WIDTH + 2,
	        "Functions", "pending", now->sampled < now->pending ? "           " : "", "runs/s",
	        "mean", "longest", drawing->terminal.plain);
	for (unsigned i = 0; i < now->function_count && i < ROWS; i++) {
		const struct function *function = &functions[i];
		struct function before = earlier(drawing->before, function->address);

		fprintf(to, "  %-*.*s", NAME_WIDTH, NAME_WIDTH,
		        symbols_name(drawing->symbols, function->address));
		draw_estimate(drawing, function->pending, function->margin, to);
		if (drawing->before)
			fprintf(to, " %11s", GROUPED(rate(drawing, function->runs, before.runs)));
		else
			fprintf(to, " %11s", "-");
		if (function->runs)
			fprintf(to, " %9s %9s\n", LASTING(function->total_ns / function->runs),
			        LASTING(function->longest_ns));
		else
			fprintf(to, " %9s %9s\n", "-", "-");
	}
}

static void draw_slowest(const struct drawing *drawing, FILE *to)
{
	const struct snapshot *now = drawing->now;
	const struct function *functions = sorted(now, by_longest);

	heading(drawing, "Slowest", to);
	fputs("  ", to);
	for (unsigned i = 0; i < now->function_count && i < 3 && functions[i].runs; i++)
		fprintf(to, "%s %s, ", symbols_name(drawing->symbols, functions[i].address),
		        LASTING(functions[i].longest_ns));
	if (now->slowest_address)
		fprintf(to, "since it opened %s %s",
		        symbols_name(drawing->symbols, now->slowest_address),
		        LASTING(now->slowest_ns));
	fputc('\n', to);
}

static void draw_latest(const struct drawing *drawing, FILE *to)
{
	const struct snapshot *now = drawing->now;

	if (now->latest_count == 0)
		return;
	fprintf(to, "\n%s%-*s %11s %9s %9s  %s%s\n", drawing->terminal.bold, NAME_WIDTH + 2,
	        "Latest runs", "ago", "late", "took", "worker", drawing->terminal.plain);
	for (unsigned i = 0; i < now->latest_count && i < ROWS; i++) {
		const struct run *run = &now->latest[i];

		fprintf(to, "  %-*.*s %11s %9s %9s  %" PRIu64 "\n", NAME_WIDTH, NAME_WIDTH,
		        symbols_name(drawing->symbols, run->address),
		        LASTING(now->now_ns > run->start_ns ? now->now_ns - run->start_ns : 0),
		        LASTING(run->start_ns > run->deadline_ns ? run->start_ns - run->deadline_ns
		                                                 : 0),
		        LASTING(run->took_ns), run->worker);
	}
}

static void draw_purgatory(const struct drawing *drawing, const struct purgatory *purgatory,
                           FILE *to)
{
	heading(drawing, "Purgatory", to);
	fprintf(to, "  %s operation%s, watched %s time%s; completed %s, expired %s\n",
	        GROUPED(purgatory->delayed), PLURAL(purgatory->delayed),
	        GROUPED(purgatory->watched), PLURAL(purgatory->watched),
	        GROUPED(purgatory->completed_by_try + purgatory->completed_by_check +
	                purgatory->completed_by_call),
	        GROUPED(purgatory->expired));
	for (unsigned i = 0; i < purgatory->key_count; i++)
		fprintf(to, "  %-24s %11s  %s\n", purgatory->keys[i].hash,
		        GROUPED(purgatory->keys[i].waiting), purgatory->keys[i].operation);
}

void draw(const struct drawing *drawing, FILE *to)
{
	draw_head(drawing, to);
	draw_times(drawing, to);
	draw_due(drawing, to);
	draw_functions(drawing, to);
	draw_slowest(drawing, to);
	draw_latest(drawing, to);
	for (unsigned i = 0; i < drawing->now->purgatory_count; i++)
		draw_purgatory(drawing, &drawing->now->purgatories[i], to);
}
