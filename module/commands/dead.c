/* SPDX-License-Identifier: MIT */
/* PAWL.DEAD: tasks that were delivered MAXTRIES times and never acknowledged. PAWL.DEAD TAKE is in take.c. */
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

static void revive(struct access *access, struct task *task, uint64_t at, struct effects *effects)
{
	effects_set(effects, queue_restart(access->queue, task, at));
}

static long long revive_all(struct access *access, uint64_t at, struct effects *effects)
{
	struct task *task;
	long long count = 0;

	for (; (task = queue_first_dead(access->queue, access->now)) != NULL; count++)
		revive(access, task, at, effects);
	return count;
}

static long long revive_some(struct access *access, RedisModuleString **ids, int n, uint64_t at,
                             struct effects *effects)
{
	long long count = 0;

	for (int i = 0; i < n; i++) {
		struct task *task = command_find(access, ids[i]);

		if (!task || task_state(task, access->now) != STATE_DEAD)
			continue;
		revive(access, task, at, effects);
		count++;
	}
	return count;
}

static void requeue(struct access *access, RedisModuleString **ids, int n, uint64_t delay)
{
	uint64_t at = access->now + delay;
	struct effects effects;
	long long count;

	effects_begin(&effects, access);
	count = n == 1 && arg_is(ids[0], "ALL") ? revive_all(access, at, &effects)
	                                        : revive_some(access, ids, n, at, &effects);
	effects_send(&effects);
	RedisModule_ReplyWithLongLong(access->ctx, count);
	if (count > 0)
		command_changed(access, "pawl.requeue");
}

/* DELAY is the option if it is one of the last two words, and not the first one, which is always an id. */
static int end_of_ids(RedisModuleString **argv, int argc)
{
	for (int i = argc - 2; i < argc; i++)
		if (i > 3 && arg_is(argv[i], "DELAY"))
			return i;
	return argc;
}

/* Whether another word follows ALL, such as a misspelt DELAY. ALL twice is an id: clients send it like this. */
static bool more_than_all(RedisModuleString **argv, int end)
{
	return end > 4 && arg_is(argv[3], "ALL") && !arg_is(argv[4], "ALL");
}

static int command_requeue(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	int end = end_of_ids(argv, argc);
	struct args args = {ctx, argv, argc, end + 1};
	bool given = false;
	struct access access;
	uint64_t delay = 0;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (more_than_all(argv, end)) {
		args.next = 4;
		return args_unknown(&args, "DELAY"), REDISMODULE_OK;
	}
	if (end < argc && !args_number(&args, "DELAY", 0, TASK_TIME_MAX, &delay, &given))
		return REDISMODULE_OK;
	if (!arg_can_be_ids(ctx, argv + 3, end - 3) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (access.queue)
		requeue(&access, argv + 3, end - 3, delay);
	else
		RedisModule_ReplyWithLongLong(ctx, 0);
	access_end(&access);
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
