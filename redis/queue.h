/* SPDX-License-Identifier: MIT */
/*
 * A queue of delayed tasks: the value of a key. It knows nothing of the server, and is told the time.
 *
 *	 +-----+   +--------+  due   +-------+
 *	 | far | ->| wheel  | -----> | ready | ----> first_due
 *	 +-----+   +--------+        +-------+   |
 *	 due before the wheel's time, or no      |   whichever is due earlier; among equals the ready
 *	 wheel:    +-------+   due   +------+    |   one, which was there first
 *	     ----> | early | ------> | past | ---+
 *	           +-------+         +------+
 *	 leased for the last time:
 *	           +-------+  lease  +------+
 *	     ----> | dying | ------> | dead |
 *	           +-------+  over   +------+
 *
 * early, past and dying are heaps; ready and dead are lists. The wheel's time only moves forward and is never
 * ahead of the clock: so with a wheel early is empty, and past gets only what is due when it is put.
 *
 * Two wheels: what is more than two seconds ahead is on the far one, whose time runs ahead of the clock by
 * as much. Each command brings a few of the tasks that are due there over to the wheel proper, which is so
 * never deeper than one level: no command has to move down all tasks of a slot at once, unless none came
 * for seconds. A task is put on the wheel proper only if all tasks for the same millisecond that came before
 * it have left the far one: else it would be delivered before them.
 *
 * Compact form: up to QUEUE_LARGE tasks there is no wheel at all, the heaps do; and up to a handful there
 * is no id table either. A queue changes its form as it grows and shrinks.
 *
 * Nothing is written into a task because time passes. A lease that is over is a lease whose end is not after
 * now; should the clock be set back, it holds again, here as in any copy that never saw it end.
 *
 * Order: by due time, to the millisecond, and within one in the order of arrival.
 */
#ifndef PAWL_REDIS_QUEUE_H
#define PAWL_REDIS_QUEUE_H

#include "heap.h"
#include "ids.h"
#include "lateness.h"
#include "task.h"

/* More tasks than this are on a wheel. It has as many slots: 4 seconds in steps of a millisecond. */
#define QUEUE_LARGE 4096u

struct task_list {
	struct task *head, *tail;
	size_t count;
};

struct queue {
	struct ids ids;
	struct pawl_wheel *wheel; /* NULL in the compact form */
	struct pawl_wheel *far;   /* likewise: tasks that are seconds ahead */
	struct task_list ready, dead;
	struct heap past, early, dying;
	struct lateness *lateness; /* NULL before the first delivery */
	uint64_t now;              /* as last told */
	uint64_t sequence;         /* of arrivals in the heaps */
	uint64_t far_first;        /* when the first task on `far` is due; 0: not known */
	size_t leased;             /* tasks whose lease holds, as far as has been looked */
	size_t task_bytes;
};

struct queue *queue_new(void);
void queue_free(struct queue *queue);
struct queue *queue_copy(const struct queue *queue);
/* Make room for `count` tasks at once, in a queue that is still empty. */
void queue_reserve(struct queue *queue, size_t count);

/*
 * Tell it the time, before anything that changes it. If time went back, everything is placed anew. It looks at
 * some of what fell due since, so that queue_counts has less to do later.
 *
 * Questions need no queue_sync: queue_find with task_state, queue_next and queue_counts are right at any time, and
 * move nothing.
 */
void queue_sync(struct queue *queue, uint64_t now);
/* The same, and it looks at all that fell due: in proportion to their number, once for each task. */
void queue_settle(struct queue *queue, uint64_t now);

static inline size_t queue_count(const struct queue *queue)
{
	return queue->ids.count;
}

static inline struct task *queue_find(const struct queue *queue, const struct task_id *id)
{
	return ids_find(&queue->ids, id);
}

/* Put in a new task, which is the queue's from then on. Its id must not be there. */
void queue_add(struct queue *queue, struct task *task, uint64_t at);
/* The same for one that carries its state with it: leased until `at` or dead since. */
void queue_add_leased(struct queue *queue, struct task *task, uint64_t until);
void queue_add_dead(struct queue *queue, struct task *task, uint64_t since);

/* Change the state of a task that is in the queue, whatever it was. */
void queue_schedule(struct queue *queue, struct task *task, uint64_t at);
void queue_lease(struct queue *queue, struct task *task, uint64_t until, uint64_t token);
void queue_bury(struct queue *queue, struct task *task, uint64_t since);

void queue_delete(struct queue *queue, struct task *task); /* and free it */

/* The task that is to be delivered next, or NULL; it stays in the queue. */
struct task *queue_first_due(struct queue *queue);
/* Count a delivery of it: how late is it? */
void queue_count_delivery(struct queue *queue, const struct task *task);
/*
 * When the first task falls due, or did: the earliest there is, PAWL_NEVER if there is none. Exact. It moves
 * nothing, but remembers what it had to search for: a first task that is seconds ahead is searched for among
 * all that are, once for as long as it stays the first.
 */
uint64_t queue_next(struct queue *queue);
/* After queue_sync: the time at which to look again. Now if a task is due, else no later than queue_next. */
uint64_t queue_look_again(struct queue *queue);
/* How many are in each state. It looks at each task that fell due since the last queue_sync, or at all. */
void queue_counts(const struct queue *queue, uint64_t now, size_t counts[STATES]);

/* All tasks by `at` and arrival. The array is yours to free (memory_free); NULL if the queue is empty. */
struct task **queue_sorted(const struct queue *queue);

size_t queue_memory(const struct queue *queue);
/* NULL, or what is wrong: for tests. */
const char *queue_check(const struct queue *queue);

#endif
