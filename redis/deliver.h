/* SPDX-License-Identifier: MIT */
/* Giving tasks to a taker, due ones or dead ones: at once, or when a blocked one is served. */
#ifndef PAWL_REDIS_DELIVER_H
#define PAWL_REDIS_DELIVER_H

#include "replicate.h"
#include "visit.h"

struct take {
	uint64_t count;
	uint64_t lease_ms; /* 0: delivered is done */
	bool dead;         /* it is dead tasks that are asked for */
	bool names_key;    /* the reply is [key, deliveries] */
};

/* Tasks that were delivered to a taker which has not been told yet: copies, as they were then. */
struct parcel {
	RedisModuleString *key; /* NULL: the reply does not name it */
	struct delivery *deliveries;
	size_t count;
};

/* The task that is delivered next, or NULL. */
struct task *take_first(struct queue *queue, const struct take *take, uint64_t now);
/* When there will be one, PAWL_NEVER if none is to be. */
uint64_t take_again(struct queue *queue, bool dead);

/*
 * Deliver up to take->count tasks, and reply with them; or, if there is a parcel, put them into it. At least one must
 * be there.
 */
void deliver(struct visit *visit, const struct take *take, struct parcel *parcel);
/*
 * When a lease of so many milliseconds ends: later if the queue backs off. No second time is kept for when a task comes
 * back whose lease lapsed; its holder simply has longer.
 */
uint64_t lease_end(const struct visit *visit, const struct task *task, uint64_t ms);
/*
 * It is done: delivered for good, or acknowledged. A periodic task is due again, and any other is deleted. Returns
 * whether it was deleted: that is yours to tell the effects.
 */
bool finish_task(struct visit *visit, struct task *task, struct effects *effects);
/* Reply as deliver would have. */
void parcel_reply(RedisModuleCtx *ctx, const struct parcel *parcel);
void parcel_free(struct parcel *parcel);

/* Reply with why it was given back the last time, or nil. */
void reply_reason(RedisModuleCtx *ctx, const struct task *task);

#endif
