/* SPDX-License-Identifier: MIT */
/* PAWL.ACK, PAWL.NACK and PAWL.EXTEND: what the holder of a lease may say. */
#include "arguments.h"
#include "commands.h"
#include "replicate.h"

/* The task, if this token holds its lease now. */
static struct task *find_leased(struct visit *visit, const struct task_id *id,
                                RedisModuleString *token)
{
	struct task *task = visit->queue ? queue_find(visit->queue, id) : NULL;
	uint64_t secret = arg_token(token).secret;

	if (!task || task_state(task, visit->now) != STATE_LEASED || secret == 0 ||
	    task->token != secret)
		return NULL;
	return task;
}

int command_ack(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct effects effects;
	struct visit visit;
	struct task_id id;
	long long count = 0;

	if (argc < 4 || argc % 2 != 0)
		return RedisModule_WrongArity(ctx);
	for (int i = 2; i < argc; i += 2)
		if (!arg_id(ctx, argv[i], &id))
			return REDISMODULE_OK;
	if (!visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	effects_begin_drop(&effects, &visit);
	for (int i = 2; i < argc; i += 2) {
		struct task *task;

		arg_id(ctx, argv[i], &id);
		task = find_leased(&visit, &id, argv[i + 1]);
		if (!task)
			continue;
		effects_add(&effects, task);
		queue_delete(visit.queue, task);
		count++;
	}
	effects_send(&effects);
	RedisModule_ReplyWithLongLong(ctx, count);
	if (count > 0)
		visit_changed(&visit, "pawl.ack");
	visit_end(&visit);
	return REDISMODULE_OK;
}

static void give_back(struct visit *visit, struct task *task, uint64_t at)
{
	if (task_last_try(task)) {
		queue_bury(visit->queue, task, visit->now);
		replicate_set(visit, task, state_names[STATE_DEAD], visit->now);
	} else {
		queue_schedule(visit->queue, task, at);
		replicate_set(visit, task, state_names[STATE_WAITING], at);
	}
	visit_changed(visit, "pawl.nack");
}

static bool read_delay(struct args *args, uint64_t *delay)
{
	bool given = false;

	while (args_left(args)) {
		if (!args_take(args, "DELAY"))
			return args_unknown(args, "DELAY");
		if (!args_number(args, "DELAY", 0, TASK_TIME_MAX, delay, &given))
			return false;
	}
	return true;
}

int command_nack(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 4};
	struct task *task;
	struct visit visit;
	struct task_id id;
	uint64_t delay = 0;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!arg_id(ctx, argv[2], &id) || !read_delay(&args, &delay) ||
	    !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	task = find_leased(&visit, &id, argv[3]);
	RedisModule_ReplyWithLongLong(ctx, task != NULL);
	if (task)
		give_back(&visit, task, visit.now + delay);
	visit_end(&visit);
	return REDISMODULE_OK;
}

int command_extend(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct task *task;
	struct visit visit;
	struct task_id id;
	uint64_t ms;

	if (argc != 5)
		return RedisModule_WrongArity(ctx);
	if (!arg_id(ctx, argv[2], &id) || !arg_number(ctx, argv[4], "ms", 1, TASK_TIME_MAX, &ms) ||
	    !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	task = find_leased(&visit, &id, argv[3]);
	RedisModule_ReplyWithLongLong(ctx, task != NULL);
	if (task) {
		queue_lease(visit.queue, task, visit.now + ms, task->token);
		replicate_set(&visit, task, state_names[STATE_LEASED], visit.now + ms);
		visit_changed(&visit, "pawl.extend");
	}
	visit_end(&visit);
	return REDISMODULE_OK;
}
