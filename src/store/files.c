/* SPDX-License-Identifier: MIT */
/*
 * The file thread: slots open in time, and memory stays within its bound.
 *
 *	below a half of options.memory     slots open into memory; one of more than a quarter, into finer slots
 *	above three quarters               that waits
 *	above seven eighths                tasks move out again: of a queue with many due tasks, into its backlog; then
 *	                                   those that are due last
 *
 * A slot opens a slice at a time. The log says how far it has been opened, so that a recovery does the same. A slot of
 * which most tasks are done opens into a new slot of its own place, which is smaller.
 */
#define _GNU_SOURCE
#include "layout.h"

#define MOVED_AT_ONCE 256u
#define MANY_OPENED   32u
#define OPEN_ROOM     (16u * 1024) /* bytes for the records of the slots that an opening makes */

static size_t eighths(const struct pawl_store *store, size_t n)
{
	return store->options.memory / 8 * n;
}

/* Its file, from the bytes on that were not opened. If its header is damaged, which open and check say, the tasks after
 * it may be whole. */
int pawl__slot_frames(struct pawl_store *store, struct frames *frames, const struct slot *slot)
{
	char name[FILE_NAME];
	int error;

	pawl__slot_name(name, slot->serial);
	error = pawl__frames_open(store, frames, name, SLOT_MAGIC, slot->serial);
	frames->offset = frames->base = slot->opened;
	frames->end = slot->size;
	frames->by_offset = true;
	return error == -EBADMSG ? 0 : error;
}

/*
 * Bytes of a queue's due tasks that stay in memory before its backlog. As many bytes of the backlog are brought back at a
 * time, which take at most LEAST shares of memory as tasks. A queue with more than that gets a backlog. So all queues
 * together have at most a quarter of the memory before their backlogs, and what was brought back does not go again.
 */
#define LEAST 4u
static size_t share(const struct pawl_store *store)
{
	size_t queues = 2;

	for (size_t i = 0; i < store->queue_count; i++)
		queues += store->queues[i]->due.first || has_backlog(store->queues[i]);
	return store->options.memory / 4 / LEAST / queues;
}

static void damage(struct pawl_store *store, const struct slot *slot, uint64_t offset,
                   const char *problem)
{
	char name[FILE_NAME];

	pawl__slot_name(name, slot->serial);
	pawl__damage(store, name, offset, problem);
}

/* A task of the slot goes into memory, or to another slot. -ENOSPC, -ENOMEM: later. */
static int open_task(struct pawl_store *store, struct bytes *log, const struct slot *slot,
                     const struct stored *stored, const struct opening *opening)
{
	struct queue *queue =
	        stored->queue < store->queue_count ? store->queues[stored->queue] : NULL;
	struct slot *to;
	struct task *task;
	int error;

	if (!queue || !pawl__lives(store, stored->id))
		return 0;
	store->stats.moved++;
	if (opening->level == NEAR) {
		task = pawl__task_new(stored, queue);
		if (slot->level == BACKLOG && stored->due > queue->backlog_due)
			queue->backlog_due = stored->due;
		if (task)
			pawl__task_insert(store, task);
		return task ? 0 : -ENOMEM;
	}
	to = pawl__slot_for(store, opening->time, stored->due, opening->level, slot);
	error = to ? pawl__slot_promise(store, to, stored->size) : -ENOMEM;
	if (error)
		return error;
	if (log)
		pawl__write_slot(log, to);
	pawl__slot_append(store, to, stored);
	return 0;
}

/* Read the slot up to this offset, or as far as memory and disk allow. */
static int open_tasks(struct pawl_store *store, struct bytes *log, struct slot *slot,
                      struct frames *frames, const struct opening *opening)
{
	int got, error = 0;

