/* SPDX-License-Identifier: MIT */
/*
 * Slots: which one a task goes into, the bits of the tasks that were born in it, and the end of its file.
 *
 * A commit must not fail halfway. So it first promises the slot a record (memory for the bytes, space for what is in
 * the buffer already) and the births, and appends and sets bits when all of its changes are promised.
 */
#define _GNU_SOURCE
#include "layout.h"

#include <stdio.h>

/* Of the slots, sorted by serial, the first whose serial is not below this. */
static size_t position_of(const struct pawl_store *store, uint32_t serial)
{
	size_t low = 0, high = store->slot_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (store->slots[middle]->serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first one from this serial on; or NULL. */
struct slot *pawl__slot_from(struct pawl_store *store, uint32_t serial)
{
	size_t at = position_of(store, serial);

	return at < store->slot_count ? store->slots[at] : NULL;
}

struct slot *pawl__slot_find(struct pawl_store *store, uint32_t serial)
{
	struct slot *slot;

	if (store->found && store->found->serial == serial)
		return store->found;
	slot = pawl__slot_from(store, serial);
	if (!slot || slot->serial != serial)
		return NULL;
	return store->found = slot;
}

static struct slot **place_of(struct pawl_store *store, unsigned level, uint64_t begin)
{
	return &store->places[level][begin / store->unit >> 4 * level & 15];
}

/* NULL: no memory, or the serials are used up. */
struct slot *pawl__slot_add(struct pawl_store *store, uint32_t serial, unsigned level,
                            uint64_t begin, uint64_t end)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	size_t at;

	if (store->slot_count == store->slot_room) {
		size_t room = store->slot_room ? 2 * store->slot_room : 64;
		struct slot **slots = realloc(store->slots, room * sizeof(*slots));

		if (slots) {
			store->slots = slots;
			store->slot_room = room;
		}
	}
	if (!slot || store->slot_count == store->slot_room || serial == NO_SLOT) {
		free(slot);
		return NULL;
	}
	slot->serial = serial;
	slot->level = level;
	slot->begin = begin;
	slot->end = end;
	slot->size = slot->opened = FILE_HEADER;
	slot->first_due = UINT64_MAX;
	at = position_of(store, serial);
	memmove(store->slots + at + 1, store->slots + at,
	        (store->slot_count++ - at) * sizeof(*store->slots));
	store->slots[at] = slot;
	store->next_serial = serial < store->next_serial ? store->next_serial : serial + 1;
	if (level == NEAR)
		store->near_serial = serial;
	if (level == BACKLOG)
		store->queues[begin]->backlog = slot;
	return slot;
}

void pawl__slot_free(struct slot *slot)
{
	for (size_t i = 0; i < slot->chunk_room; i++)
		free(slot->chunks[i]);
	free(slot->chunks);
	bytes_free(&slot->buffer);
	free(slot);
}

/* A slot that was opened to its end gets no more tasks: the next checkpoint removes its file. */
static bool takes_tasks(const struct slot *slot)
{
	return (slot->opened < slot->size || slot->size == FILE_HEADER) &&
	       slot->births < UINT32_MAX;
}

static bool matches(const struct slot *slot, unsigned level, uint64_t begin, uint64_t end,
                    const struct slot *except)
{
	return slot && slot != except && slot->level == level && slot->begin == begin &&
	       slot->end == end && takes_tasks(slot);
}

/*
 * The slot for a task that is due at `due`, seen from the time `from`: of the level of the first digit in which they
 * differ, but not below `floor`. It is made if there is none; but not `except`, which is being opened.
 */
struct slot *pawl__slot_for(struct pawl_store *store, uint64_t from, uint64_t due, unsigned floor,
                            const struct slot *except)
{
	uint64_t place = (due > from ? due : from) / store->unit, other = from / store->unit;
	uint64_t begin, end;
	unsigned level = place == other ? 0 : (63u - (unsigned)__builtin_clzll(place ^ other)) / 4;
	struct slot **cached;

	level = level < floor ? floor : level;
	begin = (place >> 4 * level << 4 * level) * store->unit;
	end = saturating_sum(begin, saturating_product(store->unit, UINT64_C(1) << 4 * level));
	cached = place_of(store, level, begin);
	if (matches(*cached, level, begin, end, except))
		return *cached;
	for (size_t i = store->slot_count; i-- > 0;)
		if (matches(store->slots[i], level, begin, end, except))
			return *cached = store->slots[i];
	return *cached = pawl__slot_add(store, store->next_serial, level, begin, end);
}

/* For births in memory. */
struct slot *pawl__slot_near(struct pawl_store *store)
{
	struct slot *slot =
	        store->near_serial == NO_SLOT ? NULL : pawl__slot_find(store, store->near_serial);

	return slot && slot->births < UINT32_MAX
	               ? slot
	               : pawl__slot_add(store, store->next_serial, NEAR, 0, UINT64_MAX);
}

/* For due tasks of the queue. */
struct slot *pawl__slot_backlog(struct pawl_store *store, const struct queue *queue)
{
	return queue->backlog && takes_tasks(queue->backlog)
	               ? queue->backlog
	               : pawl__slot_add(store, store->next_serial, BACKLOG, queue->number,
	                                UINT64_MAX);
}

static int chunk_reserve(struct slot *slot, uint32_t index)
{
	size_t chunk = index / CHUNK;

	if (chunk >= slot->chunk_room) {
		size_t room = chunk + 1 > 2 * slot->chunk_room ? chunk + 1 : 2 * slot->chunk_room;
		uint64_t **chunks = realloc(slot->chunks, room * sizeof(*chunks));

		if (!chunks)
			return -ENOMEM;
		memset(chunks + slot->chunk_room, 0, (room - slot->chunk_room) * sizeof(*chunks));
		slot->chunks = chunks;
		slot->chunk_room = room;
	}
	if (!slot->chunks[chunk])
		slot->chunks[chunk] = calloc(CHUNK / 64, sizeof(uint64_t));
	return slot->chunks[chunk] ? 0 : -ENOMEM;
}

/* Promise a birth: *id is given out, whether or not the task is born. */
int pawl__birth_promise(struct slot *slot, uint64_t *id)
{
	int error = chunk_reserve(slot, slot->births);

	if (error)
		return error;
	*id = (uint64_t)slot->serial << 32 | slot->births++;
	slot->unborn++;
	return 0;
}

static uint64_t *word_of(const struct slot *slot, uint64_t id)
{
	uint32_t index = (uint32_t)id;
	uint64_t *chunk = index / CHUNK < slot->chunk_room ? slot->chunks[index / CHUNK] : NULL;

	return chunk ? &chunk[index % CHUNK / 64] : NULL;
}

bool pawl__lives(struct pawl_store *store, uint64_t id)
{
	const struct slot *slot = pawl__slot_find(store, (uint32_t)(id >> 32));
	const uint64_t *word = slot ? word_of(slot, id) : NULL;

	return word && (*word >> id % 64 & 1);
}

/* The task is born. Fails only in a recovery, where no birth was promised. */
int pawl__birth(struct pawl_store *store, uint64_t id)
{
	struct slot *slot = pawl__slot_find(store, (uint32_t)(id >> 32));
	uint32_t index = (uint32_t)id;
	int error;

	if (!slot || index == UINT32_MAX)
		return -EBADMSG;
	error = chunk_reserve(slot, index);
	if (error)
		return error;
	if (index >= slot->births)
		slot->births = index + 1;
	slot->unborn -= slot->unborn > 0;
	*word_of(slot, id) |= UINT64_C(1) << id % 64;
	slot->live++;
	return 0;
}

static bool is_zero(const uint64_t *chunk)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < CHUNK / 64; i++)
		bits |= chunk[i];
	return bits == 0;
}

