/* SPDX-License-Identifier: MIT */
/*
 * Gathering a snapshot. A shard's lock is held for some 256 tasks at a time. And the work is bounded, however many
 * tasks there are. With few tasks pending, every list of the wheels is read. With many, some lists of each level are
 * read, at equal distances. The lists of one level have about the same length, those of different levels do not: so the
 * tasks of each level are estimated by themselves.
 *
 *	all its lists were read                 the tasks that were met are all there are
 *	some were read, each to its end         the other lists are like them
 *	some were read, not to their end        the level has the tasks that no other level has: the number of pending
 *	                                        tasks is known
 *
 * If several levels have such long lists, they share the rest as if tasks were spread evenly over time. Tasks may move
 * meanwhile: then one is met twice, or not at all.
 */
#define _GNU_SOURCE
#include "snapshot.h"
#include "../wheel/walk.h"

#define FEW        2048u /* pending tasks: all of them are read */
#define TRIAL      4u    /* lists of a level, to see how long they are */
#define TRIAL_MOST 48u   /* tasks of each */
#define SHORT      32u   /* tasks, on average: then lists are read to their end, else... */
#define SOME       4u    /* ...only so many tasks of each */
#define ENOUGH     256u  /* tasks of a level; but of short lists... */
#define LISTS      16u   /* ...at least so many lists */

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

static struct function *function_of(struct snapshot *snapshot, pawl_task_fn *run)
{
	unsigned at = function_hash(run, FUNCTIONS);

	for (unsigned i = 0; run && i < FUNCTIONS; i++) {
		struct function *function = &snapshot->functions[(at + i) % FUNCTIONS];

		if (!function->run)
			function->run = run;
		if (function->run == run)
			return function;
	}
	return &snapshot->others;
}

/* For the trial: only counts the tasks. */
static void count_list(struct pawl_timer *const *timers, unsigned count, bool cut, void *arg)
{
	struct met_level *level = arg;

	(void)timers;
	(void)cut;
	level->looked++;
	level->met += count;
}

static void meet_list(struct pawl_timer *const *timers, unsigned count, bool cut, void *arg)
{
	struct snapshot *snapshot = arg;
	struct met_level *level = &snapshot->levels[snapshot->level];

	level->looked++;
	level->cut |= cut;
	for (unsigned i = 0; i < count; i++) {
		const struct pawl_task *task = task_of(timers[i]);

		if (task->internal)
			continue;
		snapshot->met++;
		level->met++;
		snapshot->due[cell_due(task->deadline_ns, snapshot->now)].on[snapshot->level]++;
		function_of(snapshot, task->run)->met.on[snapshot->level]++;
	}
}

static unsigned kept_level(unsigned level)
{
	return level < LEVELS ? level : LEVELS - 1;
}

/* Returns the number of levels of its wheel. */
static unsigned add_counts(struct snapshot *snapshot, struct shard *shard)
{
	unsigned levels;

	lock_acquire(&shard->lock);
	pawl__stats_add_shard(&snapshot->stats, shard);
	levels = pawl__wheel_levels(shard->wheel);
	for (unsigned i = 0; i < levels; i++) {
		struct met_level *level = &snapshot->levels[kept_level(i)];

		level->lists += pawl__wheel_lists(shard->wheel, i, &level->width);
	}
	lock_release(&shard->lock);
	return levels;
}

/* Walk one level of all shards. */
static void walk_level(struct snapshot *snapshot, struct list_walk *walk, wheel_walk_fn *fn,
                       void *arg)
{
	for (unsigned i = 0; i < snapshot->service->shard_count; i++) {
		struct shard *shard = &snapshot->service->shards[i];
		bool more = true;

		for (walk->at = 0; more;) {
			lock_acquire(&shard->lock);
			more = walk->level < pawl__wheel_levels(shard->wheel) &&
			       pawl__wheel_walk(shard->wheel, walk, BATCH, fn, arg);
			lock_release(&shard->lock);
		}
	}
}

