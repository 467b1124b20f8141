/* SPDX-License-Identifier: MIT */
/* PAWL.CLOCK, for tests only: it exists if the module is loaded with TEST-CLOCK. */
#include "../server/clock.h"
#include "../server/takers.h"
#include "arguments.h"
#include "commands.h"

int command_clock(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	uint64_t ms;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!arg_number(ctx, argv[1], "unix-ms", 0, TASK_TIME_MAX, &ms))
		return REDISMODULE_OK;
	clock_set(ms);
	takers_clock_set();
	return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
