/* SPDX-License-Identifier: MIT */
/*
 * A hash table from ids to tasks, by linear hashing: it grows and shrinks by one bucket at a time, so no command waits
 * while a table is rebuilt.
 *
 *	4 buckets, and a fifth is added:         0 1 2 3        the tasks of bucket 0 whose next bit
 *	                                         | \.--.        of the hash is set move to bucket 4
 *	                                         0 1 2 3 4
 *
 * A bucket is a list through the tasks themselves. Buckets are in segments of fixed size, which never move; they cost 8
 * bytes a task.
 *
 * A scan goes through the hashes in the order of their reversed bits. In that order a bucket is a contiguous range, and
 * a split cuts the range in two. A cursor is a position in that order, so it stays valid when the table grows or
 * shrinks between two calls.
 */
#ifndef PAWL_MODULE_IDS_H
#define PAWL_MODULE_IDS_H

#include "memory.h"
#include "task.h"

struct ids {
	struct task ***segments; /* NULL: few tasks, all in the list `few` */
	struct task *few;
	size_t segment_count, segment_room;
	size_t buckets;
	size_t count;
};

/* The key of the hash: without it, clients could choose ids that all fall into one bucket. Set it once. */
extern uint64_t ids_secret[2];

/* Make room for `count` tasks, in an empty table. */
void ids_reserve(struct ids *ids, size_t count);
void ids_free(struct ids *ids); /* frees the table, not the tasks */

struct task *ids_find(const struct ids *ids, const struct task_id *id);
/* Prefetch for adding, finding or removing the task with this id, which is as in struct task_id. */
void ids_prefetch(const struct ids *ids, const unsigned char *id, size_t size);
void ids_add(struct ids *ids, struct task *task);    /* its id must not be in the table */
void ids_remove(struct ids *ids, struct task *task); /* it must be in the table */

/* Call fn for the tasks of the bucket at the cursor. A scan begins with 0. fn may free the task. */
void ids_scan(const struct ids *ids, uint64_t cursor, void (*fn)(struct task *, void *), void *arg);
/* The cursor of the next bucket; 0 after the last one. */
uint64_t ids_scan_next(const struct ids *ids, uint64_t cursor);

/* Move the table; move the tasks of the bucket at the cursor, and call `moved` for each that was moved. */
void ids_move(struct ids *ids, memory_move_fn *move, void *arg);
void ids_move_tasks(struct ids *ids, uint64_t cursor, memory_move_fn *move, void *arg,
                    void (*moved)(const void *from, struct task *to, void *), void *moved_arg);

size_t ids_memory(const struct ids *ids);

#endif
