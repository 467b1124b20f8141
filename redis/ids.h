/* SPDX-License-Identifier: MIT */
/*
 * The table that finds a task by its id: linear hashing. It grows by one bucket for one task more and
 * shrinks by one for one less, so no command ever waits for a table to be rebuilt:
 *
 *	buckets 4, and the fifth is added:       0 1 2 3        bucket 4 takes from bucket 0
 *	                                         | \.--.        those whose next bit of the hash is set
 *	                                         0 1 2 3 4
 *
 * Buckets are chains through the tasks themselves, and lie in segments, so no memory moves either. A
 * segment's worth of tasks costs 8 bytes each.
 *
 * A scan goes through the hashes in the order of their bits reversed. In that order a bucket is an unbroken
 * range, and splitting a bucket cuts its range in two; so a cursor is a place in that order, and stays true
 * however the table grows or shrinks between two calls.
 */
#ifndef PAWL_REDIS_IDS_H
#define PAWL_REDIS_IDS_H

#include "memory.h"
#include "task.h"

struct ids {
	struct task ***segments; /* NULL: few tasks, all in one chain from `few` */
	struct task *few;
	size_t segment_count, segment_room;
	size_t buckets;
	size_t count;
};

/* The secret that keeps strangers from choosing ids that all fall into one bucket. Set it once. */
extern uint64_t ids_secret[2];

/* Make room at once for `count` tasks, in a table that is still empty. */
void ids_reserve(struct ids *ids, size_t count);
void ids_free(struct ids *ids); /* the table; the tasks are yours */

struct task *ids_find(const struct ids *ids, const struct task_id *id);
/* A task with this id, as it is kept, will be added, found or removed soon. */
void ids_prefetch(const struct ids *ids, const unsigned char *id, size_t size);
void ids_add(struct ids *ids, struct task *task); /* one whose id is not there */
void ids_remove(struct ids *ids, struct task *task);

/* Call fn for the tasks of the bucket that the cursor stands at. A scan begins with 0. fn may free the task. */
void ids_scan(const struct ids *ids, uint64_t cursor, void (*fn)(struct task *, void *), void *arg);
/* The cursor of the next bucket; 0: that was the last one. */
uint64_t ids_scan_next(const struct ids *ids, uint64_t cursor);

/* Move the table; or the tasks of the bucket that the cursor stands at: `moved` is told of each that was. */
void ids_move(struct ids *ids, memory_move_fn *move, void *arg);
void ids_move_tasks(struct ids *ids, uint64_t cursor, memory_move_fn *move, void *arg,
                    void (*moved)(const void *from, struct task *to, void *), void *moved_arg);

size_t ids_memory(const struct ids *ids);

#endif
