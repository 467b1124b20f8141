/* SPDX-License-Identifier: MIT */
/* PAWL.GET, PAWL.LEN, PAWL.NEXT and PAWL.INFO: they change nothing. */
#include "../server/deliver.h"
#include "arguments.h"
#include "commands.h"

static void reply_whole_task(struct access *access, const struct task *task, uint64_t head)
{
	const char *state = task_state_names[task_state(task, access->now)];

	RedisModule_ReplyWithMap(access->ctx, 7);
	RedisModule_ReplyWithCString(access->ctx, "state");
	RedisModule_ReplyWithCString(access->ctx, state);
	RedisModule_ReplyWithCString(access->ctx, "payload");
	reply_payload(access->ctx, task, head);
	reply_number(access->ctx, "due-ms", task->at);
	reply_number(access->ctx, "tries", task->tries);
	reply_number(access->ctx, "maxtries", task->max_tries);
	RedisModule_ReplyWithCString(access->ctx, "reason");
	reply_reason(access->ctx, task);
	reply_number(access->ctx, "period-ms", task_extras(task).period);
}

int command_get(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 3};
	uint64_t head = HEAD_ALL;
	struct task *task;
	struct access access;

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	while (args_left(&args))
		if (!(args_accept(&args, "HEAD") ? args_head(&args, &head)
		                                 : args_unknown(&args, "HEAD")))
			return REDISMODULE_OK;
	if (!arg_can_be_id(ctx, argv[2]) || !access_to_read(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	task = command_find(&access, argv[2]);
	if (task)
		reply_whole_task(&access, task, head);
	else
		RedisModule_ReplyWithNull(ctx);
	access_end(&access);
	return REDISMODULE_OK;
}

int command_len(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	struct filter filter = FILTER_ALL;
	struct access access;
	size_t count = 0;

	if (argc < 2)
		return RedisModule_WrongArity(ctx);
	while (args_left(&args))
		if (!filter_option(&args, &filter, "STATE, FROM, TO"))
			return REDISMODULE_OK;
	if (!access_to_read(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	filter.span.now = access.now;
	if (access.queue)
		count = queue_count_in(access.queue, &filter.span);
	RedisModule_ReplyWithLongLong(ctx, (long long)count);
	access_end(&access);
	return REDISMODULE_OK;
}

int command_next(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct access access;
	uint64_t next;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!access_to_read(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	next = access.queue ? queue_next(access.queue) : PAWL_NEVER;
	if (next == PAWL_NEVER)
		RedisModule_ReplyWithNull(ctx);
	else
		RedisModule_ReplyWithLongLong(
		        ctx, next > access.now ? (long long)(next - access.now) : 0);
	access_end(&access);
	return REDISMODULE_OK;
}

static void reply_lateness(RedisModuleCtx *ctx, const struct lateness *lateness)
{
	static const struct lateness none;

	if (!lateness)
		lateness = &none;
	reply_number(ctx, "deliveries", lateness->count);
	reply_number(ctx, "lateness-p50-ms", lateness_percentile(lateness, 50));
	reply_number(ctx, "lateness-p90-ms", lateness_percentile(lateness, 90));
	reply_number(ctx, "lateness-p99-ms", lateness_percentile(lateness, 99));
	reply_number(ctx, "lateness-max-ms", lateness->max);
}

static void reply_oldest(RedisModuleCtx *ctx, struct queue *queue, size_t due)
{
	RedisModule_ReplyWithCString(ctx, "oldest-due-ms");
	if (due > 0)
		RedisModule_ReplyWithLongLong(ctx, (long long)queue_next(queue));
	else
		RedisModule_ReplyWithNull(ctx);
}

static void reply_info(RedisModuleCtx *ctx, struct queue *queue, uint64_t now)
{
	size_t counts[STATES];

	queue_counts(queue, now, counts);
	RedisModule_ReplyWithMap(ctx, 13 + SETTINGS);
	reply_number(ctx, "tasks", queue_count(queue));
	for (int state = 0; state < STATES; state++)
		reply_number(ctx, task_state_names[state], counts[state]);
	reply_oldest(ctx, queue, counts[STATE_DUE]);
	reply_lateness(ctx, queue->lateness);
	reply_each_setting(ctx, queue);
	reply_number(ctx, "memory-bytes", queue_memory(queue));
	RedisModule_ReplyWithCString(ctx, "form");
	RedisModule_ReplyWithCString(ctx, queue_compact(queue) ? "compact" : "cells");
}

int command_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct access access;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!access_to_read(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (access.queue)
		reply_info(ctx, access.queue, access.now);
	else
		RedisModule_ReplyWithNull(ctx);
	access_end(&access);
	return REDISMODULE_OK;
}
