/* SPDX-License-Identifier: MIT */
/* The naive model of a queue: an array of tasks, and their numbers sorted by due time and arrival. */
#ifndef PAWL_TESTS_REDIS_QUEUE_MODEL_H
#define PAWL_TESTS_REDIS_QUEUE_MODEL_H

#include <string.h>

#include "../queue/queue.h"

enum { MODEL_TASKS = 20000 };

struct model_task {
	bool there, leased, dead;
	uint64_t at, token;
	uint64_t arrival; /* first come, first served */
	unsigned tries, max_tries;
	uint64_t period, base;
	unsigned reason; /* its size, which gives its text; 0: none */
};

/* A task's name is its number. */
struct model {
	struct model_task tasks[MODEL_TASKS];
	unsigned used; /* tasks with a higher number were never there */
	unsigned order[MODEL_TASKS], count;
	uint64_t now, arrivals;
	bool paused;
};

/* Whether it is due or will be. */
static inline bool model_alive(const struct model_task *task)
{
	bool dying = task->leased && task->max_tries && task->tries >= task->max_tries;

	return task->there && !task->dead && !dying;
}

static inline enum task_state model_state(const struct model *model, const struct model_task *task)
{
	if (task->dead)
		return STATE_DEAD;
	if (task->at > model->now)
		return task->leased ? STATE_LEASED : STATE_WAITING;
	return model_alive(task) ? STATE_DUE : STATE_DEAD;
}

static inline bool model_before(const struct model_task *a, const struct model_task *b)
{
	return a->at < b->at || (a->at == b->at && a->arrival < b->arrival);
}

/* The position in the order of a task with this time and arrival. */
static inline unsigned model_position(const struct model *model, const struct model_task *task)
{
	unsigned low = 0, high = model->count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (model_before(&model->tasks[model->order[middle]], task))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Before the task with this number is changed... */
static inline struct model_task *model_begin(struct model *model, unsigned number)
{
	struct model_task *task = &model->tasks[number];
	unsigned position = model_position(model, task);

	if (model_alive(task))
		memmove(&model->order[position], &model->order[position + 1],
		        (--model->count - position) * sizeof(unsigned));
	return task;
}

/* ...and after it. */
static inline void model_end(struct model *model, struct model_task *task)
{
	unsigned position = model_position(model, task);

	if (!model_alive(task))
		return;
	memmove(&model->order[position + 1], &model->order[position],
	        (model->count++ - position) * sizeof(unsigned));
	model->order[position] = (unsigned)(task - model->tasks);
}

static inline struct model_task *model_first_due(struct model *model)
{
	struct model_task *first = model->count ? &model->tasks[model->order[0]] : NULL;

	return first && first->at <= model->now && !model->paused ? first : NULL;
}

/* When the first task is due, or was. */
static inline uint64_t model_next(const struct model *model)
{
	return model->count ? model->tasks[model->order[0]].at : PAWL_NEVER;
}

#endif
