/* SPDX-License-Identifier: MIT */
/*
 * The file thread: slots open in time, and memory stays within its bound.
 *
 *	below a half of options.memory     slots open into memory; one of more than a quarter, into finer slots
 *	above three quarters               that waits
 *	above seven eighths                the tasks that are due last move out again
 *
 * A slot opens a slice at a time. The log says how far it has been opened, so that a recovery does the same. A slot of
 * which most tasks are done opens into a new slot of its own place, which is smaller.
 */
#define _GNU_SOURCE
#include "layout.h"

#define EVICTED_AT_ONCE 256u
#define MANY_OPENED     32u
#define OPEN_ROOM       (16u * 1024) /* bytes for the records of the slots that an opening makes */

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

/* Open the slot up to this offset, or as far as memory and disk allow. */
static int open_slot(struct pawl_store *store, struct bytes *log, struct slot *slot,
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
	struct opening opening = {.level = level, .time = slot->begin > now ? slot->begin : now};
	struct bytes *log;
	int error = pawl__slot_flush(store, slot);

	if (error)
		return error;
	opening.to = slot->opened + (unread < SLICE ? unread : SLICE);
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
		if (slot->level == NEAR || slot->size == slot->opened)
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
		    slot->first_due < store->near_until)
			return true;
	}
	return false;
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
	return ++eviction->moved < EVICTED_AT_ONCE;
}

/* Move out all that is due after the end of the near tasks, or bring that end nearer: what waits in a slot for memory
 * must not be due before what has the memory. Returns whether it did something. */
static bool evict(struct pawl_store *store, uint64_t now, size_t limit)
{
	struct eviction eviction = {store, NULL, 0};

	if ((store->stats.memory_bytes <= limit && !store->evicting) ||
	    pawl__log_room(store, OPEN_ROOM + EVICTED_AT_ONCE * 22, FOR_FILES))
		return false;
	eviction.log = pawl__log_begin(store);
	pawl_wheel_each(store->wheel, evict_one, &eviction);
	pawl__log_end(store);
	store->evicting = eviction.moved == EVICTED_AT_ONCE;
	if (eviction.moved)
		return true;
	if (store->stats.memory_bytes <= limit || store->near_until <= now + store->unit)
		return false;
	store->near_until = now + (store->near_until - now) / 2;
	return true;
}

/* Open what is to be opened. A slot that waits for memory gets it from tasks that are due later. */
static void open_slots(struct pawl_store *store, uint64_t now, uint64_t soon)
{
	unsigned level;

	while (!store->failed && !store->stopped) {
		struct slot *slot;

		if (evict(store, now, eighths(store, 7)))
			continue;
		slot = choose(store, soon, &level);
		if (slot ? open_slice(store, slot, level, now) != 0
		         : !is_unfair(store, soon) || !evict(store, now, eighths(store, 4)))
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
