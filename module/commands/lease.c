/* SPDX-License-Identifier: MIT */
/* PAWL.ACK, PAWL.NACK and PAWL.EXTEND: the commands of the holder of a lease. */
#include "../queue/memory.h"
#include "../server/deliver.h"
#include "../server/metrics.h"
#include "arguments.h"
#include "commands.h"

static struct task *find_held(struct access *access, const struct task_id *id,
                              RedisModuleString *token)
{
	uint64_t secret = arg_token(token).secret;
	struct task *task = access->queue ? queue_find(access->queue, id) : NULL;

	if (!task || task_state(task, access->now) != STATE_LEASED || secret == 0 ||
	    task->token != secret)
		return NULL;
	return task;
}

/* The task with this id, if this token holds its lease now. */
static struct task *find_leased(struct access *access, RedisModuleString *arg,
                                RedisModuleString *token)
{
	struct task_id id;

	return arg_id(access->ctx, arg, &id) ? find_held(access, &id, token) : NULL;
}

/* Tasks are scattered in memory: this many are prefetched at a time, so that their cache misses overlap. */
enum { AHEAD = 16 };

/* Up to AHEAD pairs of id and token. Returns how many tokens held their lease. */
static int ack_some(struct access *access, RedisModuleString **argv, int pairs,
                    struct effects *effects)
{
	struct task_id ids[AHEAD];
	int count = 0;

	for (int i = 0; i < pairs; i++)
		if (arg_id(access->ctx, argv[2 * i], &ids[i]) && access->queue)
			queue_prefetch_id(access->queue, &ids[i]);
	for (int i = 0; i < pairs; i++) {
		struct task *task = find_held(access, &ids[i], argv[2 * i + 1]);

		if (!task)
			continue;
		if (finish_task(access, task, effects))
			effects_delete_arg(effects, argv[2 * i]);
		count++;
	}
	return count;
}

int command_ack(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct effects effects;
	struct access access;
	int count = 0;

	if (argc < 4 || argc % 2 != 0)
		return RedisModule_WrongArity(ctx);
	for (int i = 2; i < argc; i += 2)
		if (!arg_can_be_id(ctx, argv[i]))
			return REDISMODULE_OK;
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	effects_begin(&effects, &access);
	for (int i = 2; i < argc; i += 2 * AHEAD)
		count += ack_some(&access, argv + i, argc - i < 2 * AHEAD ? (argc - i) / 2 : AHEAD,
		                  &effects);
	effects_send(&effects);
	metrics_add(&access.metrics, METRIC_ACKNOWLEDGED, (uint64_t)count);
	RedisModule_ReplyWithLongLong(ctx, count);
	if (count > 0)
		command_changed(&access, "pawl.ack");
	access_end(&access);
	return REDISMODULE_OK;
}

/* The reply is a number for one task, a list of numbers for several. */
static void reply_list(RedisModuleCtx *ctx, int count)
{
	if (count > 1)
		RedisModule_ReplyWithArray(ctx, count);
}

struct nack {
	int end; /* of the pairs of id and token, which begin at argument 2 */
	uint64_t delay;
	bool delay_given;
	RedisModuleString *reason; /* NULL: not given */
};

static bool is_option(const RedisModuleString *arg)
{
	return arg_is(arg, "DELAY") || arg_is(arg, "REASON");
}

/* The options begin at the first argument that is the name of one. The id of the first pair may be such a name. */
static bool read_pairs(struct args *args, struct nack *nack)
{
	for (; args_left(args); args->next += 2) {
		RedisModuleString *arg = args->argv[args->next];

		if (args->next > 2 && is_option(arg))
			break;
		if (args->next + 1 == args->argc)
			return args_unknown(args, "id token, DELAY, REASON");
		if (!arg_can_be_id(args->ctx, arg))
			return false;
	}
	nack->end = args->next;
	return true;
}

