/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "../../src/base/assert.h"
#include "memory.h"

/* Only link_task() and unlink_task() put a task on a timeline or remove it. attach() and detach() also count lapses. */

static struct timeline *timeline_of(struct queue *queue, const struct task *task)
{
	switch ((enum task_timeline)task->timeline) {
	case ON_ALIVE:
		return &queue->alive;
	case ON_DYING:
		return &queue->dying;
	default:
		return &queue->dead;
	}
}

static void link_task(struct queue *queue, struct task *task, enum task_timeline which, uint64_t at)
{
	ASSERT(task->timeline == ON_NONE && which != ON_NONE);
	task->timeline = which & 3;
	task->at = at;
	timeline_add(timeline_of(queue, task), task);
}

static void unlink_task(struct queue *queue, struct task *task)
{
	ASSERT(task->timeline != ON_NONE);
	timeline_remove(timeline_of(queue, task), task);
	task->timeline = ON_NONE;
}

static void count_lapse(struct queue *queue, const struct task *task)
{
	queue->lapses.lapsed++;
	queue->lapses.died += task->timeline == ON_DYING;
}

/* A primary's lease may be over when it comes to a replica: the count has passed it. */
static void attach(struct queue *queue, struct task *task, enum task_timeline which, uint64_t at)
{
	link_task(queue, task, which, at);
	if (task->leased && at <= queue->lapses.counted)
		count_lapse(queue, task);
}

/* Attach a task that is not dead. */
static void attach_living(struct queue *queue, struct task *task, uint64_t at)
{
	attach(queue, task, task->leased && task_last_try(task) ? ON_DYING : ON_ALIVE, at);
}

static void detach(struct queue *queue, struct task *task)
{
	const struct lapses *lapses = &queue->lapses;

	if (task->leased && task->at <= lapses->now && task->at > lapses->counted)
		count_lapse(queue, task);
	unlink_task(queue, task);
}

/* Making and ending */

struct queue *queue_new(void)
{
	return memory_zeroed(sizeof(struct queue));
}

static void free_task(struct task *task, void *arg)
{
	(void)arg;
	memory_free(task);
}

void queue_free(struct queue *queue)
{
	uint64_t cursor = 0;

	do
		ids_scan(&queue->ids, cursor, free_task, NULL);
	while ((cursor = ids_scan_next(&queue->ids, cursor)) != 0);
	timeline_free(&queue->alive);
	timeline_free(&queue->dying);
	timeline_free(&queue->dead);
	ids_free(&queue->ids);
	memory_free(queue->lateness);
	memory_free(queue);
}

void queue_reserve(struct queue *queue, size_t count)
{
	ids_reserve(&queue->ids, count);
}

/*
 * The memory of a task. The allocator is asked once for each size in steps of 8 bytes, since asking for each task took
 * a twentieth of a PUT. All tasks of a step have the same size, except that malloc of the C library sometimes adds 16.
 */
static size_t bytes_of(struct task *task)
{
	static uint16_t known[128];
	size_t step = (offsetof(struct task, data) + task_data_size(task) + 7) / 8;

	if (step >= sizeof(known) / sizeof(known[0]))
		return memory_size(task);
	if (known[step] == 0)
		known[step] = (uint16_t)memory_size(task);
	return known[step];
}

static void admit(struct queue *queue, struct task *task)
{
	ids_add(&queue->ids, task);
	queue->task_bytes += bytes_of(task);
}

static void add_copy(struct task *task, void *to)
{
	struct task *copy = task_copy(task);

	admit(to, copy);
	link_task(to, copy, task->timeline, task->at);
}

struct queue *queue_copy(const struct queue *queue)
{
	struct queue *copy = queue_new();

	copy->settings = queue->settings;
	copy->lapses = queue->lapses;
	queue_reserve(copy, queue_count(queue));
	queue_each(queue, add_copy, copy);
	return copy;
}

/* Tasks */

void queue_prefetch(const struct queue *queue, const struct task *task, uint64_t at)
{
	ids_prefetch(&queue->ids, task->data, task->id_size);
	timeline_prefetch(&queue->alive, at);
}

