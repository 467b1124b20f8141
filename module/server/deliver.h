/* SPDX-License-Identifier: MIT */
/* Delivering due or dead tasks to a taker: in the reply to its command, or later if it is blocked. */
#ifndef PAWL_MODULE_DELIVER_H
#define PAWL_MODULE_DELIVER_H

#include "access.h"
#include "replicate.h"

struct take {
	uint64_t count;
	uint64_t lease_ms; /* 0: no lease, the task is deleted */
	bool dead;         /* deliver dead tasks */
	bool names_key;    /* the reply is [key, deliveries] */
};

/* Copies of the tasks that were delivered to a blocked taker and are not in a reply yet. */
struct parcel {
	RedisModuleString *key; /* NULL: the reply has no key */
	struct delivery *deliveries;
	size_t count;
};

/* The task to deliver now, or NULL. */
struct task *take_first(struct queue *queue, const struct take *take, uint64_t now);
/* When there will be a task to deliver; PAWL_NEVER: nothing is pending. */
uint64_t take_next(struct queue *queue, bool dead);

/*
 * Deliver up to take->count tasks: in a reply, or into the parcel if there is one. take_first() must have found a task.
 * The change is committed; the caller calls takers_plan().
 */
void deliver(struct access *access, const struct take *take, struct parcel *parcel);
/*
 * When a lease of `ms` milliseconds ends. The queue's backoff is added: a task has only one time, so a lease that
 * lapses ends when the task is due again.
 */
uint64_t lease_end(const struct access *access, const struct task *task, uint64_t ms);
/*
 * The task is done: delivered without a lease, or acknowledged. A periodic task is scheduled again, any other is
 * deleted. Returns whether it was deleted; the caller then records that in the effects.
 */
bool finish_task(struct access *access, struct task *task, struct effects *effects);
/* Reply with the tasks in the parcel, in the form that deliver() replies. */
void parcel_reply(RedisModuleCtx *ctx, const struct parcel *parcel);
void parcel_free(struct parcel *parcel);

/* Reply with the reason of the last NACK, or nil. */
void reply_reason(RedisModuleCtx *ctx, const struct task *task);

#endif
