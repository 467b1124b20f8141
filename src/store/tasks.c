/* SPDX-License-Identifier: MIT */
/*
 * Tasks in memory, and the changes of a task's life. Commits make them, and recovery makes them again.
 *
 *	             tick: its time has come         take
 *	WAITING ------------------------------> DUE -------> LEASED ---> ack: gone
 *	   ^  on `wheel`, by the wall clock      ^              |  on `leases`, by the clock
 *	   |                                     +--------------+  the lease lapses, release
 *	   +----------------------------------------------------+  retry
 *	                                                        +---> DEAD  bury
 */
#define _GNU_SOURCE
#include "layout.h"

#include "../base/siphash.h"

static struct task **bucket_of(struct pawl_store *store, uint64_t id)
{
	return &store->buckets[(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & store->bucket_mask];
}

struct task *pawl__task_find(struct pawl_store *store, uint64_t id)
{
	struct task *task = *bucket_of(store, id);

	while (task && task->id != id)
		task = task->next;
	return task;
}

/* Bytes in memory that a task with such a payload takes. */
size_t pawl__task_bytes(size_t payload)
{
	return sizeof(struct task) + payload + 16; /* 16: malloc's own, about */
}

struct task *pawl__task_new(const struct stored *stored, struct queue *queue)
{
	struct task *task = malloc(sizeof(*task) + stored->size);

