/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include "memory.h"

enum { ALL_BITS = 64 }; /* the shift of the cell that is all of time */

/* Lists. The next of the last task is NULL, and the prev of the first. */

static void append(struct cell *cell, struct task *task)
{
	task->next = NULL;
	task->prev = cell->last;
	if (cell->last)
		cell->last->next = task;
	else
		cell->in.first = task;
	cell->last = task;
}

/* `from` must be a list that is not empty. */
static void append_list(struct cell *cell, const struct cell *from)
{
	ASSERT(from->last);
	from->in.first->prev = cell->last;
	if (cell->last)
		cell->last->next = from->in.first;
	else
		cell->in.first = from->in.first;
	cell->last = from->last;
}

static void unlink_task(struct cell *cell, struct task *task)
{
	if (task->next)
		task->next->prev = task->prev;
	else
		cell->last = task->prev;
	if (task->prev)
		task->prev->next = task->next;
	else
		cell->in.first = task->next;
}

/* Opening and closing */

/* The shift of the 16 narrowest cells that contain times which differ in these bits. */
static uint8_t shift_of(uint64_t differing)
{
	unsigned highest = differing ? 63u - (unsigned)__builtin_clzll(differing) : 0;

	return (uint8_t)(highest - highest % CELL_BITS);
}

static struct cells *new_cells(struct timeline *timeline, uint64_t time, uint8_t shift)
{
	struct cells *cells = memory_zeroed(sizeof(*cells));

	cells->shift = shift;
	cells->start = time >> shift >> CELL_BITS << CELL_BITS << shift;
	timeline->opened++;
	return cells;
}

static void free_cells(struct timeline *timeline, struct cells *cells)
{
	memory_free(cells);
	timeline->opened--;
}

/* From both ends at once: each step is a cache miss, and two of them overlap. */
static uint64_t differing_bits(const struct cell *cell)
{
	const struct task *front = cell->in.first, *back = cell->last;
	uint64_t at = front->at, bits = 0;

	for (size_t i = 0; i < cell->count; i += 2, front = front->next, back = back->prev)
		bits |= (front->at ^ at) | (back->at ^ at);
	return bits;
}

static void count(struct cell *cell, const struct task *task)
{
	cell->count++;
	cell->leased += task->leased;
}

static struct cell *finer_cell(struct cells *cells, const struct task *task)
{
	unsigned index = cells_index(cells, task->at);

	ASSERT(cells_cover(cells, task->at));
	cells->used |= (uint16_t)(1u << index);
	return &cells->cell[index];
}

/* Move the tasks of a list to 16 finer cells. Each keeps the order of arrival. */
static void open_cell(struct timeline *timeline, struct cell *cell)
{
	struct task *task = cell->in.first, *next;
	struct cells *cells;

	ASSERT(cell->last && cell->count > 0);
	cells = new_cells(timeline, task->at, shift_of(differing_bits(cell)));
	for (; task; task = next) {
		struct cell *finer = finer_cell(cells, task);

		next = task->next;
		count(finer, task);
		append(finer, task);
	}
	timeline->moves += cell->count;
	cell->in.cells = cells;
	cell->last = NULL;
}

static void gather(struct timeline *timeline, struct cell *to, struct cells *cells)
{
	for (; cells->used; cells->used &= (uint16_t)(cells->used - 1)) {
		struct cell *cell = &cells->cell[cells_first(cells)];

		if (cell_open(cell))
			gather(timeline, to, cell->in.cells);
		else
			append_list(to, cell);
	}
	free_cells(timeline, cells);
}

/* Make an open cell a list again. */
static void close_cell(struct timeline *timeline, struct cell *cell)
{
	struct cells *cells = cell->in.cells;

	cell->in.first = NULL;
	gather(timeline, cell, cells);
}