	while (!error && frames->offset < opening->to) {
		struct stored stored;

		got = pawl__frames_peek(frames);
		/* A sector that cannot be read is damage. But a recovery that goes on without it would lose it. */
		if (got == -ENOMEM || (got < 0 && got != -EBADMSG && store->recovering))
			return got;
		if (got != 1 || frames->sequence != frames->offset) {
			damage(store, slot, frames->offset, "a damaged task");
			pawl__frames_skip(frames, 0);
			slot->opened = frames->offset;
			continue;
		}
		if (log && opening->level == NEAR && store->stats.memory_bytes > eighths(store, 6))
			return 0;
		read_le(&frames->body, 1);
		stored = read_task(&frames->body, false);
		if (!frames->body.bad)
			error = open_task(store, log, slot, &stored, opening);
		if (!error) {
			slot->opened = frames->offset = frames->next;
			slot->records -= slot->records > 0;
		}
	}
	return error;
}

static int open_slot(struct pawl_store *store, struct bytes *log, struct slot *slot,
                     struct frames *frames, const struct opening *opening)
{
	int error = open_tasks(store, log, slot, frames, opening);

	if (slot->level == BACKLOG)
		pawl__backlog_changed(store, store->queues[slot->begin]);
	return error;
}

/* The file is gone. */
static void give_up(struct pawl_store *store, struct slot *slot)
{
	damage(store, slot, 0, "missing");
	slot->opened = slot->size;
	slot->records = 0;
	slot->buffer.size = 0;
}

/* In a recovery: the log says that it was opened so far. */
int pawl__slot_reopen(struct pawl_store *store, struct slot *slot, struct opening opening)
{
	struct frames frames;
	int error = pawl__slot_flush(store, slot);

	if (error)
		return error;
	error = pawl__slot_frames(store, &frames, slot);
	if (!error)
		error = open_slot(store, NULL, slot, &frames, &opening);
	if (error == -ENOENT) {
		give_up(store, slot);
		error = 0;
	}
	pawl__frames_close(&frames);
	return error;
}

/* Open a slice. The first read is without the mutex: it may have to wait for the disk. */
static int open_slice(struct pawl_store *store, struct slot *slot, unsigned level, uint64_t now)
{
	struct frames frames;
	uint64_t unread = slot->size - slot->opened;
	uint64_t most = slot->level == BACKLOG && share(store) < SLICE ? share(store) : SLICE;
	struct opening opening = {.level = level, .time = slot->begin > now ? slot->begin : now};
	struct bytes *log;
	int error = pawl__slot_flush(store, slot);

	if (error)
		return error;
	opening.to = slot->opened + (unread < most ? unread : most);
	error = pawl__slot_frames(store, &frames, slot);
	mutex_unlock(&store->mutex);
	if (!error)
		pawl__frames_peek(&frames);
	mutex_lock(&store->mutex);
	if (error == -ENOENT) {
		give_up(store, slot);
		opening.to = 0;
		error = 0;
	}
	if (!error)
		error = pawl__log_room(store, OPEN_ROOM, FOR_FILES);
	if (!error) {
		log = pawl__log_begin(store);
		error = open_slot(store, log, slot, &frames, &opening);
		write_le(log, RECORD_OPEN, 1);
		write_le(log, slot->serial, 4);
		write_le(log, slot->opened, 8);
		write_le(log, opening.time, 8);
		write_le(log, level, 1);
		pawl__log_end(store);
	}
	pawl__frames_close(&frames);
	return error;
}

/*
 * The memory that its tasks would take, also those that were opened before. So the answer is the same for each slice: if
 * the first ones went to finer slots and the others into memory, these would be in the way of those that are due first.
 */
static uint64_t memory_of(const struct slot *slot)
{
	uint64_t unread = slot->size - slot->opened;
	uint64_t need = unread + slot->records * pawl__task_bytes(0);

	return need / (unread / 1024 + 1) * (slot->size / 1024 + 1);
}

/* The level down to which the tasks of the slot go, NEAR: into memory; or the slot waits. */
enum { WAITS = 254 };
static unsigned target(const struct pawl_store *store, const struct slot *slot, uint64_t soon)
{
	uint64_t unread = slot->size - slot->opened;

	if (slot->level == NEAR || unread == 0)
		return WAITS;
	if (slot->level == BACKLOG)
		return store->queues[slot->begin]->ready ||
		                       store->stats.memory_bytes >= eighths(store, 4)
		               ? WAITS
		               : NEAR;
	if (slot->first_due > soon) /* most of it is done, or that has begun */
		return slot->opened > FILE_HEADER || (slot->records >= CHUNK &&
		                                      slot->births - slot->live > slot->records / 2)
		               ? slot->level
		               : WAITS;
	if (store->stats.memory_bytes >= eighths(store, 4))
		return WAITS;
	if (slot->level > FINEST)
		return FINEST;
	return slot->level == 0 || memory_of(slot) <= eighths(store, 2) ? NEAR : slot->level - 1;
}

