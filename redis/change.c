/* SPDX-License-Identifier: MIT */
/* PAWL.CANCEL and PAWL.MOVE: they need no token. Leased tasks are refused without FORCE. */
#include "arguments.h"
#include "commands.h"
#include "metrics.h"
#include "replicate.h"

static bool refuse_leased(struct visit *visit, const struct task *task, RedisModuleString *id)
{
	if (task_state(task, visit->now) != STATE_LEASED)
		return false;
	reply_error(visit->ctx, "LEASED the task with id", id, " is leased; see FORCE");
	return true;
}

static bool any_leased(struct visit *visit, RedisModuleString **ids, int count)
{
	for (int i = 0; i < count; i++) {
		struct task *task = visit_find(visit, ids[i]);

		if (task && refuse_leased(visit, task, ids[i]))
			return true;
	}
	return false;
}

static void cancel(struct visit *visit, RedisModuleString **ids, int count)
{
	struct effects effects;
	long long cancelled = 0;

	effects_begin(&effects, visit);
	for (int i = 0; i < count; i++) {
		struct task *task = visit_find(visit, ids[i]);

		if (!task)
			continue;
		effects_delete(&effects, task);
		metrics_find(visit, task);
		queue_delete(visit->queue, task);
		cancelled++;
	}
	effects_send(&effects);
	metrics_add(visit, METRIC_CANCELLED, (uint64_t)cancelled);
	RedisModule_ReplyWithLongLong(visit->ctx, cancelled);
	if (cancelled > 0)
		visit_changed(visit, "pawl.cancel");
}

int command_cancel(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	bool force = argc > 3 && arg_is(argv[argc - 1], "FORCE");
	int count = argc - 2 - force;
	struct visit visit;

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (!arg_can_be_ids(ctx, argv + 2, count) || !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	if (force || !any_leased(&visit, argv + 2, count))
		cancel(&visit, argv + 2, count);
	visit_end(&visit);
	return REDISMODULE_OK;
}

static void move(struct visit *visit, struct task *task, uint64_t at)
{
	queue_schedule(visit->queue, task, at);
	replicate_set(visit, task);
	RedisModule_ReplyWithLongLong(visit->ctx, 1);
	visit_changed(visit, "pawl.move");
}

int command_move(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	bool force = argc == 5 && arg_is(argv[4], "FORCE");
	struct args args = {ctx, argv, argc, 4};
	struct task *task;
	struct visit visit;
	uint64_t delay;

	if (argc < 4 || argc > 5)
		return RedisModule_WrongArity(ctx);
	if (argc == 5 && !force) {
		args_unknown(&args, "FORCE");
		return REDISMODULE_OK;
	}
	if (!arg_can_be_id(ctx, argv[2]) ||
	    !arg_number(ctx, argv[3], "delay-ms", 0, TASK_TIME_MAX, &delay) ||
	    !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	task = visit_find(&visit, argv[2]);
	if (!task)
		RedisModule_ReplyWithLongLong(ctx, 0);
	else if (task_state(task, visit.now) == STATE_DEAD)
		reply_error(ctx, "ERR the task with id", argv[2], " is dead; see PAWL.DEAD");
	else if (!force && refuse_leased(&visit, task, argv[2]))
		;
	else if (task->timeline == ON_DYING)
		reply_error(ctx, "ERR the task with id", argv[2],
		            " is leased for the last time and has no try left; see PAWL.DEAD");
	else
		move(&visit, task, visit.now + delay);
	visit_end(&visit);
	return REDISMODULE_OK;
}
