/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints. The order of the steps is the proof: before each, all that it relies on is on the disk.
 *
 *	1  log.8 is made, and synced
 *	2  the cut, under the mutex: from now on frames go to log.8. All but the tasks in memory is copied into the image
 *	3  the last frames of log.7 are written and synced
 *	4  the slots are written and synced, at least as far as they were at the cut
 *	5  the image and the tasks are written to checkpoint.new, and synced
 *	6  it is renamed to checkpoint, and the names are synced
 *	7  log.7 and the slots that were opened to their end at the cut are removed
 *
 * A crash before 6: the old checkpoint, log.7, log.8. After it: the new one and log.8.
 *
 * Step 5 walks the tasks a few buckets at a time, and a task that changes before the walk has come to it is written
 * first, as it is: see keep() in tasks.c. So the image is that of the cut, and nobody waits for it.
 */
#define _GNU_SOURCE
#include "layout.h"

static int image_begin(struct pawl_store *store, size_t size)
{
	int error = bytes_reserve(&store->image, size + FRAME_HEADER);

	if (error)
		store->image_error = error;
	else
		store->image_frame = frame_begin(&store->image);
	return error;
}

static void image_end(struct pawl_store *store)
{
	frame_end(&store->image, store->image_frame, store->image_seed, store->image_frames++);
}

/* A task that is in memory. */
void pawl__image_task(struct pawl_store *store, struct task *task)
{
	const struct stored stored = pawl__task_stored(task);

	task->epoch = store->epoch;
	if (image_begin(store, STORED_SIZE(task->size)))
		return;
	write_task(&store->image, &stored);
	image_end(store);
}

static void image_head(struct pawl_store *store, uint64_t number)
{
	const struct pawl_store_stats *stats = &store->stats;
	const uint64_t numbers[] = {number,        store->log.sequence, store->unit,
	                            stats->put,    stats->acked,        stats->cancelled,
	                            stats->buried, stats->requeued};

	if (image_begin(store, 1 + sizeof(numbers) + 4))
		return;
	write_le(&store->image, RECORD_HEAD, 1);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		write_le(&store->image, numbers[i], 8);
	write_le(&store->image, store->next_serial, 4);
	image_end(store);
}

static void image_queue(struct pawl_store *store, const struct queue *queue)
{
	if (image_begin(store, 6 + MAX_NAME))
		return;
	pawl__write_queue(&store->image, queue);
	image_end(store);
}

static void image_chunk(struct pawl_store *store, uint32_t serial, uint32_t number,
                        const uint64_t *chunk)
{
	if (image_begin(store, 9 + CHUNK / 8))
		return;
	write_le(&store->image, RECORD_BITS, 1);
	write_le(&store->image, serial, 4);
	write_le(&store->image, number, 4);
	for (unsigned i = 0; i < CHUNK / 64; i++)
		write_le(&store->image, chunk[i], 8);
	image_end(store);
}

/* Its place, its file as it is now, and its bits. A slot that a refused commit made is in no record yet. It is left out:
 * its first task writes the record, also if this checkpoint fails. */
static void image_slot(struct pawl_store *store, struct slot *slot)
{
	slot->retired = slot->opened == slot->size && slot->size > FILE_HEADER;
	if (!slot->logged && slot->size == FILE_HEADER)
		return;
	if (image_begin(store, 22 + 41))
		return;
	slot->logged = false;
	pawl__write_slot(&store->image, slot);
	write_le(&store->image, RECORD_FILE, 1);
	write_le(&store->image, slot->serial, 4);
	write_le(&store->image, slot->births, 4);
	write_le(&store->image, slot->size, 8);
	write_le(&store->image, slot->opened, 8);
	write_le(&store->image, slot->records, 8);
	write_le(&store->image, slot->first_due, 8);
	image_end(store);
	for (uint32_t i = 0; i < slot->chunk_room; i++)
		if (slot->chunks[i])
			image_chunk(store, slot->serial, i, slot->chunks[i]);
}

/* Steps 2 and 3. `file` is that of the next log. */
static int cut(struct pawl_store *store, int file, uint32_t seed)
{
	struct log *log = &store->log;
	struct disk *disk = store->disk;
	int old = log->file, error = 0;
	unsigned char header[FILE_HEADER];
	uint64_t offset, sequence;
	struct bytes frames;

	while (log->busy)
		condition_wait(&log->idle, &store->mutex);
	if (store->failed) {
		disk->close(disk, file);
		return store->failed;
	}
	offset = log->offset;
	sequence = log->sequence;
	store->image.size = 0;
	store->image_frames = 0;
	store->image_error = 0;
	store->image_seed = file_header(header, store->salt, CHECKPOINT_MAGIC, 0);
	store->epoch++;
	store->imaging = true;
	store->near_serial = NO_SLOT;
	image_head(store, log->number + 1);
	for (size_t i = 0; i < store->queue_count; i++)
		image_queue(store, store->queues[i]);
	for (size_t i = 0; i < store->slot_count; i++)
		image_slot(store, store->slots[i]);
	frames = pawl__log_take(log);
	log->file = file;
	log->seed = seed;
	log->number++;
	log->offset = FILE_HEADER;
	mutex_unlock(&store->mutex);
	if (old >= 0) {
		if (frames.size)
			error = disk->write(disk, old, frames.data, frames.size, offset);
		if (!error)
			error = disk->sync(disk, old);
		disk->close(disk, old);
	}
	mutex_lock(&store->mutex);
	pawl__log_done(store, sequence, true, error);
	return error;
}

