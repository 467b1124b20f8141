/* SPDX-License-Identifier: MIT */
/* PAWL.TAKE, and PAWL.DEAD with TAKE. */
#include "arguments.h"
#include "commands.h"
#include "deliver.h"
#include "takers.h"

struct reading {
	struct take take;
	uint64_t block_ms;
	bool count_given, lease_given, block_given;
};

static bool read_take(struct args *args, struct reading *reading)
{
	while (args_left(args)) {
		bool good;

		if (args_take(args, "COUNT"))
			good = args_number(args, "COUNT", 1, ARG_COUNT_MAX, &reading->take.count,
			                   &reading->count_given);
		else if (args_take(args, "LEASE"))
			good = args_number(args, "LEASE", 0, TASK_TIME_MAX, &reading->take.lease_ms,
			                   &reading->lease_given);
		else if (args_take(args, "BLOCK"))
			good = args_number(args, "BLOCK", 0, TASK_TIME_MAX, &reading->block_ms,
			                   &reading->block_given);
		else
			good = args_unknown(args, "COUNT, LEASE, BLOCK");
		if (!good)
			return false;
	}
	return true;
}

/* Inside MULTI and scripts nobody can wait. */
static bool may_block(RedisModuleCtx *ctx)
{
	return !(RedisModule_GetContextFlags(ctx) &
	         (REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA |
	          REDISMODULE_CTX_FLAGS_DENY_BLOCKING));
}

int take_from_key(struct args *args, bool dead)
{
	struct reading reading = {.take = {.count = 1, .dead = dead}};
	RedisModuleCtx *ctx = args->ctx;
	struct visit visit;

	if (!read_take(args, &reading) || !visit_to_write(&visit, ctx, args->argv[1]))
		return REDISMODULE_OK;
	if (visit.queue && take_first(visit.queue, &reading.take, visit.now))
		deliver(&visit, &reading.take, NULL);
	else if (reading.block_given && may_block(ctx))
		takers_block(&visit, &reading.take, reading.block_ms);
	else
		RedisModule_ReplyWithNullArray(ctx);
	visit_end(&visit);
	return REDISMODULE_OK;
}

int command_take(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};

	if (argc < 2)
		return RedisModule_WrongArity(ctx);
	return take_from_key(&args, false);
}
