/* SPDX-License-Identifier: MIT */
#include "heap.h"

#include "memory.h"

enum { FIRST_CAPACITY = 4 };

static bool before(const struct task *a, const struct task *b)
{
	if (task_at(a) != task_at(b))
		return task_at(a) < task_at(b);
	return a->u.heap.sequence < b->u.heap.sequence;
}

static void put(struct heap *heap, size_t index, struct task *task)
{
	heap->tasks[index] = task;
	task->u.heap.index = index;
}

static void sift_up(struct heap *heap, struct task *task, size_t index)
{
	while (index > 0) {
		size_t parent = (index - 1) / HEAP_ARITY;

		if (!before(task, heap->tasks[parent]))
			break;
		put(heap, index, heap->tasks[parent]);
		index = parent;
	}
	put(heap, index, task);
}

static size_t first_child(const struct heap *heap, size_t index)
{
	size_t child = index * HEAP_ARITY + 1, best = child;

	for (size_t i = child + 1; i < child + HEAP_ARITY && i < heap->count; i++)
		if (before(heap->tasks[i], heap->tasks[best]))
			best = i;
	return best;
}

static void sift_down(struct heap *heap, struct task *task, size_t index)
{
	while (index * HEAP_ARITY + 1 < heap->count) {
		size_t child = first_child(heap, index);

		if (!before(heap->tasks[child], task))
			break;
		put(heap, index, heap->tasks[child]);
		index = child;
	}
	put(heap, index, task);
}

static void set_capacity(struct heap *heap, size_t capacity)
{
	heap->tasks = memory_resize(heap->tasks, capacity * sizeof(struct task *));
	heap->capacity = capacity;
}

void heap_push(struct heap *heap, struct task *task, uint64_t at, uint64_t sequence)
{
	if (heap->count == heap->capacity)
		set_capacity(heap, heap->capacity ? heap->capacity * 2 : FIRST_CAPACITY);
	task->u.timer.deadline = at;
	task->u.heap.sequence = sequence;
	sift_up(heap, task, heap->count++);
}

void heap_remove(struct heap *heap, struct task *task)
{
	size_t index = task->u.heap.index;
	struct task *last = heap->tasks[--heap->count];

	if (last != task) {
		if (before(last, task))
			sift_up(heap, last, index);
		else
			sift_down(heap, last, index);
	}
	if (heap->capacity > FIRST_CAPACITY && heap->count < heap->capacity / 4)
		set_capacity(heap, heap->capacity / 2);
}

void heap_free(struct heap *heap)
{
	memory_free(heap->tasks);
	*heap = (struct heap){0};
}
