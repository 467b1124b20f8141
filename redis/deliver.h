/* SPDX-License-Identifier: MIT */
/* Giving due tasks to a taker: at once, or when a blocked one is served. */
#ifndef PAWL_REDIS_DELIVER_H
#define PAWL_REDIS_DELIVER_H

#include "replicate.h"
#include "visit.h"

struct take {
	uint64_t count;
	uint64_t lease_ms; /* 0: delivered is done */
};

/* Reply with up to take->count due tasks. At least one must be due. */
void deliver(struct visit *visit, const struct take *take);

/*
 * Reply with [id, payload, tries, due-ms, token], nil for the token if it is 0, and remember what happens to
 * the task.
 */
void reply_task(RedisModuleCtx *ctx, const struct task *task, uint64_t due, uint64_t token,
                struct effects *effects);

#endif
