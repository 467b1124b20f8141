/* SPDX-License-Identifier: MIT */
#include "encode.h"

#include <string.h>

#include "../../src/base/assert.h"
#include "memory.h"

enum flags {
	WAITING = 0,
	LEASED = 1,
	DEAD = 2,
	STATE_BITS = 3,
	SHORT_ID = 4,
	HAS_TRIES = 8,
	HAS_MAX_TRIES = 16,
	HAS_REASON = 32,
	HAS_PERIOD = 64,
	ALL_FLAGS = 127,
};
enum { NUMBER_MAX = 10, TOKEN_SIZE = 8 };

/* Writing */

/* REST_MAX: the largest size of a task without its payload. */
enum {
	STEP = 64 * 1024,
	REST_MAX = 1 + 8 * NUMBER_MAX + TOKEN_SIZE + TASK_ID_MAX + TASK_REASON_MAX
};

static void reserve(struct bytes *to, size_t more)
{
	if (to->size + more <= to->room)
		return;
	to->room = to->size + more + STEP;
	to->data = memory_resize(to->data, to->room);
}

static void write_number(struct bytes *to, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		to->data[to->size++] = (unsigned char)(value | 128);
	to->data[to->size++] = (unsigned char)value;
}

static void write_bytes(struct bytes *to, const void *data, size_t size)
{
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

static void write_token(struct bytes *to, uint64_t token)
{
	for (unsigned i = 0; i < TOKEN_SIZE; i++)
		to->data[to->size++] = (unsigned char)(token >> (8 * i));
}

static unsigned extras_flags(const struct task *task)
{
	struct extras extras = task_extras(task);

	return (extras.reason_size ? HAS_REASON : 0u) | (extras.period ? HAS_PERIOD : 0u);
}

static unsigned flags_of(const struct task *task)
{
	unsigned state = task->leased ? LEASED : task->timeline == ON_DEAD ? DEAD : WAITING;

	return state | (task->made_here ? SHORT_ID : 0u) | (task->tries ? HAS_TRIES : 0u) |
	       (task->max_tries ? HAS_MAX_TRIES : 0u) | extras_flags(task);
}

static void write_extras(struct bytes *to, const struct task *task)
{
	struct extras extras = task_extras(task);

	if (extras.reason_size) {
		write_number(to, extras.reason_size);
		write_bytes(to, extras.reason, extras.reason_size);
	}
	if (extras.period) {
		write_number(to, extras.period);
		write_number(to, extras.base);
	}
}

void encode_task(struct bytes *to, const struct task *task, uint64_t *last)
{
	unsigned flags = flags_of(task);

	reserve(to, REST_MAX + (size_t)task->payload_size);
	to->data[to->size++] = (unsigned char)flags;
	/* It may be negative where the next timeline begins. It wraps, and reading wraps it back. */
	write_number(to, task->at - *last);
	*last = task->at;
	if (flags & HAS_TRIES)
		write_number(to, task->tries);
	if (flags & HAS_MAX_TRIES)
		write_number(to, task->max_tries);
	if ((flags & STATE_BITS) == LEASED)
		write_token(to, task->token);
	if (!(flags & SHORT_ID))
		write_number(to, task->id_size);
	write_bytes(to, task->data, task->id_size);
	write_number(to, task->payload_size);
	write_bytes(to, task_payload(task), task->payload_size);
	write_extras(to, task);
	ASSERT(to->size <= to->room);
}

/* Reading. After an error, `wrong` says what it was, and everything read is zero. */

struct reader {
	const unsigned char *at, *end;
	const char *wrong;
};

static const unsigned char *read_bytes(struct reader *from, size_t size)
{
	const unsigned char *bytes = from->at;

	if (from->wrong || (size_t)(from->end - from->at) < size) {
		from->wrong = from->wrong ? from->wrong : "it ends too early";
		return NULL;
	}
	from->at += size;
	return bytes;
}

static uint64_t read_number(struct reader *from, uint64_t max)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const unsigned char *byte = read_bytes(from, 1);

		if (!byte)
			return 0;
		value |= (uint64_t)(*byte & 127) << shift;
		if (*byte < 128 && value <= max)
			return value;
		if (*byte < 128)
			break;
	}
	from->wrong = "a number is out of range";
	return 0;
}

