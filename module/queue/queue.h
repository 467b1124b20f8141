/* SPDX-License-Identifier: MIT */
/*
 * A queue of delayed tasks: the value of a key. It calls nothing of the server.
 *
 *	           +-------+
 *	   put --->| alive |---> queue_first_due     leased, with tries left: alive, due when the lease ends
 *	           +-------+
 *	               | leased for the last time
 *	               v
 *	           +-------+
 *	           | dying |---> queue_first_dead    when the lease is over
 *	           +-------+
 *	    given back |  ^ leased by PAWL.DEAD TAKE
 *	               v  |
 *	           +-------+
 *	           | dead  |---> queue_first_dead
 *	           +-------+
 *
 * Each box is a timeline: tasks in the order of time (timeline.h). Passing time writes nothing: a task is due when its
 * time is not after now, a lease is over when its end is not after now, and a task on `dying` whose time has come is as
 * dead as one on `dead`. So the clock may be set back or forward, and every answer depends only on the tasks and the
 * present time.
 *
 * A small queue is compact: no cell is open, so it is three lists. With a handful of tasks there is no id table either.
 *
 * Order: by due time in milliseconds; at the same millisecond, in the order of arrival.
 */
#ifndef PAWL_MODULE_QUEUE_H
#define PAWL_MODULE_QUEUE_H

#include "ids.h"
#include "task.h"
#include "timeline.h"

/* The settings of a queue. A new queue has all zeroes. A queue with other settings exists even without tasks. */
struct settings {
	bool paused;       /* nothing is delivered */
	uint64_t max_dead; /* the most dead tasks; 0: no limit */
	/* The delay after the first failed try, doubled with each further one; 0: none. And the longest delay. */
	uint64_t backoff_ms, backoff_max_ms;
};

static inline bool settings_equal(const struct settings *a, const struct settings *b)
{
	return a->paused == b->paused && a->max_dead == b->max_dead &&
	       a->backoff_ms == b->backoff_ms && a->backoff_max_ms == b->backoff_max_ms;
}

/* Whether anything is set. */
static inline bool settings_any(const struct settings *settings)
{
	return !settings_equal(settings, &(struct settings){0});
}

/*
 * How late deliveries were. It is a histogram of milliseconds with four buckets for each power of two, so a
 * percentile from it is at most a quarter too high.
 */
enum { LATENESS_BUCKETS = 4 * 63 };

struct lateness {
	uint64_t count, max;
	uint32_t buckets[LATENESS_BUCKETS];
};

void lateness_count(struct lateness *lateness, uint64_t ms);
/* The lateness that `percent` percent of the deliveries did not exceed; 0 if there were none. */
uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent);

/*
 * Which lapses were counted. A lapse writes nothing, so it is counted later: queue_count_lapses() counts those of all
 * tasks since it was called last; before that, a task that changes its state or is deleted counts its own.
 */
struct lapses {
	uint64_t now;     /* of the command that uses the queue */
	uint64_t counted; /* lapses up to this time are counted */
	/* Counted, and not yet added to the metrics. A death without a lapse (queue_bury) also counts. */
	size_t lapsed, died;
};

struct queue {
	struct ids ids;
	struct timeline alive, dying, dead;
	struct lateness *lateness; /* NULL before the first delivery */
	struct settings settings;  /* the caller may write them */
	struct lapses lapses;
	size_t task_bytes;
};

/* Tasks of one state, or of any, whose `at` is in a range, both ends included. */
struct queue_span {
	uint64_t from, to;
	enum task_state state; /* STATES: any */
	uint64_t now;
};

/* Tasks in the order of time. The caller frees `items`. */
struct queue_range {
	struct sort_item *items;
	size_t count;
	size_t examined; /* tasks that were read: for tests */
};

struct queue *queue_new(void);
void queue_free(struct queue *queue);
struct queue *queue_copy(const struct queue *queue);
/* Make room for `count` tasks, in an empty queue. */
void queue_reserve(struct queue *queue, size_t count);

static inline size_t queue_count(const struct queue *queue)
{
	return queue->ids.count;
}

/* No task and no setting: the key can be deleted. */
static inline bool queue_empty(const struct queue *queue)
{
	return queue->ids.count == 0 && !settings_any(&queue->settings);
}

static inline struct task *queue_find(const struct queue *queue, const struct task_id *id)
{
	return ids_find(&queue->ids, id);
}

/* Prefetch for queue_find(). */
static inline void queue_prefetch_id(const struct queue *queue, const struct task_id *id)
{
	ids_prefetch(&queue->ids, id->bytes, id->size);
}