/* Of the slots that can be opened, that with the first task; of several, the coarsest. */
static struct slot *choose(struct pawl_store *store, uint64_t soon, unsigned *level)
{
	struct slot *first = NULL;

	for (size_t i = 0; i < store->slot_count; i++) {
		struct slot *slot = store->slots[i];

		if (target(store, slot, soon) == WAITS)
			continue;
		if (!first || slot->first_due < first->first_due ||
		    (slot->first_due == first->first_due && slot->level > first->level))
			first = slot;
	}
	*level = first ? target(store, first, soon) : WAITS;
	return first;
}

static uint64_t width(const struct pawl_store *store)
{
	return store->unit << 4 * FINEST;
}

/* A slot opens a width before its first task is due. */
void pawl__files_expect(struct pawl_store *store, const struct slot *slot)
{
	uint64_t at = slot->first_due > width(store) ? slot->first_due - width(store) : 0;

	if (at >= store->files_at)
		return;
	store->files_at = at;
	pawl__store_wake_clock(store, at);
}

/* A backlog is not needed while its queue has tasks that can be taken. */
static bool rests(const struct pawl_store *store, const struct slot *slot)
{
	return slot->level == BACKLOG && store->queues[slot->begin]->ready;
}

/* When to look again: for the slots that open later; for those that wait for memory, when there is some. A checkpoint
 * removes the files that were opened to their end. */
static void plan(struct pawl_store *store, uint64_t soon)
{
	unsigned opened = 0;

	store->files_at = PAWL_NEVER;
	store->crowded = false;
	for (size_t i = 0; i < store->slot_count; i++) {
		const struct slot *slot = store->slots[i];

		opened += slot->made && slot->size == slot->opened;
		if (slot->level == NEAR || slot->size == slot->opened || rests(store, slot))
			continue;
		if (slot->first_due > soon)
			pawl__files_expect(store, slot);
		else
			store->crowded = true;
	}
	store->want_checkpoint |= opened > MANY_OPENED;
}

/* Whether a slot has a task that is due before others that are in memory. */
static bool is_unfair(const struct pawl_store *store, uint64_t soon)
{
	for (size_t i = 0; i < store->slot_count; i++) {
		const struct slot *slot = store->slots[i];

		if (slot->size > slot->opened && slot->first_due <= soon &&
		    slot->first_due < store->near_until && !rests(store, slot))
			return true;
	}
	return false;
}

static bool move_room(struct pawl_store *store)
{
	return pawl__log_room(store, OPEN_ROOM + MOVED_AT_ONCE * 22, FOR_FILES) == 0;
}

/* The queue whose due tasks take the most memory. */
static struct queue *largest(const struct pawl_store *store)
{
	struct queue *queue = NULL;

	for (size_t i = 0; i < store->queue_count; i++)
		if (!queue || store->queues[i]->due_bytes > queue->due_bytes)
			queue = store->queues[i];
	return queue;
}

/* The tasks of the queue after its first bytes, whose number is given, will come after its backlog. */
static void put_behind(struct queue *queue, size_t bytes)
{
	struct task *task = queue->due.first;
	size_t before = 0;

	queue->backlog_due = 0;
	for (; task && before < bytes; task = task->in.link.next) {
		before += pawl__task_bytes(task->size);
		queue->backlog_due = task->due;
	}
	queue->behind = task;
}

/* Move due tasks of the queue into its backlog. Returns how many. */
static unsigned spill_queue(struct pawl_store *store, struct queue *queue)
{
	struct slot *slot = pawl__slot_backlog(store, queue);
	struct bytes *log = pawl__log_begin(store);
	unsigned moved = 0;

	for (; slot && queue->behind && moved < MOVED_AT_ONCE; moved++) {
		struct task *task = queue->behind;

		if (pawl__slot_promise(store, slot, task->size))
			break;
		pawl__move(store, log, task, task->due, slot, EVICTED);
	}
	pawl__backlog_changed(store, queue);
	pawl__log_end(store);
	return moved;
}