static bool read_nack(struct args *args, struct nack *nack)
{
	if (!read_pairs(args, nack))
		return false;
	while (args_left(args)) {
		bool good;

		if (args_accept(args, "DELAY"))
			good = args_number(args, "DELAY", 0, TASK_TIME_MAX, &nack->delay,
			                   &nack->delay_given);
		else if (args_accept(args, "REASON"))
			good = args_text(args, "REASON", TASK_REASON_MAX, &nack->reason);
		else
			good = args_unknown(args, "DELAY, REASON");
		if (!good)
			return false;
	}
	return true;
}

/* Store all reasons before any lease ends: so one command replicates them. */
static void keep_reason(struct access *access, RedisModuleString **argv, const struct nack *nack)
{
	RedisModuleString **ids = memory_new((size_t)nack->end * sizeof(*ids));
	size_t size, count = 0;
	const char *reason = RedisModule_StringPtrLen(nack->reason, &size);

	for (int i = 2; i < nack->end; i += 2) {
		struct task *task = find_leased(access, argv[i], argv[i + 1]);

		if (!task)
			continue;
		queue_set_reason(access->queue, task, reason, size);
		ids[count++] = argv[i];
	}
	replicate_reason(access, nack->reason, ids, count);
	memory_free(ids);
}

enum given_back { NOT_HELD, DUE_AGAIN, DEAD };

static enum given_back give_back(struct access *access, struct task *task, const struct nack *nack,
                                 struct effects *effects)
{
	uint64_t delay;
	bool dead;

	if (!task)
		return NOT_HELD;
	dead = task_last_try(task);
	metrics_add(&access->metrics, METRIC_NACKED, 1);
	delay = nack->delay_given ? nack->delay : queue_backoff(access->queue, task);
	if (dead)
		queue_bury(access->queue, task, access->now);
	else
		queue_schedule(access->queue, task, access->now + delay);
	effects_set(effects, task);
	return dead ? DEAD : DUE_AGAIN;
}

static void nack_all(struct access *access, RedisModuleString **argv, const struct nack *nack)
{
	struct effects effects;
	bool changed = false;

	if (nack->reason)
		keep_reason(access, argv, nack);
	effects_begin(&effects, access);
	reply_list(access->ctx, nack->end / 2 - 1);
	for (int i = 2; i < nack->end; i += 2) {
		enum given_back what = give_back(access, find_leased(access, argv[i], argv[i + 1]),
		                                 nack, &effects);

		RedisModule_ReplyWithLongLong(access->ctx, what);
		changed |= what != NOT_HELD;
	}
	effects_send(&effects);
	if (changed)
		command_changed(access, "pawl.nack");
}

int command_nack(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	struct nack nack = {0};
	struct access access;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!read_nack(&args, &nack) || !access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	nack_all(&access, argv, &nack);
	access_end(&access);
	return REDISMODULE_OK;
}

/* Returns whether the token held the lease. */
static bool extend(struct access *access, RedisModuleString **argv, struct effects *effects)
{
	struct task *task = find_leased(access, argv[0], argv[1]);
	uint64_t ms;

	if (!task)
		return false;
	arg_number(access->ctx, argv[2], "ms", 1, TASK_TIME_MAX, &ms);
	queue_lease(access->queue, task, lease_end(access, task, ms), task->token);
	effects_set(effects, task);
	return true;
}

static void extend_all(struct access *access, RedisModuleString **argv, int argc)
{
	struct effects effects;
	bool changed = false;

	effects_begin(&effects, access);
	reply_list(access->ctx, argc / 3);
	for (int i = 2; i < argc; i += 3) {
		bool held = extend(access, argv + i, &effects);

		RedisModule_ReplyWithLongLong(access->ctx, held);
		changed |= held;
	}
	effects_send(&effects);
	if (changed)
		command_changed(access, "pawl.extend");
}

int command_extend(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct access access;
	uint64_t ms;

	if (argc < 5 || (argc - 2) % 3 != 0)
		return RedisModule_WrongArity(ctx);
	for (int i = 2; i < argc; i += 3)
		if (!arg_can_be_id(ctx, argv[i]) ||
		    !arg_number(ctx, argv[i + 2], "ms", 1, TASK_TIME_MAX, &ms))
			return REDISMODULE_OK;
	if (!access_to_write(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	extend_all(&access, argv, argc);
	access_end(&access);
	return REDISMODULE_OK;
}
