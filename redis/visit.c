/* SPDX-License-Identifier: MIT */
#include "visit.h"

#include "arguments.h"
#include "clock.h"
#include "metrics.h"
#include "must.h"
#include "replicate.h"
#include "takers.h"

enum { TRIM_MAX = 256 }; /* dead tasks beyond MAXDEAD that one command deletes */

RedisModuleType *queue_type;

static bool open_key(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name, int mode,
                     uint64_t now)
{
	*visit = (struct visit){.ctx = ctx, .name = name, .now = now};
	visit->key = RedisModule_OpenKey(ctx, name, mode);
	if (!visit->key || RedisModule_KeyType(visit->key) == REDISMODULE_KEYTYPE_EMPTY)
		return true;
	if (RedisModule_ModuleTypeGetType(visit->key) != queue_type)
		return false;
	visit->queue = RedisModule_ModuleTypeGetValue(visit->key);
	return true;
}

static bool open_or_reply(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name,
                          int mode)
{
	if (open_key(visit, ctx, name, mode, clock_now()))
		return true;
	visit_end(visit);
	RedisModule_ReplyWithError(
	        ctx, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return false;
}

bool visit_to_read(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name)
{
	return open_or_reply(visit, ctx, name, REDISMODULE_READ);
}

bool visit_to_write(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name)
{
	return open_or_reply(visit, ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
}

bool visit_quietly(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name, uint64_t now)
{
	if (open_key(visit, ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, now) && visit->queue)
		return true;
	visit_end(visit);
	return false;
}

struct task *visit_find(struct visit *visit, const RedisModuleString *arg)
{
	struct task_id id;

	if (!visit->queue || !arg_id(visit->ctx, arg, &id))
		return NULL;
	return queue_find(visit->queue, &id);
}

void visit_create(struct visit *visit)
{
	if (visit->queue)
		return;
	visit->queue = queue_new();
	RedisModule_ModuleTypeSetValue(visit->key, queue_type, visit->queue);
}

static void trim_dead(struct visit *visit)
{
	size_t beyond = queue_dead_beyond(visit->queue, visit->now);
	struct effects effects;

	if (beyond == 0)
		return;
	if (beyond > TRIM_MAX)
		beyond = TRIM_MAX;
	effects_begin(&effects, visit);
	for (; beyond > 0; beyond--) {
		struct task *task = queue_first_dead(visit->queue, visit->now);

		MUST(task);
		effects_delete(&effects, task);
		metrics_find(visit, task);
		queue_delete(visit->queue, task);
	}
	effects_send(&effects);
}

void visit_changed(struct visit *visit, const char *event)
{
	trim_dead(visit);
	visit_followed(visit, event);
}

void visit_followed(struct visit *visit, const char *event)
{
	MUST(visit->queue);
	RedisModule_SignalModifiedKey(visit->ctx, visit->name);
	RedisModule_NotifyKeyspaceEvent(visit->ctx, REDISMODULE_NOTIFY_MODULE, event, visit->name);
	if (!queue_empty(visit->queue)) {
		takers_notice(visit);
		return;
	}
	RedisModule_DeleteKey(visit->key);
	visit->queue = NULL;
	RedisModule_NotifyKeyspaceEvent(visit->ctx, REDISMODULE_NOTIFY_GENERIC, "del", visit->name);
}

void visit_end(struct visit *visit)
{
	if (visit->key)
		RedisModule_CloseKey(visit->key);
	visit->key = NULL;
	visit->queue = NULL;
}
