/* SPDX-License-Identifier: MIT */
/* Statistics. The counts of a shard are read under its lock, so they add up, and so do the sums of all shards. */
#define _GNU_SOURCE
#include "stats.h"
#include "shard.h"

#define FIELD(name)  offsetof(struct pawl_service_stats, name)
#define BUCKET(name) offsetof(struct service_buckets, name)

const struct statistic pawl__service_statistics[] = {
        {"armed", "Armings of tasks that were not pending.", COUNTER, FIELD(armed)},
        {"ran", "Functions called.", COUNTER, FIELD(ran)},
        {"cancelled", "Armings that were cancelled.", COUNTER, FIELD(cancelled)},
        {"dropped", "Tasks that stop has dropped.", COUNTER, FIELD(dropped)},
        {"wakeups", "Wake-ups of the worker that sleeps.", COUNTER, FIELD(wakeups)},
        {"empty_wakeups", "Wake-ups with nothing to do.", COUNTER, FIELD(empty_wakeups)},
        {"moved_ahead", "Tasks moved before their slot opened.", COUNTER, FIELD(moved_ahead)},
        {"moved_at_opening", "Tasks moved when their slot opened.", COUNTER,
         FIELD(moved_at_opening)},
        {"pending", "Tasks that are pending.", GAUGE, FIELD(pending)},
        {"queued", "Tasks that are due and wait for a worker.", WALKED, FIELD(queued)},
        {"slowest", "The longest run of a task.", DURATION, FIELD(slowest_ns)},
        {"lateness", "From a deadline to the call of the function.", HISTOGRAM, BUCKET(lateness)},
        {"run_time", "From the call of the function to its return.", HISTOGRAM, BUCKET(run_time)},
        {NULL, NULL, COUNTER, 0},
};

struct queue {
	uint64_t now, length;
};

/* Due timers come first: the first one that is not due ends the walk. */
static bool count_due(struct pawl_timer *timer, void *arg)
{
	struct queue *queue = arg;

	if (timer->deadline > queue->now)
		return false;
	queue->length += !task_of(timer)->internal;
	return true;
}

/* How many tasks are due and wait for a worker. Under the lock, after the wheel was advanced to now. */
static uint64_t queued(struct shard *shard)
{
	struct queue queue = {pawl_wheel_now(shard->wheel), 0};

	lock_assert_held(&shard->lock);
	pawl_wheel_each(shard->wheel, count_due, &queue);
	return queue.length;
}

/* Without `queued`. Under the lock. */
void pawl__stats_add_shard(struct pawl_service_stats *stats, struct shard *shard)
{
	const struct counts *counts = &shard->counts[0];

	lock_assert_held(&shard->lock);
	statistics_add(pawl__service_statistics, shard->stats, stats);
	stats->armed += counts->armed;
	stats->ran += counts->ran;
	stats->cancelled += counts->cancelled;
	stats->dropped += counts->dropped;
	stats->pending += counts_pending(counts);
}

/* Advances the wheel itself: while every worker is busy, no other thread does. */
static void add_shard(struct pawl_service *service, struct shard *shard,
                      struct pawl_service_stats *stats)
{
	uint64_t tick = ticks_down(&service->ticks, clock_now(service));
	struct wakes wakes = {0};

	lock_acquire(&shard->lock);
	pawl__shard_advance(service, shard, tick, TICK, &wakes);
	pawl__stats_add_shard(stats, shard);
	stats->queued += queued(shard);
	lock_release(&shard->lock);
	wake(service, &wakes);
}

static void add_worker(struct pawl_service_stats *stats, const struct worker *worker)
{
	uint64_t slowest_ns = __atomic_load_n(&worker->run_time.max, __ATOMIC_RELAXED);
	pawl_task_fn *slowest = __atomic_load_n(&worker->slowest, __ATOMIC_RELAXED);

	if (slowest && (!stats->slowest || slowest_ns > stats->slowest_ns)) {
		stats->slowest = slowest;
		stats->slowest_ns = slowest_ns;
	}
}

void pawl__stats_add_workers(struct pawl_service_stats *stats, const struct pawl_service *service)
{
	for (unsigned i = 0; i < service->worker_count; i++)
		add_worker(stats, &service->workers[i]);
	stats->wakeups = __atomic_load_n(&service->wakeups, __ATOMIC_RELAXED);
	stats->empty_wakeups = __atomic_load_n(&service->empty_wakeups, __ATOMIC_RELAXED);
}

void pawl_service_get_stats(struct pawl_service *service, struct pawl_service_stats *stats,
                            size_t size)
{
	struct pawl_service_stats all = {0};

	IN_SERVICE(service);
	for (unsigned i = 0; i < service->shard_count; i++)
		add_shard(service, &service->shards[i], &all);
	pawl__stats_add_workers(&all, service);
	write_sized(&all, sizeof(all), stats, size);
}

void pawl_service_get_lateness(struct pawl_service *service, struct pawl_histogram *to)
{
	IN_SERVICE(service);
	memset(to, 0, sizeof(*to));
	for (unsigned i = 0; i < service->worker_count; i++)
		histogram_merge(&service->workers[i].lateness, to);
}

void pawl_service_get_run_time(struct pawl_service *service, struct pawl_histogram *to)
{
	IN_SERVICE(service);
	memset(to, 0, sizeof(*to));
	for (unsigned i = 0; i < service->worker_count; i++)
		histogram_merge(&service->workers[i].run_time, to);
}

void pawl__service_get_buckets(const struct pawl_service *service, struct service_buckets *buckets)
{
	memset(buckets, 0, sizeof(*buckets));
	for (unsigned i = 0; i < service->worker_count; i++) {
		metric_buckets_add(&service->workers[i].lateness, &buckets->lateness);
		metric_buckets_add(&service->workers[i].run_time, &buckets->run_time);
	}
}

size_t pawl__service_pending(struct pawl_service *service, bool internal)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < service->shard_count; i++) {
		struct shard *shard = &service->shards[i];

		lock_acquire(&shard->lock);
		all += counts_pending(&shard->counts[0]);
		if (internal)
			all += counts_pending(&shard->counts[1]);
		lock_release(&shard->lock);
	}
	return (size_t)all;
}

size_t pawl_service_pending(struct pawl_service *service)
{
	IN_SERVICE(service);
	return pawl__service_pending(service, false);
}

uint64_t pawl_histogram_percentile(const struct pawl_histogram *histogram, double percent)
{
	double wanted = (double)histogram->count * percent / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < PAWL_HISTOGRAM_CELLS && histogram->count; i++) {
		seen += histogram->cells[i];
		if (seen && (double)seen >= wanted)
			return histogram_cell_end(i) < histogram->max ? histogram_cell_end(i)
			                                              : histogram->max;
	}
	return histogram->max;
}

uint64_t pawl_histogram_bound(unsigned cell)
{
	return histogram_cell_end(cell < PAWL_HISTOGRAM_CELLS ? cell : PAWL_HISTOGRAM_CELLS - 1);
}