/* Memory beyond the limit: the largest queue keeps its share of due tasks, or none. */
static bool spill(struct pawl_store *store, size_t limit, bool all)
{
	struct queue *queue;
	size_t kept;

	if (store->stats.memory_bytes <= limit || !move_room(store))
		return false;
	kept = all ? 0 : share(store);
	queue = largest(store);
	if (!queue || queue->due_bytes <= LEAST * kept)
		return false;
	if (!queue->behind)
		put_behind(queue, kept);
	return spill_queue(store, queue) > 0;
}

struct eviction {
	struct pawl_store *store;
	struct bytes *log;
	unsigned moved;
};

static bool evict_one(struct pawl_timer *timer, void *arg)
{
	struct eviction *eviction = arg;
	struct pawl_store *store = eviction->store;
	struct task *task = PAWL_CONTAINER_OF(timer, struct task, in.timer);
	struct slot *slot;

	if (task->due < store->near_until)
		return true;
	slot = pawl__slot_for(store, store->near_until, task->due, FINEST - 1, NULL);
	if (!slot || pawl__slot_promise(store, slot, task->size))
		return false;
	pawl__move(store, eviction->log, task, task->due, slot, EVICTED);
	return ++eviction->moved < MOVED_AT_ONCE;
}

/* Move out all that is due after the end of the near tasks, or bring that end nearer: what waits in a slot for memory
 * must not be due before what has the memory. Returns whether it did something. */
static bool evict(struct pawl_store *store, uint64_t now, size_t limit)
{
	struct eviction eviction = {store, NULL, 0};

	if ((store->stats.memory_bytes <= limit && !store->evicting) || !move_room(store))
		return false;
	eviction.log = pawl__log_begin(store);
	pawl_wheel_each(store->wheel, evict_one, &eviction);
	pawl__log_end(store);
	store->evicting = eviction.moved == MOVED_AT_ONCE;
	if (eviction.moved)
		return true;
	if (store->stats.memory_bytes <= limit || store->near_until <= now + store->unit)
		return false;
	store->near_until = now + (store->near_until - now) / 2;
	return true;
}

/* Due tasks that nobody takes give way before tasks that are due soon. */
static bool make_room(struct pawl_store *store, uint64_t now, size_t limit)
{
	return spill(store, limit, false) || evict(store, now, limit);
}

/* Open what is to be opened. A slot that waits for memory gets it from tasks that are due later. */
static void open_slots(struct pawl_store *store, uint64_t now, uint64_t soon)
{
	unsigned level;

	while (!store->failed && !store->stopped) {
		struct slot *slot;

		if (make_room(store, now, eighths(store, 7)) ||
		    spill(store, eighths(store, 7), true))
			continue;
		slot = choose(store, soon, &level);
		if (slot ? open_slice(store, slot, level, now) != 0
		         : !is_unfair(store, soon) || !make_room(store, now, eighths(store, 4)))
			return;
	}
}

/* The end of this slot of the finest level and the next. */
static uint64_t two_widths(const struct pawl_store *store, uint64_t now)
{
	return saturating_sum(now / width(store) * width(store), 2 * width(store));
}

/* All that the file thread has to do now. It releases the mutex meanwhile. With options.manual, several threads may
 * poll: if one is at it, the others leave it to that one. */
void pawl__store_files(struct pawl_store *store)
{
	uint64_t now = pawl__store_wall(store), soon = saturating_sum(now, width(store));

	mutex_assert_held(&store->mutex);
	if (store->filing)
		return;
	store->filing = true;
	if (store->near_until < now) /* after an open, or a pause */
		store->near_until = two_widths(store, now);
	open_slots(store, now, soon);
	plan(store, soon);
	if (!store->crowded && store->stats.memory_bytes < eighths(store, 4))
		store->near_until = two_widths(store, now);
	if (store->want_checkpoint && !store->failed && !store->stopped)
		pawl__store_checkpoint(store);
	store->filing = false;
	pawl__store_tell_fd(store);
	condition_broadcast(&store->done);
}