void queue_prefetch_behind(const struct queue *queue, const struct task *task)
{
	if (!task->next)
		return;
	ids_prefetch(&queue->ids, task->next->data, task->next->id_size);
	if (task->next->next)
		task_prefetch(task->next->next);
}

void queue_add(struct queue *queue, struct task *task, uint64_t at)
{
	admit(queue, task);
	attach_living(queue, task, at);
}

void queue_add_leased(struct queue *queue, struct task *task, uint64_t until)
{
	task->leased = true;
	queue_add(queue, task, until);
}

void queue_add_dead(struct queue *queue, struct task *task, uint64_t since)
{
	admit(queue, task);
	attach(queue, task, ON_DEAD, since);
}

static void end_lease(struct task *task)
{
	task->leased = false;
	task->token = 0;
}

void queue_schedule(struct queue *queue, struct task *task, uint64_t at)
{
	detach(queue, task);
	end_lease(task);
	attach_living(queue, task, at);
}

void queue_lease(struct queue *queue, struct task *task, uint64_t until, uint64_t token)
{
	detach(queue, task);
	task->leased = true;
	task->token = token;
	attach_living(queue, task, until);
}

/* A task on `dying` whose lease is over is dead already. */
void queue_bury(struct queue *queue, struct task *task, uint64_t since)
{
	queue->lapses.died += task_state(task, queue->lapses.now) != STATE_DEAD;
	detach(queue, task);
	end_lease(task);
	attach(queue, task, ON_DEAD, since);
}

static void dismiss(struct queue *queue, struct task *task)
{
	ids_remove(&queue->ids, task);
	queue->task_bytes -= bytes_of(task);
}

void queue_delete(struct queue *queue, struct task *task)
{
	detach(queue, task);
	dismiss(queue, task);
	memory_free(task);
}

struct task *queue_set_reason(struct queue *queue, struct task *task, const void *reason,
                              size_t size)
{
	enum task_timeline which = task->timeline;
	struct extras extras = task_extras(task);

	if (size == 0 && extras.reason_size == 0)
		return task;
	extras.reason = reason;
	extras.reason_size = (uint16_t)size;
	unlink_task(queue, task);
	dismiss(queue, task);
	task = task_set_extras(task, &extras);
	admit(queue, task);
	link_task(queue, task, which, task->at);
	return task;
}

struct task *queue_restart(struct queue *queue, struct task *task, uint64_t at)
{
	task = queue_set_reason(queue, task, NULL, 0);
	task->tries = 0;
	queue_schedule(queue, task, at);
	return task;
}

/* The first tasks */

struct task *queue_first_due(struct queue *queue, uint64_t now)
{
	struct task *task = timeline_first(&queue->alive);

	return task && task->at <= now && !queue->settings.paused ? task : NULL;
}

struct task *queue_first_dead(struct queue *queue, uint64_t now)
{
	struct task *buried = timeline_first(&queue->dead), *dying = timeline_first(&queue->dying);

	if (!dying || dying->at > now || (buried && buried->at <= dying->at))
		return buried;
	return dying;
}

uint64_t queue_next_due(struct queue *queue)
{
	const struct task *task = timeline_first(&queue->alive);

	return task && !queue->settings.paused ? task->at : PAWL_NEVER;
}

uint64_t queue_next_dead(struct queue *queue)
{
	const struct task *dying = timeline_first(&queue->dying);

	if (queue->dead.all.count > 0)
		return 0;
	return dying ? dying->at : PAWL_NEVER;
}

size_t queue_dead_beyond(const struct queue *queue, uint64_t now)
{
	size_t buried = queue->dead.all.count, most = queue->settings.max_dead, dead;

	if (most == 0 || buried + queue->dying.all.count <= most)
		return 0;
	dead = buried + timeline_until(&queue->dying, now).tasks;
	return dead > most ? dead - most : 0;
}

uint64_t queue_backoff(const struct queue *queue, const struct task *task)
{
	uint64_t ms = queue->settings.backoff_ms, max = queue->settings.backoff_max_ms;

	if (ms == 0 || task_last_try(task))
		return 0;
	for (unsigned tries = 1; tries < task->tries && ms < max; tries++)
		ms *= 2;
	return ms < max ? ms : max;
}

