/* SPDX-License-Identifier: MIT */
/*
 * Bytes of the files: docs/design/store.md describes them one by one. Numbers are little-endian.
 *
 *	file     header {magic 8, version 4, crc 4, salt 8, number 8}, then frames
 *	frame    {length 4, crc 4, sequence 8}, then `length` bytes: records
 *	record   a letter, then its fields
 *
 * A log's frame is a commit. A slot's frame is one task, and its sequence is its offset, so that a frame at a wrong
 * place is damage. A checkpoint's frames are numbered from 0. The CRC also covers the salt of the store, and the kind
 * and number of the file: a payload that looks like a frame is none.
 */
#ifndef PAWL_STORE_RECORD_H
#define PAWL_STORE_RECORD_H

#include "../base/crc32c.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT       1u
#define FILE_HEADER  32u
#define FRAME_HEADER 16u
#define FILE_NAME    32 /* room for a name */

#define LOG_MAGIC        "pawl-log"
#define SLOT_MAGIC       "pawl-slt"
#define CHECKPOINT_MAGIC "pawl-chk"

enum record {
	RECORD_QUEUE = 'Q', /* number 4, length 1, name */
	RECORD_SLOT = 'S',  /* serial 4, level 1, begin 8, end 8 */
	RECORD_PUT = 'P',   /* id 8, due 8, queue 4, size 4, payload */
	RECORD_END = 'E',   /* id 8, why 1 (enum why): it is gone for good */
	RECORD_TRY = 'T',   /* id 8 */
	RECORD_MOVE = 'M',  /* id 8, due 8, slot 4, why 1 */
	RECORD_BURY = 'B',  /* id 8, length 1, reason */
	RECORD_OPEN = 'O',  /* slot 4, to 8, time 8, level 1: struct opening */
	RECORD_SYNCED =
	        'Y', /* sequence 8: all frames up to it were synced when this one was made */

	/* In slots and checkpoints. */
	RECORD_TASK = 'N', /* id 8, due 8, queue 4, tries 4, size 4, payload */
	RECORD_DEAD = 'D', /* the same, then length 1, reason */

	/* In checkpoints only. */
	RECORD_HEAD = 'H', /* log 8, sequence 8, unit 8, counters 5 * 8, next serial 4 */
	RECORD_FILE = 'F', /* slot 4, births 4, size 8, opened 8, records 8, first due 8 */
	RECORD_BITS = 'L', /* slot 4, chunk 4, 512 bytes */
	RECORD_LAST = 'Z', /* the end */
};

enum why { ACKED, CANCELLED, DROPPED, RETRIED, EVICTED, REQUEUED };

/* A growing array of bytes. Writes need room that was reserved before. */
struct bytes {
	unsigned char *data;
	size_t size, room;
};

static inline int bytes_reserve(struct bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : 1024;
	unsigned char *data;

	if (bytes->room - bytes->size >= more)
		return 0;
	while (room - bytes->size < more)
		room *= 2;
	data = realloc(bytes->data, room);
	if (!data)
		return -ENOMEM;
	bytes->data = data;
	bytes->room = room;
	return 0;
}

static inline void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){NULL, 0, 0};
}

/* The compilers make one instruction of these. */
static inline void store_le(unsigned char *to, uint64_t value, unsigned size)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(to, &value, size);
#else
	for (unsigned i = 0; i < size; i++)
		to[i] = (unsigned char)(value >> 8 * i);
#endif
}

static inline uint64_t load_le(const unsigned char *from, unsigned size)
{
	uint64_t value = 0;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&value, from, size);
#else
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)from[i] << 8 * i;
#endif
	return value;
}

static inline void write_le(struct bytes *bytes, uint64_t value, unsigned size)
{
	store_le(bytes->data + bytes->size, value, size);
	bytes->size += size;
}

static inline void write_data(struct bytes *bytes, const void *data, size_t size)
{
	if (size)
		memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

/* The bytes and a zero, from malloc; or NULL. Windows has no strndup. */
static inline char *copy_text(const void *text, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy) {
		memcpy(copy, text, size);
		copy[size] = '\0';
	}
	return copy;
}