	if (!task)
		return NULL;
	*task = (struct task){
	        .id = stored->id,
	        .due = stored->due,
	        .queue = queue,
	        .size = stored->size,
	        .tries = stored->tries,
	};
	if (stored->size)
		memcpy(task->bytes, stored->payload, stored->size);
	return task;
}

void pawl__task_free(struct task *task)
{
	free(task->reason);
	free(task);
}

struct stored pawl__task_stored(const struct task *task)
{
	return (struct stored){
	        .id = task->id,
	        .due = task->due,
	        .payload = task->bytes,
	        .reason = task->reason,
	        .queue = task->queue->number,
	        .tries = task->tries,
	        .size = task->size,
	        .reason_size = (uint8_t)(task->reason ? strlen(task->reason) : 0),
	};
}

/* Insert it before another one; NULL: at the end. */
static void list_insert(struct list *list, struct task *task, struct task *before)
{
	struct task **back = before ? &before->in.link.prev : &list->last;

	task->in.link.next = before;
	task->in.link.prev = *back;
	*(*back ? &(*back)->in.link.next : &list->first) = task;
	*back = task;
}

static void list_remove(struct list *list, struct task *task)
{
	struct task *next = task->in.link.next, *prev = task->in.link.prev;

	*(prev ? &prev->in.link.next : &list->first) = next;
	*(next ? &next->in.link.prev : &list->last) = prev;
}

/* After each change of its list: whether a task can be taken. If none can, the file thread brings some of the backlog. */
static void note_ready(struct pawl_store *store, struct queue *queue)
{
	bool ready = first_ready(queue) != NULL;

	if (ready == queue->ready)
		return;
	queue->ready = ready;
	store->ready += ready ? 1 : (size_t)-1;
	if (!ready && has_backlog(queue)) {
		store->files_at = 0;
		pawl__store_want_files(store);
	}
}

static void announce(struct pawl_store *store, struct queue *queue)
{
	if (queue->takers)
		condition_signal(&queue->arrived);
	if (queue->attached)
		pawl__attachment_wake(store, queue->attached);
}

static bool is_behind(const struct queue *queue, const struct task *task)
{
	return has_backlog(queue) && task->due > queue->backlog_due &&
	       task->due > queue->backlog->first_due;
}

static void make_due(struct pawl_store *store, struct task *task)
{
	struct queue *queue = task->queue;
	bool behind = is_behind(queue, task);

	task->state = DUE;
	list_insert(&queue->due, task, behind ? NULL : queue->behind);
	if (behind && !queue->behind)
		queue->behind = task;
	queue->due_bytes += pawl__task_bytes(task->size);
	store->stats.due++;
	note_ready(store, queue);
	if (!behind)
		announce(store, queue);
}

static void leave_due(struct pawl_store *store, struct task *task)
{
	struct queue *queue = task->queue;

	if (queue->behind == task)
		queue->behind = task->in.link.next;
	list_remove(&queue->due, task);
	queue->due_bytes -= pawl__task_bytes(task->size);
	store->stats.due--;
	note_ready(store, queue);
}

/* Without a backlog, the tasks behind it can be taken. */
void pawl__backlog_changed(struct pawl_store *store, struct queue *queue)
{
	struct task *task = has_backlog(queue) ? NULL : queue->behind;

	if (!has_backlog(queue))
		queue->behind = NULL;
	note_ready(store, queue);
	for (; task; task = task->in.link.next)
		announce(store, queue);
}

/* By the wall clock. A recovery puts all onto the wheel, and the first tick takes off what is due, in order. */
static void await(struct pawl_store *store, struct task *task)
{
	if (!store->recovering && task->due <= pawl__store_wall(store)) {
		make_due(store, task);
		return;
	}
	task->state = WAITING;
	pawl_wheel_arm_idle_at(store->wheel, &task->in.timer, task->due);
	pawl__store_wake_clock(store, task->due);
}

/* Take it off what it is in by its state. */
static void detach(struct pawl_store *store, struct task *task)
{
	switch (task->state) {
	case WAITING:
		pawl_wheel_cancel(store->wheel, &task->in.timer);
		break;
	case DUE:
		leave_due(store, task);
		break;
	case LEASED:
		pawl_wheel_cancel(store->leases, &task->in.timer);
		store->stats.leased--;
		break;
	default:
		list_remove(&store->dead, task);
		store->stats.dead--;
		store->dead_bytes -= pawl__task_bytes(task->size);
	}
}

static void make_dead(struct pawl_store *store, struct task *task)
{
	task->state = DEAD;
	list_insert(&store->dead, task, NULL);
	store->stats.dead++;
	store->dead_bytes += pawl__task_bytes(task->size);
}

/* Before a task changes: a checkpoint that has not come to it yet gets it as it was when the log ended. */
static void keep(struct pawl_store *store, struct task *task)
{
	mutex_assert_held(&store->mutex);
	if (store->imaging && task->epoch != store->epoch)
		pawl__image_task(store, task);
}

void pawl__task_insert(struct pawl_store *store, struct task *task)
{
	struct task **bucket = bucket_of(store, task->id);

	task->next = *bucket;
	*bucket = task;
	task->epoch = store->epoch;
	store->stats.in_memory++;
	store->stats.memory_bytes += pawl__task_bytes(task->size);
	if (task->reason)
		make_dead(store, task);
	else
		await(store, task);
}

static void leave_memory(struct pawl_store *store, struct task *task)
{
	struct task **at = bucket_of(store, task->id);

	keep(store, task);
	detach(store, task);
	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	store->stats.in_memory--;
	store->stats.memory_bytes -= pawl__task_bytes(task->size);
	pawl__task_free(task);
	if (store->crowded && store->stats.memory_bytes < store->options.memory / 2) {
		store->crowded = false;
		pawl__store_want_files(store);
	}
}

/* A task is born: in memory, as `task`; or in the slot of its id, to which it was promised or is promised now. */
int pawl__put(struct pawl_store *store, const struct stored *stored, struct task *task)
{
	struct slot *slot = pawl__slot_find(store, (uint32_t)(stored->id >> 32));
	int error = pawl__birth(store, stored->id);

	if (!error && !task && store->recovering)
		error = pawl__slot_promise(store, slot, stored->size);
	if (error) {
		if (task)
			pawl__task_free(task);
		return error;
	}
	store->stats.put++;
	if (task)
		pawl__task_insert(store, task);
	else
		pawl__slot_append(store, slot, stored);
	return 0;
}

/* It is gone for good, wherever it was. */
void pawl__end(struct pawl_store *store, uint64_t id, enum why why)
{
	struct task *task = pawl__task_find(store, id);

	if (!pawl__lives(store, id))
		return;
	store->stats.acked += why == ACKED;
	store->stats.cancelled += why == CANCELLED;
	if (task)
		leave_memory(store, task);
	pawl__death(store, id);
}

void pawl__task_try(struct pawl_store *store, struct task *task)
{
	keep(store, task);
	task->tries += task->tries < UINT32_MAX;
}

void pawl__task_lease(struct pawl_store *store, struct task *task, uint64_t until, uint64_t fence)
{
	detach(store, task);
	task->state = LEASED;
	task->fence = fence;
	pawl_wheel_arm_idle_at(store->leases, &task->in.timer, until);
	store->stats.leased++;
}

/* The lease has ended. */
void pawl__task_unlease(struct pawl_store *store, struct task *task)
{
	detach(store, task);
	task->fence = 0;
	await(store, task);
}

/* It is due at another time, and goes to a slot or, if that is NULL, stays in memory. */
void pawl__task_move(struct pawl_store *store, struct task *task, uint64_t due, struct slot *slot,
                     enum why why)
{
	keep(store, task);
	if (!slot)
		detach(store, task);
	task->due = due;
	if (why == REQUEUED) {
		task->tries = 0;
		store->stats.requeued++;
	}
	if (slot) {
		struct stored stored = pawl__task_stored(task);

		stored.reason = NULL;
		pawl__slot_append(store, slot, &stored);
		leave_memory(store, task);
		return;
	}
	free(task->reason);
	task->reason = NULL;
	task->fence = 0;
	await(store, task);
}

/* `reason` is the task's from now on. */
void pawl__task_bury(struct pawl_store *store, struct task *task, char *reason)
{
	keep(store, task);
	detach(store, task);
	task->fence = 0;
	task->reason = reason;
	make_dead(store, task);
	store->stats.buried++;
}

/* The clock was set back: the wheel begins anew, and tasks whose time is to come wait again. */
static void rebuild(struct pawl_store *store)
{
	const struct pawl_wheel_options options = {.tick = TICK};

	for (size_t i = 0; i <= store->bucket_mask; i++)
		for (struct task *task = store->buckets[i]; task; task = task->next)
			if (task->state == WAITING)
				pawl_wheel_cancel(store->wheel, &task->in.timer);
	store->wheel = pawl_wheel_init(store->wheel, pawl_wheel_footprint(&options), &options);
	for (size_t i = 0; i <= store->bucket_mask; i++)
		for (struct task *task = store->buckets[i]; task; task = task->next) {
			if (task->state == DUE)
				detach(store, task);
			if (task->state == WAITING || task->state == DUE) {
				task->state = WAITING;
				pawl_wheel_arm_idle_at(store->wheel, &task->in.timer, task->due);
			}
		}
}

static void wake_attached(struct pawl_store *store, struct queue *queue)
{
	if (first_ready(queue))
		pawl__attachment_wake(store, queue->attached);
}

/* Tell the wheels the time. */
void pawl__store_tick(struct pawl_store *store)
{
	uint64_t now = pawl__store_wall(store), clock = store->clock->now(store->clock);
	struct pawl_timer *timer;

	mutex_assert_held(&store->mutex);
	if (now < pawl_wheel_now(store->wheel))
		rebuild(store);
	pawl_wheel_advance(store->wheel, now, 0);
	while ((timer = pawl_wheel_pop(store->wheel)) != NULL)
		make_due(store, PAWL_CONTAINER_OF(timer, struct task, in.timer));
	pawl_wheel_advance(store->leases, clock, 0);
	while ((timer = pawl_wheel_pop(store->leases)) != NULL) {
		struct task *task = PAWL_CONTAINER_OF(timer, struct task, in.timer);

		store->stats.leased--;
		store->stats.lapsed++;
		task->fence = 0;
		await(store, task); /* the clock may have been set back meanwhile */
	}
	if (store->starved) {
		store->starved = false;
		pawl__queues_each(store, wake_attached);
	}
	pawl_wheel_advance(store->takers, clock, 0);
	while ((timer = pawl_wheel_pop(store->takers)) != NULL) {
		struct taker *taker = PAWL_CONTAINER_OF(timer, struct taker, timer);

		condition_broadcast(&taker->queue->arrived);
	}
	pawl__store_tell_fd(store);
}

static struct queue **name_bucket(const struct pawl_store *store, const char *name, size_t size)
{
	return &store->by_name[siphash(store->secret, name, size) & (store->name_room - 1)];
}

void pawl__queues_each(struct pawl_store *store,
                       void (*fn)(struct pawl_store *store, struct queue *queue))
{
	struct queue *next;

	for (size_t i = 0; i < store->name_room; i++)
		for (struct queue *queue = store->by_name[i]; queue; queue = next) {
			next = queue->next;
			fn(store, queue);
		}
}

/* Room for as many queues once more. */
static int grow_names(struct pawl_store *store)
{
	size_t old = store->name_room, room = old ? 2 * old : 64;
	struct queue **names = store->by_name, **by_name = calloc(room, sizeof(*by_name));
	struct queue **queues = realloc(store->queues, room * sizeof(*queues));

	if (queues)
		store->queues = queues;
	if (!queues || !by_name) {
		free(by_name);
		return -ENOMEM;
	}
	store->by_name = by_name;
	store->name_room = room;
	for (size_t i = 0; i < old; i++)
		while (names[i]) {
			struct queue *queue = names[i];
			struct queue **bucket = name_bucket(store, queue->name, queue->size);

			names[i] = queue->next;
			queue->next = *bucket;
			*bucket = queue;
		}
	free(names);
	return 0;
}

/* NULL: there is none. */
struct queue *pawl__queue_find(struct pawl_store *store, const char *name, size_t size)
{
	struct queue *queue = store->by_name ? *name_bucket(store, name, size) : NULL;

	while (queue && (queue->size != size || memcmp(queue->name, name, size) != 0))
		queue = queue->next;
	return queue;
}

/* The queue of this name, which may be new. */
int pawl__queue_get(struct pawl_store *store, const char *name, size_t size, struct queue **found)
{
	struct queue *queue = pawl__queue_find(store, name, size), **bucket;
	int error = 0;

	if (!queue) {
		if (size == 0 || size > MAX_NAME)
			return -EINVAL;
		if (store->name_count == MAX_QUEUES)
			return -ENOSPC;
		if (store->name_count == store->name_room)
			error = grow_names(store);
		queue = error ? NULL : calloc(1, sizeof(*queue) + size + 1);
		if (!queue)
			return -ENOMEM;
		memcpy(queue->name, name, size);
		queue->size = (uint8_t)size;
		queue->number = NO_NUMBER;
		condition_init(&queue->arrived);
		bucket = name_bucket(store, name, size);
		queue->next = *bucket;
		*bucket = queue;
		store->name_count++;
	}
	*found = queue;
	return 0;
}

void pawl__queue_number(struct pawl_store *store, struct queue *queue)
{
	queue->number = (uint32_t)store->queue_count;
	store->queues[store->queue_count++] = queue;
}