void queue_count_delivery(struct queue *queue, const struct task *task, uint64_t now)
{
	ASSERT(task->at <= now);
	if (!queue->lateness)
		queue->lateness = memory_zeroed(sizeof(*queue->lateness));
	lateness_count(queue->lateness, now - task->at);
}

/* Lateness */

enum { BUCKET_BITS = 2, BUCKETS_A_POWER = 1 << BUCKET_BITS };

static unsigned bucket_of(uint64_t ms)
{
	unsigned shift;

	if (ms < BUCKETS_A_POWER)
		return (unsigned)ms;
	shift = 63u - (unsigned)__builtin_clzll(ms) - BUCKET_BITS;
	return shift * BUCKETS_A_POWER + (unsigned)(ms >> shift);
}

static uint64_t end_of(unsigned bucket)
{
	unsigned shift = bucket / BUCKETS_A_POWER - 1;

	if (bucket < BUCKETS_A_POWER)
		return bucket;
	return ((uint64_t)(bucket % BUCKETS_A_POWER + BUCKETS_A_POWER + 1) << shift) - 1;
}

void lateness_count(struct lateness *lateness, uint64_t ms)
{
	uint32_t *bucket = &lateness->buckets[bucket_of(ms)];

	ASSERT(bucket < lateness->buckets + LATENESS_BUCKETS);
	lateness->count++;
	if (*bucket < UINT32_MAX)
		++*bucket;
	if (ms > lateness->max)
		lateness->max = ms;
}

uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent)
{
	uint64_t seen = 0;

	for (unsigned bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
		seen += lateness->buckets[bucket];
		if (seen > 0 && seen * 100 >= lateness->count * percent)
			return end_of(bucket) < lateness->max ? end_of(bucket) : lateness->max;
	}
	return lateness->max;
}

/* Lapses */

void queue_begin(struct queue *queue, uint64_t now)
{
	queue->lapses.now = now;
}

static size_t lapses_of(const struct timeline *timeline, const struct lapses *lapses)
{
	struct timeline_span span = {lapses->counted + 1, lapses->now, TASKS_LEASED};

	return timeline->all.leased > 0 ? timeline_count_in(timeline, &span) : 0;
}

/* If the clock was set back, `counted` also goes back: leases that were over hold again, and lapse again. */
void queue_count_lapses(struct queue *queue)
{
	struct lapses *lapses = &queue->lapses;
	size_t died;

	if (lapses->counted == lapses->now)
		return;
	died = lapses_of(&queue->dying, lapses);
	lapses->lapsed += died + lapses_of(&queue->alive, lapses);
	lapses->died += died;
	lapses->counted = lapses->now;
}

void queue_forget_lapses(struct queue *queue, uint64_t now)
{
	queue->lapses = (struct lapses){.now = now, .counted = now};
}

/* Moving */

static void move_block(void **block, memory_move_fn *move, void *arg)
{
	void *moved = *block ? move(*block, arg) : NULL;

	if (moved)
		*block = moved;
}

struct queue *queue_move(struct queue *queue, memory_move_fn *move, void *arg)
{
	void *here = queue, *lateness;

	move_block(&here, move, arg);
	queue = here;
	lateness = queue->lateness;
	move_block(&lateness, move, arg);
	queue->lateness = lateness;
	ids_move(&queue->ids, move, arg);
	timeline_move(&queue->alive, move, arg);
	timeline_move(&queue->dying, move, arg);
	timeline_move(&queue->dead, move, arg);
	return queue;
}

static void task_moved(const void *from, struct task *to, void *queue)
{
	timeline_moved(timeline_of(queue, to), from, to);
}

uint64_t queue_move_tasks(struct queue *queue, uint64_t cursor, memory_move_fn *move, void *arg)
{
	ids_move_tasks(&queue->ids, cursor, move, arg, task_moved, queue);
	return ids_scan_next(&queue->ids, cursor);
}
