/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "memory.h"

uint64_t queue_next(const struct queue *queue)
{
	return timeline_next(&queue->alive);
}

void queue_counts(const struct queue *queue, uint64_t now, size_t counts[STATES])
{
	struct timeline_count due = timeline_until(&queue->alive, now);
	struct timeline_count dead = timeline_until(&queue->dying, now);
	const struct cell *alive = &queue->alive.all, *dying = &queue->dying.all;

	counts[STATE_DUE] = due.tasks;
	counts[STATE_LEASED] = alive->leased - due.leased + dying->count - dead.tasks;
	counts[STATE_DEAD] = queue->dead.all.count + dead.tasks;
	counts[STATE_WAITING] = (alive->count - alive->leased) - (due.tasks - due.leased);
}

void queue_each(const struct queue *queue, void (*fn)(struct task *, void *), void *arg)
{
	timeline_each(&queue->alive, fn, arg);
	timeline_each(&queue->dying, fn, arg);
	timeline_each(&queue->dead, fn, arg);
}

bool queue_compact(const struct queue *queue)
{
	return queue->alive.opened + queue->dying.opened + queue->dead.opened == 0;
}

size_t queue_memory(const struct queue *queue)
{
	return memory_size((void *)(uintptr_t)queue) + timeline_memory(&queue->alive) +
	       timeline_memory(&queue->dying) + timeline_memory(&queue->dead) +
	       memory_size(queue->lateness) + ids_memory(&queue->ids) + queue->task_bytes;
}

struct places {
	enum task_place place;
	bool right;
};

static void compare_place(struct task *task, void *arg)
{
	struct places *places = arg;

	if (task->place != places->place)
		places->right = false;
}

static bool in_place(const struct timeline *timeline, enum task_place place)
{
	struct places places = {place, true};

	timeline_each(timeline, compare_place, &places);
	return places.right;
}

const char *queue_check(const struct queue *queue)
{
	const char *wrong = timeline_check(&queue->alive);

	if (!wrong)
		wrong = timeline_check(&queue->dying);
	if (!wrong)
		wrong = timeline_check(&queue->dead);
	if (wrong)
		return wrong;
	if (queue->alive.all.count + queue->dying.all.count + queue->dead.all.count !=
	    queue_count(queue))
		return "every task is on one timeline";
	if (!in_place(&queue->alive, PLACE_ALIVE) || !in_place(&queue->dying, PLACE_DYING) ||
	    !in_place(&queue->dead, PLACE_DEAD))
		return "a task knows its timeline";
	return NULL;
}
