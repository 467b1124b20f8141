/* SPDX-License-Identifier: MIT */
/* PAWL.PUT and PAWL.MPUT. */
#include "../queue/memory.h"
#include "../queue/token.h"
#include "../server/metrics.h"
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

/* The arguments for one task. */
struct put {
	RedisModuleString *payload;
	uint64_t delay, at, max_tries;
	bool at_given, max_tries_given, nx, replace;
	RedisModuleString *id_given; /* NULL: an id is made */
	struct task_id id;
};

/* A task to be added to the queue. */
struct item {
	struct task *task;
	struct task *replaces; /* NULL: none */
	RedisModuleString *payload;
	uint64_t at;
	bool passed_over; /* NX, and the id exists: the task is not added */
};

/*
 * Make an id that no task has. The table is not searched for it: if the clock was set back, or another server made ids,
 * two ids may have the same millisecond and sequence, but they differ in 32 random bits.
 */
static void make_id(const struct access *access, struct task_id *id)
{
	static struct task_id_parts parts;

	parts.sequence = parts.ms == access->now ? parts.sequence + 1 : 0;
	parts.ms = access->now;
	parts.random = (uint32_t)random_64();
	task_id_from_parts(id, &parts);
}

/* Reading */

static bool read_id(struct args *args, struct put *put)
{
	return args_text(args, "ID", SIZE_MAX, &put->id_given) &&
	       arg_id(args->ctx, put->id_given, &put->id);
}

#define OPTIONS "AT, ID, NX, REPLACE, MAXTRIES"

/* The delay of MPUT's next task begins as a number does, perhaps a negative one; an option does not. */
static bool begins_as_number(const RedisModuleString *arg)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(arg, &size);
	size_t sign = size > 1 && text[0] == '-';

	return size > 0 && text[sign] >= '0' && text[sign] <= '9';
}

/* Read the next argument if it is an option. Returns false only after an error. */
static bool read_option(struct args *args, struct put *put, bool *is_option)
{
	*is_option = !begins_as_number(args->argv[args->next]);
	if (!*is_option)
		return true;
	if (args_accept(args, "AT"))
		return args_number(args, "AT", 0, TASK_TIME_MAX, &put->at, &put->at_given);
	if (args_accept(args, "MAXTRIES"))
		return args_number(args, "MAXTRIES", 1, TASK_TRIES_MAX, &put->max_tries,
		                   &put->max_tries_given);
	if (args_accept(args, "ID"))
		return read_id(args, put);
	if (args_accept(args, "NX"))
		return put->nx = true;
	if (args_accept(args, "REPLACE"))
		return put->replace = true;
	*is_option = false;
	return true;
}

static bool complain(RedisModuleCtx *ctx, const char *error)
{
	RedisModule_ReplyWithError(ctx, error);
	return false;
}

static bool check_together(RedisModuleCtx *ctx, const struct put *put,
                           const RedisModuleString *delay)
{
	if (put->at_given && put->delay != 0)
		return reply_error(ctx, "ERR delay-ms is", delay, ", must be 0 with AT"), false;
	if (put->nx && put->replace)
		return complain(ctx, "ERR NX and REPLACE exclude each other");
	if ((put->nx || put->replace) && !put->id_given)
		return complain(ctx, "ERR NX and REPLACE need ID");
	return true;
}

/* A delay, a payload, and the options that follow them. */
static bool read_put(struct args *args, struct put *put)
{
	RedisModuleString **argv = args->argv + args->next;
	bool is_option = true;

	*put = (struct put){.payload = argv[1]};
	args->next += 2;
	if (!arg_number(args->ctx, argv[0], "delay-ms", 0, TASK_TIME_MAX, &put->delay) ||
	    !arg_payload(args->ctx, argv[1]))
		return false;
	while (is_option && args_left(args))
		if (!read_option(args, put, &is_option))
			return false;
	return check_together(args->ctx, put, argv[0]);
}

/* Putting */

/* Whether the existing task with this id forbids the PUT; then an error is replied. */
static bool forbidden(struct access *access, const struct task *there, const struct put *put)
{
	if (!put->replace)
		reply_error(access->ctx, "EXISTS there is a task with id", put->id_given,
		            "; see NX and REPLACE");
	else if (task_state(there, access->now) == STATE_LEASED)
		reply_error(access->ctx, "LEASED the task with id", put->id_given, " is leased");
	else
		return false;
	return true;
}

/* A time in the past becomes now: the task is due after those that are due already, and is not late. */
static uint64_t due_at(const struct access *access, const struct put *put)
{
	return put->at_given && put->at > access->now ? put->at : access->now + put->delay;
}

