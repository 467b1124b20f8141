/* SPDX-License-Identifier: MIT */
#include "access.h"

#include "../commands/arguments.h"
#include "../queue/must.h"
#include "clock.h"
#include "metrics.h"
#include "replicate.h"
#include "takers.h"

enum { TRIM_MAX = 256 }; /* dead tasks beyond MAXDEAD that one command deletes */
/* Counting lapses reads lists of the queue. A command that changes it does so only after so long. */
enum { LAPSES_MS = 1000 };

RedisModuleType *queue_type;

/* Or from the future, if the clock was set back. */
static bool lapses_are_old(const struct lapses *lapses)
{
	return lapses->now < lapses->counted || lapses->now - lapses->counted >= LAPSES_MS;
}

static bool open_key(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name, int mode,
                     uint64_t now)
{
	*access = (struct access){.ctx = ctx, .name = name, .now = now};
	access->key = RedisModule_OpenKey(ctx, name, mode);
	if (!access->key || RedisModule_KeyType(access->key) == REDISMODULE_KEYTYPE_EMPTY)
		return true;
	if (RedisModule_ModuleTypeGetType(access->key) != queue_type)
		return false;
	access->queue = RedisModule_ModuleTypeGetValue(access->key);
	queue_begin(access->queue, now);
	if (!(mode & REDISMODULE_WRITE) || lapses_are_old(&access->queue->lapses))
		queue_count_lapses(access->queue);
	return true;
}

static bool open_or_reply(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name,
                          int mode)
{
	if (open_key(access, ctx, name, mode, clock_now()))
		return true;
	access_end(access);
	RedisModule_ReplyWithError(
	        ctx, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return false;
}

bool access_to_read(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name)
{
	return open_or_reply(access, ctx, name, REDISMODULE_READ);
}

bool access_to_write(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name)
{
	return open_or_reply(access, ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
}

bool access_quietly(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name,
                    uint64_t now)
{
	if (open_key(access, ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, now) && access->queue)
		return true;
	access_end(access);
	return false;
}

struct task *access_find(struct access *access, const RedisModuleString *arg)
{
	struct task_id id;

	if (!access->queue || !arg_id(access->ctx, arg, &id))
		return NULL;
	return queue_find(access->queue, &id);
}

void access_create(struct access *access)
{
	if (access->queue)
		return;
	access->queue = queue_new();
	queue_forget_lapses(access->queue, access->now);
	RedisModule_ModuleTypeSetValue(access->key, queue_type, access->queue);
}

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

		MUST(task);
		effects_delete(&effects, task);
		queue_delete(access->queue, task);
	}
	effects_send(&effects);
}

void access_changed(struct access *access, const char *event)
{
	trim_dead(access);
	access_followed(access, event);
}

void access_followed(struct access *access, const char *event)
{
	MUST(access->queue);
	RedisModule_SignalModifiedKey(access->ctx, access->name);
	RedisModule_NotifyKeyspaceEvent(access->ctx, REDISMODULE_NOTIFY_MODULE, event,
	                                access->name);
	if (!queue_empty(access->queue)) {
		takers_notice(access);
		return;
	}
	metrics_lapses(access);
	RedisModule_DeleteKey(access->key);
	access->queue = NULL;
	RedisModule_NotifyKeyspaceEvent(access->ctx, REDISMODULE_NOTIFY_GENERIC, "del",
	                                access->name);
}

void access_end(struct access *access)
{
	if (access->queue)
		metrics_lapses(access);
	if (access->key)
		RedisModule_CloseKey(access->key);
	access->key = NULL;
	access->queue = NULL;
}
