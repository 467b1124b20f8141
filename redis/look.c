/* SPDX-License-Identifier: MIT */
/* PAWL.GET, PAWL.LEN, PAWL.NEXT, PAWL.SCAN and PAWL.INFO: they change nothing. */
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "deliver.h"

/*
 * Cursors are the upper 48 bits of the table's: the lower ones are zero in any table that fits into
 * memory, and some clients know integers up to 2^53 only.
 */
enum { CURSOR_SHIFT = 16 };
#define CURSOR_MAX (UINT64_MAX >> CURSOR_SHIFT)

static void reply_number(RedisModuleCtx *ctx, const char *name, uint64_t value)
{
	RedisModule_ReplyWithCString(ctx, name);
	RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

static void reply_text(RedisModuleCtx *ctx, const char *name, const char *text, size_t size)
{
	RedisModule_ReplyWithCString(ctx, name);
	RedisModule_ReplyWithStringBuffer(ctx, text, size);
}

static void reply_whole_task(struct visit *visit, const struct task *task)
{
	const char *state = state_names[task_state(task, visit->now)];

	RedisModule_ReplyWithMap(visit->ctx, 7);
	RedisModule_ReplyWithCString(visit->ctx, "state");
	RedisModule_ReplyWithCString(visit->ctx, state);
	reply_text(visit->ctx, "payload", (const char *)task_payload(task), task->payload_size);
	reply_number(visit->ctx, "due-ms", task->at);
	reply_number(visit->ctx, "tries", task->tries);
	reply_number(visit->ctx, "maxtries", task->max_tries);
	RedisModule_ReplyWithCString(visit->ctx, "reason");
	reply_reason(visit->ctx, task);
	reply_number(visit->ctx, "period-ms", task_note(task).period);
}

int command_get(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct task *task;
	struct visit visit;
	struct task_id id;

	if (argc != 3)
		return RedisModule_WrongArity(ctx);
	if (!arg_id(ctx, argv[2], &id) || !visit_to_read(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	task = visit.queue ? queue_find(visit.queue, &id) : NULL;
	if (task)
		reply_whole_task(&visit, task);
	else
		RedisModule_ReplyWithNull(ctx);
	visit_end(&visit);
	return REDISMODULE_OK;
}

static size_t count_state(struct visit *visit, enum task_state state)
{
	size_t counts[STATES];

	if (!visit->queue)
		return 0;
	queue_counts(visit->queue, visit->now, counts);
	return counts[state];
}

int command_len(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 2};
	enum task_state state = STATE_DUE;
	struct visit visit;
	size_t count;

	if (argc != 2 && argc != 4)
		return RedisModule_WrongArity(ctx);
	if (argc == 4 && !args_take(&args, "STATE"))
		return args_unknown(&args, "STATE"), REDISMODULE_OK;
	if ((argc == 4 && !arg_state(ctx, argv[3], &state)) || !visit_to_read(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	if (argc == 4)
		count = count_state(&visit, state);
	else
		count = visit.queue ? queue_count(visit.queue) : 0;
	RedisModule_ReplyWithLongLong(ctx, (long long)count);
	visit_end(&visit);
	return REDISMODULE_OK;
}

int command_next(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct visit visit;
	uint64_t next;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!visit_to_read(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	next = visit.queue ? queue_next(visit.queue) : PAWL_NEVER;
	if (next == PAWL_NEVER)
		RedisModule_ReplyWithNull(ctx);
	else
		RedisModule_ReplyWithLongLong(ctx,
		                              next > visit.now ? (long long)(next - visit.now) : 0);
	visit_end(&visit);
	return REDISMODULE_OK;
}

struct scan {
	struct visit visit;
	uint64_t cursor, count;
	bool count_given, state_given;
	enum task_state state;
	long found;
};

static void scan_task(struct task *task, void *arg)
{
	struct scan *scan = arg;
	char id[TASK_ID_TEXT];

	if (scan->state_given && task_state(task, scan->visit.now) != scan->state)
		return;
	RedisModule_ReplyWithStringBuffer(scan->visit.ctx, id, task_id_text(task, id));
	scan->found++;
}

/*
 * As many buckets as tasks are asked for: that is about one task each, before their state is looked at.
 * Returns the cursor after them; without fn it only counts.
 */
static uint64_t scan_buckets(struct scan *scan, void (*fn)(struct task *, void *))
{
	const struct ids *ids = &scan->visit.queue->ids;
	uint64_t cursor = scan->cursor << CURSOR_SHIFT, steps = scan->count;

	do {
		if (fn)
			ids_scan(ids, cursor, fn, scan);
		cursor = ids_scan_next(ids, cursor);
	} while (cursor != 0 && --steps > 0);
	return cursor >> CURSOR_SHIFT;
}

static void reply_scan(struct scan *scan)
{
	RedisModuleCtx *ctx = scan->visit.ctx;
	char text[24];
	int size;

	RedisModule_ReplyWithArray(ctx, 2);
	if (!scan->visit.queue) {
		RedisModule_ReplyWithCString(ctx, "0");
		RedisModule_ReplyWithArray(ctx, 0);
		return;
	}
	size = snprintf(text, sizeof(text), "%llu", (unsigned long long)scan_buckets(scan, NULL));
	RedisModule_ReplyWithStringBuffer(ctx, text, (size_t)size);
	RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
	scan_buckets(scan, scan_task);
	RedisModule_ReplySetArrayLength(ctx, scan->found);
}

static bool read_scan(struct args *args, struct scan *scan)
{
	while (args_left(args)) {
		if (args_take(args, "COUNT")) {
			if (!args_number(args, "COUNT", 1, ARG_COUNT_MAX, &scan->count,
			                 &scan->count_given))
				return false;
		} else if (args->next + 1 < args->argc && args_take(args, "STATE")) {
			scan->state_given = true;
			if (!arg_state(args->ctx, args->argv[args->next++], &scan->state))
				return false;
		} else {
			return args_unknown(args, "COUNT n, STATE s");
		}
	}
	return true;
}

int command_scan(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct scan scan = {.count = 10};
	struct args args = {ctx, argv, argc, 3};

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (!arg_number(ctx, argv[2], "cursor", 0, CURSOR_MAX, &scan.cursor) ||
	    !read_scan(&args, &scan) || !visit_to_read(&scan.visit, ctx, argv[1]))
		return REDISMODULE_OK;
	reply_scan(&scan);
	visit_end(&scan.visit);
	return REDISMODULE_OK;
}

static void reply_lateness(RedisModuleCtx *ctx, const struct lateness *lateness)
{
	static const struct lateness none;

	if (!lateness)
		lateness = &none;
	reply_number(ctx, "deliveries", lateness->count);
	reply_number(ctx, "lateness-p50-ms", lateness_percentile(lateness, 50));
	reply_number(ctx, "lateness-p90-ms", lateness_percentile(lateness, 90));
	reply_number(ctx, "lateness-p99-ms", lateness_percentile(lateness, 99));
	reply_number(ctx, "lateness-max-ms", lateness->max);
}

static void reply_oldest(RedisModuleCtx *ctx, struct queue *queue, size_t due)
{
	RedisModule_ReplyWithCString(ctx, "oldest-due-ms");
	if (due > 0)
		RedisModule_ReplyWithLongLong(ctx, (long long)queue_next(queue));
	else
		RedisModule_ReplyWithNull(ctx);
}

void reply_each_setting(RedisModuleCtx *ctx, const struct queue *queue)
{
	struct settings settings = queue ? queue->settings : (struct settings){0};

	reply_number(ctx, "paused", settings.paused);
	reply_number(ctx, "maxdead", settings.max_dead);
	reply_number(ctx, "backoff-ms", settings.backoff_ms);
	reply_number(ctx, "backoff-max-ms", settings.backoff_max_ms);
}

static void reply_info(RedisModuleCtx *ctx, struct queue *queue, uint64_t now)
{
	size_t counts[STATES];

	queue_counts(queue, now, counts);
	RedisModule_ReplyWithMap(ctx, 13 + SETTINGS);
	reply_number(ctx, "tasks", queue_count(queue));
	for (int state = 0; state < STATES; state++)
		reply_number(ctx, state_names[state], counts[state]);
	reply_oldest(ctx, queue, counts[STATE_DUE]);
	reply_lateness(ctx, queue->lateness);
	reply_each_setting(ctx, queue);
	reply_number(ctx, "memory-bytes", queue_memory(queue));
	RedisModule_ReplyWithCString(ctx, "form");
	RedisModule_ReplyWithCString(ctx, queue_compact(queue) ? "compact" : "cells");
}

int command_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct visit visit;

	if (argc != 2)
		return RedisModule_WrongArity(ctx);
	if (!visit_to_read(&visit, ctx, argv[1]))
		return REDISMODULE_OK;
	if (visit.queue)
		reply_info(ctx, visit.queue, visit.now);
	else
		RedisModule_ReplyWithNull(ctx);
	visit_end(&visit);
	return REDISMODULE_OK;
}
