/* SPDX-License-Identifier: MIT */
/*
 * Gathering a snapshot. With few tasks pending, all of them are counted. With many, a random sample of them is counted
 * (sample.c), and each task of the sample stands for as many others, so the estimate does not depend on the tasks. They
 * may move meanwhile: then one is counted twice, or not at all.
 */
#define _GNU_SOURCE
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

const uint64_t pawl__snapshot_due_within[CELLS_DUE - 1] = {
        0,           PAWL_MS,          10 * PAWL_MS,   100 * PAWL_MS,
        PAWL_SECOND, 10 * PAWL_SECOND, PAWL_MINUTE,    10 * PAWL_MINUTE,
        PAWL_HOUR,   6 * PAWL_HOUR,    24 * PAWL_HOUR,
};

static unsigned cell_due(uint64_t deadline_ns, uint64_t now)
{
	uint64_t within = deadline_ns > now ? deadline_ns - now : 0;
	unsigned cell = 0;

	while (cell < CELLS_DUE - 1 && within > pawl__snapshot_due_within[cell])
		cell++;
	return cell;
}

static struct function *add_function(struct snapshot *snapshot, pawl_task_fn *run, unsigned at)
{
	struct function *function = &snapshot->functions[snapshot->function_count];

	if (snapshot->function_count == FUNCTIONS_COUNTED)
		return &snapshot->others;
	*function = (struct function){.run = run};
	snapshot->index[at] = (uint16_t)++snapshot->function_count;
	return function;
}

static struct function *function_of(struct snapshot *snapshot, pawl_task_fn *run)
{
	unsigned at = function_hash(run, FUNCTION_INDEX);

	if (!run)
		return &snapshot->others;
	for (; snapshot->index[at]; at = (at + 1) % FUNCTION_INDEX)
		if (snapshot->functions[snapshot->index[at] - 1].run == run)
			return &snapshot->functions[snapshot->index[at] - 1];
	return add_function(snapshot, run, at);
}

static void count_task(const struct pawl_task *task, void *arg)
{
	struct snapshot *snapshot = arg;

	snapshot->sampled++;
	snapshot->due[cell_due(task->deadline_ns, snapshot->now)]++;
	function_of(snapshot, task->run)->sampled++;
}

static void add_counts(struct snapshot *snapshot, struct shard *shard)
{
	lock_acquire(&shard->lock);
	pawl__stats_add_shard(&snapshot->stats, shard);
	lock_release(&shard->lock);
}

/* Each pending task, of whatever shard, is counted with the same probability. */
static void count_tasks(struct snapshot *snapshot)
{
	double pending = (double)snapshot->stats.pending;

	if (pending <= SAMPLE_SIZE)
		pawl__samples_walk_all(snapshot->service, count_task, snapshot);
	else
		pawl__samples_read(snapshot->service,
		                   pawl__samples_prepare(snapshot->service, SAMPLE_SIZE / pending),
		                   count_task, snapshot);
}

static void add_tally(struct snapshot *snapshot, const struct tally *tally)
{
	struct function *function =
	        function_of(snapshot, __atomic_load_n(&tally->run, __ATOMIC_RELAXED));
	uint64_t longest = __atomic_load_n(&tally->longest_ns, __ATOMIC_RELAXED);

	function->count += __atomic_load_n(&tally->count, __ATOMIC_RELAXED);
	function->total_ns += __atomic_load_n(&tally->total_ns, __ATOMIC_RELAXED);
	function->longest_ns = longest > function->longest_ns ? longest : function->longest_ns;
}

/* Sorted by start. */
static void add_latest(struct snapshot *snapshot, const struct run_note *note, unsigned worker)
{
	struct latest *latest = snapshot->latest;
	unsigned at = snapshot->latest_count;

	if (at < LATEST)
		snapshot->latest_count++;
	else if (latest[--at].note.start_ns >= note->start_ns)
		return;
	for (; at > 0 && latest[at - 1].note.start_ns < note->start_ns; at--)
		latest[at] = latest[at - 1];
	latest[at] = (struct latest){*note, worker};
}

static void add_journal(struct snapshot *snapshot, const struct journal *journal, unsigned worker)
{
	uint64_t end = __atomic_load_n(&journal->written, __ATOMIC_ACQUIRE);
	struct run_note note;

	for (uint64_t n = end > LATEST ? end - LATEST : 0; n < end; n++)
		if (journal_read(journal, n, &note))
			add_latest(snapshot, &note, worker);
	for (unsigned i = 0; i < TALLIES; i++)
		add_tally(snapshot, &journal->tallies[i]);
	add_tally(snapshot, &journal->others);
}

static int by_share(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return (left->share < right->share) - (left->share > right->share);
}

static void add_to_others(struct function *others, const struct function *function)
{
	others->sampled += function->sampled;
	others->count += function->count;
	others->total_ns += function->total_ns;
	if (function->longest_ns > others->longest_ns)
		others->longest_ns = function->longest_ns;
}

/* If there are too many functions to show, keep those with most tasks and runs. `index` is invalid afterwards. */
static void choose_functions(struct snapshot *snapshot)
{
	double tasks = (double)snapshot->sampled + 1, runs = (double)snapshot->others.count + 1;

	if (snapshot->function_count <= FUNCTIONS)
		return;
	for (unsigned i = 0; i < snapshot->function_count; i++)
		runs += (double)snapshot->functions[i].count;
	for (unsigned i = 0; i < snapshot->function_count; i++) {
		struct function *function = &snapshot->functions[i];

		function->share =
		        (double)function->sampled / tasks + (double)function->count / runs;
	}
	qsort(snapshot->functions, snapshot->function_count, sizeof(struct function), by_share);
	while (snapshot->function_count > FUNCTIONS)
		add_to_others(&snapshot->others, &snapshot->functions[--snapshot->function_count]);
}

void pawl__snapshot_gather(struct snapshot *snapshot, struct pawl_service *service)
{
	memset(snapshot, 0, offsetof(struct snapshot, functions));
	snapshot->service = service;
	snapshot->now = clock_now(service);
	for (unsigned i = 0; i < service->shard_count; i++)
		add_counts(snapshot, &service->shards[i]);
	count_tasks(snapshot);
	for (unsigned i = 0; i < service->worker_count; i++)
		add_journal(snapshot, &service->journals[i], i + 1);
	pawl__stats_add_workers(&snapshot->stats, service);
	pawl_service_get_lateness(service, &snapshot->lateness);
	pawl_service_get_run_time(service, &snapshot->run_time);
	choose_functions(snapshot);
}
