/* SPDX-License-Identifier: MIT */
/*
 * The live view of a purgatory: its counts, and the keys under which most operations wait. It runs on the thread of the
 * view, and its work is bounded: a snapshot scans at most 2,048 buckets, from where the last one stopped, and holds the
 * lock of a shard for at most 32 of them at a time. A bucket has a count of its operations, and a sample of them tells
 * their keys.
 */
#define _GNU_SOURCE
#include "../purgatory/stats.h"
#include "../purgatory/table.h"
#include "stats_json.h"

#define BUCKETS          2048u /* in one snapshot */
#define BUCKETS_PER_LOCK 32u   /* scanned in one critical section */
#define PER_CHAIN        8u    /* operations in a sample */
#define SHOWN            10u   /* keys */
#define TEXT_SIZE        128u  /* bytes that describe may write */

/* How many operations in a sample of a bucket have this key, and one of them. */
struct sample {
	struct hash hash;
	struct pawl_op *op;
	uint32_t count;
};

/* At most `most` different keys; *all is the size of the sample. */
static unsigned sample_bucket(const struct op_shard *shard, const struct bucket *bucket,
                              struct sample *keys, unsigned most, uint32_t *all)
{
	unsigned count = 0, i;

	lock_assert_held(&shard->lock);
	*all = 0;
	for (unsigned c = 0; c < CHAINS; c++) {
		uintptr_t node = bucket->chains[c];

		for (unsigned n = 0; node && n < PER_CHAIN; n++, node = *node_next(node)) {
			struct hash hash = node_hash(node);

			if (!node_watches(node)->op)
				continue; /* a cursor */
			++*all;
			for (i = 0; i < count && !same_hash(&keys[i].hash, &hash);)
				i++;
			if (i == most)
				continue;
			if (i == count)
				keys[count++] = (struct sample){hash, node_watches(node)->op, 0};
			keys[i].count++;
		}
	}
	return count;
}

static struct busy_key *least_busy(struct view *view)
{
	struct busy_key *least = view->keys;

	for (unsigned i = 1; i < BUSY_KEYS; i++)
		if (view->keys[i].waiting < least->waiting)
			least = &view->keys[i];
	return least;
}

static void note_key(struct view *view, const struct hash *hash, uint64_t waiting)
{
	struct busy_key *key = least_busy(view);

	for (unsigned i = 0; i < BUSY_KEYS; i++)
		if (view->keys[i].waiting && same_hash(&view->keys[i].hash, hash)) {
			view->keys[i].waiting += waiting;
			return;
		}
	if (waiting > key->waiting)
		*key = (struct busy_key){*hash, waiting};
}

static void scan_bucket(struct view *view, const struct op_shard *shard,
                        const struct bucket *bucket)
{
	struct sample keys[CHAINS];
	unsigned count;
	uint32_t all;

	lock_assert_held(&shard->lock);
	if (bucket->count <= least_busy(view)->waiting)
		return;
	count = sample_bucket(shard, bucket, keys, CHAINS, &all);
	for (unsigned i = 0; i < count; i++)
		note_key(view, &keys[i].hash, bucket->count * keys[i].count / all);
}

/* The bucket of this number; NULL: the last one was before it. If the table grows, those of the oldest one come
 * first. */
static const struct bucket *bucket_numbered(const struct op_shard *shard, uint64_t number)
{
	const struct table *table = shard->oldest;

	lock_assert_held(&shard->lock);
	while (table && number > table->mask) {
		number -= table->mask + 1;
		table = table->newer;
	}
	return table ? &table->buckets[number] : NULL;
}

/* Scan the next buckets of the shard. True: these were the last. */
static bool scan_shard(struct view *view, struct op_shard *shard)
{
	uint64_t end = view->bucket + BUCKETS_PER_LOCK;
	const struct bucket *bucket;

	lock_acquire(&shard->lock);
	for (; view->bucket < end && (bucket = bucket_numbered(shard, view->bucket));
	     view->bucket++)
		scan_bucket(view, shard, bucket);
	bucket = bucket_numbered(shard, view->bucket);
	lock_release(&shard->lock);
	return !bucket;
}

/* A scan goes through all shards. Its keys are shown until the next scan has ended. */
static void scan_on(struct pawl_purgatory *purgatory)
{
	struct view *view = &purgatory->view;

	for (unsigned i = 0; i < BUCKETS / BUCKETS_PER_LOCK; i++) {
		if (!scan_shard(view, &purgatory->shards[view->shard]))
			continue;
		view->bucket = 0;
		if (++view->shard < purgatory->shard_count)
			continue;
		view->shard = 0;
		memcpy(view->found, view->keys, sizeof(view->found));
		memset(view->keys, 0, sizeof(view->keys));
		return;
	}
}

