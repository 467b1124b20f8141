/* SPDX-License-Identifier: MIT */
/*
 * A delayed produce: a client has written to two partitions. It is answered when all replicas have its records, or
 * after 30 seconds with an error for each partition where they do not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"

#define PARTITIONS 2

struct produce {
	struct pawl_op op; /* first: an operation is its produce */
	int id;
	struct {
		struct partition *partition;
		size_t offset; /* that all replicas shall have */
	} written[PARTITIONS];
};

static struct broker broker;
static struct partition orders, payments;

/*
 * try_complete takes the partition's own lock. So a thread that changes a partition unlocks it before the check: see
 * LOCKS in pawl_purgatory(3).
 */
static bool has_reached_all(struct partition *partition, size_t offset)
{
	bool reached;

	pthread_mutex_lock(&partition->lock);
	reached = partition_high_watermark(partition) >= offset;
	pthread_mutex_unlock(&partition->lock);
	return reached;
}

static bool is_replicated(struct pawl_op *op)
{
	struct produce *produce = (struct produce *)op;

	for (int i = 0; i < PARTITIONS; i++)
		if (!has_reached_all(produce->written[i].partition, produce->written[i].offset))
			return false;
	return true;
}

/* Also called if the deadline has won: then some partitions may be replicated, and the others are errors. */
static void answer(struct pawl_op *op)
{
	struct produce *produce = (struct produce *)op;

	printf("produce %d:", produce->id);
	for (int i = 0; i < PARTITIONS; i++) {
		struct partition *partition = produce->written[i].partition;
		bool reached = has_reached_all(partition, produce->written[i].offset);

		printf(" %s %s;", partition->name, reached ? "acknowledged" : "timed out");
	}
	printf("\n");
}

static void count_expired(struct pawl_op *op)
{
	printf("produce %d has expired\n", ((struct produce *)op)->id);
}

static const struct pawl_op_type produce_type = {.try_complete = is_replicated,
                                                 .on_complete = answer,
                                                 .on_expire = count_expired,
                                                 .release = broker_free};

static void produce(int id, const char *order, const char *payment)
{
	struct pawl_key keys[PARTITIONS] = {partition_key(&broker, &orders),
	                                    partition_key(&broker, &payments)};
	struct produce *produce = broker_alloc(sizeof(*produce));
	int result;

	produce->id = id;
	produce->written[0].partition = &orders;
	produce->written[0].offset = partition_append(&orders, order);
	produce->written[1].partition = &payments;
	produce->written[1].offset = partition_append(&payments, payment);
	pawl_op_init(&produce->op, &produce_type);
	result = pawl_purgatory_try_or_watch(broker.purgatory, &produce->op, keys, PARTITIONS,
	                                     30 * PAWL_SECOND);
	if (result < 0) {
		printf("produce %d: refused\n", id); /* it is still ours */
		free(produce);
	}
}

/* Change under the lock, unlock, and check then. */
static void copy(struct partition *partition, unsigned replica)
{
	partition_copy(partition, replica);
	pawl_purgatory_check(broker.purgatory, partition_key(&broker, partition));
}

static void *follow(void *replica)
{
	copy(&orders, *(unsigned *)replica);
	copy(&payments, *(unsigned *)replica);
	return NULL;
}

int main(void)
{
	unsigned replicas[] = {1, 2};
	pthread_t followers[2];

	broker_open(&broker);
	partition_init(&orders, "orders");
	partition_init(&payments, "payments");

	/* Two followers copy at the same time: the answer is given once. */
	produce(1, "one book", "9.99");
	for (int i = 0; i < 2; i++)
		pthread_create(&followers[i], NULL, follow, &replicas[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(followers[i], NULL);

	/* One of them is down: it never gets the order. */
	produce(2, "two books", "19.98");
	follow(&replicas[0]);
	copy(&payments, 2);
	broker_advance(&broker, 30 * PAWL_SECOND);
	broker_close(&broker);
}
