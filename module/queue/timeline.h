/* SPDX-License-Identifier: MIT */
/*
 * Tasks in the order of their times in milliseconds; at the same millisecond, in the order of arrival.
 *
 * Time is cut into cells, as on a timing wheel, and a cell is a list of tasks in the order of arrival. The difference
 * is when a cell opens, that is, when its tasks move to 16 finer cells. On a wheel it opens when its time comes; here
 * when it holds too many tasks, or when it is the first cell and its first task is asked for. So passing time does
 * nothing, there is nothing to catch up with after a pause, and the clock may be set. No call meets more than CELL_MAX
 * tasks in a list, except tasks of a single millisecond, where the first one is the head.
 *
 *	all of time    |.....................[     open      ].................................|
 *	                                    /                 \
 *	16 cells       |  |  |  |  | 212 tasks | open |  |  |  |  | 43 |  |  |  |  |  |
 *	                                      /        \
 *	16 cells       |  |  | 3 | 9 |  |  | 14 |  |  | ...
 *
 * The finer cells need not cover all of the cell. They are the 16 narrowest cells that hold its tasks, of 2^shift ms
 * each, where shift is a multiple of 4. If a task outside of them is added, they become one of 16 wider cells. So a
 * task in a hundred years makes the tree one level deeper, and not by all levels in between. The tree has at most 16
 * levels.
 *
 * Every cell counts its tasks, and the leased ones among them. So counting the tasks up to a time reads one row of
 * cells on each level.
 */
#ifndef PAWL_MODULE_TIMELINE_H
#define PAWL_MODULE_TIMELINE_H

#include <pawl/wheel.h>

#include "../../src/base/assert.h"
#include "memory.h"
#include "task.h"

enum {
	CELL_BITS = 4,
	CELLS = 1 << CELL_BITS, /* in an open cell */
	CELL_MAX = 512,         /* tasks in a list, except of a single millisecond */
	CELL_FEW = 16,          /* the same in the first cell, when its first task is asked for */
	CELL_CLOSE = 8,         /* an open cell with no more tasks than this becomes a list */
	WALK_SKIPS = 2000,      /* tasks outside of its span that a walk skips before it gives up */
};

struct cells;

/* All zeroes: an empty cell. */
struct cell {
	union {
		struct task *first; /* NULL: empty */
		struct cells *cells;
	} in;
	struct task *last; /* NULL: open, or empty */
	size_t count, leased;
};

struct cells {
	uint64_t start; /* of the first cell */
	uint16_t used;  /* a bit for each cell with tasks */
	uint8_t shift;  /* each cell is 2^shift ms wide */
	struct cell cell[CELLS];
};

/* All zeroes: an empty timeline. */
struct timeline {
	struct cell all;
	struct task *first; /* NULL: not known, find_first() finds it */
	size_t opened;      /* open cells */
	size_t moves;       /* of tasks to finer cells, ever: for tests */
};

struct timeline_count {
	size_t tasks, leased;
};

/* A range of time, both ends included, and which of its tasks: all, leased, or not leased. */
struct timeline_span {
	uint64_t from, to;
	enum { TASKS_ALL, TASKS_LEASED, TASKS_NOT_LEASED } tasks;
};

/* Add a task by its `at`, after those of the same millisecond. `at` and `leased` must not change while it is in. */
void timeline_add(struct timeline *timeline, struct task *task);
void timeline_remove(struct timeline *timeline, struct task *task);
/* The first task, or NULL. This may open cells, so that the next call is quicker. */
struct task *timeline_first(struct timeline *timeline);
void timeline_free(struct timeline *timeline); /* frees the cells, not the tasks */
/* Move the cells. */
void timeline_move(struct timeline *timeline, memory_move_fn *move, void *arg);
/* A task was copied from `from` to `task`: update the pointers to it. */
void timeline_moved(struct timeline *timeline, const void *from, struct task *task);

/* Questions, in timeline_query.c. They change nothing. */

/* Prefetch for timeline_add() of a task with this `at`. */
void timeline_prefetch(const struct timeline *timeline, uint64_t at);

/* The `at` of the first task; PAWL_NEVER if there is none. */
uint64_t timeline_next(const struct timeline *timeline);
/* The number of tasks whose `at` is not after this time. */
struct timeline_count timeline_until(const struct timeline *timeline, uint64_t time);
/* A lower bound of that, without reading a list: the tasks of the cell that contains this time are left out. */
size_t timeline_until_at_least(const struct timeline *timeline, uint64_t time);
/* The number of tasks in the span. */
size_t timeline_count_in(const struct timeline *timeline, const struct timeline_span *span);
/*
 * Call fn for the tasks in the span, in order, until it returns false. fn changes nothing. Cells without such tasks are
 * skipped as a whole; but a list may hold many others, for example if thousands are due in one millisecond and few of
 * them are leased. So after WALK_SKIPS others, or a list more, the walk gives up: fn was called for all tasks of the
 * span before gave_up_at, and perhaps for the first ones at that time.
 */
struct timeline_walked {
	uint64_t gave_up_at; /* PAWL_NEVER: it did not give up */
	size_t examined;     /* tasks that were read: for tests */
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

/* Whether one of the cells contains this time. */
static inline bool cells_cover(const struct cells *cells, uint64_t time)
{
	return (time ^ cells->start) >> cells->shift < CELLS;
}

/* The index of the cell that contains this time. */
static inline unsigned cells_index(const struct cells *cells, uint64_t time)
{
	return time >> cells->shift & (CELLS - 1);
}

/* The index of the first cell with tasks; there must be one. */
static inline unsigned cells_first(const struct cells *cells)
{
	ASSERT(cells->used != 0);
	return (unsigned)__builtin_ctz(cells->used);
}

/* The first task of a list. If `shift`, the width of the list's cell, is 0, all tasks are of the same millisecond. */
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

/* sort.c: a stable sort by a 64-bit key: radix sort, or insertion sort for few items. */

struct sort_item {
	uint64_t key;
	struct task *task;
};

/* Equal keys keep their order. */
void sort_stable(struct sort_item *items, size_t count);

#endif