/* Reads fields. Beyond the end it is `bad`, and gives zeroes. */
struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static inline const unsigned char *read_data(struct reader *reader, size_t size)
{
	const unsigned char *data = reader->at;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->bad = true;
		reader->at = reader->end;
		return NULL;
	}
	reader->at += size;
	return data;
}

static inline uint64_t read_le(struct reader *reader, unsigned size)
{
	const unsigned char *data = read_data(reader, size);

	return data ? load_le(data, size) : 0;
}

/* A task as it is in a file. The pointers are borrowed. */
struct stored {
	uint64_t id, due;
	const void *payload, *reason; /* reason: NULL unless it is dead */
	uint32_t queue, tries, size;
	uint8_t reason_size;
};

/* The most bytes that a frame with this task takes. */
#define STORED_SIZE(size) (FRAME_HEADER + 29u + (size) + 256u)

static inline void write_task(struct bytes *bytes, const struct stored *task)
{
	write_le(bytes, task->reason ? RECORD_DEAD : RECORD_TASK, 1);
	write_le(bytes, task->id, 8);
	write_le(bytes, task->due, 8);
	write_le(bytes, task->queue, 4);
	write_le(bytes, task->tries, 4);
	write_le(bytes, task->size, 4);
	write_data(bytes, task->payload, task->size);
	if (!task->reason)
		return;
	write_le(bytes, task->reason_size, 1);
	write_data(bytes, task->reason, task->reason_size);
}

/* After the letter. */
static inline struct stored read_task(struct reader *reader, bool dead)
{
	struct stored task = {.id = read_le(reader, 8), .due = read_le(reader, 8)};

	task.queue = (uint32_t)read_le(reader, 4);
	task.tries = (uint32_t)read_le(reader, 4);
	task.size = (uint32_t)read_le(reader, 4);
	task.payload = read_data(reader, task.size);
	if (dead) {
		task.reason_size = (uint8_t)read_le(reader, 1);
		task.reason = read_data(reader, task.reason_size);
	}
	return task;
}

/* Make the header of a file. Returns its CRC, with which those of the file's frames begin. */
static inline uint32_t file_header(unsigned char header[static FILE_HEADER], uint64_t salt,
                                   const char *magic, uint64_t number)
{
	uint32_t crc;

	memcpy(header, magic, 8);
	store_le(header + 8, FORMAT, 4);
	store_le(header + 16, salt, 8);
	store_le(header + 24, number, 8);
	crc = pawl__crc32c(pawl__crc32c(0, header, 12), header + 16, FILE_HEADER - 16);
	store_le(header + 12, crc, 4);
	return crc;
}

static inline uint32_t frame_crc(uint32_t seed, const unsigned char *frame, size_t length)
{
	return pawl__crc32c(pawl__crc32c(seed, frame, 4), frame + 8, FRAME_HEADER - 8 + length);
}

/* Begin a frame where there is room for it; end it at the place that begin returned. */
static inline size_t frame_begin(struct bytes *bytes)
{
	bytes->size += FRAME_HEADER;
	return bytes->size - FRAME_HEADER;
}

static inline void frame_end(struct bytes *bytes, size_t at, uint32_t seed, uint64_t sequence)
{
	unsigned char *frame = bytes->data + at;
	size_t length = bytes->size - at - FRAME_HEADER;

	store_le(frame, length, 4);
	store_le(frame + 8, sequence, 8);
	store_le(frame + 4, frame_crc(seed, frame, length), 4);
}

/* Whether a whole frame is at these bytes: its body, and its sequence. */
static inline bool frame_at(const unsigned char *frame, size_t size, uint32_t seed,
                            struct reader *body, uint64_t *sequence)
{
	size_t length = size < FRAME_HEADER ? 0 : (size_t)load_le(frame, 4);

	if (length == 0 || length > size - FRAME_HEADER ||
	    load_le(frame + 4, 4) != frame_crc(seed, frame, length))
		return false;
	*body = (struct reader){frame + FRAME_HEADER, frame + FRAME_HEADER + length, false};
	*sequence = load_le(frame + 8, 8);
	return true;
}

#endif