/* Make the item. This changes nothing in the queue. False: an error was replied, and there is no item. */
static bool prepare(struct access *access, struct put *put, struct item *item)
{
	size_t size;
	const char *payload = RedisModule_StringPtrLen(put->payload, &size);
	struct task *there = NULL;

	if (!put->id_given)
		make_id(access, &put->id);
	else if (access->queue)
		there = queue_find(access->queue, &put->id);
	if (there && !put->nx && forbidden(access, there, put))
		return false;
	*item = (struct item){.task = task_new(&put->id, payload, (uint32_t)size),
	                      .replaces = there,
	                      .payload = put->payload,
	                      .at = due_at(access, put),
	                      .passed_over = there && put->nx};
	item->task->max_tries = (uint16_t)put->max_tries;
	return true;
}

/*
 * Add the task, and reply with its id, or nil. Without effects the command has only this task: it is replicated
 * directly, which is quicker, and the queue's memory is prefetched meanwhile.
 */
static void finish(struct access *access, const struct item *item, struct effects *effects)
{
	char id[TASK_ID_TEXT];
	size_t id_size;

	if (item->passed_over) {
		memory_free(item->task);
		RedisModule_ReplyWithNull(access->ctx);
		return;
	}
	if (item->replaces)
		queue_delete(access->queue, item->replaces);
	access_create(access);
	item->task->at = item->at;
	id_size = task_id_text(item->task, id);
	if (effects) {
		effects_put(effects, item->task, id, id_size, item->payload);
	} else {
		queue_prefetch(access->queue, item->task, item->at);
		replicate_put(access, item->task, id, id_size, item->payload);
	}
	metrics_add(&access->metrics, METRIC_PUT, 1);
	RedisModule_ReplyWithStringBuffer(access->ctx, id, id_size);
	queue_add(access->queue, item->task, item->at);
}

int command_put(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	struct access access;
	struct item item;
	struct put put;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!read_put(&args, &put))
		return REDISMODULE_OK;
	if (args_left(&args))
		return args_unknown(&args, OPTIONS), REDISMODULE_OK;
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	if (prepare(&access, &put, &item)) {
		finish(&access, &item, NULL);
		if (!item.passed_over)
			command_changed(&access, "pawl.put");
	}
	access_end(&access);
	return REDISMODULE_OK;
}

struct batch {
	struct item *items;
	size_t count;
	struct ids named; /* the tasks whose id the client gave */
};

static bool is_named_once(RedisModuleCtx *ctx, const struct put *put, struct batch *batch)
{
	if (!put->id_given)
		return true;
	if (ids_find(&batch->named, &put->id))
		return reply_error(ctx, "ERR id", put->id_given, " is given to two tasks"), false;
	ids_add(&batch->named, batch->items[batch->count - 1].task);
	return true;
}

static bool prepare_all(struct access *access, struct args *args, struct batch *batch)
{
	while (args_left(args)) {
		struct put put;

		if (batch->count > 0 && !begins_as_number(args->argv[args->next]))
			return args_unknown(args, "delay-ms, " OPTIONS);
		if (args->next + 1 == args->argc)
			return RedisModule_WrongArity(args->ctx), false;
		if (!read_put(args, &put) || !prepare(access, &put, &batch->items[batch->count]))
			return false;
		batch->count++;
		if (!is_named_once(args->ctx, &put, batch))
			return false;
	}
	return true;
}

/* New tasks go to scattered addresses: this many are prefetched at a time, so that their cache misses overlap. */
enum { AHEAD = 32 };

static void finish_all(struct access *access, const struct batch *batch)
{
	struct effects effects;
	bool changed = false;

	effects_begin(&effects, access);
	RedisModule_ReplyWithArray(access->ctx, (long)batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		if (i % AHEAD == 0 && access->queue)
			for (size_t j = i; j < batch->count && j < i + AHEAD; j++)
				queue_prefetch(access->queue, batch->items[j].task,
				               batch->items[j].at);
		finish(access, &batch->items[i], &effects);
		changed |= !batch->items[i].passed_over;
	}
	effects_send(&effects);
	if (changed)
		command_changed(access, "pawl.put");
}

int command_mput(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	struct batch batch = {0};
	struct access access;
	bool good;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	batch.items = memory_new((size_t)argc / 2 * sizeof(*batch.items));
	good = prepare_all(&access, &args, &batch);
	ids_free(&batch.named);
	if (good)
		finish_all(&access, &batch);
	while (!good && batch.count > 0)
		memory_free(batch.items[--batch.count].task);
	memory_free(batch.items);
	access_end(&access);
	return REDISMODULE_OK;
}
