/* SPDX-License-Identifier: MIT */
/* Reading the frames of a file one after the other, a slice at a time. */
#define _GNU_SOURCE
#include "layout.h"

/* Open a file and check its header. -EBADMSG: it is damaged, or another store's; the frames can be read all the same. */
int pawl__frames_open(struct pawl_store *store, struct frames *frames, const char *name,
                      const char *magic, uint64_t number)
{
	struct disk *disk = store->disk;
	unsigned char header[FILE_HEADER], expected[FILE_HEADER];
	uint64_t salt;

	*frames = (struct frames){
	        .disk = disk, .offset = FILE_HEADER, .base = FILE_HEADER, .end = UINT64_MAX};
	frames->file = disk->open(disk, name, DISK_READ);
	if (frames->file < 0)
		return frames->file;
	memset(header, 0, sizeof(header));
	if (disk->read(disk, frames->file, header, sizeof(header), 0) < 0)
		return -EIO;
	frames->format = (unsigned)load_le(header + 8, 4);
	if (number == ANY_NUMBER && memcmp(header, magic, 8) == 0 && frames->format > FORMAT)
		return -ENOTSUP;
	salt = number == ANY_NUMBER ? load_le(header + 16, 8) : store->salt;
	number = number == ANY_NUMBER ? load_le(header + 24, 8) : number;
	frames->seed = file_header(expected, salt, magic, number);
	if (memcmp(header, expected, sizeof(header)) != 0)
		return -EBADMSG;
	frames->salt = salt;
	return 0;
}

void pawl__frames_close(struct frames *frames)
{
	bytes_free(&frames->bytes);
	if (frames->file >= 0)
		frames->disk->close(frames->disk, frames->file);
	frames->file = -1;
}

/* Have `size` bytes at the offset in memory, or all that there are. Returns how many, or -errno. */
static int64_t fill(struct frames *frames, size_t size)
{
	uint64_t left = frames->end - frames->offset;
	size_t skip = (size_t)(frames->offset - frames->base), have = frames->bytes.size - skip;
	int64_t got;

	if (have >= size || have == left)
		return (int64_t)have;
	if (have)
		memmove(frames->bytes.data, frames->bytes.data + skip, have);
	frames->bytes.size = have;
	frames->base = frames->offset;
	size = size < SLICE ? SLICE : size;
	size = size < left ? size : (size_t)left;
	if (bytes_reserve(&frames->bytes, size - have))
		return -ENOMEM;
	got = frames->disk->read(frames->disk, frames->file, frames->bytes.data + have, size - have,
	                         frames->offset + have);
	if (got < 0)
		return got;
	frames->bytes.size += (size_t)got;
	return (int64_t)frames->bytes.size;
}

/*
 * The frame at the offset. Returns 1 and its body; 0 at the end, or where there are only zeroes; -EBADMSG if there is
 * no whole frame there; or -errno.
 */
int pawl__frames_peek(struct frames *frames)
{
	int64_t have = fill(frames, FRAME_HEADER);
	const unsigned char *at;
	size_t length;

	if (have < 0)
		return (int)have;
	at = frames->bytes.data + (frames->offset - frames->base);
	length = have < (int64_t)FRAME_HEADER ? 0 : (size_t)load_le(at, 4);
	if (length == 0)
		return have == 0 || (have >= (int64_t)FRAME_HEADER && load_le(at + 4, 4) == 0)
		               ? 0
		               : -EBADMSG;
	if (length > MAX_FRAME)
		return -EBADMSG;
	have = fill(frames, FRAME_HEADER + length);
	if (have < 0)
		return (int)have;
	at = frames->bytes.data + (frames->offset - frames->base);
	if (!frame_at(at, (size_t)have, frames->seed, &frames->body, &frames->sequence))
		return -EBADMSG;
	frames->next = frames->offset + FRAME_HEADER + length;
	return 1;
}

void pawl__frames_seek(struct frames *frames, uint64_t offset)
{
	frames->offset = frames->base = offset;
	frames->bytes.size = 0;
}

/* Whether the bytes may be the header of a frame with a sequence from `least` on; of a slot: with its offset. */
static bool plausible(const struct frames *frames, const unsigned char *at, uint64_t least)
{
	uint64_t length = load_le(at, 4), sequence = load_le(at + 8, 8);

	if (length == 0 || length > MAX_FRAME)
		return false;
	return frames->by_offset ? sequence == frames->offset
	                         : sequence >= least && sequence - least < UINT64_C(1) << 33;
}

/* Go on to the next whole frame, at the offset or later. Returns false at the end. Most of a log is zeroes, in which no
 * length begins. */
bool pawl__frames_skip(struct frames *frames, uint64_t least)
{
	static const unsigned char zeroes[256];
	int64_t have;

	while ((have = fill(frames, sizeof(zeroes))) >= (int64_t)FRAME_HEADER) {
		const unsigned char *at = frames->bytes.data + (frames->offset - frames->base);

		if (have >= (int64_t)sizeof(zeroes) && memcmp(at, zeroes, sizeof(zeroes)) == 0)
			frames->offset += sizeof(zeroes) - 3;
		else if (plausible(frames, at, least) && pawl__frames_peek(frames) == 1)
			return true;
		else
			frames->offset++;
	}
	frames->offset = frames->end < UINT64_MAX ? frames->end : frames->offset;
	return false;
}
