/* SPDX-License-Identifier: MIT */
/* Statistics. The counts of a shard are read under its lock, so they are consistent, and so are their sums. */
#define _GNU_SOURCE
#include "stats.h"

#include "table.h"

#define FIELD(name)  offsetof(struct pawl_purgatory_stats, name)
#define BUCKET(name) offsetof(struct purgatory_buckets, name)

const struct statistic pawl__purgatory_statistics[] = {
        {"completed_by_try", "Operations completed by try_or_watch.", COUNTER,
         FIELD(completed_by_try)},
        {"completed_by_check", "Operations completed by a check.", COUNTER,
         FIELD(completed_by_check)},
        {"completed_by_call", "Operations completed by pawl_op_complete.", COUNTER,
         FIELD(completed_by_call)},
        {"expired", "Operations completed by their deadline.", COUNTER, FIELD(expired)},
        {"cancelled", "Operations that cancel_key withdrew.", COUNTER, FIELD(cancelled)},
        {"dropped", "Operations that stop has dropped.", COUNTER, FIELD(dropped)},
        {"watched", "Pairs of an operation and a key.", GAUGE, FIELD(watched)},
        {"delayed", "Operations that wait.", GAUGE, FIELD(delayed)},
        {"lateness", "From a deadline to its win.", HISTOGRAM, BUCKET(lateness)},
        {NULL, NULL, COUNTER, 0},
};

static void add_shard(struct op_shard *shard, struct pawl_purgatory_stats *stats)
{
	lock_acquire(&shard->lock);
	statistics_add(pawl__purgatory_statistics, &shard->stats, stats);
	stats->watched += shard->watched;
	stats->delayed += shard->delayed;
	lock_release(&shard->lock);
}

void pawl_purgatory_get_stats(const struct pawl_purgatory *purgatory,
                              struct pawl_purgatory_stats *stats, size_t size)
{
	struct pawl_purgatory_stats all = {0};

	IN_PURGATORY(purgatory);
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		add_shard(&purgatory->shards[i], &all);
	write_sized(&all, sizeof(all), stats, size);
}

void pawl_purgatory_get_lateness(const struct pawl_purgatory *purgatory, struct pawl_histogram *to)
{
	IN_PURGATORY(purgatory);
	memset(to, 0, sizeof(*to));
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct op_shard *shard = &purgatory->shards[i];

		lock_acquire(&shard->lock);
		histogram_merge(shard->lateness, to);
		lock_release(&shard->lock);
	}
}

void pawl__purgatory_get_buckets(const struct pawl_purgatory *purgatory,
                                 struct purgatory_buckets *buckets)
{
	memset(buckets, 0, sizeof(*buckets));
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct op_shard *shard = &purgatory->shards[i];

		lock_acquire(&shard->lock);
		metric_buckets_add(shard->lateness, &buckets->lateness);
		lock_release(&shard->lock);
	}
}

static size_t sum(const struct pawl_purgatory *purgatory, bool watched)
{
	size_t all = 0;

	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct op_shard *shard = &purgatory->shards[i];

		lock_acquire(&shard->lock);
		all += watched ? shard->watched : shard->delayed;
		lock_release(&shard->lock);
	}
	return all;
}

size_t pawl_purgatory_watched(const struct pawl_purgatory *purgatory)
{
	IN_PURGATORY(purgatory);
	return sum(purgatory, true);
}

size_t pawl_purgatory_delayed(const struct pawl_purgatory *purgatory)
{
	IN_PURGATORY(purgatory);
	return sum(purgatory, false);
}
