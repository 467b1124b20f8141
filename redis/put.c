/* SPDX-License-Identifier: MIT */
/* PAWL.PUT and PAWL.MPUT. */
#include "arguments.h"
#include "commands.h"
#include "random.h"
#include "replicate.h"

struct put {
	uint64_t delay, at, max_tries;
	bool at_given, max_tries_given, nx, replace;
	RedisModuleString *id_given; /* NULL: an id is made */
	struct task_id id;
};

/* An id that is not in the queue, and, for its random part, was not in any other either. */
static void make_id(struct visit *visit, struct task_id *id)
{
	static struct task_id_parts parts;

	do {
		parts.sequence = parts.ms == visit->now ? parts.sequence + 1 : 0;
		parts.ms = visit->now;
		parts.random = (uint32_t)random_64();
		task_id_from_parts(id, &parts);
	} while (visit->queue && queue_find(visit->queue, id));
}

static bool read_id(struct args *args, struct put *put)
{
	if (put->id_given || !args_left(args)) {
		RedisModule_ReplyWithError(args->ctx, put->id_given
		                                              ? "ERR option 'ID' is given twice"
		                                              : "ERR option 'ID' needs a value");
		return false;
	}
	put->id_given = args->argv[args->next++];
	return arg_id(args->ctx, put->id_given, &put->id);
}

static bool read_option(struct args *args, struct put *put)
{
	if (args_take(args, "AT"))
		return args_number(args, "AT", 0, TASK_TIME_MAX, &put->at, &put->at_given);
	if (args_take(args, "MAXTRIES"))
		return args_number(args, "MAXTRIES", 1, TASK_TRIES_MAX, &put->max_tries,
		                   &put->max_tries_given);
	if (args_take(args, "ID"))
		return read_id(args, put);
	if (args_take(args, "NX"))
		return put->nx = true;
	if (args_take(args, "REPLACE"))
		return put->replace = true;
	return args_unknown(args, "AT, ID, NX, REPLACE, MAXTRIES");
}

static bool complain(RedisModuleCtx *ctx, const char *error)
{
	RedisModule_ReplyWithError(ctx, error);
	return false;
}

static bool read_put(struct args *args, struct put *put)
{
	if (!arg_number(args->ctx, args->argv[2], "delay-ms", 0, TASK_TIME_MAX, &put->delay) ||
	    !arg_payload(args->ctx, args->argv[3]))
		return false;
	while (args_left(args))
		if (!read_option(args, put))
			return false;
	if (put->at_given && put->delay != 0)
		return reply_error(args->ctx, "ERR delay-ms is", args->argv[2],
		                   ", must be 0 with AT"),
		       false;
	if (put->nx && put->replace)
		return complain(args->ctx, "ERR NX and REPLACE exclude each other");
	if ((put->nx || put->replace) && !put->id_given)
		return complain(args->ctx, "ERR NX and REPLACE need ID");
	return true;
}

/* Put it, and reply with its id. */
static void add(struct visit *visit, const struct task_id *id, RedisModuleString *payload,
                uint64_t at, uint64_t max_tries)
{
	size_t size;
	const char *bytes = RedisModule_StringPtrLen(payload, &size);
	struct task *task = task_new(id, bytes, (uint32_t)size);
	char text[TASK_ID_TEXT];
	size_t text_size = task_id_text(task, text);

	task->max_tries = (uint16_t)max_tries;
	visit_create(visit);
	queue_add(visit->queue, task, at);
	replicate_put(visit, task, text, text_size);
	RedisModule_ReplyWithStringBuffer(visit->ctx, text, text_size);
}

/* Whether the task that has this id stands in the way; then the reply says so. */
static bool in_the_way(struct visit *visit, const struct task *there, const struct put *put)
{
	RedisModuleString *id = put->id_given;

	if (put->nx)
		RedisModule_ReplyWithNull(visit->ctx);
	else if (!put->replace)
		reply_error(visit->ctx, "EXISTS there is a task with id", id,
		            "; see NX and REPLACE");
	else if (task_state(there, visit->now) == STATE_LEASED)
		reply_error(visit->ctx, "LEASED the task with id", id, " is leased");
	else
		return false;
	return true;
}

static void put_task(struct visit *visit, struct put *put, RedisModuleString *payload)
{
	uint64_t at = put->at_given ? put->at : visit->now + put->delay;
	struct task *there = NULL;

	if (put->id_given && visit->queue)
		there = queue_find(visit->queue, &put->id);
	if (there && in_the_way(visit, there, put))
		return;
	if (there)
		queue_delete(visit->queue, there);
	if (!put->id_given)
		make_id(visit, &put->id);
	add(visit, &put->id, payload, at, put->max_tries);
	visit_changed(visit, "pawl.put");
}

int command_put(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 4};
	struct put put = {0};
	struct visit visit;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!read_put(&args, &put) || !visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	put_task(&visit, &put, argv[3]);
	visit_end(&visit);
	return REDISMODULE_OK;
}

int command_mput(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct visit visit;
	struct task_id id;
	uint64_t delay;

	if (argc < 4 || argc % 2 != 0)
		return RedisModule_WrongArity(ctx);
	for (int i = 2; i < argc; i += 2) /* all of them are looked at before any is put */
		if (!arg_number(ctx, argv[i], "delay-ms", 0, TASK_TIME_MAX, &delay) ||
		    !arg_payload(ctx, argv[i + 1]))
			return REDISMODULE_OK;
	if (!visit_to_write(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	RedisModule_ReplyWithArray(ctx, (argc - 2) / 2);
	for (int i = 2; i < argc; i += 2) {
		arg_number(ctx, argv[i], "delay-ms", 0, TASK_TIME_MAX, &delay);
		make_id(&visit, &id);
		add(&visit, &id, argv[i + 1], visit.now + delay, 0);
	}
	visit_changed(&visit, "pawl.put");
	visit_end(&visit);
	return REDISMODULE_OK;
}
