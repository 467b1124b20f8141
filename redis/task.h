/* SPDX-License-Identifier: MIT */
/*
 * A task: one block of memory with its id and its payload behind it. With an id made by the server and
 * a payload of 64 bytes that is 128 bytes to the byte, a size class of the allocator; the order of the
 * fields and their widths are chosen for it.
 *
 * An id is text to the outside. The form in which the server makes them, "<ms>-<sequence>-<8 hex digits>",
 * is kept as 14 bytes; any other text as it is. The two never meet: text of that form always
 * becomes 14 bytes, so equal ids are equal bytes.
 */
#ifndef PAWL_REDIS_TASK_H
#define PAWL_REDIS_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_ID_MAX      255u        /* bytes in an id */
#define TASK_PAYLOAD_MAX UINT32_MAX  /* bytes in a payload */
#define TASK_TRIES_MAX   UINT16_MAX  /* deliveries; the count stays there */
#define TASK_REASON_MAX  1024u       /* bytes in a reason */
#define TASK_ID_TEXT     TASK_ID_MAX /* room that task_id_text needs: no id is longer */
#define TASK_TIME_MAX \
	((UINT64_C(1) << 53) - 1) /* of a delay or a time that a client gives, in ms */

/* Which timeline of a queue the task is on. */
enum task_place {
	PLACE_NONE,
	PLACE_ALIVE, /* it is due at `at`, or will be */
	PLACE_DYING, /* leased for its last try: it is dead at `at`, not due */
	PLACE_DEAD,  /* buried at `at` */
};

enum task_state { STATE_WAITING, STATE_DUE, STATE_LEASED, STATE_DEAD, STATES };

struct task {
	struct task *next, *prev; /* in the list of its cell */
	uint64_t at; /* when it becomes due; leased: when the lease ends; dead: when it died */
	struct task *chain; /* the next one in its bucket of the id table */
	uint64_t token;     /* the secret of the one that holds the lease (token.h) */
	uint32_t payload_size;
	uint16_t tries;
	uint16_t max_tries; /* 0: no limit */
	uint8_t id_size;
	uint8_t place : 2;
	uint8_t leased : 1;    /* out to a taker until `at`: it stays so when that has passed */
	uint8_t made_here : 1; /* the id is in the short form */
	uint8_t noted : 1;     /* a note is behind the payload */
	unsigned char data[];  /* id, payload, note */
};

/* What few tasks have: the others need no room for it. All zeroes is none. */
struct note {
	const unsigned char *reason; /* borrowed: why it was given back the last time */
	uint16_t reason_size;        /* 0: none was told */
	uint64_t period;             /* ms; 0: it is done once */
	uint64_t base;               /* when it was to be due for the first time */
};

/* An id as it is kept. */
struct task_id {
	unsigned char bytes[TASK_ID_MAX];
	uint8_t size;
	bool made_here;
};

/* The parts of an id that the server makes. */
struct task_id_parts {
	uint64_t ms;       /* below 2^48 */
	uint32_t sequence; /* within the millisecond */
	uint32_t random;
};

/* text: 1 to TASK_ID_MAX bytes. */
void task_id_from_text(struct task_id *id, const char *text, size_t size);
void task_id_from_parts(struct task_id *id, const struct task_id_parts *parts);
/* From bytes as they are kept; false if no id is kept like that. */
bool task_id_from_bytes(struct task_id *id, const unsigned char *bytes, size_t size,
                        bool made_here);
/* The id as text; returns its length. No zero is added. */
size_t task_id_text(const struct task *task, char text[TASK_ID_TEXT]);

/* A new task, nowhere, due at 0. The payload is copied. */
struct task *task_new(const struct task_id *id, const void *payload, uint32_t payload_size);
/* Bytes in `data`. */
size_t task_data_size(const struct task *task);
struct task *task_copy(const struct task *task);
/* Its note: all zeroes if it has none. What it borrows is the task's. */
struct note task_note(const struct task *task);
/*
 * Give a task that is nowhere this note in place of its own, and copy what it borrows, which must not be the task's.
 * Returns the task, which may have moved.
 */
struct task *task_set_note(struct task *task, const struct note *note);
/* When a periodic task that is done is due again: at the first base + n * period after now. 0: it is not periodic. */
uint64_t task_again(const struct task *task, uint64_t now);

static inline const unsigned char *task_payload(const struct task *task)
{
	return task->data + task->id_size;
}

/* It will be read soon: tasks in due order lie anywhere in memory, and a miss for each would take the time. */
static inline void task_prefetch(const struct task *task)
{
	__builtin_prefetch(task);
	__builtin_prefetch((const char *)task + 64);
}

static inline bool task_has_id(const struct task *task, const struct task_id *id)
{
	if (task->id_size != id->size || task->made_here != id->made_here)
		return false;
	return __builtin_memcmp(task->data, id->bytes, id->size) == 0;
}

/* Whether a delivery that is not acknowledged is the end of it. */
static inline bool task_last_try(const struct task *task)
{
	return task->max_tries != 0 && task->tries >= task->max_tries;
}

/* What it is to the outside: that follows from the time, nothing has to happen for it. */
static inline enum task_state task_state(const struct task *task, uint64_t now)
{
	if (task->place == PLACE_DEAD)
		return STATE_DEAD;
	if (task->at > now)
		return task->leased ? STATE_LEASED : STATE_WAITING;
	return task->place == PLACE_DYING ? STATE_DEAD : STATE_DUE;
}

#endif
