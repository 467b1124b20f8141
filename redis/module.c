/* SPDX-License-Identifier: MIT */
/*
 * pawl.so: queues of delayed tasks for Redis and Valkey. This file is where the server comes in.
 *
 *	loadmodule /path/to/pawl.so [TEST-CLOCK unix-ms]
 *
 * TEST-CLOCK is for tests: the module's time stands still at unix-ms, and the command PAWL.CLOCK unix-ms,
 * which does not exist otherwise, sets it.
 */
#include "arguments.h"
#include "clock.h"
#include "commands.h"
#include "metrics.h"
#include "persist.h"
#include "queue.h"
#include "random.h"
#include "takers.h"

#define MODULE_NAME "pawl"
enum { MODULE_VERSION = 100 }; /* 0.1.0 */

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

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

static int read_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	long long ms;

	if (argc == 0)
		return REDISMODULE_OK;
	if (argc != 2 || !arg_is(argv[0], "TEST-CLOCK") ||
	    RedisModule_StringToLongLong(argv[1], &ms) != REDISMODULE_OK || ms < 0) {
		RedisModule_Log(ctx, "warning",
		                "pawl: the only argument it knows is TEST-CLOCK unix-ms");
		return REDISMODULE_ERR;
	}
	RedisModule_Log(ctx, "warning", "pawl: its clock stands still: TEST-CLOCK is for tests");
	clock_set((uint64_t)ms);
	return register_test_commands(ctx);
}

static int start(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	random_init();
	ids_secret[0] = random_64();
	ids_secret[1] = random_64();
	if (register_type(ctx) != REDISMODULE_OK || register_commands(ctx) != REDISMODULE_OK ||
	    read_arguments(ctx, argv, argc) != REDISMODULE_OK)
		return REDISMODULE_ERR;
	RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS |
	                                          REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED |
	                                          REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD);
	return metrics_init(ctx) == REDISMODULE_OK ? takers_init(ctx) : REDISMODULE_ERR;
}

/*
 * The same file may be loaded a second time. It is then not another copy of the module, but this one, with a
 * queue type, secrets and takers that are in use: so the name is asked for before any of them is written.
 * What RedisModule_Bind writes is what was there.
 */
int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	const char *missing = RedisModule_Bind(ctx);

	if (missing) {
		if (RedisModule_Log)
			RedisModule_Log(ctx, "warning",
			                "pawl: this server has no %s: it is too old", missing);
		return REDISMODULE_ERR;
	}
	if (RedisModule_IsModuleNameBusy(MODULE_NAME)) {
		RedisModule_Log(ctx, "warning", "pawl: a module of this name is loaded already");
		return REDISMODULE_ERR;
	}
	RedisModule_SetModuleAttribs(ctx, MODULE_NAME, MODULE_VERSION, REDISMODULE_APIVER_1);
	return start(ctx, argv, argc);
}
