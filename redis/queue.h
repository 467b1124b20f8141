/* SPDX-License-Identifier: MIT */
/*
 * A queue of delayed tasks: the value of a key. It knows nothing of the server.
 *
 *	           +-------+
 *	   put --->| alive |---> queue_first_due     leased, with tries left: alive, due at the lease's end
 *	           +-------+
 *	               | leased for the last time
 *	               v
 *	           +-------+
 *	           | dying |---> queue_first_dead    when the lease is over
 *	           +-------+
 *	    given back |  ^ leased to whoever looks after dead tasks
 *	               v  |
 *	           +-------+
 *	           | dead  |---> queue_first_dead
 *	           +-------+
 *
 * Each is a timeline: tasks in the order of their times (timeline.h). Nothing is written because time passes: a task
 * is due when its time is not after now, a lease is over when its end is not after now, and a task on `dying` whose
 * time has come is as dead as one on `dead`. So the clock may be set back or forward, and every answer is at once
 * what it would be in a copy that never saw another time.
 *
 * A small queue is compact: no cell is open, so it is three lists; and up to a handful of tasks there is no id
 * table either.
 *
 * Order: by due time, to the millisecond, and within one in the order of arrival.
 */
#ifndef PAWL_REDIS_QUEUE_H
#define PAWL_REDIS_QUEUE_H

#include "ids.h"
#include "lateness.h"
#include "settings.h"
#include "sort.h"
#include "task.h"
#include "timeline.h"

struct queue {
	struct ids ids;
	struct timeline alive, dying, dead;
	struct lateness *lateness; /* NULL before the first delivery */
	struct settings settings;  /* yours to write */
	size_t task_bytes;
};

/* Tasks of one state, or of any, in a range of time, both ends included: of `at`, as PAWL.GET shows it. */
struct queue_span {
	uint64_t from, to;
	enum task_state state; /* STATES: any */
	uint64_t now;
};

/* Tasks in the order of time. Free the items. */
struct queue_range {
	struct sort_item *items;
	size_t count;
	size_t looked; /* how many tasks were read for it: for tests */
};

struct queue *queue_new(void);
void queue_free(struct queue *queue);
struct queue *queue_copy(const struct queue *queue);
/* Make room for `count` tasks at once, in a queue that is still empty. */
void queue_reserve(struct queue *queue, size_t count);

static inline size_t queue_count(const struct queue *queue)
{
	return queue->ids.count;
}

/* Whether nothing is lost with it. */
static inline bool queue_empty(const struct queue *queue)
{
	return queue->ids.count == 0 && !settings_any(&queue->settings);
}

static inline struct task *queue_find(const struct queue *queue, const struct task_id *id)
{
	return ids_find(&queue->ids, id);
}

/* The task with this id, if there is one, will be looked for soon. */
static inline void queue_prefetch_id(const struct queue *queue, const struct task_id *id)
{
	ids_prefetch(&queue->ids, id->bytes, id->size);
}

/* The task will be put in soon, for this time: let the processor fetch what that will touch. */
void queue_prefetch(const struct queue *queue, const struct task *task, uint64_t at);
/* The tasks behind this one will be deleted soon. */
void queue_prefetch_behind(const struct queue *queue, const struct task *task);
/* Put in a new task, which is the queue's from then on. Its id must not be there. */
void queue_add(struct queue *queue, struct task *task, uint64_t at);
/* The same for one that carries its state with it: leased until `at` or dead since. */
void queue_add_leased(struct queue *queue, struct task *task, uint64_t until);
void queue_add_dead(struct queue *queue, struct task *task, uint64_t since);

/* Change the state of a task that is in the queue, whatever it was. */
void queue_schedule(struct queue *queue, struct task *task, uint64_t at);
void queue_lease(struct queue *queue, struct task *task, uint64_t until, uint64_t token);
void queue_bury(struct queue *queue, struct task *task, uint64_t since);
/* Let it begin anew, due at `at`: without tries and without a reason. Returns the task, which may have moved. */
struct task *queue_restart(struct queue *queue, struct task *task, uint64_t at);
/*
 * Keep the reason why it was given back, copied, in place of an earlier one; of size 0: none. Returns the task, which
 * may have moved; in its millisecond it is the last one now.
 */
struct task *queue_set_reason(struct queue *queue, struct task *task, const void *reason,
                              size_t size);

void queue_delete(struct queue *queue, struct task *task); /* and free it */

/* The task that is to be delivered next, or NULL; it stays in the queue. Of a paused queue none is. */
struct task *queue_first_due(struct queue *queue, uint64_t now);
/* The task that died first, or NULL; likewise. */
struct task *queue_first_dead(struct queue *queue, uint64_t now);
/* When that will be one: queue_next, PAWL_NEVER if it is paused. Quicker the next time. */
uint64_t queue_look_again(struct queue *queue);
/* When there will be a dead task: 0 if there is one that was given back, PAWL_NEVER if none is to be. */
uint64_t queue_look_again_dead(struct queue *queue);
/* How many dead tasks there are beyond what the settings allow. */
size_t queue_dead_beyond(const struct queue *queue, uint64_t now);
/* How much later this task is due again if its delivery comes to nothing: not at all if that was its last try. */
uint64_t queue_backoff(const struct queue *queue, const struct task *task);
/* Count a delivery of it: how late is it? */
void queue_count_delivery(struct queue *queue, const struct task *task, uint64_t now);

/* Move everything but the tasks; returns where the queue is now. */
struct queue *queue_move(struct queue *queue, memory_move_fn *move, void *arg);
/* Move the tasks of the bucket that the cursor stands at. Returns that of the next one; 0: that was the last one. */
uint64_t queue_move_tasks(struct queue *queue, uint64_t cursor, memory_move_fn *move, void *arg);

/* Questions, in queue_look.c: they change nothing. */

/* When the first task falls due, or did: the earliest there is, PAWL_NEVER if there is none. */
uint64_t queue_next(const struct queue *queue);
/* How many are in each state. */
void queue_counts(const struct queue *queue, uint64_t now, size_t counts[STATES]);
/* How many are in the span. */
size_t queue_count_in(const struct queue *queue, const struct queue_span *span);
/*
 * The first ones of the span, at most so many. For one time first those that are or will be due, then the dead. Fewer, but
 * still the first ones, if too many others lie among them (timeline_walk).
 */
struct queue_range queue_range(const struct queue *queue, const struct queue_span *span,
                               size_t most);
/* Call fn for every task, those of each timeline in order: as they have to be put into a copy. fn changes nothing. */
void queue_each(const struct queue *queue, void (*fn)(struct task *, void *), void *arg);
bool queue_compact(const struct queue *queue);
size_t queue_memory(const struct queue *queue);
/* NULL, or what is wrong: for tests. */
const char *queue_check(const struct queue *queue);

#endif
