/* SPDX-License-Identifier: MIT */
/*
 * The log: commits become frames in a buffer, and threads that wait for theirs share a write and a sync.
 *
 *	thread A                      thread B                     thread C
 *	--------                      --------                     --------
 *	frame 7 into the buffer
 *	busy; takes the buffer
 *	  write, sync (unlocked)      frame 8 into the buffer      frame 9 into the buffer
 *	  ...                         waits: busy                  waits: busy
 *	7 is synced; not busy         busy; takes the buffer
 *	                                write, sync: 8 and 9       waits: 9 is synced
 *
 * The file has its full size from the beginning: a growing file syncs half as fast, and a write into it cannot meet a
 * full disk. A log that is half full asks for a checkpoint, which begins the next one. An eighth is kept for changes
 * that are not puts: on a full disk, tasks can still be taken and acknowledged.
 *
 * After an error of a write or a sync nobody knows what is on the disk, and the kernel may report it only once. So the
 * store stops.
 */
#define _GNU_SOURCE
#include "layout.h"

#include <stdio.h>

#define SYNCED_SIZE 9u /* a record */

static size_t used(const struct log *log)
{
	return (size_t)log->offset + log->buffer.size;
}

void pawl__store_fail(struct pawl_store *store, int error)
{
	mutex_assert_held(&store->mutex);
	if (!store->failed)
		store->failed = error;
	pawl__store_wake_all(store);
}

/* With options.manual, by the thread that needs room. */
static void checkpoint(struct pawl_store *store)
{
	store->filing = true;
	pawl__store_checkpoint(store);
	store->filing = false;
	condition_broadcast(&store->done);
}

/* Whether the log has room, and the buffer: it may release the mutex and wait for a checkpoint. -EAGAIN: FOR_FILES does
 * not wait, because the file thread makes the checkpoint. */
int pawl__log_room(struct pawl_store *store, size_t size, enum use use)
{
	size_t limit = store->options.log_size, need = size + FRAME_HEADER + SYNCED_SIZE;

	mutex_assert_held(&store->mutex);
	if (need > limit / LOG_USES - FILE_HEADER)
		return -E2BIG;
	limit -= use == FOR_PUT ? limit / LOG_USES : 0;
	while (!store->failed && !store->stopped && used(&store->log) + need > limit) {
		store->want_checkpoint = true;
		if (use == FOR_FILES)
			return -EAGAIN;
		if (store->options.manual && !store->filing)
			checkpoint(store);
		if (store->no_room)
			return store->no_room;
		if (!store->options.manual)
			pawl__store_want_files(store);
		if (!store->options.manual || store->filing)
			condition_wait(&store->done, &store->mutex);
	}
	if (store->failed || store->stopped)
		return store->failed ? store->failed : -ECANCELED;
	return bytes_reserve(&store->log.buffer, need);
}

struct bytes *pawl__log_begin(struct pawl_store *store)
{
	struct log *log = &store->log;

	mutex_assert_held(&store->mutex);
	log->frame = frame_begin(&log->buffer);
	write_le(&log->buffer, RECORD_SYNCED, 1);
	write_le(&log->buffer, log->synced, 8);
	return &log->buffer;
}

uint64_t pawl__log_end(struct pawl_store *store)
{
	struct log *log = &store->log;

	frame_end(&log->buffer, log->frame, log->seed, ++log->sequence);
	store->stats.commits++;
	if (!store->want_checkpoint && used(log) > store->options.log_size / 2) {
		store->want_checkpoint = true;
		pawl__store_want_files(store);
	}
	return log->sequence;
}

/* Take the frames of the buffer, to write them without the mutex. */
struct bytes pawl__log_take(struct log *log)
{
	struct bytes frames = log->buffer;

	log->buffer = log->writing;
	log->buffer.size = 0;
	log->writing = frames;
	log->busy = true;
	return frames;
}

/* What was written, up to this frame, or the error. */
void pawl__log_done(struct pawl_store *store, uint64_t sequence, bool synced, int error)
{
	struct log *log = &store->log;

	log->busy = false;
	if (error) {
		pawl__store_fail(store, error);
	} else {
		log->written = sequence;
		if (synced) {
			log->synced = sequence;
			log->unsynced_since = 0;
			store->stats.syncs++;
		}
	}
	condition_broadcast(&log->idle);
}

static void flush(struct pawl_store *store, bool sync)
{
	struct log *log = &store->log;
	uint64_t sequence = log->sequence, offset = log->offset;
	const struct bytes frames = pawl__log_take(log);
	int file = log->file, error = 0;

	log->offset += frames.size;
	mutex_unlock(&store->mutex);
	if (frames.size)
		error = store->disk->write(store->disk, file, frames.data, frames.size, offset);
	if (!error && sync)
		error = store->disk->sync(store->disk, file);
	mutex_lock(&store->mutex);
	pawl__log_done(store, sequence, sync, error);
}

int pawl__log_wait(struct pawl_store *store, uint64_t sequence, bool sync)
{
	struct log *log = &store->log;

	mutex_assert_held(&store->mutex);
	while (log->written < sequence || (sync && log->synced < sequence)) {
		if (store->failed)
			return store->failed;
		if (log->busy)
			condition_wait(&log->idle, &store->mutex);
		else
			flush(store, sync);
	}
	return 0;
}

/* As options.sync_ns says. The clock thread syncs now and then. */
int pawl__log_commit(struct pawl_store *store, uint64_t sequence)
{
	struct log *log = &store->log;
	uint64_t every = store->options.sync_ns;
	int error = pawl__log_wait(store, sequence, every == 0);

	if (!error && every && every != PAWL_NEVER && !log->unsynced_since &&
	    log->synced < sequence) {
		log->unsynced_since = store->clock->now(store->clock) | 1;
		pawl__store_wake_clock(store, saturating_sum(pawl__store_wall(store), every));
	}
	return error;
}

void pawl__log_name(char name[static FILE_NAME], uint64_t number)
{
	snprintf(name, FILE_NAME, "log.%llu", (unsigned long long)number);
}

/* Make the file of a log, and return its handle. */
int pawl__log_make(struct pawl_store *store, uint64_t number, uint32_t *seed)
{
	struct disk *disk = store->disk;
	unsigned char header[FILE_HEADER];
	char name[FILE_NAME];
	int file, error;

	pawl__log_name(name, number);
	file = disk->open(disk, name, DISK_MAKE);
	if (file < 0)
		return file;
	*seed = file_header(header, store->salt, LOG_MAGIC, number);
	error = disk->allocate(disk, file, store->options.log_size);
	if (!error)
		error = disk->write(disk, file, header, sizeof(header), 0);
	if (!error)
		error = disk->sync(disk, file);
	if (!error)
		error = disk->sync_names(disk);
	if (!error)
		return file;
	disk->close(disk, file);
	disk->remove(disk, name);
	return error;
}
