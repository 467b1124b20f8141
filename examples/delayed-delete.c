/* SPDX-License-Identifier: MIT */
/*
 * A delayed delete: a client wants the records before an offset to be deleted. It is answered when the low watermark
 * has passed that offset, that is when every replica has deleted them, or with an error after a time. When a partition
 * moves to another broker, its deletes are withdrawn.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"

struct delete_records {
	struct pawl_op op; /* first: an operation is its delete */
	int id;
	struct partition *partition;
	size_t before; /* this offset */
};

static struct broker broker;

static size_t low_watermark(struct partition *partition)
{
	size_t low;

	pthread_mutex_lock(&partition->lock);
	low = partition_low_watermark(partition);
	pthread_mutex_unlock(&partition->lock);
	return low;
}

static bool is_deleted(struct pawl_op *op)
{
	struct delete_records *delete = (struct delete_records *)op;

	return low_watermark(delete->partition) >= delete->before;
}

static void answer(struct pawl_op *op)
{
	struct delete_records *delete = (struct delete_records *)op;

	printf("delete %d: %s, the low watermark is %zu\n", delete->id,
	       pawl_op_expired(op) ? "timed out" : "done", low_watermark(delete->partition));
}

/* Called instead of answer: the partition has moved to another broker. */
static void hand_over(struct pawl_op *op)
{
	printf("delete %d: no longer the leader\n", ((struct delete_records *)op)->id);
}

static void shut_down(struct pawl_op *op)
{
	printf("delete %d: the broker shuts down\n", ((struct delete_records *)op)->id);
}

static const struct pawl_op_type delete_type = {.try_complete = is_deleted,
                                                .on_complete = answer,
                                                .on_drop = shut_down,
                                                .release = broker_free};

/* The replica deletes. Then check the operations that wait for that. */
static void delete_from(struct partition *partition, unsigned replica, size_t before)
{
	partition_delete(partition, replica, before);
	pawl_purgatory_check(broker.purgatory, partition_key(&broker, partition));
}

/* The leader deletes at once; the operation waits for the other replicas. */
static void delete_records(int id, struct partition *partition, size_t before)
{
	struct delete_records *delete = broker_alloc(sizeof(*delete));
	struct pawl_key key = partition_key(&broker, partition);

	delete_from(partition, 0, before);
	*delete = (struct delete_records){.id = id, .partition = partition, .before = before};
	pawl_op_init(&delete->op, &delete_type);
	if (pawl_purgatory_try_or_watch(broker.purgatory, &delete->op, &key, 1, 30 * PAWL_SECOND) <
	    0) {
		printf("delete %d: refused\n", id); /* it is still ours */
		free(delete);
	}
}

int main(void)
{
	struct partition audit, trace;

	broker_open(&broker);
	partition_init(&audit, "audit");
	partition_init(&trace, "trace");
	partition_append(&audit, "what has happened so far");
	partition_append(&trace, "and how");

	delete_records(1, &audit, 10);
	delete_records(2, &audit, 20);
	delete_from(&audit, 1, 20); /* one replica has deleted up to 20... */
	delete_from(&audit, 2, 15); /* ...and the other one up to 15: that is enough for delete 1 */
	broker_advance(&broker, 30 * PAWL_SECOND);

	delete_records(3, &trace, 5);
	printf("%zu handed over\n",
	       pawl_purgatory_cancel_key(broker.purgatory, partition_key(&broker, &trace),
	                                 hand_over));
	delete_records(4, &audit, 24);
	broker_close(&broker);
}