/* The task is gone for good. The bits of a chunk that no birth is promised in are freed with the last of them. */
void pawl__death(struct pawl_store *store, uint64_t id)
{
	struct slot *slot = pawl__slot_find(store, (uint32_t)(id >> 32));
	uint64_t *word = slot ? word_of(slot, id) : NULL;
	uint32_t chunk = (uint32_t)id / CHUNK;

	if (!word || !(*word >> id % 64 & 1))
		return;
	*word &= ~(UINT64_C(1) << id % 64);
	slot->live--;
	if (*word == 0 && !slot->unborn && chunk < slot->births / CHUNK &&
	    is_zero(slot->chunks[chunk])) {
		free(slot->chunks[chunk]);
		slot->chunks[chunk] = NULL;
	}
}

void pawl__slot_name(char name[static FILE_NAME], uint32_t serial)
{
	snprintf(name, FILE_NAME, "slot.%lu", (unsigned long)serial);
}

/* Write the buffer to the end of the file, which it may have to make. A full disk does not stop the store. */
int pawl__slot_flush(struct pawl_store *store, struct slot *slot)
{
	struct disk *disk = store->disk;
	unsigned char header[FILE_HEADER];
	char name[FILE_NAME];
	int file, error = 0;

	if (!slot->buffer.size)
		return 0;
	pawl__slot_name(name, slot->serial);
	file = disk->open(disk, name, slot->made ? DISK_WRITE : DISK_MAKE);
	if (file < 0)
		error = file;
	if (!error && !slot->made) {
		file_header(header, store->salt, SLOT_MAGIC, slot->serial);
		error = disk->write(disk, file, header, sizeof(header), 0);
	}
	if (!error)
		error = disk->write(disk, file, slot->buffer.data, slot->buffer.size,
		                    slot->size - slot->buffer.size);
	if (file >= 0)
		disk->close(disk, file);
	if (!error) {
		slot->made = slot->unsynced = true;
		slot->buffer.size = 0;
	} else if (!is_passing(error)) {
		pawl__store_fail(store, error);
	}
	return error;
}

