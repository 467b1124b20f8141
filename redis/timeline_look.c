/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include "memory.h"
#include "sort.h"

static const struct task *earliest(const struct timeline *timeline)
{
	const struct cell *cell = &timeline->all;
	unsigned shift = 1;

	while (cell_open(cell)) {
		shift = cell->in.cells->shift;
		cell = &cell->in.cells->cell[cells_first(cell->in.cells)];
	}
	return cell_earliest(cell, shift);
}

uint64_t timeline_next(const struct timeline *timeline)
{
	const struct task *first = timeline->first ? timeline->first : earliest(timeline);

	return first ? first->at : PAWL_NEVER;
}

static void add_cell(struct timeline_count *sum, const struct cell *cell)
{
	sum->tasks += cell->count;
	sum->leased += cell->leased;
}

static void add_list_until(struct timeline_count *sum, const struct cell *cell, uint64_t time)
{
	for (const struct task *task = cell->in.first; task; task = task->next) {
		if (task->at > time)
			continue;
		sum->tasks++;
		sum->leased += task->leased;
	}
}

/* The cells that end before this time; returns the one that it is in. */
static const struct cell *add_cells_before(struct timeline_count *sum, const struct cells *cells,
                                           uint64_t time)
{
	unsigned index = cells_index(cells, time);

	for (unsigned before = cells->used & ((1u << index) - 1); before; before &= before - 1)
		add_cell(sum, &cells->cell[__builtin_ctz(before)]);
	return &cells->cell[index];
}

struct timeline_count timeline_until(const struct timeline *timeline, uint64_t time)
{
	const struct cell *cell = &timeline->all;
	struct timeline_count sum = {0, 0};
	bool same_ms = false;

	while (cell_open(cell) && cells_reach(cell->in.cells, time)) {
		same_ms = cell->in.cells->shift == 0;
		cell = add_cells_before(&sum, cell->in.cells, time);
	}
	if (same_ms || (cell_open(cell) && time > cell->in.cells->start))
		add_cell(&sum, cell);
	else if (!cell_open(cell))
		add_list_until(&sum, cell, time);
	return sum;
}

struct each {
	void (*fn)(struct task *, void *);
	void *arg;
};

/* A list of tasks for different times: at most CELL_MAX. */
static void each_sorted(const struct cell *cell, const struct each *each)
{
	struct sort_item items[CELL_MAX];
	size_t count = 0;

	for (struct task *task = cell->in.first; task; task = task->next)
		items[count++] = (struct sort_item){task->at, task};
	sort_stable(items, count);
	for (size_t i = 0; i < count; i++)
		each->fn(items[i].task, each->arg);
}

static void each_in_list(const struct cell *cell, const struct each *each)
{
	for (struct task *task = cell->in.first; task; task = task->next)
		each->fn(task, each->arg);
}

/*
 * A list of tasks that are not in the cache is one miss after the other. So the lists of an open cell are walked in
 * step before any of their tasks is looked at: then 16 misses are under way at a time.
 */
static void fetch_lists(const struct cells *cells)
{
	const struct task *at[CELLS];
	unsigned left = 1;

	for (unsigned i = 0; i < CELLS; i++)
		at[i] = cell_open(&cells->cell[i]) ? NULL : cells->cell[i].in.first;
	for (unsigned step = 0; left && step < CELL_MAX; step++) {
		left = 0;
		for (unsigned i = 0; i < CELLS; i++) {
			if (!at[i])
				continue;
			task_prefetch(at[i]);
			at[i] = at[i]->next;
			left++;
		}
	}
}

static void each_in(const struct cell *cell, unsigned shift, const struct each *each)
{
	if (cell_open(cell)) {
		const struct cells *cells = cell->in.cells;

		fetch_lists(cells);
		for (unsigned i = 0; i < CELLS; i++)
			each_in(&cells->cell[i], cells->shift, each);
	} else if (shift == 0) {
		each_in_list(cell, each);
	} else {
		each_sorted(cell, each);
	}
}

void timeline_each(const struct timeline *timeline, void (*fn)(struct task *, void *), void *arg)
{
	each_in(&timeline->all, 1, &(struct each){fn, arg});
}

size_t timeline_memory(const struct timeline *timeline)
{
	return timeline->opened ? timeline->opened * memory_size(timeline->all.in.cells) : 0;
}

/* The checker */

struct range {
	uint64_t start;
	unsigned bits; /* it is 2^bits ms wide */
	size_t opened; /* cells that were found to be open */
};

static bool outside(const struct range *range, uint64_t time)
{
	return range->bits < 64 && (time ^ range->start) >> range->bits != 0;
}

static const char *check_list(const struct cell *cell, const struct range *range)
{
	const struct task *prev = NULL;
	size_t count = 0, leased = 0;

	for (const struct task *task = cell->in.first; task; prev = task, task = task->next) {
		if (task->prev != prev)
			return "neighbours point at each other";
		if (outside(range, task->at))
			return "a task is in the cell of its time";
		count++;
		leased += task->leased;
	}
	if (prev != cell->last)
		return "a list ends with its last task";
	if (count != cell->count || leased != cell->leased)
		return "a cell counts its tasks";
	if (count > CELL_MAX && range->bits > 0)
		return "no list is too long";
	return NULL;
}

static const char *check_cell(const struct cell *cell, struct range *range);

static const char *check_cells(const struct cell *cell, struct range *range)
{
	const struct cells *cells = cell->in.cells;
	size_t count = 0, leased = 0;

	range->opened++;
	if (outside(range, cells->start) || cells->shift >= range->bits)
		return "finer cells are inside of their cell";
	for (unsigned i = 0; i < CELLS; i++) {
		struct range finer = {cells->start + ((uint64_t)i << cells->shift), cells->shift,
		                      0};
		const char *wrong = check_cell(&cells->cell[i], &finer);

		if (wrong)
			return wrong;
		if ((cells->used >> i & 1) != (cells->cell[i].count > 0))
			return "a cell with tasks has its bit set";
		range->opened += finer.opened;
		count += cells->cell[i].count;
		leased += cells->cell[i].leased;
	}
	if (count != cell->count || leased != cell->leased)
		return "an open cell counts the tasks of its cells";
	return count > CELL_CLOSE ? NULL : "an open cell has more than a few tasks";
}

static const char *check_cell(const struct cell *cell, struct range *range)
{
	return cell_open(cell) ? check_cells(cell, range) : check_list(cell, range);
}

const char *timeline_check(const struct timeline *timeline)
{
	struct range range = {0, 64, 0};
	const char *wrong = check_cell(&timeline->all, &range);

	if (wrong)
		return wrong;
	if (timeline->first && timeline->first != earliest(timeline))
		return "the first task is known to be the first";
	return range.opened == timeline->opened ? NULL : "open cells are counted";
}
