/* SPDX-License-Identifier: MIT */
/* PAWL.EVERY: periodic tasks. */
#include <string.h>

#include "../server/metrics.h"
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

struct every {
	uint64_t period, at;
	bool at_given;
	struct task_id id;
	const char *payload;
	size_t payload_size;
};

static bool read_every(struct args *args, struct every *every)
{
	if (!arg_id(args->ctx, args->argv[2], &every->id) ||
	    !arg_number(args->ctx, args->argv[3], "period-ms", 1, TASK_TIME_MAX, &every->period) ||
	    !arg_payload(args->ctx, args->argv[4]))
		return false;
	every->payload = RedisModule_StringPtrLen(args->argv[4], &every->payload_size);
	while (args_left(args)) {
		if (!args_accept(args, "AT"))
			return args_unknown(args, "AT");
		if (!args_number(args, "AT", 0, TASK_TIME_MAX, &every->at, &every->at_given))
			return false;
	}
	return true;
}

/* The first time, from which all later ones are counted. If it is in the past, the task is due at once. */
static uint64_t first_time(const struct access *access, const struct every *every)
{
	return every->at_given ? every->at : access->now + every->period;
}

static uint64_t not_before(uint64_t now, uint64_t at)
{
	return at > now ? at : now;
}

static struct task *new_task(const struct every *every, const struct extras *extras)
{
	struct task *task = task_new(&every->id, every->payload, (uint32_t)every->payload_size);

	return task_set_extras(task, extras);
}

static bool other_times(const struct every *every, const struct extras *extras)
{
	return every->period != extras->period || (every->at_given && every->at != extras->base);
}

static bool other_payload(const struct every *every, const struct task *task)
{
	return every->payload_size != task->payload_size ||
	       memcmp(every->payload, task_payload(task), task->payload_size) != 0;
}

/* Replace a periodic task. A lease continues; new times apply when it is over. */
static struct task *replace(struct access *access, struct task *there, const struct every *every)
{
	struct extras extras = task_extras(there);
	bool leased = task_state(there, access->now) == STATE_LEASED;
	uint64_t at = there->at;
	struct task *task;

	if (other_times(every, &extras)) {
		extras.period = every->period;
		extras.base = first_time(access, every);
		at = leased ? at : not_before(access->now, extras.base);
	}
	task = new_task(every, &extras);
	task->tries = there->tries;
	task->token = leased ? there->token : 0;
	queue_delete(access->queue, there);
	if (leased)
		queue_add_leased(access->queue, task, at);
	else
		queue_add(access->queue, task, at);
	return task;
}

static struct task *add(struct access *access, const struct every *every)
{
	uint64_t first = first_time(access, every);
	struct task *task =
	        new_task(every, &(struct extras){.period = every->period, .base = first});

	access_create(access);
	queue_add(access->queue, task, not_before(access->now, first));
	metrics_add(&access->metrics, METRIC_PUT, 1);
	return task;
}

static void put(struct access *access, const struct every *every)
{
	struct task *there = access->queue ? queue_find(access->queue, &every->id) : NULL;
	struct extras extras = there ? task_extras(there) : (struct extras){.period = 0};

	RedisModule_ReplyWithLongLong(access->ctx, there == NULL);
	if (there && !other_times(every, &extras) && !other_payload(every, there))
		return;
	replicate_task(access, there ? replace(access, there, every) : add(access, every));
	command_changed(access, "pawl.every");
}

/* Whether a task that is not periodic has the id; then an error is replied. */
static bool in_the_way(struct access *access, const struct every *every, RedisModuleString *id)
{
	const struct task *there = access->queue ? queue_find(access->queue, &every->id) : NULL;

	if (!there || task_extras(there).period > 0)
		return false;
	reply_error(access->ctx, "EXISTS there is a task with id", id, " that is not periodic");
	return true;
}

int command_every(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 5};
	struct every every = {.at_given = false};
	struct access access;

	if (argc < 5)
		return RedisModule_WrongArity(ctx);
	if (!read_every(&args, &every) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (!in_the_way(&access, &every, argv[2]))
		put(&access, &every);
	access_end(&access);
	return REDISMODULE_OK;
}
