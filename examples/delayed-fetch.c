/* SPDX-License-Identifier: MIT */
/*
 * A delayed fetch: a client wants to read from two partitions. It is answered when min_bytes are there, or after
 * max_wait with fewer. Only bytes that all replicas have can be read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"

#define PARTITIONS 2

/* A partition with its key, which is made once, since it is checked at every append. */
struct topic {
	struct partition partition;
	struct pawl_key key;
};

static struct broker broker;
static struct topic topics[PARTITIONS];

struct fetch {
	struct pawl_op op; /* first: an operation is its fetch */
	int id;
	size_t min_bytes;
	size_t offset[PARTITIONS]; /* from which it reads */
};

/* How many bytes can be read from the offset on, and where they are. */
static size_t readable(struct partition *partition, size_t offset, const char **bytes)
{
	size_t end;

	pthread_mutex_lock(&partition->lock);
	end = partition_high_watermark(partition);
	pthread_mutex_unlock(&partition->lock);
	*bytes = partition->bytes + offset; /* bytes that all replicas have do not change */
	return end > offset ? end - offset : 0;
}

static bool is_enough(struct pawl_op *op)
{
	struct fetch *fetch = (struct fetch *)op;
	size_t sum = 0;
	const char *bytes;

	for (int i = 0; i < PARTITIONS; i++)
		sum += readable(&topics[i].partition, fetch->offset[i], &bytes);
	return sum >= fetch->min_bytes;
}

/* Reads again: by now there may be more than is_enough saw, or, after max_wait, too little. */
static void answer(struct pawl_op *op)
{
	struct fetch *fetch = (struct fetch *)op;
	const char *bytes;

	printf("fetch %d:", fetch->id);
	for (int i = 0; i < PARTITIONS; i++) {
		size_t size = readable(&topics[i].partition, fetch->offset[i], &bytes);

		printf(" %s \"%.*s\"", topics[i].partition.name, (int)size, bytes);
	}
	printf("\n");
}

static const struct pawl_op_type fetch_type = {
        .try_complete = is_enough, .on_complete = answer, .release = broker_free};

static void fetch(int id, size_t min_bytes, size_t from_clicks, size_t from_views,
                  uint64_t max_wait)
{
	struct pawl_key keys[PARTITIONS] = {topics[0].key, topics[1].key};
	struct fetch *fetch = broker_alloc(sizeof(*fetch));
	int result;

	*fetch = (struct fetch){
	        .id = id, .min_bytes = min_bytes, .offset = {from_clicks, from_views}};
	pawl_op_init(&fetch->op, &fetch_type);
	result = pawl_purgatory_try_or_watch(broker.purgatory, &fetch->op, keys, PARTITIONS,
	                                     max_wait);
	if (result < 0) {
		printf("fetch %d: refused\n", id); /* it is still ours */
		free(fetch);
	}
}

/* Append, copy to all replicas, and then check the key, with no lock held. */
static void append(struct topic *topic, const char *text)
{
	printf("append to %s\n", topic->partition.name);
	partition_append(&topic->partition, text);
	for (unsigned replica = 1; replica < REPLICAS; replica++)
		partition_copy(&topic->partition, replica);
	pawl_purgatory_check(broker.purgatory, topic->key);
}

static void topic_open(struct topic *topic, const char *name)
{
	partition_init(&topic->partition, name);
	topic->key = partition_key(&broker, &topic->partition);
}

int main(void)
{
	broker_open(&broker);
	topic_open(&topics[0], "clicks");
	topic_open(&topics[1], "views");

	append(&topics[0], "here ");
	fetch(1, 5, 0, 0, 10 * PAWL_SECOND);  /* enough is there: answered at once */
	fetch(2, 12, 0, 0, 10 * PAWL_SECOND); /* waits for both partitions together */
	append(&topics[0], "and ");
	append(&topics[1], "seen ");
	fetch(3, 100, 5, 5, 10 * PAWL_SECOND); /* these do not come in time */
	append(&topics[0], "there ");
	broker_advance(&broker, 10 * PAWL_SECOND);

	broker_close(&broker);
}
