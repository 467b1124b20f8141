/* SPDX-License-Identifier: MIT */
/* Looking at a store: lists, and the table of statistics. */
#define _GNU_SOURCE
#include "layout.h"

#include "stats.h"

#include <limits.h>

/* A page: the first tasks after a place, in the order of (due, id). */
struct page {
	struct pawl_store_task *tasks;
	size_t count, max;
	uint64_t from, after;
	const struct queue *queue; /* NULL: all */
};

static bool before(uint64_t due_a, uint64_t id_a, uint64_t due_b, uint64_t id_b)
{
	return due_a < due_b || (due_a == due_b && id_a < id_b);
}

/* Whether the page has a place for it. */
static bool fits(const struct page *page, uint64_t due, uint64_t id)
{
	const struct pawl_store_task *last = page->tasks + page->max - 1;

	return before(page->from, page->after, due, id) &&
	       (page->count < page->max || before(due, id, last->due_ns, last->id));
}

static int page_add(struct page *page, const struct queue *queue, const struct stored *stored)
{
	struct pawl_store_task copy;
	size_t at = page->count;
	int error;

	if (page->queue && page->queue != queue)
		return 0;
	while (at > 0 &&
	       before(stored->due, stored->id, page->tasks[at - 1].due_ns, page->tasks[at - 1].id))
		at--;
	if (at > 0 && page->tasks[at - 1].id == stored->id)
		return 0; /* it has moved meanwhile */
	error = pawl__copy(queue, stored, &copy);
	if (error)
		return error;
	if (page->count == page->max)
		pawl__copy_free(&page->tasks[--page->count]);
	memmove(&page->tasks[at + 1], &page->tasks[at], (page->count - at) * sizeof(copy));
	page->tasks[at] = copy;
	page->count++;
	return 0;
}

static int page_memory(struct pawl_store *store, struct page *page, bool dead)
{
	int error = 0;

	for (size_t i = 0; i <= store->bucket_mask; i++)
		for (struct task *task = store->buckets[i]; task && !error; task = task->next) {
			const struct stored stored = pawl__task_stored(task);

			if ((task->state == DEAD) == dead && fits(page, task->due, task->id))
				error = page_add(page, task->queue, &stored);
		}
	return error;
}

/* The tasks of a slot's file. They are read without the mutex. */
static int page_slot(struct pawl_store *store, struct page *page, struct slot *slot)
{
	struct frames frames;
	int error = pawl__slot_flush(store, slot);

	if (error)
		return error;
	error = pawl__slot_frames(store, &frames, slot);
	mutex_unlock(&store->mutex);
	while (!error && frames.offset < frames.end) {
		struct stored stored;

		int got = pawl__frames_peek(&frames);

		if (got < 0 && got != -EBADMSG) {
			error = got; /* a list without these tasks would look whole */
			continue;
		}
		if (got != 1) {
			if (!pawl__frames_skip(&frames, 0))
				break;
			continue;
		}
		read_le(&frames.body, 1);
		stored = read_task(&frames.body, false);
		frames.offset = frames.next;
		if (frames.body.bad || !fits(page, stored.due, stored.id))
			continue;
		mutex_lock(&store->mutex);
		if (pawl__lives(store, stored.id) && stored.queue < store->queue_count &&
		    !pawl__task_find(store, stored.id))
			error = page_add(page, store->queues[stored.queue], &stored);
		mutex_unlock(&store->mutex);
	}
	mutex_lock(&store->mutex);
	pawl__frames_close(&frames);
	return error == -ENOENT || error == -EBADMSG ? 0 : error; /* damage, found by others */
}

/* Whether a task of the slot can be on the page: also one that is due when the last of the page is, with a lower id. */
static bool may_fit(const struct page *page, const struct slot *slot)
{
	return slot->size > slot->opened && slot->end >= page->from &&
	       (page->count < page->max || slot->first_due <= page->tasks[page->count - 1].due_ns);
}

