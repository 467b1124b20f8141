/* SPDX-License-Identifier: MIT */
#include "access.h"

/* Counting lapses reads lists of the queue. A command that changes it counts them only after so long. */
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
	*access =
	        (struct access){.ctx = ctx, .name = name, .now = now, .metrics = {ctx, name, NULL}};
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

void access_create(struct access *access)
{
	if (access->queue)
		return;
	access->queue = queue_new();
	queue_forget_lapses(access->queue, access->now);
	RedisModule_ModuleTypeSetValue(access->key, queue_type, access->queue);
}

void access_delete(struct access *access)
{
	metrics_move_lapses(&access->metrics, &access->queue->lapses);
	RedisModule_DeleteKey(access->key);
	access->queue = NULL;
}

void access_end(struct access *access)
{
	if (access->queue)
		metrics_move_lapses(&access->metrics, &access->queue->lapses);
	if (access->key)
		RedisModule_CloseKey(access->key);
	access->key = NULL;
	access->queue = NULL;
}

/* The clock */

static bool set;
static uint64_t set_to;

uint64_t clock_now(void)
{
	return set ? set_to : (uint64_t)RedisModule_Milliseconds();
}

void clock_set(uint64_t ms)
{
	set = true;
	set_to = ms;
}

bool clock_is_set(void)
{
	return set;
}
