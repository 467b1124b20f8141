/* SPDX-License-Identifier: MIT */
/*
 * The code that the delayed-*.c examples and rpc-timeout.c share: partitions with replicas, in memory, and a purgatory
 * whose clock is moved by hand, so that the examples always print the same.
 */
#ifndef EXAMPLES_BROKER_H
#define EXAMPLES_BROKER_H

#include <pawl/purgatory.h>
#include <pthread.h>

#define REPLICAS 3 /* the first one leads, the others copy from it */
#define LOG_MAX  256

/* A log of bytes. pawl does not know its lock. */
struct partition {
	const char *name;
	pthread_mutex_t lock;
	char bytes[LOG_MAX];
	size_t end[REPLICAS];   /* where the log of each replica ends... */
	size_t start[REPLICAS]; /* ...and where it begins: the bytes before are deleted */
};

void partition_init(struct partition *partition, const char *name);

/* Append to the leader's log. Returns the offset of its new end. */
size_t partition_append(struct partition *partition, const char *text);

/* The replica copies all that the leader has. */
void partition_copy(struct partition *partition, unsigned replica);

/* The replica deletes the bytes before the offset. */
void partition_delete(struct partition *partition, unsigned replica, size_t offset);

/* With the lock held: all replicas have the log up to the first offset, and none has it before the second. */
size_t partition_high_watermark(const struct partition *partition);
size_t partition_low_watermark(const struct partition *partition);

struct broker {
	struct pawl_clock_manual clock;
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;
};

/* The key of a partition: its name. */
struct pawl_key partition_key(const struct broker *broker, const struct partition *partition);

/* These two end the program if they fail. */
void broker_open(struct broker *broker);
void *broker_alloc(size_t size); /* zeroed; free() it */

/* A release function, for operations that are the first member of a struct of broker_alloc. */
void broker_free(struct pawl_op *op);

void broker_close(struct broker *broker);

/* Advance the clock, and wait until all that is due has run. */
void broker_advance(struct broker *broker, uint64_t ns);

#endif