/* Slots are removed only by a checkpoint, and found by their serials. */
static int page_slots(struct pawl_store *store, struct page *page)
{
	uint32_t serial = 0;
	struct slot *slot;
	int error = 0;

	while (!error && (slot = pawl__slot_from(store, serial)) != NULL) {
		serial = slot->serial + 1;
		if (may_fit(page, slot))
			error = page_slot(store, page, slot);
	}
	return error;
}

int pawl_store_list(struct pawl_store *store, enum pawl_store_state state, const char *queue,
                    uint64_t from_ns, uint64_t after, struct pawl_store_task *tasks, size_t max)
{
	IN_STORE(store);
	struct page page = {tasks, 0, max < INT_MAX ? max : INT_MAX, from_ns, after, NULL};
	int error = 0;

	if (max == 0 || (state != PAWL_STORE_PENDING && state != PAWL_STORE_DEAD))
		return -EINVAL;
	mutex_lock(&store->mutex);
	if (queue)
		page.queue = pawl__queue_find(store, queue, strlen(queue));
	if (store->stopped)
		error = -ECANCELED;
	else if (!queue || page.queue)
		error = page_memory(store, &page, state == PAWL_STORE_DEAD);
	if (!error && state == PAWL_STORE_PENDING && (!queue || page.queue))
		error = page_slots(store, &page);
	mutex_unlock(&store->mutex);
	for (size_t i = 0; error && i < page.count; i++)
		pawl__copy_free(&tasks[i]);
	return error ? error : (int)page.count;
}

#define ROW(field, help, kind)                                               \
	{                                                                    \
#field, help, kind, offsetof(struct pawl_store_stats, field) \
	}

const struct statistic pawl__store_statistics[] = {
        ROW(put, "Tasks put.", COUNTER),
        ROW(acked, "Tasks acknowledged.", COUNTER),
        ROW(cancelled, "Tasks cancelled.", COUNTER),
        ROW(buried, "Tasks buried.", COUNTER),
        ROW(requeued, "Dead tasks put back.", COUNTER),
        ROW(taken, "Deliveries since the store was opened.", COUNTER),
        ROW(retried, "Retries since the store was opened.", COUNTER),
        ROW(lapsed, "Leases that ended by time since the store was opened.", COUNTER),
        ROW(pending, "Tasks that are not done: far, near, due and leased.", GAUGE),
        ROW(due, "Tasks in memory that are due and not leased.", GAUGE),
        ROW(leased, "Tasks that a worker has.", GAUGE),
        ROW(dead, "Dead tasks.", GAUGE),
        ROW(in_memory, "Tasks in memory.", GAUGE),
        ROW(memory_bytes, "Bytes of the tasks in memory.", GAUGE),
        ROW(slot_files, "Files of slots.", GAUGE),
        ROW(commits, "Frames in the log since the store was opened.", COUNTER),
        ROW(syncs, "Syncs of the log since the store was opened.", COUNTER),
        ROW(checkpoints, "Checkpoints since the store was opened.", COUNTER),
        ROW(moved, "Tasks moved to a finer slot or into memory since the store was opened.",
            COUNTER),
        ROW(damaged, "Damaged places in files, found since the store was opened.", COUNTER),
        {NULL, NULL, COUNTER, 0},
};

void pawl_store_get_stats(struct pawl_store *store, struct pawl_store_stats *stats, size_t size)
{
	IN_STORE(store);
	struct pawl_store_stats now;

	mutex_lock(&store->mutex);
	now = store->stats;
	for (size_t i = 0; i < store->slot_count; i++) {
		now.slot_files += store->slots[i]->made;
		now.pending += store->slots[i]->live;
	}
	mutex_unlock(&store->mutex);
	now.pending -= now.dead; /* not by the counters: a salvage may have lost some of them */
	write_sized(&now, sizeof(now), stats, size);
}
