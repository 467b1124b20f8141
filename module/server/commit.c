/* SPDX-License-Identifier: MIT */
#include "commit.h"

#include "../../src/base/assert.h"
#include "replicate.h"

enum { TRIM_MAX = 256 }; /* dead tasks beyond MAXDEAD that one command deletes */

static void trim_dead(struct access *access)
{
	size_t beyond = queue_dead_beyond(access->queue, access->now);
	struct effects effects;

	if (beyond == 0)
		return;
	if (beyond > TRIM_MAX)
		beyond = TRIM_MAX;
	effects_begin(&effects, access);
	for (; beyond > 0; beyond--) {
		struct task *task = queue_first_dead(access->queue, access->now);

		ASSERT(task);
		effects_delete(&effects, task);
		queue_delete(access->queue, task);
	}
	effects_send(&effects);
}

static void notify(struct access *access, int kind, const char *event)
{
	RedisModule_NotifyKeyspaceEvent(access->ctx, kind, event, access->name);
}

void commit(struct access *access, const char *event)
{
	trim_dead(access);
	commit_replicated(access, event);
}

void commit_replicated(struct access *access, const char *event)
{
	ASSERT(access->queue);
	RedisModule_SignalModifiedKey(access->ctx, access->name);
	notify(access, REDISMODULE_NOTIFY_MODULE, event);
	if (!queue_empty(access->queue))
		return;
	access_delete(access);
	notify(access, REDISMODULE_NOTIFY_GENERIC, "del");
}
