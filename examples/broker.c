/* SPDX-License-Identifier: MIT */
#include "broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void partition_init(struct partition *partition, const char *name)
{
	memset(partition, 0, sizeof(*partition));
	partition->name = name;
	pthread_mutex_init(&partition->lock, NULL);
}

struct pawl_key partition_key(const struct broker *broker, const struct partition *partition)
{
	return pawl_purgatory_key(broker->purgatory, partition->name, strlen(partition->name));
}

size_t partition_append(struct partition *partition, const char *text)
{
	size_t length = strlen(text), end;

	pthread_mutex_lock(&partition->lock);
	if (length <= LOG_MAX - partition->end[0]) {
		memcpy(partition->bytes + partition->end[0], text, length);
		partition->end[0] += length;
	}
	end = partition->end[0];
	pthread_mutex_unlock(&partition->lock);
	return end;
}

void partition_copy(struct partition *partition, unsigned replica)
{
	pthread_mutex_lock(&partition->lock);
	partition->end[replica] = partition->end[0];
	pthread_mutex_unlock(&partition->lock);
}

void partition_delete(struct partition *partition, unsigned replica, size_t offset)
{
	pthread_mutex_lock(&partition->lock);
	partition->start[replica] = offset;
	pthread_mutex_unlock(&partition->lock);
}

static size_t least(const size_t *offsets)
{
	size_t least = offsets[0];

	for (unsigned i = 1; i < REPLICAS; i++)
		if (offsets[i] < least)
			least = offsets[i];
	return least;
}

size_t partition_high_watermark(const struct partition *partition)
{
	return least(partition->end);
}

size_t partition_low_watermark(const struct partition *partition)
{
	return least(partition->start);
}

static void give_up(const char *what)
{
	fprintf(stderr, "broker: no %s\n", what);
	exit(1);
}

void *broker_alloc(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		give_up("memory");
	return memory;
}

void broker_free(struct pawl_op *op)
{
	free(op);
}

void broker_open(struct broker *broker)
{
	struct pawl_service_options options = {.clock = &broker->clock.clock};

	pawl_clock_manual_init(&broker->clock);
	if (pawl_service_open(&broker->service, &options) != 0 ||
	    pawl_purgatory_open(&broker->purgatory, broker->service, NULL) != 0)
		give_up("memory, or no threads");
}

void broker_close(struct broker *broker)
{
	pawl_purgatory_close(broker->purgatory); /* before its service */
	pawl_service_close(broker->service, NULL);
}

void broker_advance(struct broker *broker, uint64_t ns)
{
	pawl_clock_manual_advance(&broker->clock, ns);
	pawl_service_settle(broker->service);
}
