/* SPDX-License-Identifier: MIT */
/* PAWL.TAKE, PAWL.MTAKE and PAWL.DEAD TAKE. */
#include "../../src/base/assert.h"
#include "../server/access.h"
#include "../server/deliver.h"
#include "../server/takers.h"
#include "arguments.h"
#include "commands.h"

struct reading {
	struct take take;
	uint64_t block_ms;
	bool count_given, lease_given, block_given;
};

static bool read_take(struct args *args, struct reading *reading)
{
	while (args_left(args)) {
		bool good;

		if (args_accept(args, "COUNT"))
			good = args_number(args, "COUNT", 1, ARG_COUNT_MAX, &reading->take.count,
			                   &reading->count_given);
		else if (args_accept(args, "LEASE"))
			good = args_number(args, "LEASE", 0, TASK_TIME_MAX, &reading->take.lease_ms,
			                   &reading->lease_given);
		else if (args_accept(args, "BLOCK"))
			good = args_number(args, "BLOCK", 0, TASK_TIME_MAX, &reading->block_ms,
			                   &reading->block_given);
		else
			good = args_unknown(args, "COUNT, LEASE, BLOCK");
		if (!good)
			return false;
	}
	return true;
}

/* A client inside MULTI or a script cannot be blocked. */
static bool may_block(RedisModuleCtx *ctx)
{
	return !(RedisModule_GetContextFlags(ctx) &
	         (REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA |
	          REDISMODULE_CTX_FLAGS_DENY_BLOCKING));
}

/* These keys have no task to deliver: block, or reply nil. */
static void wait_for(RedisModuleCtx *ctx, const struct reading *reading, RedisModuleString **keys,
                     int count)
{
	if (reading->block_given && may_block(ctx))
		takers_block(ctx, &reading->take, reading->block_ms, keys, count);
	else
		RedisModule_ReplyWithNullArray(ctx);
}

static void deliver_now(struct access *access, const struct take *take)
{
	deliver(access, take, NULL);
	takers_plan(access);
}

int take_from_key(struct args *args, bool dead)
{
	struct reading reading = {.take = {.count = 1, .dead = dead}};
	RedisModuleCtx *ctx = args->ctx;
	struct access access;
	bool due;

	if (!read_take(args, &reading) || !access_to_write(&access, ctx, args->argv[1]))
		return REDISMODULE_OK;
	due = access.queue && take_first(access.queue, &reading.take, access.now);
	if (due)
		deliver_now(&access, &reading.take);
	access_end(&access);
	if (!due)
		wait_for(ctx, &reading, args->argv + 1, 1);
	return REDISMODULE_OK;
}

/* The key whose first task has been due longest, so that no key starves. Among equals, the first key given. */
struct choice {
	RedisModuleString *key;
	uint64_t due;
};

/* False: a key has another type, and WRONGTYPE was replied. choice->key is NULL if nothing is due. */
static bool choose(RedisModuleCtx *ctx, RedisModuleString **keys, int count, uint64_t now,
                   struct choice *choice)
{
	*choice = (struct choice){NULL, now + 1};
	for (int i = 0; i < count; i++) {
		const struct task *task = NULL;
		struct access access;

		if (!access_to_write(&access, ctx, keys[i]))
			return false;
		if (access.queue)
			task = queue_first_due(access.queue, now);
		if (task && task->at < choice->due)
			*choice = (struct choice){keys[i], task->at};
		access_end(&access);
	}
	return true;
}

static void deliver_from(RedisModuleCtx *ctx, RedisModuleString *key, const struct take *take,
                         uint64_t now)
{
	struct access access;

	access_quietly(&access, ctx, key, now);
	ASSERT(access.queue);
	deliver_now(&access, take);
	access_end(&access);
}

/* A limit, since a blocked client has an entry at each key. */
enum { KEYS_MAX = 1024 };

/* The cluster's redirection uses this: Redis 7 does not read a module's key specification for it. */
static int tell_keys(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	long long count;

	if (RedisModule_StringToLongLong(argv[1], &count) != REDISMODULE_OK)
		return REDISMODULE_OK;
	for (int i = 0; i < count && i < argc - 2; i++)
		RedisModule_KeyAtPos(ctx, 2 + i);
	return REDISMODULE_OK;
}

int command_mtake(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct reading reading = {.take = {.count = 1, .names_key = true}};
	struct args args = {ctx, argv, argc, 2};
	uint64_t count, now = clock_now();
	struct choice choice;

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (RedisModule_IsKeysPositionRequest(ctx))
		return tell_keys(ctx, argv, argc);
	if (!arg_number(ctx, argv[1], "numkeys", 1, KEYS_MAX, &count))
		return REDISMODULE_OK;
	if (count > (uint64_t)argc - 2)
		return reply_error(ctx, "ERR numkeys is", argv[1], ", and fewer keys follow it");
	args.next += (int)count;
	if (!read_take(&args, &reading) || !choose(ctx, argv + 2, (int)count, now, &choice))
		return REDISMODULE_OK;
	if (choice.key)
		deliver_from(ctx, choice.key, &reading.take, now);
	else
		wait_for(ctx, &reading, argv + 2, (int)count);
	return REDISMODULE_OK;
}

int command_take(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};

	if (argc < 2)
		return RedisModule_WrongArity(ctx);
	return take_from_key(&args, false);
}
