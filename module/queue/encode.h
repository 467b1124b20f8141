/* SPDX-License-Identifier: MIT */
/*
 * The encoding of tasks in a snapshot: one after the other, in blocks of bytes.
 *
 *	flags       1 byte: state (2 bits), id in the short form, tries, maxtries, reason, period
 *	at          minus that of the task before, as a number of variable length; the first of a block minus 0
 *	tries       if its flag is set; the same for maxtries
 *	token       8 bytes, for a leased task
 *	id          its length (not in the short form), its bytes
 *	payload     its length, its bytes
 *	reason      if its flag is set: its length, its bytes
 *	period      if its flag is set: period and base
 *
 * Tasks are in the order of queue_each(), so the differences of `at` are small. Reading adds them to a queue one after
 * the other, and works with any order that keeps the tasks of the same millisecond in theirs. It checks every value.
 */
#ifndef PAWL_MODULE_ENCODE_H
#define PAWL_MODULE_ENCODE_H

#include "queue.h"

struct bytes {
	unsigned char *data;
	size_t size, room;
};

/* Append a task. *last is the `at` of the task before it in the block, 0 for the first. */
void encode_task(struct bytes *to, const struct task *task, uint64_t *last);

/* Add the tasks of a block to the queue. Returns NULL, or what is wrong; some tasks may have been added even then. */
const char *decode_block(const unsigned char *data, size_t size, struct queue *queue);

#endif
