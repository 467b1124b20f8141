/* SPDX-License-Identifier: MIT */
/* PAWL.CONFIG, PAWL.PAUSE and PAWL.RESUME: the settings of a queue. */
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

/* Set and replicate the settings. Returns whether they changed. */
static bool change(struct access *access, const struct settings *settings, const char *event)
{
	struct settings before = access->queue ? access->queue->settings : (struct settings){0};

	if (settings_equal(&before, settings))
		return false;
	access_create(access);
	access->queue->settings = *settings;
	replicate_settings(access);
	command_changed(access, event);
	return true;
}

static void reply_settings(struct access *access)
{
	RedisModule_ReplyWithMap(access->ctx, SETTINGS);
	reply_each_setting(access->ctx, access->queue);
}

struct config {
	struct settings settings;
	bool max_dead_given, backoff_given;
};

/* BACKOFF ms max-ms */
static bool read_backoff(struct args *args, struct config *config)
{
	struct settings *settings = &config->settings;
	bool good;

	if (args->next + 2 > args->argc) {
		RedisModule_ReplyWithError(args->ctx, "ERR option 'BACKOFF' needs two values");
		return false;
	}
	good = args_number(args, "BACKOFF ms", 0, TASK_TIME_MAX, &settings->backoff_ms,
	                   &config->backoff_given) &&
	       arg_number(args->ctx, args->argv[args->next++], "BACKOFF max-ms",
	                  settings->backoff_ms, TASK_TIME_MAX, &settings->backoff_max_ms);
	if (settings->backoff_ms == 0) /* off: the limit does not matter */
		settings->backoff_max_ms = 0;
	return good;
}

static bool read_config(struct args *args, struct config *config)
{
	while (args_left(args)) {
		bool good;

		if (args_accept(args, "MAXDEAD"))
			good = args_number(args, "MAXDEAD", 0, TASK_TIME_MAX,
			                   &config->settings.max_dead, &config->max_dead_given);
		else if (args_accept(args, "BACKOFF"))
			good = read_backoff(args, config);
		else
			good = args_unknown(args, "MAXDEAD n, BACKOFF ms max-ms");
		if (!good)
			return false;
	}
	return true;
}

/* Settings that are not given stay as they are. */
static void configure(struct access *access, const struct config *config)
{
	struct settings settings = access->queue ? access->queue->settings : (struct settings){0};

	if (config->max_dead_given)
		settings.max_dead = config->settings.max_dead;
	if (config->backoff_given) {
		settings.backoff_ms = config->settings.backoff_ms;
		settings.backoff_max_ms = config->settings.backoff_max_ms;
	}
	RedisModule_ReplyWithSimpleString(access->ctx, "OK");
	change(access, &settings, "pawl.config");
}

int command_config(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	struct config config = {.max_dead_given = false};
	struct access access;

	if (argc < 2)
		return RedisModule_WrongArity(ctx);
	if (!read_config(&args, &config) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (argc == 2)
		reply_settings(&access);
	else
		configure(&access, &config);
	access_end(&access);
	return REDISMODULE_OK;
}

static int set_paused(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool paused,
                      const char *event)
{
	struct settings settings = {0};
	struct access access;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (access.queue)
		settings = access.queue->settings;
	settings.paused = paused;
	RedisModule_ReplyWithLongLong(ctx, change(&access, &settings, event));
	access_end(&access);
	return REDISMODULE_OK;
}

int command_pause(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return set_paused(ctx, argv, argc, true, "pawl.pause");
}

int command_resume(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return set_paused(ctx, argv, argc, false, "pawl.resume");
}
