/* SPDX-License-Identifier: MIT */
/*
 * A task: one block of memory, with its id and payload at the end. With an id that the server made and a payload of 64
 * bytes it has exactly 128 bytes, a size class of the allocator; the order and widths of the fields are chosen for
 * that.
 *
 * Clients see an id as text. Ids of the server's form, "<ms>-<sequence>-<8 hex digits>", are stored as 14 bytes (the
 * short form), all others as they are. Text of the server's form is always stored in the short form, so equal ids have
 * equal bytes.
 */
#ifndef PAWL_MODULE_TASK_H
#define PAWL_MODULE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_ID_MAX      255u                      /* bytes in an id */
#define TASK_PAYLOAD_MAX UINT32_MAX                /* bytes in a payload */
#define TASK_TRIES_MAX   UINT16_MAX                /* deliveries; the count stays there */
#define TASK_REASON_MAX  1024u                     /* bytes in a reason */
#define TASK_ID_TEXT     TASK_ID_MAX               /* room that task_id_text needs */
#define TASK_ID_SHORT    14u                       /* bytes in an id of the short form */
#define TASK_TIME_MAX    ((UINT64_C(1) << 53) - 1) /* ms in a delay, or a time, from a client */

/* The timeline of the queue that the task is on. */
enum task_timeline {
	ON_NONE,
	ON_ALIVE, /* waiting, due, or leased with tries left */
	ON_DYING, /* leased for its last try: dead, not due, when `at` has come */
	ON_DEAD,  /* buried at `at` */
};

enum task_state { STATE_WAITING, STATE_DUE, STATE_LEASED, STATE_DEAD, STATES };
extern const char *const task_state_names[STATES];

struct task {
	struct task *next, *prev;    /* in the list of its cell */
	uint64_t at;                 /* due time; leased: end of the lease; dead: when it died */
	struct task *next_in_bucket; /* of the id table */
	uint64_t token;              /* the secret of the lease's token (token.h) */
	uint32_t payload_size;
	uint16_t tries;
	uint16_t max_tries; /* 0: no limit */
	uint8_t id_size;
	uint8_t timeline : 2;
	uint8_t leased : 1;     /* delivered, until `at`; stays set after a lapse */
	uint8_t made_here : 1;  /* the id is in the short form */
	uint8_t has_extras : 1; /* extras follow the payload */
	unsigned char data[];   /* id, payload, extras */
};

_Static_assert(sizeof(void *) != 8 || offsetof(struct task, data) + TASK_ID_SHORT + 64 == 128,
               "a task with a payload of 64 bytes fills a size class");

/* Fields that few tasks have. All zeroes: no extras, which take no room. */
struct extras {
	const unsigned char *reason; /* borrowed: of the last NACK */
	uint16_t reason_size;        /* 0: none */
	uint64_t period;             /* ms; 0: not periodic */
	uint64_t base;               /* its first time; 0 if it is not periodic */
};

/* An id as it is stored. */
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
/* From the stored bytes; false if they are not a valid id. */
bool task_id_from_bytes(struct task_id *id, const unsigned char *bytes, size_t size,
                        bool made_here);
/* The id as text, without a zero at the end; returns its length. */
size_t task_id_text(const struct task *task, char text[TASK_ID_TEXT]);

/* A new task, not in a queue, due at 0. The payload is copied. */
struct task *task_new(const struct task_id *id, const void *payload, uint32_t payload_size);
/* Bytes in `data`. */
size_t task_data_size(const struct task *task);
struct task *task_copy(const struct task *task);
/* The task's extras; all zeroes if it has none. The reason is borrowed from the task. */
struct extras task_extras(const struct task *task);
/*
 * Replace the extras of a task that is not in a queue. The reason is copied, and must not be the task's own. Returns the
 * task, whose address may have changed.
 */
struct task *task_set_extras(struct task *task, const struct extras *extras);
/* When a periodic task is due again once it is done: the first base + n * period after now. 0: it is not periodic. */
uint64_t task_again(const struct task *task, uint64_t now);

static inline const unsigned char *task_payload(const struct task *task)
{
	return task->data + task->id_size;
}

/* Prefetch a task. Consecutive tasks are scattered in memory, so each would be a cache miss. */
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

/* Whether the task dies if its present delivery is not acknowledged. */
static inline bool task_last_try(const struct task *task)
{
	return task->max_tries != 0 && task->tries >= task->max_tries;
}

/* The state that clients see. It follows from the time: nothing is written when it changes. */
static inline enum task_state task_state(const struct task *task, uint64_t now)
{
	if (task->timeline == ON_DEAD)
		return STATE_DEAD;
	if (task->at > now)
		return task->leased ? STATE_LEASED : STATE_WAITING;
	return task->timeline == ON_DYING ? STATE_DEAD : STATE_DUE;
}

#endif
