/* SPDX-License-Identifier: MIT */
/*
 * Tasks in the order of their times, to the millisecond, and within one in the order of arrival.
 *
 * Time is cut into cells, as on a timing wheel, and a cell holds its tasks in a list, in the order of arrival. What
 * differs is when a cell opens, that is, hands its tasks to 16 finer cells: on a wheel when its time comes, here when
 * it holds too many, or when it is the first one and a task is taken from it. So nothing happens because time passes,
 * nothing has to be caught up with after a pause, the clock may be set anywhere, and no call meets more than
 * CELL_MAX tasks in a list, unless they are all for the same millisecond, where the first one is the head.
 *
 *	all of time    |.....................[     open      ].................................|
 *	                                    /                 \
 *	16 cells       |  |  |  |  | 212 tasks | open |  |  |  |  | 43 |  |  |  |  |  |
 *	                                      /        \
 *	16 cells       |  |  | 3 | 9 |  |  | 14 |  |  | ...
 *
 * The cells of an open one need not fill it: they lie as closely round its tasks as 16 cells of 2^shift ms can,
 * shift being a multiple of 4. If a task comes that is outside of them, they are put into one of 16 wider cells. So a
 * task in a hundred years makes the tree deeper by a level, not by all the levels in between, and it is never deeper
 * than 16.
 *
 * Every cell counts its tasks, and how many of them are leased. So how many are due at a time is known after a look
 * at one cell on each level.
 */
#ifndef PAWL_REDIS_TIMELINE_H
#define PAWL_REDIS_TIMELINE_H

#include <pawl/wheel.h>

#include "memory.h"
#include "task.h"

enum {
	CELL_BITS = 4,
	CELLS = 1 << CELL_BITS, /* in an open cell */
	CELL_MAX = 512,         /* tasks in a list, but for those of a single millisecond */
	CELL_FEW = 16,          /* the same in the first cell, when a task is taken from it */
	CELL_CLOSE = 8,         /* an open cell with no more tasks than this is a list again */
	WALK_SKIPS =
	        2000, /* tasks that are not of the span which a walk passes over before it gives up */
};

struct cells;

/* All zeroes is an empty one. */
struct cell {
	union {
		struct task *first; /* NULL: it is empty */
		struct cells *cells;
	} in;
	struct task *last; /* NULL: it is open, or empty */
	size_t count, leased;
};

struct cells {
	uint64_t start; /* of the first of them */
	uint16_t used;  /* a bit for each that holds tasks */
	uint8_t shift;  /* each is 2^shift ms wide */
	struct cell cell[CELLS];
};

/* All zeroes is an empty one. */
struct timeline {
	struct cell all;
	struct task *first; /* NULL: it has to be looked for */
	size_t opened;      /* how many cells are open */
	size_t moves;       /* of tasks from a cell to a finer one since it was made: for tests */
};

struct timeline_count {
	size_t tasks, leased;
};

/* A stretch of a timeline, both ends included, and of its tasks all, those that are leased, or those that are not. */
struct timeline_span {
	uint64_t from, to;
	enum { TASKS_ALL, TASKS_LEASED, TASKS_NOT_LEASED } tasks;
};

/* Add a task by its `at`, behind those of the same millisecond. `at` and `leased` must not change before it is removed. */
void timeline_add(struct timeline *timeline, struct task *task);
void timeline_remove(struct timeline *timeline, struct task *task);
/* The first task, or NULL. It may open cells, so that the next call has less to look at. */
struct task *timeline_first(struct timeline *timeline);
void timeline_free(struct timeline *timeline); /* the cells; the tasks are yours */
/* Move the cells. */
void timeline_move(struct timeline *timeline, memory_move_fn *move, void *arg);
/* A task was moved from there, byte by byte: what pointed at it is to point at its new place. */
void timeline_moved(struct timeline *timeline, const void *from, struct task *task);

/* Questions, in timeline_look.c: they change nothing. */

/* A task with this `at` will be added soon. */
void timeline_prefetch(const struct timeline *timeline, uint64_t at);

/* The `at` of the first task; PAWL_NEVER if there is none. */
uint64_t timeline_next(const struct timeline *timeline);
/* How many tasks have an `at` that is not after this time. */
struct timeline_count timeline_until(const struct timeline *timeline, uint64_t time);
/* So many at least, told without reading a list: those in a cell that is not over at this time are left out. */
size_t timeline_until_at_least(const struct timeline *timeline, uint64_t time);
/* How many tasks are in the span. */
size_t timeline_count_in(const struct timeline *timeline, const struct timeline_span *span);
/*
 * Call fn for the tasks in the span, in order, until it returns false. fn changes nothing. Cells without such tasks are
 * not looked into; but a list may hold many others, as where thousands are due in one millisecond and few of them are
 * leased. So after WALK_SKIPS others, or a list more, it gives up: fn was called for all tasks of the span before that
 * time, and perhaps for the first ones at it.
 */
struct timeline_walked {
	uint64_t gave_up_at; /* PAWL_NEVER: it did not */
	size_t looked;       /* how many tasks it read: for tests */
};
struct timeline_walked timeline_walk(const struct timeline *timeline,
                                     const struct timeline_span *span,
                                     bool (*fn)(struct task *, void *), void *arg);
/* Call fn for every task, in order. fn changes nothing. */
void timeline_each(const struct timeline *timeline, void (*fn)(struct task *, void *), void *arg);
size_t timeline_memory(const struct timeline *timeline);
/* NULL, or what is wrong: for tests. */
const char *timeline_check(const struct timeline *timeline);

static inline bool cell_open(const struct cell *cell)
{
	return !cell->last && cell->in.cells;
}

/* Whether this time is in one of the cells. */
static inline bool cells_reach(const struct cells *cells, uint64_t time)
{
	return (time ^ cells->start) >> cells->shift < CELLS;
}

/* The number of the cell that this time is in. */
static inline unsigned cells_index(const struct cells *cells, uint64_t time)
{
	return time >> cells->shift & (CELLS - 1);
}

/* The number of the first cell that holds tasks. */
static inline unsigned cells_first(const struct cells *cells)
{
	return (unsigned)__builtin_ctz(cells->used);
}

/*
 * The task of a list that comes first. If the cells on its level are 2^0 ms wide, all tasks are for the same
 * millisecond.
 */
static inline struct task *cell_earliest(const struct cell *cell, unsigned shift)
{
	struct task *first = cell->in.first;

	if (shift == 0 || !first)
		return first;
	for (struct task *task = first->next; task; task = task->next)
		if (task->at < first->at)
			first = task;
	return first;
}

#endif