/* Promise a record for a task with such a payload. */
int pawl__slot_promise(struct pawl_store *store, struct slot *slot, size_t payload)
{
	size_t need = STORED_SIZE(payload);
	int error = slot->buffer.size >= SLOT_BUFFER ? pawl__slot_flush(store, slot) : 0;

	if (!error)
		error = bytes_reserve(&slot->buffer, slot->promised + need);
	if (!error)
		slot->promised += need;
	return error;
}

void pawl__slot_append(struct pawl_store *store, struct slot *slot, const struct stored *task)
{
	unsigned char header[FILE_HEADER];
	size_t at = frame_begin(&slot->buffer);

	if (!slot->seed)
		slot->seed = file_header(header, store->salt, SLOT_MAGIC, slot->serial);
	write_task(&slot->buffer, task);
	frame_end(&slot->buffer, at, slot->seed, slot->size);
	slot->size += slot->buffer.size - at;
	slot->records++;
	if (task->due < slot->first_due) {
		slot->first_due = task->due;
		if (slot->level != BACKLOG)
			pawl__files_expect(store, slot);
	}
	slot->promised -= STORED_SIZE(task->size);
	if (!slot->promised && slot->buffer.size >= SLOT_BUFFER)
		pawl__slot_flush(store, slot); /* a full disk: the next promise says so */
}

/* Forget the slots in which no task lives and whose file is removed. */
void pawl__slots_tidy(struct pawl_store *store)
{
	size_t kept = 0;

	for (size_t i = 0; i < store->slot_count; i++) {
		struct slot *slot = store->slots[i];

		if (slot->live || slot->unborn || slot->made || slot->size > slot->opened ||
		    slot->promised || slot->serial == store->near_serial) {
			store->slots[kept++] = slot;
			continue;
		}
		if (slot->level <= MAX_LEVEL && *place_of(store, slot->level, slot->begin) == slot)
			*place_of(store, slot->level, slot->begin) = NULL;
		if (slot->level == BACKLOG && store->queues[slot->begin]->backlog == slot)
			store->queues[slot->begin]->backlog = NULL;
		if (store->found == slot)
			store->found = NULL;
		pawl__slot_free(slot);
	}
	store->slot_count = kept;
}
