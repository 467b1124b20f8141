/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "memory.h"

uint64_t queue_next(const struct queue *queue)
{
	return timeline_next(&queue->alive);
}

/*
 * The part of a timeline that the span is about. False: none of its tasks are in such a state. Which of its tasks are
 * follows from the time, and, before it has come, from whether they are leased.
 */
static bool narrow(const struct queue_span *span, enum task_place place, struct timeline_span *part)
{
	bool come = span->state == STATE_DUE || span->state == STATE_DEAD;

	*part = (struct timeline_span){span->from, span->to, TASKS_ALL};
	if (span->state == STATES)
		return true;
	if (place == PLACE_DEAD)
		return span->state == STATE_DEAD;
	if (span->state == (place == PLACE_ALIVE ? STATE_DEAD : STATE_DUE))
		return false;
	if (come && part->to > span->now)
		part->to = span->now;
	if (!come && part->from <= span->now)
		part->from = span->now + 1;
	if (!come)
		part->tasks = span->state == STATE_LEASED ? TASKS_LEASED : TASKS_NOT_LEASED;
	return true;
}

static const struct timeline *timeline_at(const struct queue *queue, enum task_place place)
{
	if (place == PLACE_ALIVE)
		return &queue->alive;
	return place == PLACE_DYING ? &queue->dying : &queue->dead;
}

size_t queue_count_in(const struct queue *queue, const struct queue_span *span)
{
	struct timeline_span part;
	size_t count = 0;

	for (enum task_place place = PLACE_ALIVE; place <= PLACE_DEAD; place++)
		if (narrow(span, place, &part))
			count += timeline_count_in(timeline_at(queue, place), &part);
	return count;
}

/* Each timeline is looked into once: that is what takes the time. */
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

struct gathering {
	struct queue_range range;
	size_t most; /* with those of this timeline */
};

static bool gather(struct task *task, void *arg)
{
	struct gathering *to = arg;

	to->range.items[to->range.count++] = (struct sort_item){task->at, task};
	return to->range.count < to->most;
}

/*
 * As many as asked for of each timeline; then the first ones of all. Only among tasks that are or will be due can there be
 * too many others: those that are leased among those that wait, or the other way round. What is later than where that
 * walk gave up is not among the first ones then.
 */
struct queue_range queue_range(const struct queue *queue, const struct queue_span *span,
                               size_t most)
{
	struct queue_span left = *span;
	struct timeline_span part;
	struct gathering to = {0};

	to.range.items = memory_new(3 * most * sizeof(*to.range.items));
	for (enum task_place place = PLACE_ALIVE; place <= PLACE_DEAD; place++) {
		struct timeline_walked walked;

		to.most = to.range.count + most;
		if (!narrow(&left, place, &part))
			continue;
		walked = timeline_walk(timeline_at(queue, place), &part, gather, &to);
		to.range.looked += walked.looked;
		if (walked.gave_up_at != PAWL_NEVER)
			left.to = walked.gave_up_at - 1;
	}
	sort_stable(to.range.items, to.range.count);
	if (to.range.count > most)
		to.range.count = most;
	return to.range;
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
