/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "memory.h"

uint64_t queue_next(const struct queue *queue)
{
	return timeline_next(&queue->alive);
}

/*
 * The part of a timeline that is in the span. False: no task of the timeline can be in the span's state. A task's state
 * follows from its timeline, its time and, if that is in the future, whether it is leased.
 */
static bool narrow(const struct queue_span *span, enum task_timeline which,
                   struct timeline_span *part)
{
	bool come = span->state == STATE_DUE || span->state == STATE_DEAD;

	*part = (struct timeline_span){span->from, span->to, TASKS_ALL};
	if (span->state == STATES)
		return true;
	if (which == ON_DEAD)
		return span->state == STATE_DEAD;
	if (span->state == (which == ON_ALIVE ? STATE_DEAD : STATE_DUE))
		return false;
	if (come && part->to > span->now)
		part->to = span->now;
	if (!come && part->from <= span->now)
		part->from = span->now + 1;
	if (!come)
		part->tasks = span->state == STATE_LEASED ? TASKS_LEASED : TASKS_NOT_LEASED;
	return true;
}

static const struct timeline *timeline_at(const struct queue *queue, enum task_timeline which)
{
	if (which == ON_ALIVE)
		return &queue->alive;
	return which == ON_DYING ? &queue->dying : &queue->dead;
}

size_t queue_count_in(const struct queue *queue, const struct queue_span *span)
{
	struct timeline_span part;
	size_t count = 0;

	for (enum task_timeline which = ON_ALIVE; which <= ON_DEAD; which++)
		if (narrow(span, which, &part))
			count += timeline_count_in(timeline_at(queue, which), &part);
	return count;
}

/* Each timeline is searched once: that is the expensive part. */
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
	size_t most; /* range.count at which the walk of this timeline ends */
};

static bool gather(struct task *task, void *arg)
{
	struct gathering *to = arg;

	to->range.items[to->range.count++] = (struct sort_item){task->at, task};
	return to->range.count < to->most;
}

/*
 * Collect `most` tasks of each timeline, sort them, and keep the first `most`. A walk of `alive` gives up if it asks
 * for waiting tasks and meets too many leased ones, or the reverse. Later tasks of the other timelines are then left
 * out: they may not be among the first.
 */
struct queue_range queue_range(const struct queue *queue, const struct queue_span *span,
                               size_t most)
{
	struct queue_span left = *span;
	struct timeline_span part;
	struct gathering to = {0};

	to.range.items = memory_new(3 * most * sizeof(*to.range.items));
	for (enum task_timeline which = ON_ALIVE; which <= ON_DEAD; which++) {
		struct timeline_walked walked;

		to.most = to.range.count + most;
		if (!narrow(&left, which, &part))
			continue;
		walked = timeline_walk(timeline_at(queue, which), &part, gather, &to);
		to.range.examined += walked.examined;
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

struct expected {
	enum task_timeline timeline;
	bool right;
};

static void compare_timeline(struct task *task, void *arg)
{
	struct expected *expected = arg;

	if (task->timeline != expected->timeline)
		expected->right = false;
}

static bool all_on(const struct timeline *timeline, enum task_timeline which)
{
	struct expected expected = {which, true};

	timeline_each(timeline, compare_timeline, &expected);
	return expected.right;
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
	if (!all_on(&queue->alive, ON_ALIVE) || !all_on(&queue->dying, ON_DYING) ||
	    !all_on(&queue->dead, ON_DEAD))
		return "a task knows its timeline";
	return NULL;
}
