/* SPDX-License-Identifier: MIT */
/*
 * How tasks are written to a snapshot: one after the other into blocks of bytes.
 *
 *	flags       1 byte: state (2 bits), id in the short form, tries, maxtries, reason, period
 *	at          since the task before, as a number of variable length; the first of a block since 0
 *	tries       if the flag says so; so maxtries
 *	token       8 bytes, for a leased task
 *	id          its length (not in the short form), its bytes
 *	payload     its length, its bytes
 *	reason      if the flag says so: its length, its bytes
 *	period      if the flag says so: period and base
 *
 * They come in the order of queue_each, so the differences of `at` are small, and a queue is built again by putting
 * them in one after the other. Any other order that keeps the tasks of a millisecond in theirs can be read too. Reading
 * trusts nothing.
 */
#ifndef PAWL_REDIS_ENCODE_H
#define PAWL_REDIS_ENCODE_H

#include "queue.h"

struct bytes {
	unsigned char *data;
	size_t size, room;
};

/* Append a task; *last is the time of the one before in this block, 0 at its beginning. */
void encode_task(struct bytes *to, const struct task *task, uint64_t *last);

/*
 * Put the tasks of a block into the queue. NULL, or what is wrong with it: then some of them may be in the
 * queue.
 */
const char *decode_block(const unsigned char *data, size_t size, struct queue *queue);

#endif