/* Make the cells of an open cell one of 16 wider cells, which also cover this time. */
static void widen(struct timeline *timeline, struct cell *cell, uint64_t time)
{
	struct cells *cells = cell->in.cells, *wider;
	unsigned index;

	wider = new_cells(timeline, time, shift_of(time ^ cells->start));
	index = cells_index(wider, cells->start);
	wider->cell[index] = *cell;
	wider->used = (uint16_t)(1u << index);
	cell->in.cells = wider;
}

/* Tasks */

void timeline_add(struct timeline *timeline, struct task *task)
{
	struct cell *cell = &timeline->all;
	unsigned shift = ALL_BITS;

	if (cell->count == 0 || (timeline->first && task->at < timeline->first->at))
		timeline->first = task;
	while (cell_open(cell)) {
		if (!cells_cover(cell->in.cells, task->at))
			widen(timeline, cell, task->at);
		count(cell, task);
		shift = cell->in.cells->shift;
		cell = finer_cell(cell->in.cells, task);
	}
	count(cell, task);
	append(cell, task);
	if (cell->count > CELL_MAX && shift > 0)
		open_cell(timeline, cell);
}

void timeline_remove(struct timeline *timeline, struct task *task)
{
	struct cell *cell = &timeline->all;

	if (task == timeline->first)
		timeline->first = NULL;
	for (;;) {
		struct cells *cells = cell->in.cells;
		unsigned index;

		ASSERT(cell->count > 0);
		cell->count--;
		cell->leased -= task->leased;
		if (cell_open(cell) && cell->count <= CELL_CLOSE)
			close_cell(timeline, cell);
		if (!cell_open(cell))
			break;
		ASSERT(cells_cover(cells, task->at));
		index = cells_index(cells, task->at);
		cell = &cells->cell[index];
		if (cell->count == 1)
			cells->used &= (uint16_t) ~(1u << index);
	}
	unlink_task(cell, task);
}

static struct task *find_first(struct timeline *timeline)
{
	struct cell *cell = &timeline->all;
	unsigned shift = ALL_BITS;

	for (;;) {
		if (!cell_open(cell)) {
			if (cell->count <= CELL_FEW || shift == 0)
				return cell_earliest(cell, shift);
			open_cell(timeline, cell);
		}
		shift = cell->in.cells->shift;
		cell = &cell->in.cells->cell[cells_first(cell->in.cells)];
	}
}

struct task *timeline_first(struct timeline *timeline)
{
	if (!timeline->first)
		timeline->first = find_first(timeline);
	return timeline->first;
}

static void free_all(struct timeline *timeline, const struct cell *cell)
{
	struct cells *cells = cell->in.cells;

	if (!cell_open(cell))
		return;
	for (unsigned i = 0; i < CELLS; i++)
		free_all(timeline, &cells->cell[i]);
	free_cells(timeline, cells);
}

void timeline_free(struct timeline *timeline)
{
	free_all(timeline, &timeline->all);
	*timeline = (struct timeline){0};
}

/* Moving */

static void move_cells(struct cell *cell, memory_move_fn *move, void *arg)
{
	struct cells *moved;

	if (!cell_open(cell))
		return;
	moved = move(cell->in.cells, arg);
	if (moved)
		cell->in.cells = moved;
	for (unsigned i = 0; i < CELLS; i++)
		move_cells(&cell->in.cells->cell[i], move, arg);
}

void timeline_move(struct timeline *timeline, memory_move_fn *move, void *arg)
{
	move_cells(&timeline->all, move, arg);
}

void timeline_moved(struct timeline *timeline, const void *from, struct task *task)
{
	struct cell *cell = &timeline->all;

	while (cell_open(cell))
		cell = &cell->in.cells->cell[cells_index(cell->in.cells, task->at)];
	*(task->prev ? &task->prev->next : &cell->in.first) = task;
	*(task->next ? &task->next->prev : &cell->last) = task;
	if (timeline->first == from)
		timeline->first = task;
}
