/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include "../queue/memory.h"
#include "../queue/queue.h"
#include "keys.h"

enum { BOUNDS = 12, NAME_SHOWN = 128 };

/* OpenMetrics counts seconds. The last bucket has no bound. */
static const struct bound {
	uint64_t ms;
	const char *field;
} bounds[BOUNDS] = {
        {1, "le_0.001"},  {5, "le_0.005"},  {10, "le_0.01"},    {50, "le_0.05"},
        {100, "le_0.1"},  {500, "le_0.5"},  {1000, "le_1"},     {5000, "le_5"},
        {10000, "le_10"}, {60000, "le_60"}, {300000, "le_300"}, {UINT64_MAX, "le_inf"},
};

static const char *const names[METRICS] = {
        "put_total",    "delivered_total", "acknowledged_total", "nacked_total",
        "lapsed_total", "died_total",      "cancelled_total"};

struct metrics {
	struct keys_entry key; /* all zeroes in `server` and `other` */
	uint64_t counts[METRICS];
	uint64_t buckets[BOUNDS]; /* each without those before it: show_buckets adds them up */
	uint64_t late_ms;
};

long long metrics_queues = 64;

static struct {
	struct metrics server, other;
	struct metrics *queues[METRICS_QUEUES_MAX]; /* in the order of their first use */
	struct keys keys;
} all;

static struct metrics *find_or_make(const struct key_metrics *key)
{
	int db = RedisModule_GetSelectedDb(key->ctx);
	struct keys_entry *there = keys_find(&all.keys, db, key->name);
	struct metrics *metrics;

	if (there)
		return PAWL_CONTAINER_OF(there, struct metrics, key);
	if ((long long)all.keys.count >= metrics_queues)
		return &all.other;
	metrics = memory_zeroed(sizeof(*metrics));
	all.queues[all.keys.count] = metrics;
	keys_add(&all.keys, &metrics->key, db, key->name);
	return metrics;
}

static struct metrics *of(struct key_metrics *key)
{
	if (!key->found)
		key->found = find_or_make(key);
	return key->found;
}

void metrics_add(struct key_metrics *key, enum metric metric, uint64_t count)
{
	if (count == 0)
		return;
	of(key)->counts[metric] += count;
	all.server.counts[metric] += count;
}

static unsigned bucket_of(uint64_t ms)
{
	unsigned i = 0;

	while (ms > bounds[i].ms)
		i++;
	return i;
}

static void count_lateness(struct metrics *metrics, uint64_t ms)
{
	metrics->buckets[bucket_of(ms)]++;
	metrics->late_ms += ms;
}

void metrics_deliver(struct key_metrics *key, uint64_t late_ms)
{
	metrics_add(key, METRIC_DELIVERED, 1);
	count_lateness(of(key), late_ms);
	count_lateness(&all.server, late_ms);
}

void metrics_move_lapses(struct key_metrics *key, struct lapses *lapses)
{
	if (lapses->lapsed == 0 && lapses->died == 0)
		return;
	if (!(RedisModule_GetContextFlags(key->ctx) & REDISMODULE_CTX_FLAGS_LOADING)) {
		metrics_add(key, METRIC_LAPSED, lapses->lapsed);
		metrics_add(key, METRIC_DIED, lapses->died);
	}
	lapses->lapsed = lapses->died = 0;
}

/* Showing */

static void show_counts(RedisModuleInfoCtx *info, const struct metrics *metrics)
{
	for (int i = 0; i < METRICS; i++)
		RedisModule_InfoAddFieldULongLong(info, names[i], metrics->counts[i]);
}

/* In OpenMetrics each bucket includes those before it, and the last one is the count. */
static void show_buckets(RedisModuleInfoCtx *info, const struct metrics *metrics)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < BOUNDS; i++) {
		sum += metrics->buckets[i];
		RedisModule_InfoAddFieldULongLong(info, bounds[i].field, sum);
	}
}

static void show_lateness(RedisModuleInfoCtx *info, const struct metrics *metrics)
{
	char seconds[40];

	snprintf(seconds, sizeof(seconds), "%llu.%03u",
	         (unsigned long long)(metrics->late_ms / 1000),
	         (unsigned)(metrics->late_ms % 1000));
	RedisModule_InfoAddFieldCString(info, "lateness_seconds_sum", seconds);
	RedisModule_InfoAddFieldULongLong(info, "lateness_seconds_count",
	                                  metrics->counts[METRIC_DELIVERED]);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("_.-/{}", c));
}

/* The name in percent-encoding, so that no byte of it ends a field or a line of INFO. */
static void show_name(RedisModuleInfoCtx *info, const RedisModuleString *name)
{
	char text[3 * NAME_SHOWN + 4], *to = text;
	size_t size;
	const char *bytes = RedisModule_StringPtrLen(name, &size);

	for (size_t i = 0; i < size && i < NAME_SHOWN; i++) {
		if (is_plain(bytes[i]))
			*to++ = bytes[i];
		else
			to += snprintf(to, 4, "%%%02X", (unsigned char)bytes[i]);
	}
	memcpy(to, size > NAME_SHOWN ? "..." : "", size > NAME_SHOWN ? 4 : 1);
	RedisModule_InfoAddFieldCString(info, "key", text);
}

static void show_queue(RedisModuleInfoCtx *info, const char *field, const struct metrics *metrics)
{
	RedisModule_InfoBeginDictField(info, field);
	if (metrics->key.name) {
		RedisModule_InfoAddFieldLongLong(info, "db", metrics->key.db);
		show_name(info, metrics->key.name);
	}
	show_counts(info, metrics);
	show_lateness(info, metrics);
	show_buckets(info, metrics);
	RedisModule_InfoEndDictField(info);
}

static void show(RedisModuleInfoCtx *info, int for_crash_report)
{
	char field[32];

	if (RedisModule_InfoAddSection(info, NULL) == REDISMODULE_OK) {
		show_counts(info, &all.server);
		show_lateness(info, &all.server);
		RedisModule_InfoBeginDictField(info, "lateness_seconds_bucket");
		show_buckets(info, &all.server);
		RedisModule_InfoEndDictField(info);
	}
	if (for_crash_report || RedisModule_InfoAddSection(info, "queues") != REDISMODULE_OK)
		return;
	for (size_t i = 0; i < all.keys.count; i++) {
		snprintf(field, sizeof(field), "queue_%zu", i);
		show_queue(info, field, all.queues[i]);
	}
	show_queue(info, "other", &all.other);
}

int metrics_init(RedisModuleCtx *ctx)
{
	return RedisModule_RegisterInfoFunc(ctx, show);
}
