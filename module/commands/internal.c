/* SPDX-License-Identifier: MIT */
/*
 * PAWL.PUTAT, PAWL.SETAT, PAWL.NOTE, PAWL.DROP and PAWL.SETUP: see replicate.h. They skip tasks that do not exist. What
 * they do to tasks does not depend on the clock. PAWL.CLOCK, which sets the clock in tests, stands at the end.
 */
#include "../server/replicate.h"
#include "../server/takers.h"
#include "arguments.h"
#include "commands.h"

static bool read_state(RedisModuleCtx *ctx, RedisModuleString *arg, enum task_state *state)
{
	if (!arg_state(ctx, arg, state))
		return false;
	if (*state != STATE_DUE)
		return true;
	reply_error(ctx, "ERR state is", arg, ", must be waiting, leased or dead");
	return false;
}

static void add(struct access *access, struct task *task, enum task_state state, uint64_t at)
{
	if (state == STATE_LEASED)
		queue_add_leased(access->queue, task, at);
	else if (state == STATE_DEAD)
		queue_add_dead(access->queue, task, at);
	else
		queue_add(access->queue, task, at);
}

static void set(struct access *access, struct task *task, enum task_state state, uint64_t at,
                uint64_t token)
{
	if (state == STATE_LEASED)
		queue_lease(access->queue, task, at, token);
	else if (state == STATE_DEAD)
		queue_bury(access->queue, task, at);
	else if (task->tries == 0)
		queue_restart(access->queue, task, at);
	else
		queue_schedule(access->queue, task, at);
}

/* The command is passed on as it is, to the replicas and the append-only file of this server. */
static int done(struct access *access, const char *event)
{
	RedisModule_ReplicateVerbatim(access->ctx);
	RedisModule_ReplyWithSimpleString(access->ctx, "OK");
	if (access->queue)
		commit_replicated(access, event);
	takers_plan(access);
	access_end(access);
	return REDISMODULE_OK;
}

/* The arguments of PAWL.PUTAT for one task. Those that are left out are as for a new task. */
struct putat {
	uint64_t at, max_tries, tries;
	struct token token;
	enum task_state state;
	struct task_id id;
	struct extras extras;
	RedisModuleString *payload;
};

static bool read_extras(RedisModuleCtx *ctx, RedisModuleString **argv, struct extras *extras)
{
	size_t size;

	if (!arg_text(ctx, argv[0], "reason", TASK_REASON_MAX) ||
	    !arg_number(ctx, argv[1], "period", 0, TASK_TIME_MAX, &extras->period) ||
	    !arg_number(ctx, argv[2], "base", 0, INT64_MAX, &extras->base))
		return false;
	extras->reason = (const unsigned char *)RedisModule_StringPtrLen(argv[0], &size);
	extras->reason_size = (uint16_t)size;
	return true;
}

/* argv begins at the task's time. */
static bool read_putat(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, struct putat *put)
{
	*put = (struct putat){.state = STATE_WAITING, .payload = argv[2]};
	if (!arg_number(ctx, argv[0], "at", 0, INT64_MAX, &put->at) ||
	    !arg_id(ctx, argv[1], &put->id) || !arg_payload(ctx, argv[2]))
		return false;
	if (argc > 3 && !arg_number(ctx, argv[3], "maxtries", 0, TASK_TRIES_MAX, &put->max_tries))
		return false;
	if (argc <= 4)
		return true;
	put->token = arg_token(argv[6]);
	if (argc > 7 && !read_extras(ctx, argv + 7, &put->extras))
		return false;
	return read_state(ctx, argv[4], &put->state) &&
	       arg_number(ctx, argv[5], "tries", 0, TASK_TRIES_MAX, &put->tries);
}

static struct task *new_task(const struct putat *put, uint64_t now)
{
	size_t size;
	const char *bytes = RedisModule_StringPtrLen(put->payload, &size);
	struct task *task = task_new(&put->id, bytes, (uint32_t)size);

	task->tries = (uint16_t)put->tries;
	task->max_tries = (uint16_t)put->max_tries;
	task->token = put->token.secret;
	fence_learn(put->token.fence, now);
	return task_set_extras(task, &put->extras);
}