static uint64_t read_token(struct reader *from)
{
	const unsigned char *bytes = read_bytes(from, TOKEN_SIZE);
	uint64_t token = 0;

	for (unsigned i = TOKEN_SIZE; bytes && i-- > 0;)
		token = token << 8 | bytes[i];
	return token;
}

static void read_id(struct reader *from, unsigned flags, struct task_id *id)
{
	bool made_here = flags & SHORT_ID;
	size_t size = made_here ? TASK_ID_SHORT : (size_t)read_number(from, TASK_ID_MAX);
	const unsigned char *bytes = read_bytes(from, size);

	if (bytes && !task_id_from_bytes(id, bytes, size, made_here))
		from->wrong = "an id is malformed";
}

/* The fields of a task, before it is allocated. */
struct record {
	unsigned flags;
	uint64_t at, tries, max_tries, token, payload_size;
	struct task_id id;
	const unsigned char *payload;
	struct extras extras;
};

static void read_extras(struct reader *from, unsigned flags, struct extras *extras)
{
	extras->reason_size = flags & HAS_REASON ? (uint16_t)read_number(from, TASK_REASON_MAX) : 0;
	extras->reason = read_bytes(from, extras->reason_size);
	extras->period = flags & HAS_PERIOD ? read_number(from, TASK_TIME_MAX) : 0;
	extras->base = flags & HAS_PERIOD ? read_number(from, INT64_MAX) : 0;
}

static void read_record(struct reader *from, struct record *record)
{
	const unsigned char *flags = read_bytes(from, 1);

	record->flags = flags ? *flags : 0;
	if (record->flags > ALL_FLAGS || (record->flags & STATE_BITS) == STATE_BITS)
		from->wrong = "flags are unknown";
	record->at += read_number(from, UINT64_MAX);
	if (record->at > INT64_MAX)
		from->wrong = "a time is out of range";
	record->tries = record->flags & HAS_TRIES ? read_number(from, TASK_TRIES_MAX) : 0;
	record->max_tries = record->flags & HAS_MAX_TRIES ? read_number(from, TASK_TRIES_MAX) : 0;
	record->token = (record->flags & STATE_BITS) == LEASED ? read_token(from) : 0;
	read_id(from, record->flags, &record->id);
	record->payload_size = read_number(from, TASK_PAYLOAD_MAX);
	record->payload = read_bytes(from, (size_t)record->payload_size);
	read_extras(from, record->flags, &record->extras);
	/* The stream relies on this: a task that begins anew, with 0 tries, has no reason (replicate.h). */
	if (record->extras.reason_size > 0 && record->tries == 0)
		from->wrong = from->wrong ? from->wrong : "a task with 0 tries has a reason";
}

static void add(struct queue *queue, const struct record *record)
{
	struct task *task = task_new(&record->id, record->payload, (uint32_t)record->payload_size);

	task->tries = (uint16_t)record->tries;
	task->max_tries = (uint16_t)record->max_tries;
	task->token = record->token;
	if (record->flags & (HAS_REASON | HAS_PERIOD))
		task = task_set_extras(task, &record->extras);
	switch (record->flags & STATE_BITS) {
	case LEASED:
		queue_add_leased(queue, task, record->at);
		break;
	case DEAD:
		queue_add_dead(queue, task, record->at);
		break;
	default:
		queue_add(queue, task, record->at);
	}
}

const char *decode_block(const unsigned char *data, size_t size, struct queue *queue)
{
	struct reader from = {data, data + size, NULL};
	struct record record;

	record.at = 0;
	while (from.at < from.end) {
		read_record(&from, &record);
		if (from.wrong)
			return from.wrong;
		if (queue_find(queue, &record.id))
			return "an id comes twice";
		add(queue, &record);
	}
	return NULL;
}
