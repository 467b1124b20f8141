/* SPDX-License-Identifier: MIT */
/* PAWL.DEAD: tasks that were delivered MAXTRIES times and never acknowledged. PAWL.DEAD TAKE is in take.c. */
#include "arguments.h"
#include "commands.h"
#include "metrics.h"
#include "replicate.h"

static void revive(struct visit *visit, struct task *task, uint64_t at, struct effects *effects)
{
	metrics_find(visit, task);
	effects_set(effects, queue_restart(visit->queue, task, at));
}

static long long revive_all(struct visit *visit, uint64_t at, struct effects *effects)
{
	struct task *task;
	long long count = 0;

	for (; (task = queue_first_dead(visit->queue, visit->now)) != NULL; count++)
		revive(visit, task, at, effects);
	return count;
}

static long long revive_some(struct visit *visit, RedisModuleString **ids, int n, uint64_t at,
                             struct effects *effects)
{
	long long count = 0;

	for (int i = 0; i < n; i++) {
		struct task *task = visit_find(visit, ids[i]);

		if (!task || task_state(task, visit->now) != STATE_DEAD)
			continue;
		revive(visit, task, at, effects);
		count++;
	}
	return count;
}

static void requeue(struct visit *visit, RedisModuleString **ids, int n, uint64_t delay)
{
	uint64_t at = visit->now + delay;
	struct effects effects;
	long long count;

	effects_begin(&effects, visit);
	count = n == 1 && arg_is(ids[0], "ALL") ? revive_all(visit, at, &effects)
	                                        : revive_some(visit, ids, n, at, &effects);
	effects_send(&effects);
	RedisModule_ReplyWithLongLong(visit->ctx, count);
	if (count > 0)
		visit_changed(visit, "pawl.requeue");
}

static int command_requeue(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	bool delayed = argc > 5 && arg_is(argv[argc - 2], "DELAY");
	int n = argc - 3 - (delayed ? 2 : 0);
	struct visit visit;
	uint64_t delay = 0;

	if (n < 1)
		return RedisModule_WrongArity(ctx);
	if (delayed && !arg_number(ctx, argv[argc - 1], "DELAY", 0, TASK_TIME_MAX, &delay))
		return REDISMODULE_OK;
	if (!arg_can_be_ids(ctx, argv + 3, n) || !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	if (visit.queue)
		requeue(&visit, argv + 3, n, delay);
	else
		RedisModule_ReplyWithLongLong(ctx, 0);
	visit_end(&visit);
	return REDISMODULE_OK;
}

int command_dead(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 3};

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (arg_is(argv[2], "TAKE"))
		return take_from_key(&args, true);
	if (arg_is(argv[2], "REQUEUE"))
		return command_requeue(ctx, argv, argc);
	return reply_error(ctx, "ERR the action is", argv[2], ", must be TAKE or REQUEUE");
}
