/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include "memory.h"

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

void timeline_prefetch(const struct timeline *timeline, uint64_t at)
{
	const struct cell *cell = &timeline->all;

	while (cell_open(cell) && cells_cover(cell->in.cells, at))
		cell = &cell->in.cells->cell[cells_index(cell->in.cells, at)];
	if (!cell_open(cell) && cell->last)
		__builtin_prefetch(cell->last, 1);
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

/* Add the cells that end before this time; returns the cell that contains it. */
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

	while (cell_open(cell) && cells_cover(cell->in.cells, time)) {
		same_ms = cell->in.cells->shift == 0;
		cell = add_cells_before(&sum, cell->in.cells, time);
	}
	if (same_ms || (cell_open(cell) && time > cell->in.cells->start))
		add_cell(&sum, cell);
	else if (!cell_open(cell))
		add_list_until(&sum, cell, time);
	return sum;
}

size_t timeline_until_at_least(const struct timeline *timeline, uint64_t time)
{
	const struct cell *cell = &timeline->all;
	struct timeline_count sum = {0, 0};

	while (cell_open(cell) && cells_cover(cell->in.cells, time))
		cell = add_cells_before(&sum, cell->in.cells, time);
	if (cell_open(cell) && time > cell->in.cells->start)
		add_cell(&sum, cell);
	return sum.tasks;
}

static size_t count_of(const struct timeline_span *span, size_t tasks, size_t leased)
{
	if (span->tasks == TASKS_ALL)
		return tasks;
	return span->tasks == TASKS_LEASED ? leased : tasks - leased;
}

size_t timeline_count_in(const struct timeline *timeline, const struct timeline_span *span)
{
	struct timeline_count until, before = {0, 0};

	if (span->from > span->to)
		return 0;
	until = timeline_until(timeline, span->to);
	if (span->from > 0)
		before = timeline_until(timeline, span->from - 1);
	return count_of(span, until.tasks - before.tasks, until.leased - before.leased);
}

/* A walk in order, until fn returns false. */
struct walk {
	struct timeline_span span;
	bool whole; /* all tasks will be read */
	bool (*fn)(struct task *, void *);
	void *arg;
	size_t examined, skipped; /* tasks */
	uint64_t gave_up_at;
};

static bool give_up(struct walk *walk, uint64_t at)
{
	walk->gave_up_at = at;
	return false;
}

static bool in_span(const struct task *task, const struct timeline_span *span)
{
	if (task->at < span->from || task->at > span->to)
		return false;
	return count_of(span, 1, task->leased) > 0;
}

/* Whether it is in the span; if not, it was skipped. */
static bool examine(struct walk *walk, const struct task *task)
{
	bool in = in_span(task, &walk->span);

	walk->examined++;
	walk->skipped += !in;
	return in;
}

/* A list of tasks for different times: at most CELL_MAX tasks. */
static bool walk_sorted(const struct cell *cell, struct walk *walk)
{
	struct sort_item items[CELL_MAX];
	size_t count = 0;

	for (struct task *task = cell->in.first; task; task = task->next)
		if (examine(walk, task))
			items[count++] = (struct sort_item){task->at, task};
	sort_stable(items, count);
	for (size_t i = 0; i < count; i++)
		if (!walk->fn(items[i].task, walk->arg))
			return false;
	return true;
}

/* A list of tasks of one millisecond: any number. */
static bool walk_list(const struct cell *cell, struct walk *walk)
{
	for (struct task *task = cell->in.first; task; task = task->next) {
		if (walk->skipped > WALK_SKIPS)
			return give_up(walk, task->at);
		if (examine(walk, task) && !walk->fn(task, walk->arg))
			return false;
	}
	return true;
}

static uint64_t cell_begin(const struct cells *cells, unsigned i)
{
	return cells->start + ((uint64_t)i << cells->shift);
}

/* Whether cell `i` may hold tasks of the span. */
static bool cell_in_span(const struct cells *cells, unsigned i, const struct timeline_span *span)
{
	uint64_t begin = cell_begin(cells, i);
	uint64_t end = begin + ((UINT64_C(1) << cells->shift) - 1);

	return begin <= span->to && end >= span->from &&
	       count_of(span, cells->cell[i].count, cells->cell[i].leased) > 0;
}

/*
 * Walking a list that is not in the cache is one miss after the other. So the 16 lists of an open cell are prefetched
 * in step: then 16 misses overlap. It pays only if all tasks will be read.
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

static bool walk_cell(const struct cell *cell, unsigned shift, struct walk *walk)
{
	const struct cells *cells = cell->in.cells;

	if (!cell_open(cell))
		return shift == 0 ? walk_list(cell, walk) : walk_sorted(cell, walk);
	if (walk->whole)
		fetch_lists(cells);
	for (unsigned i = 0; i < CELLS; i++) {
		if (!cell_in_span(cells, i, &walk->span))
			continue;
		if (walk->skipped > WALK_SKIPS)
			return give_up(walk, cell_begin(cells, i));
		if (!walk_cell(&cells->cell[i], cells->shift, walk))
			return false;
	}
	return true;
}

struct timeline_walked timeline_walk(const struct timeline *timeline,
                                     const struct timeline_span *span,
                                     bool (*fn)(struct task *, void *), void *arg)
{
	struct walk walk = {.span = *span, .fn = fn, .arg = arg, .gave_up_at = PAWL_NEVER};

	walk_cell(&timeline->all, 1, &walk);
	return (struct timeline_walked){walk.gave_up_at, walk.examined};
}

struct each {
	void (*fn)(struct task *, void *);
	void *arg;
};

static bool each_task(struct task *task, void *arg)
{
	struct each *each = arg;

	each->fn(task, each->arg);
	return true;
}

void timeline_each(const struct timeline *timeline, void (*fn)(struct task *, void *), void *arg)
{
	struct each each = {fn, arg};
	struct walk walk = {
	        .span = {0, UINT64_MAX, TASKS_ALL}, .whole = true, .fn = each_task, .arg = &each};

	walk_cell(&timeline->all, 1, &walk);
}

size_t timeline_memory(const struct timeline *timeline)
{
	return timeline->opened ? timeline->opened * memory_size(timeline->all.in.cells) : 0;
}

/* The checker */

struct range {
	uint64_t start;
	unsigned bits; /* its width is 2^bits ms */
	size_t opened; /* open cells found in it */
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
