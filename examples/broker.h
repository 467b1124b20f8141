/* SPDX-License-Identifier: MIT */
/*
 * What the three delayed operations of a broker, and rpc-timeout, work on: partitions with replicas, in memory, and a
 * purgatory whose clock is moved by hand, so that the examples print the same whenever they run.
 */
#ifndef EXAMPLES_BROKER_H
#define EXAMPLES_BROKER_H

#include <pawl/purgatory.h>
#include <pthread.h>

#define REPLICAS 3 /* the first one leads, the others copy from it */
#define LOG_MAX  256

/* A log of bytes. Its lock is its own: nothing of pawl knows of it. */
struct partition {
	const char *name;
	pthread_mutex_t lock;
	char bytes[LOG_MAX];
	size_t end[REPLICAS];   /* the log as each replica has it ends here... */
	size_t start[REPLICAS]; /* ...and begins here: what was before is deleted */
};

void partition_init(struct partition *partition, const char *name);
struct pawl_key partition_key(const struct partition *partition);

/* Append to the leader's log. Returns the offset where it ends then. */
size_t partition_append(struct partition *partition, const char *text);

/* The replica copies all that the leader has. */
void partition_copy(struct partition *partition, unsigned replica);

/* The replica deletes what is before the offset. */
void partition_delete(struct partition *partition, unsigned replica, size_t offset);

/* With the lock held: all replicas have the log up to here, and none has it from before there. */
size_t partition_high_watermark(const struct partition *partition);
size_t partition_low_watermark(const struct partition *partition);

struct broker {
	struct pawl_clock_manual clock;
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;
};

/* These two end the program if they cannot. */
void broker_open(struct broker *broker);
void *broker_alloc(size_t size); /* zeroed; free() it */

/* A release: for operations that stand first in what broker_alloc gave. */
void broker_free(struct pawl_op *op);

void broker_close(struct broker *broker);

/* Time passes, and what is due by then has run. */
void broker_pass(struct broker *broker, uint64_t ns);

#endif
