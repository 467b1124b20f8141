/* SPDX-License-Identifier: MIT */
#include "task.h"

#include <string.h>

#include "../../src/base/assert.h"
#include "../../src/base/digits.h"
#include "memory.h"

const char *const task_state_names[STATES] = {"waiting", "due", "leased", "dead"};

enum { MS_BYTES = 6, WORD_BYTES = 4 };
_Static_assert(TASK_ID_SHORT == MS_BYTES + 2 * WORD_BYTES, "milliseconds, sequence, random");
#define MS_LIMIT       (UINT64_C(1) << 48)
#define RANDOM_DIGITS  8
#define SEQUENCE_LIMIT (UINT64_C(1) << 32)

static void put_big_endian(unsigned char *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = bytes; i-- > 0; value >>= 8)
		to[i] = (unsigned char)value;
}

/* Written out, so that compilers make it one load. */
static inline uint32_t get_word(const unsigned char *from)
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline uint64_t get_ms(const unsigned char *from)
{
	return (uint64_t)(from[0] << 8 | from[1]) << 32 | get_word(from + 2);
}

void task_id_from_parts(struct task_id *id, const struct task_id_parts *parts)
{
	put_big_endian(id->bytes, parts->ms, MS_BYTES);
	put_big_endian(id->bytes + MS_BYTES, parts->sequence, WORD_BYTES);
	put_big_endian(id->bytes + MS_BYTES + WORD_BYTES, parts->random, WORD_BYTES);
	id->size = TASK_ID_SHORT;
	id->made_here = true;
}

/* A number below the limit, without sign or leading zeroes, and the '-' after it. */
static bool read_decimal(const char **text, const char *end, uint64_t limit, uint64_t *value)
{
	const char *start = *text, *p = start;

	for (*value = 0; p < end && *p >= '0' && *p <= '9' && *value < limit; p++)
		*value = *value * 10 + (uint64_t)(*p - '0');
	if (p == start || p == end || *p != '-' || *value >= limit ||
	    (*start == '0' && p - start > 1))
		return false;
	*text = p + 1;
	return true;
}

/* Accepts only text that task_id_text() would write. */
static bool read_parts(const char *text, size_t size, struct task_id_parts *parts)
{
	const char *end = text + size;
	uint64_t sequence, random;

	if (!read_decimal(&text, end, MS_LIMIT, &parts->ms) ||
	    !read_decimal(&text, end, SEQUENCE_LIMIT, &sequence) || end - text != RANDOM_DIGITS ||
	    !hex_read(text, RANDOM_DIGITS, &random))
		return false;
	parts->sequence = (uint32_t)sequence;
	parts->random = (uint32_t)random;
	return true;
}

void task_id_from_text(struct task_id *id, const char *text, size_t size)
{
	struct task_id_parts parts;

	ASSERT(size > 0 && size <= TASK_ID_MAX);
	if (read_parts(text, size, &parts)) {
		task_id_from_parts(id, &parts);
		return;
	}
	memcpy(id->bytes, text, size);
	id->size = (uint8_t)size;
	id->made_here = false;
}

bool task_id_from_bytes(struct task_id *id, const unsigned char *bytes, size_t size, bool made_here)
{
	if (size == 0 || size > TASK_ID_MAX || (made_here && size != TASK_ID_SHORT))
		return false;
	if (!made_here) {
		task_id_from_text(id, (const char *)bytes, size);
		return !id->made_here;
	}
	memcpy(id->bytes, bytes, size);
	id->size = (uint8_t)size;
	id->made_here = true;
	return true;
}

size_t task_id_text(const struct task *task, char text[TASK_ID_TEXT])
{
	const unsigned char *sequence = task->data + MS_BYTES;
	char *end = text;

	if (!task->made_here) {
		memcpy(text, task->data, task->id_size);
		return task->id_size;
	}
	end = decimal_write(end, get_ms(task->data));
	*end++ = '-';
	end = decimal_write(end, get_word(sequence));
	*end++ = '-';
	end = hex_write(end, get_word(sequence + WORD_BYTES), RANDOM_DIGITS);
	return (size_t)(end - text);
}

struct task *task_new(const struct task_id *id, const void *payload, uint32_t payload_size)
{
	struct task *task =
	        memory_new(offsetof(struct task, data) + id->size + (size_t)payload_size);

	memset(task, 0, offsetof(struct task, data));
	task->payload_size = payload_size;
	task->id_size = id->size;
	task->made_here = id->made_here;
	memcpy(task->data, id->bytes, id->size);
	if (payload_size > 0)
		memcpy(task->data + id->size, payload, payload_size);
	return task;
}

/* Extras: period, base, size of the reason, reason. They are not aligned. */

enum { PERIOD_AT = 0, BASE_AT = 8, SIZE_AT = 16, EXTRAS_HEAD = 18 };

static unsigned char *extras_of(const struct task *task)
{
	return (unsigned char *)(uintptr_t)task_payload(task) + task->payload_size;
}

struct extras task_extras(const struct task *task)
{
	struct extras extras = {NULL, 0, 0, 0};
	const unsigned char *from = extras_of(task);

	if (!task->has_extras)
		return extras;
	memcpy(&extras.period, from + PERIOD_AT, sizeof(extras.period));
	memcpy(&extras.base, from + BASE_AT, sizeof(extras.base));
	memcpy(&extras.reason_size, from + SIZE_AT, sizeof(extras.reason_size));
	extras.reason = from + EXTRAS_HEAD;
	return extras;
}

size_t task_data_size(const struct task *task)
{
	size_t size = task->id_size + (size_t)task->payload_size;

	return task->has_extras ? size + EXTRAS_HEAD + task_extras(task).reason_size : size;
}

struct task *task_set_extras(struct task *task, const struct extras *extras)
{
	size_t size = offsetof(struct task, data) + task->id_size + task->payload_size;
	uint64_t base = extras->period > 0 ? extras->base : 0;
	bool had = task->has_extras;
	unsigned char *to;

	ASSERT(task->timeline == ON_NONE);
	task->has_extras = extras->reason_size > 0 || extras->period > 0;
	if (!task->has_extras)
		return had ? memory_resize(task, size) : task;
	task = memory_resize(task, size + EXTRAS_HEAD + extras->reason_size);
	to = extras_of(task);
	memcpy(to + PERIOD_AT, &extras->period, sizeof(extras->period));
	memcpy(to + BASE_AT, &base, sizeof(base));
	memcpy(to + SIZE_AT, &extras->reason_size, sizeof(extras->reason_size));
	if (extras->reason_size > 0)
		memcpy(to + EXTRAS_HEAD, extras->reason, extras->reason_size);
	return task;
}

uint64_t task_again(const struct task *task, uint64_t now)
{
	struct extras extras = task_extras(task);

	if (extras.period == 0)
		return 0;
	if (extras.base > now)
		return extras.base;
	return now - (now - extras.base) % extras.period + extras.period;
}

struct task *task_copy(const struct task *task)
{
	size_t size = offsetof(struct task, data) + task_data_size(task);
	struct task *copy = memory_new(size);

	memcpy(copy, task, size);
	copy->timeline = ON_NONE;
	return copy;
}
