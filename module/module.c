/* SPDX-License-Identifier: MIT */
/*
 * pawl.so: queues of delayed tasks for Redis and Valkey. The server loads it by RedisModule_OnLoad().
 *
 *	loadmodule /path/to/pawl.so [METRICS-QUEUES n] [TEST-CLOCK unix-ms]
 *
 * METRICS-QUEUES is how many queues have a line of their own in INFO pawl. It is also a setting: pawl.metrics-queues.
 * TEST-CLOCK is for tests: the module's clock stands still at unix-ms until the command PAWL.CLOCK sets it, which
 * exists only with this argument.
 */
#include "commands/arguments.h"
#include "commands/commands.h"
#include "queue/ids.h"
#include "queue/token.h"
#include "server/access.h"
#include "server/metrics.h"
#include "server/takers.h"

#define MODULE_NAME "pawl"
enum { MODULE_VERSION = 100 }; /* 0.1.0 */

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

/* The module's arguments. */
struct options {
	long long test_clock; /* -1: not given */
	long long metrics_queues;
};

static bool read_option(RedisModuleString **argv, struct options *options)
{
	long long *value, max = METRICS_QUEUES_MAX;

	if (arg_is(argv[0], "TEST-CLOCK")) {
		value = &options->test_clock;
		max = (long long)TASK_TIME_MAX;
	} else if (arg_is(argv[0], "METRICS-QUEUES")) {
		value = &options->metrics_queues;
	} else {
		return false;
	}
	return RedisModule_StringToLongLong(argv[1], value) == REDISMODULE_OK && *value >= 0 &&
	       *value <= max;
}

static int read_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                          struct options *options)
{
	for (int i = 0; i < argc; i += 2) {
		size_t size;

		if (i + 1 < argc && read_option(argv + i, options))
			continue;
		RedisModule_Log(ctx, "warning",
		                "pawl: the argument '%.64s' is unknown, or its value is missing or "
		                "bad; allowed: METRICS-QUEUES 0 to %d, TEST-CLOCK unix-ms",
		                RedisModule_StringPtrLen(argv[i], &size), METRICS_QUEUES_MAX);
		return REDISMODULE_ERR;
	}
	return REDISMODULE_OK;
}

static int use_test_clock(RedisModuleCtx *ctx, long long ms)
{
	if (ms < 0)
		return REDISMODULE_OK;
	RedisModule_Log(ctx, "warning", "pawl: its clock stands still: TEST-CLOCK is for tests");
	clock_set((uint64_t)ms);
	return register_test_commands(ctx);
}

static long long get_number(const char *name, void *data)
{
	(void)name;
	return *(long long *)data;
}

static int set_number(const char *name, long long value, void *data, RedisModuleString **error)
{
	(void)name;
	(void)error;
	*(long long *)data = value;
	return REDISMODULE_OK;
}

/* CONFIG pawl.metrics-queues. Its default is the argument METRICS-QUEUES. */
static int register_settings(RedisModuleCtx *ctx, const struct options *options)
{
	if (RedisModule_RegisterNumericConfig(ctx, "metrics-queues", options->metrics_queues, 0, 0,
	                                      METRICS_QUEUES_MAX, get_number, set_number, NULL,
	                                      &metrics_queues) != REDISMODULE_OK)
		return REDISMODULE_ERR;
	return RedisModule_LoadConfigs(ctx);
}

static void draw_secrets(void)
{
	uint64_t key[2];

	RedisModule_GetRandomBytes((unsigned char *)key, sizeof(key));
	random_init(key);
	ids_secret[0] = random_64();
	ids_secret[1] = random_64();
}

static int start(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct options options = {-1, metrics_queues};

	draw_secrets();
	if (read_arguments(ctx, argv, argc, &options) != REDISMODULE_OK ||
	    register_settings(ctx, &options) != REDISMODULE_OK ||
	    register_type(ctx) != REDISMODULE_OK || register_commands(ctx) != REDISMODULE_OK ||
	    use_test_clock(ctx, options.test_clock) != REDISMODULE_OK)
		return REDISMODULE_ERR;
	RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS |
	                                          REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED |
	                                          REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD);
	return metrics_init(ctx) == REDISMODULE_OK ? takers_init(ctx) : REDISMODULE_ERR;
}

/*
 * The server may load the same file a second time. That is not a second copy: the queue type, the secrets and the
 * takers are in use. So the module's name is checked before anything is written. RedisModule_Bind writes the values
 * that were there.
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
