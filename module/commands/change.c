/* SPDX-License-Identifier: MIT */
/* PAWL.CANCEL and PAWL.MOVE: they need no token. Leased tasks are refused without FORCE. */
#include "../server/metrics.h"
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

static bool refuse_leased(struct access *access, const struct task *task, RedisModuleString *id)
{
	if (task_state(task, access->now) != STATE_LEASED)
		return false;
	reply_error(access->ctx, "LEASED the task with id", id, " is leased; see FORCE");
	return true;
}

static bool any_leased(struct access *access, RedisModuleString **ids, int count)
{
	for (int i = 0; i < count; i++) {
		struct task *task = command_find(access, ids[i]);

		if (task && refuse_leased(access, task, ids[i]))
			return true;
	}
	return false;
}

static void cancel(struct access *access, RedisModuleString **ids, int count)
{
	struct effects effects;
	long long cancelled = 0;

	effects_begin(&effects, access);
	for (int i = 0; i < count; i++) {
		struct task *task = command_find(access, ids[i]);

		if (!task)
			continue;
		effects_delete(&effects, task);
		queue_delete(access->queue, task);
		cancelled++;
	}
	effects_send(&effects);
	metrics_add(&access->metrics, METRIC_CANCELLED, (uint64_t)cancelled);
	RedisModule_ReplyWithLongLong(access->ctx, cancelled);
	if (cancelled > 0)
		command_changed(access, "pawl.cancel");
}

int command_cancel(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	bool force = argc > 3 && arg_is(argv[argc - 1], "FORCE");
	int count = argc - 2 - force;
	struct access access;

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (!arg_can_be_ids(ctx, argv + 2, count) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (force || !any_leased(&access, argv + 2, count))
		cancel(&access, argv + 2, count);
	access_end(&access);
	return REDISMODULE_OK;
}

static void move(struct access *access, struct task *task, uint64_t at)
{
	queue_schedule(access->queue, task, at);
	replicate_set(access, task);
	RedisModule_ReplyWithLongLong(access->ctx, 1);
	command_changed(access, "pawl.move");
}

int command_move(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	bool force = argc == 5 && arg_is(argv[4], "FORCE");
	struct args args = {ctx, argv, argc, 4};
	struct task *task;
	struct access access;
	uint64_t delay;

	if (argc < 4 || argc > 5)
		return RedisModule_WrongArity(ctx);
	if (argc == 5 && !force) {
		args_unknown(&args, "FORCE");
		return REDISMODULE_OK;
	}
	if (!arg_can_be_id(ctx, argv[2]) ||
	    !arg_number(ctx, argv[3], "delay-ms", 0, TASK_TIME_MAX, &delay) ||
	    !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	task = command_find(&access, argv[2]);
	if (!task)
		RedisModule_ReplyWithLongLong(ctx, 0);
	else if (task_state(task, access.now) == STATE_DEAD)
		reply_error(ctx, "ERR the task with id", argv[2], " is dead; see PAWL.DEAD");
	else if (!force && refuse_leased(&access, task, argv[2]))
		;
	else if (task->timeline == ON_DYING)
		reply_error(ctx, "ERR the task with id", argv[2],
		            " is leased for the last time and has no try left; see PAWL.DEAD");
	else
		move(&access, task, access.now + delay);
	access_end(&access);
	return REDISMODULE_OK;
}