static void put_one(struct access *access, const struct putat *put)
{
	struct task *there = queue_find(access->queue, &put->id);

	if (there)
		queue_delete(access->queue, there);
	add(access, new_task(put, access->now), put->state, put->at);
}

int command_putat(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	/* A single task has 3, 4, 7 or 10 arguments, several tasks have 4 each. */
	int step = argc % 4 == 2 ? 4 : argc - 2;
	struct access access;
	struct putat put;

	if (argc < 5 || (step != 3 && step != 4 && step != 7 && step != 10))
		return RedisModule_WrongArity(ctx);
	for (int i = 2; i < argc; i += step)
		if (!read_putat(ctx, argv + i, step, &put))
			return REDISMODULE_OK;
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	access_create(&access);
	for (int i = 2; i < argc; i += step) {
		read_putat(ctx, argv + i, step, &put);
		put_one(&access, &put);
	}
	return done(&access, "pawl.put");
}

int command_setat(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	enum task_state state;
	struct access access;
	uint64_t at, tries;

	if (argc < 7 || (argc - 4) % 3 != 0)
		return RedisModule_WrongArity(ctx);
	if (!arg_number(ctx, argv[2], "at", 0, INT64_MAX, &at) || !read_state(ctx, argv[3], &state))
		return REDISMODULE_OK;
	for (int i = 4; i < argc; i += 3)
		if (!arg_number(ctx, argv[i], "tries", 0, TASK_TRIES_MAX, &tries) ||
		    !arg_can_be_id(ctx, argv[i + 2]))
			return REDISMODULE_OK;
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	for (int i = 4; i < argc; i += 3) {
		struct token token = arg_token(argv[i + 1]);
		struct task *task = command_find(&access, argv[i + 2]);

		if (!task)
			continue;
		arg_number(ctx, argv[i], "tries", 0, TASK_TRIES_MAX, &tries);
		task->tries = (uint16_t)tries;
		fence_learn(token.fence, access.now);
		set(&access, task, state, at, token.secret);
	}
	return done(&access, "pawl.set");
}

int command_note(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct access access;
	const char *reason;
	size_t size;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!arg_text(ctx, argv[2], "reason", TASK_REASON_MAX) ||
	    !arg_can_be_ids(ctx, argv + 3, argc - 3) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	reason = RedisModule_StringPtrLen(argv[2], &size);
	for (int i = 3; i < argc; i++) {
		struct task *task = command_find(&access, argv[i]);

		if (task)
			queue_set_reason(access.queue, task, reason, size);
	}
	return done(&access, "pawl.set");
}

int command_drop(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct access access;

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (!arg_can_be_ids(ctx, argv + 2, argc - 2) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	for (int i = 2; i < argc; i++) {
		struct task *task = command_find(&access, argv[i]);

		if (task)
			queue_delete(access.queue, task);
	}
	return done(&access, "pawl.drop");
}

int command_setup(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct settings settings = {0};
	struct access access;
	uint64_t paused;

	if (argc != 6)
		return RedisModule_WrongArity(ctx);
	if (!arg_number(ctx, argv[2], "paused", 0, 1, &paused) ||
	    !arg_number(ctx, argv[3], "maxdead", 0, TASK_TIME_MAX, &settings.max_dead) ||
	    !arg_number(ctx, argv[4], "backoff-ms", 0, TASK_TIME_MAX, &settings.backoff_ms) ||
	    !arg_number(ctx, argv[5], "backoff-max-ms", settings.backoff_ms, TASK_TIME_MAX,
	                &settings.backoff_max_ms) ||
	    !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	settings.paused = paused;
	access_create(&access);
	access.queue->settings = settings;
	return done(&access, "pawl.set");
}

/* For tests only: it exists if the module is loaded with TEST-CLOCK. */
int command_clock(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	uint64_t ms;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!arg_number(ctx, argv[1], "unix-ms", 0, TASK_TIME_MAX, &ms))
		return REDISMODULE_OK;
	clock_set(ms);
	takers_clock_set();
	return RedisModule_ReplyWithSimpleString(ctx, "OK");
}