/* A key that is shown: how many operations wait under it now, and a reference to one, to be described; or NULL. */
struct shown {
	struct hash hash;
	uint64_t waiting;
	struct pawl_op *op;
};

static void count_in_bucket(const struct op_shard *shard, const struct bucket *bucket,
                            bool describe, struct shown *shown)
{
	struct sample keys[CHAINS * PER_CHAIN];
	unsigned count;
	uint32_t all;

	lock_assert_held(&shard->lock);
	count = sample_bucket(shard, bucket, keys, CHAINS * PER_CHAIN, &all);
	for (unsigned i = 0; i < count; i++) {
		if (!same_hash(&keys[i].hash, &shown->hash))
			continue;
		shown->waiting += bucket->count * keys[i].count / all;
		if (describe && !shown->op) {
			shown->op = keys[i].op;
			__atomic_add_fetch(&shown->op->references, 1, __ATOMIC_RELAXED);
		}
	}
}

static void count_in_shard(struct op_shard *shard, bool describe, struct shown *shown)
{
	lock_acquire(&shard->lock);
	for (struct table *table = shard->oldest; table; table = table->newer)
		count_in_bucket(shard, bucket_of(table, shown->hash.low), describe, shown);
	lock_release(&shard->lock);
}

/* In all shards. Those with nothing under the key are skipped without their lock. */
static void count_key(struct pawl_purgatory *purgatory, struct shown *shown)
{
	for (unsigned i = 0; i < purgatory->shard_count; i++)
		if (table_may_have(shard_table(purgatory, i), shown->hash.low))
			count_in_shard(&purgatory->shards[i], purgatory->describe, shown);
}

static int by_waiting(const void *a, const void *b)
{
	uint64_t left = ((const struct shown *)a)->waiting,
	         right = ((const struct shown *)b)->waiting;

	return left < right ? 1 : left > right ? -1 : 0;
}

static void write_key(const struct pawl_purgatory *purgatory, const struct shown *shown,
                      struct json *json)
{
	char text[TEXT_SIZE] = "";

	json_open(json, '{');
	json_name(json, "hash");
	json_next(json);
	json_add(json, "\"", 1);
	json_hex(json, shown->hash.high, 8);
	json_hex(json, shown->hash.low, 16);
	json_add(json, "\"", 1);
	json_member(json, "waiting", shown->waiting);
	if (shown->op) {
		purgatory->describe(shown->op, text, sizeof(text));
		text[TEXT_SIZE - 1] = '\0';
		json_name(json, "operation");
		json_string(json, text, strlen(text));
	}
	json_close(json, '}');
}

static void write_keys(struct pawl_purgatory *purgatory, struct json *json)
{
	struct shown shown[BUSY_KEYS] = {0};
	unsigned count = 0;

	scan_on(purgatory);
	for (unsigned i = 0; i < BUSY_KEYS; i++) {
		if (purgatory->view.found[i].waiting == 0)
			continue;
		shown[count].hash = purgatory->view.found[i].hash;
		count_key(purgatory, &shown[count++]);
	}
	qsort(shown, count, sizeof(shown[0]), by_waiting);
	json_name(json, "keys");
	json_open(json, '[');
	for (unsigned i = 0; i < count; i++) {
		if (i < SHOWN && shown[i].waiting > 0)
			write_key(purgatory, &shown[i], json);
		if (shown[i].op)
			op_unref(shown[i].op);
	}
	json_close(json, ']');
}

static void write_purgatory(struct pawl_purgatory *purgatory, struct json *json)
{
	struct pawl_histogram *lateness = malloc(sizeof(*lateness));
	struct pawl_purgatory_stats stats;

	json->failed |= !lateness;
	if (!lateness)
		return;
	pawl_purgatory_get_stats(purgatory, &stats, sizeof(stats));
	pawl_purgatory_get_lateness(purgatory, lateness);
	json_open(json, '{');
	write_statistics(json, pawl__purgatory_statistics, &stats);
	write_histogram(json, "lateness", lateness);
	write_keys(purgatory, json);
	json_close(json, '}');
	free(lateness);
}

/* It calls `describe`, and `release` of an operation that was won meanwhile. A stop waits until this has returned. */
void pawl__purgatory_write(struct service_part *part, struct json *json)
{
	struct pawl_purgatory *purgatory =
	        (struct pawl_purgatory *)(void *)part; /* its first member */
	struct thread *thread = &pawl__purgatory_thread;
	struct nested_call call = {purgatory, thread->nested};

	thread->nested = &call;
	write_purgatory(purgatory, json);
	thread->nested = call.outer;
}