/* Prefetch for queue_add(). */
void queue_prefetch(const struct queue *queue, const struct task *task, uint64_t at);
/* Prefetch for deleting the tasks after this one. */
void queue_prefetch_behind(const struct queue *queue, const struct task *task);
/* Add a new task; the queue owns it from then on. Its id must not exist. */
void queue_add(struct queue *queue, struct task *task, uint64_t at);
/* The same for a task that is leased, or dead. */
void queue_add_leased(struct queue *queue, struct task *task, uint64_t until);
void queue_add_dead(struct queue *queue, struct task *task, uint64_t since);

/* Change the state of a task, from any state: to waiting or due, leased, dead. */
void queue_schedule(struct queue *queue, struct task *task, uint64_t at);
void queue_lease(struct queue *queue, struct task *task, uint64_t until, uint64_t token);
void queue_bury(struct queue *queue, struct task *task, uint64_t since);
/* Schedule the task with 0 tries and no reason. Returns the task, whose address may have changed. */
struct task *queue_restart(struct queue *queue, struct task *task, uint64_t at);
/*
 * Replace the task's reason by a copy of this one; size 0 removes it. Returns the task, whose address may have changed.
 * If the reason changed, the task is now the last one of its millisecond.
 */
struct task *queue_set_reason(struct queue *queue, struct task *task, const void *reason,
                              size_t size);

void queue_delete(struct queue *queue, struct task *task); /* and free it */

/* The task to deliver next, or NULL. It stays in the queue. NULL if the queue is paused. */
struct task *queue_first_due(struct queue *queue, uint64_t now);
/* The task that died first, or NULL. It stays in the queue. A pause does not matter. */
struct task *queue_first_dead(struct queue *queue, uint64_t now);
/* When queue_first_due() will find a task; PAWL_NEVER: none, or paused. May open cells, as timeline_first(). */
uint64_t queue_next_due(struct queue *queue);
/* When queue_first_dead() will find a task; 0 if a buried one is there, PAWL_NEVER: none. */
uint64_t queue_next_dead(struct queue *queue);
/* How many more dead tasks there are than the settings allow. */
size_t queue_dead_beyond(const struct queue *queue, uint64_t now);
/* How much later the task is due if this delivery fails. 0 if it is the last try. */
uint64_t queue_backoff(const struct queue *queue, const struct task *task);
/* Count a delivery of the task, which must be due, and its lateness. */
void queue_count_delivery(struct queue *queue, const struct task *task, uint64_t now);

/* A command begins to use the queue. */
void queue_begin(struct queue *queue, uint64_t now);
/* Count the lapses up to now, and of these the deaths. */
void queue_count_lapses(struct queue *queue);
/* Reset the counts, and count only the lapses after now. */
void queue_forget_lapses(struct queue *queue, uint64_t now);

/* Move all memory but that of the tasks. Returns the queue's new address. */
struct queue *queue_move(struct queue *queue, memory_move_fn *move, void *arg);
/* Move the tasks of the bucket at the cursor. Returns the cursor of the next bucket; 0 after the last one. */
uint64_t queue_move_tasks(struct queue *queue, uint64_t cursor, memory_move_fn *move, void *arg);

/* Questions, in queue_query.c. They change nothing. */

/* The earliest due time of a task that is not dead or dying; PAWL_NEVER if there is none. Ignores a pause. */
uint64_t queue_next(const struct queue *queue);
/* The number of tasks in each state. */
void queue_counts(const struct queue *queue, uint64_t now, size_t counts[STATES]);
/* The number of tasks in the span. */
size_t queue_count_in(const struct queue *queue, const struct queue_span *span);
/*
 * The first tasks of the span, at most `most`. At the same time, waiting and due tasks come before dead ones. There may
 * be fewer, but still the first ones, if too many other tasks lie between them (timeline_walk).
 */
struct queue_range queue_range(const struct queue *queue, const struct queue_span *span,
                               size_t most);
/* Call fn for every task, timeline by timeline, in order: adding them so makes a copy. fn changes nothing. */
void queue_each(const struct queue *queue, void (*fn)(struct task *, void *), void *arg);
bool queue_compact(const struct queue *queue);
size_t queue_memory(const struct queue *queue);
/* NULL, or what is wrong: for tests. */
const char *queue_check(const struct queue *queue);

/*
 * glob.c: patterns as in the command KEYS. `*` is any text, `?` any byte, `[a-c]` one of these bytes, `[^a-c]` any other
 * byte, `\x` the byte x. The server's own function is not part of its module interface.
 */

/* Bytes in a pattern: with a text of the same size, about 65,000 steps at most. */
enum { GLOB_MAX = 255 };

struct glob {
	const char *pattern; /* borrowed */
	size_t size;
};

bool glob_matches(const struct glob *glob, const char *text, size_t size);

#endif
