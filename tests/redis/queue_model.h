/* SPDX-License-Identifier: MIT */
/* The naive truth about a queue: an array of tasks, searched from end to end for every answer. */
#ifndef PAWL_TESTS_REDIS_QUEUE_MODEL_H
#define PAWL_TESTS_REDIS_QUEUE_MODEL_H

#include "queue.h"

enum { MODEL_TASKS = 20000 };

struct model_task {
	bool there, leased, dead;
	uint64_t at, token;
	uint64_t arrival; /* first come, first served */
	unsigned tries, max_tries;
};

/* A task's name is its number. */
struct model {
	struct model_task tasks[MODEL_TASKS];
	unsigned used; /* tasks with a higher number were never there */
	uint64_t now, arrivals;
};

static inline enum task_state model_state(const struct model *model, const struct model_task *task)
{
	if (task->dead)
		return STATE_DEAD;
	if (task->at > model->now)
		return task->leased ? STATE_LEASED : STATE_WAITING;
	return task->leased && task->max_tries && task->tries >= task->max_tries ? STATE_DEAD
	                                                                         : STATE_DUE;
}

/* Whether it comes before the other among those that are due. */
static inline bool model_before(const struct model_task *a, const struct model_task *b)
{
	return !b || a->at < b->at || (a->at == b->at && a->arrival < b->arrival);
}

static inline struct model_task *model_first_due(struct model *model)
{
	struct model_task *first = NULL;

	for (unsigned i = 0; i < model->used; i++) {
		struct model_task *task = &model->tasks[i];

		if (task->there && model_state(model, task) == STATE_DUE &&
		    model_before(task, first))
			first = task;
	}
	return first;
}

/* When the next task will be due. */
static inline uint64_t model_next(const struct model *model)
{
	uint64_t next = PAWL_NEVER;

	for (unsigned i = 0; i < model->used; i++) {
		const struct model_task *task = &model->tasks[i];
		bool dying = task->leased && task->max_tries && task->tries >= task->max_tries;

		if (task->there && !task->dead && !dying && task->at < next)
			next = task->at;
	}
	return next < model->now ? model->now : next;
}

#endif