/* Choose the lists of a level to read, and how much of each, by the length of a few of them. */
static void choose(struct snapshot *snapshot, const struct met_level *level, struct list_walk *walk)
{
	struct list_walk few = {.level = walk->level, .most = TRIAL_MOST};
	struct met_level trial = {0};
	uint64_t lists;

	few.stride = (level->lists + TRIAL - 1) / TRIAL;
	few.skip = few.stride / 2;
	walk_level(snapshot, &few, count_list, &trial);
	walk->most = trial.met < SHORT * trial.looked ? WALK_MOST : SOME;
	lists = walk->most == SOME ? ENOUGH / SOME
	                           : ENOUGH * trial.looked / (trial.met ? trial.met : 1);
	lists = lists < LISTS ? LISTS : lists;
	walk->stride = level->lists > lists ? level->lists / lists : 1;
	walk->skip = snapshot->now / PAWL_MS % walk->stride; /* other lists in each snapshot */
}

static void meet_level(struct snapshot *snapshot, unsigned number, bool few)
{
	const struct met_level *level = &snapshot->levels[kept_level(number)];
	struct list_walk walk = {.level = number, .stride = 1, .most = WALK_MOST};

	if (level->lists == 0)
		return;
	if (!few)
		choose(snapshot, level, &walk);
	snapshot->level = kept_level(number);
	walk_level(snapshot, &walk, meet_list, snapshot);
}

/* The tasks in lists that were not read, if those are like the others. */
static double passed_over(const struct met_level *level)
{
	if (level->cut || level->looked == 0 || level->looked >= level->lists)
		return 0;
	return (double)level->met * (double)(level->lists - level->looked) / (double)level->looked;
}

static double span_of(const struct met_level *level)
{
	return level->cut ? (double)level->lists * (double)level->width : 0;
}

/*
 * The number of pending tasks is known, and so is the number of tasks that were not met. Those in lists that were not
 * read are estimated; the rest is in the unread parts of long lists. If there are no long lists, the estimate is scaled
 * to fit.
 */
static void weigh_levels(struct snapshot *snapshot)
{
	double pending = (double)snapshot->stats.pending, passed = 0, spans = 0, fit = 1;
	double rest = pending > (double)snapshot->met ? pending - (double)snapshot->met : 0;

	for (unsigned i = 0; i < LEVELS; i++) {
		passed += passed_over(&snapshot->levels[i]);
		spans += span_of(&snapshot->levels[i]);
	}
	if (passed > 0 && (spans == 0 || passed > rest))
		fit = rest / passed;
	rest -= fit * passed;
	for (unsigned i = 0; i < LEVELS; i++) {
		struct met_level *level = &snapshot->levels[i];
		double more = fit * passed_over(level);

		if (level->cut)
			more = rest * span_of(level) / spans;
		level->weight = level->met ? 1 + more / (double)level->met : 0;
	}
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

static void add_worker(struct snapshot *snapshot, const struct worker *worker)
{
	pawl__stats_add_worker(&snapshot->stats, worker);
	add_journal(snapshot, &snapshot->service->journals[worker->number - 1], worker->number);
}

void pawl__snapshot_gather(struct snapshot *snapshot, struct pawl_service *service)
{
	unsigned levels = 0;
	bool few;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->service = service;
	snapshot->now = clock_now(service);
	for (unsigned i = 0; i < service->shard_count; i++) {
		unsigned used = add_counts(snapshot, &service->shards[i]);

		levels = used > levels ? used : levels;
	}
	few = snapshot->stats.pending <= FEW;
	for (unsigned i = 0; i < levels; i++)
		meet_level(snapshot, i, few);
	weigh_levels(snapshot);
	for (unsigned i = 0; i < service->worker_count; i++)
		add_worker(snapshot, &service->workers[i]);
}