/* Step 4. Slots are added meanwhile, at the end; they are not in the image. */
static int sync_slots(struct pawl_store *store, size_t count)
{
	struct disk *disk = store->disk;
	char name[FILE_NAME];
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct slot *slot = store->slots[i];
		int file;

		if (slot->retired || (error = pawl__slot_flush(store, slot)) != 0)
			continue;
		bytes_free(&slot->buffer);
		if (!slot->unsynced)
			continue;
		slot->unsynced = false;
		mutex_unlock(&store->mutex);
		pawl__slot_name(name, slot->serial);
		file = disk->open(disk, name, DISK_WRITE);
		error = file < 0 ? file : disk->sync(disk, file);
		if (file >= 0)
			disk->close(disk, file);
		mutex_lock(&store->mutex);
		slot->unsynced |= file < 0;
		if (error && file >= 0)
			pawl__store_fail(store, error);
	}
	return error;
}

/* Write the image that there is so far, without the mutex. */
static int write_image(struct pawl_store *store, int file, uint64_t *offset)
{
	struct bytes image = store->image;
	int error;

	store->image = store->image_spare;
	store->image.size = 0;
	mutex_unlock(&store->mutex);
	error = store->disk->write(store->disk, file, image.data, image.size, *offset);
	*offset += image.size;
	mutex_lock(&store->mutex);
	store->image_spare = image;
	return error;
}

/* Step 5. */
static int write_checkpoint(struct pawl_store *store, int file)
{
	unsigned char header[FILE_HEADER];
	uint64_t offset = FILE_HEADER;
	int error;

	file_header(header, store->salt, CHECKPOINT_MAGIC, 0);
	error = store->disk->write(store->disk, file, header, sizeof(header), 0);
	for (size_t i = 0; i <= store->bucket_mask && !error; i++) {
		for (struct task *task = store->buckets[i]; task; task = task->next)
			if (task->epoch != store->epoch)
				pawl__image_task(store, task);
		if (i % BUCKETS_AT_ONCE == BUCKETS_AT_ONCE - 1)
			error = write_image(store, file, &offset);
	}
	store->imaging = false;
	if (!error && !image_begin(store, 1)) {
		write_le(&store->image, RECORD_LAST, 1);
		image_end(store);
	}
	if (!error)
		error = write_image(store, file, &offset);
	return error ? error : store->image_error;
}

/* Steps 5 and 6. */
static int replace_checkpoint(struct pawl_store *store)
{
	struct disk *disk = store->disk;
	int file = disk->open(disk, "checkpoint.new", DISK_MAKE), error;

	error = file < 0 ? file : write_checkpoint(store, file);
	store->imaging = false;
	mutex_unlock(&store->mutex);
	if (!error)
		error = disk->sync(disk, file);
	if (file >= 0)
		disk->close(disk, file);
	if (!error)
		error = disk->rename(disk, "checkpoint.new", "checkpoint");
	if (!error)
		error = disk->sync_names(disk);
	mutex_lock(&store->mutex);
	return error;
}

/* Without the mutex: to free the blocks of a log takes milliseconds. */
static void remove_file(struct pawl_store *store, const char *name)
{
	mutex_unlock(&store->mutex);
	store->disk->remove(store->disk, name);
	mutex_lock(&store->mutex);
}

/* Step 7. A file that cannot be removed is removed by the next open. */
static void remove_files(struct pawl_store *store, size_t count, uint64_t logs_below)
{
	char name[FILE_NAME];

	for (; store->log_from < logs_below; store->log_from++) {
		pawl__log_name(name, store->log_from);
		remove_file(store, name);
	}
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = store->slots[i];

		if (!slot->retired || !slot->made)
			continue;
		pawl__slot_name(name, slot->serial);
		remove_file(store, name);
		slot->made = false;
	}
	pawl__slots_tidy(store);
}

static int checkpoint(struct pawl_store *store)
{
	uint64_t number = store->log.number + 1;
	size_t count;
	uint32_t seed;
	int error, file;

	mutex_unlock(&store->mutex);
	file = pawl__log_make(store, number, &seed);
	mutex_lock(&store->mutex);
	if (file < 0)
		return file;
	error = cut(store, file, seed);
	count = store->slot_count;
	if (!error)
		error = sync_slots(store, count);
	if (!error)
		error = store->disk->sync_names(store->disk);
	if (!error)
		error = replace_checkpoint(store);
	store->imaging = false;
	bytes_free(&store->image);
	bytes_free(&store->image_spare);
	if (!error)
		remove_files(store, count, number);
	return error;
}

/* Under the mutex, which it releases meanwhile. */
int pawl__store_checkpoint(struct pawl_store *store)
{
	int error = checkpoint(store);

	mutex_assert_held(&store->mutex);
	store->no_room = is_passing(error) ? error : 0;
	if (!error) {
		store->want_checkpoint = false;
		store->stats.checkpoints++;
	} else if (!is_passing(error)) {
		pawl__store_fail(store, error);
	}
	condition_broadcast(&store->done);
	return error;
}
