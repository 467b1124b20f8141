/* SPDX-License-Identifier: MIT */
/* Statistics. The counts of a shard are read under its lock, so they add up, and so do the sums of all shards. */
#define _GNU_SOURCE
#include "histogram.h"
#include "shard.h"

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
void pawl__stats_add_shard(struct pawl_stats *stats, struct shard *shard)
{
	const struct counts *counts = &shard->counts[0];

	lock_assert_held(&shard->lock);
	stats->armed += counts->armed;
	stats->ran += counts->ran;
	stats->cancelled += counts->cancelled;
	stats->dropped += counts->dropped;
	stats->pending += counts_pending(counts);
	stats->moved_ahead += shard->moved_ahead;
	stats->moved_at_opening += shard->moved_at_opening;
}

/* Advances the wheel itself: while every worker is busy, no other thread does. */
static void add_shard(struct pawl_service *service, struct shard *shard, struct pawl_stats *stats)
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

void pawl__stats_add_worker(struct pawl_stats *stats, const struct worker *worker)
{
	uint64_t slowest_ns = __atomic_load_n(&worker->run_time.max, __ATOMIC_RELAXED);
	pawl_task_fn *slowest = __atomic_load_n(&worker->slowest, __ATOMIC_RELAXED);

	if (slowest && (!stats->slowest || slowest_ns > stats->slowest_ns)) {
		stats->slowest = slowest;
		stats->slowest_ns = slowest_ns;
	}
	histogram_merge(&worker->lateness, &stats->lateness);
	histogram_merge(&worker->run_time, &stats->run_time);
}

void pawl_service_stats(struct pawl_service *service, struct pawl_stats *stats)
{
	IN_SERVICE(service);
	*stats = (struct pawl_stats){0};
	for (unsigned i = 0; i < service->shard_count; i++)
		add_shard(service, &service->shards[i], stats);
	for (unsigned i = 0; i < service->worker_count; i++)
		pawl__stats_add_worker(stats, &service->workers[i]);
	stats->wakeups = __atomic_load_n(&service->wakeups, __ATOMIC_RELAXED);
	stats->empty_wakeups = __atomic_load_n(&service->empty_wakeups, __ATOMIC_RELAXED);
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
