/* SPDX-License-Identifier: MIT */
/* PAWL.EVERY: periodic tasks. */
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "metrics.h"
#include "replicate.h"

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
static uint64_t first_time(const struct visit *visit, const struct every *every)
{
	return every->at_given ? every->at : visit->now + every->period;
}

static uint64_t not_before(uint64_t now, uint64_t at)
{
	return at > now ? at : now;
}

static struct task *new_task(const struct every *every, const struct note *note)
{
	struct task *task = task_new(&every->id, every->payload, (uint32_t)every->payload_size);

	return task_set_note(task, note);
}

static bool other_times(const struct every *every, const struct note *note)
{
	return every->period != note->period || (every->at_given && every->at != note->base);
}

static bool other_payload(const struct every *every, const struct task *task)
{
	return every->payload_size != task->payload_size ||
	       memcmp(every->payload, task_payload(task), task->payload_size) != 0;
}

/* Replace a periodic task. A lease continues; new times apply when it is over. */
static struct task *replace(struct visit *visit, struct task *there, const struct every *every)
{
	struct note note = task_note(there);
	bool other = other_times(every, &note);
	bool leased = other ? task_state(there, visit->now) == STATE_LEASED : there->leased;
	uint64_t at = there->at;
	struct task *task;

	if (other) {
		note.period = every->period;
		note.base = first_time(visit, every);
		at = leased ? at : not_before(visit->now, note.base);
	}
	task = new_task(every, &note);
	task->tries = there->tries;
	task->token = leased ? there->token : 0;
	queue_delete(visit->queue, there);
	if (leased)
		queue_add_leased(visit->queue, task, at);
	else
		queue_add(visit->queue, task, at);
	return task;
}

static struct task *add(struct visit *visit, const struct every *every)
{
	uint64_t first = first_time(visit, every);
	struct task *task = new_task(every, &(struct note){.period = every->period, .base = first});

	visit_create(visit);
	queue_add(visit->queue, task, not_before(visit->now, first));
	metrics_add(visit, METRIC_PUT, 1);
	return task;
}

static void put(struct visit *visit, const struct every *every)
{
	struct task *there = visit->queue ? queue_find(visit->queue, &every->id) : NULL;
	struct note note = there ? task_note(there) : (struct note){.period = 0};

	RedisModule_ReplyWithLongLong(visit->ctx, there == NULL);
	if (there && !other_times(every, &note) && !other_payload(every, there))
		return;
	replicate_task(visit, there ? replace(visit, there, every) : add(visit, every));
	visit_changed(visit, "pawl.every");
}

/* Whether a task that is not periodic has the id; then an error is replied. */
static bool in_the_way(struct visit *visit, const struct every *every, RedisModuleString *id)
{
	const struct task *there = visit->queue ? queue_find(visit->queue, &every->id) : NULL;

	if (!there || task_note(there).period > 0)
		return false;
	reply_error(visit->ctx, "EXISTS there is a task with id", id, " that is not periodic");
	return true;
}

int command_every(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 5};
	struct every every = {.at_given = false};
	struct visit visit;

	if (argc < 5)
		return RedisModule_WrongArity(ctx);
	if (!read_every(&args, &every) || !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	if (!in_the_way(&visit, &every, argv[2]))
		put(&visit, &every);
	visit_end(&visit);
	return REDISMODULE_OK;
}
