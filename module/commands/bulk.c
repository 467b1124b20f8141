/* SPDX-License-Identifier: MIT */
/* PAWL.SCAN, PAWL.RANGE and PAWL.SWEEP: many tasks in one command, bounded by COUNT. */
#include "../../src/base/digits.h"
#include "../queue/memory.h"
#include "../server/deliver.h"
#include "../server/metrics.h"
#include "../server/replicate.h"
#include "arguments.h"
#include "commands.h"

/* [id, payload, state, due-ms, tries, reason] */
static void reply_item(struct access *access, const struct task *task, const char *id,
                       size_t id_size, uint64_t head)
{
	RedisModuleCtx *ctx = access->ctx;

	RedisModule_ReplyWithArray(ctx, 6);
	RedisModule_ReplyWithStringBuffer(ctx, id, id_size);
	reply_payload(ctx, task, head);
	RedisModule_ReplyWithCString(ctx, task_state_names[task_state(task, access->now)]);
	RedisModule_ReplyWithLongLong(ctx, (long long)task->at);
	RedisModule_ReplyWithLongLong(ctx, task->tries);
	reply_reason(ctx, task);
}

/*
 * A client's cursor is the upper 48 bits of the table's cursor. The lower bits are zero in any table that fits into
 * memory, and some clients handle integers up to 2^53 only.
 */
enum { CURSOR_SHIFT = 16 };
#define CURSOR_MAX (UINT64_MAX >> CURSOR_SHIFT)

/* PAWL.SCAN, or PAWL.SWEEP, which goes through the buckets in the same way. */
struct scan {
	struct access access;
	struct filter filter;
	uint64_t cursor, count;
	bool count_given, payloads, sweeps, force;
	long found;
	struct task **condemned; /* the tasks of one bucket that SWEEP will delete */
	size_t condemned_count, condemned_room;
};

static void reply_cursor(RedisModuleCtx *ctx, uint64_t cursor)
{
	char text[DECIMAL_TEXT];

	RedisModule_ReplyWithArray(ctx, 2);
	RedisModule_ReplyWithStringBuffer(
	        ctx, text, (size_t)(decimal_write(text, cursor >> CURSOR_SHIFT) - text));
}

static void scan_task(struct task *task, void *arg)
{
	struct scan *scan = arg;
	char id[TASK_ID_TEXT];
	size_t id_size = task_id_text(task, id);

	if (!filter_passes(&scan->filter, task, id, id_size))
		return;
	if (scan->payloads)
		reply_item(&scan->access, task, id, id_size, HEAD_ALL);
	else
		RedisModule_ReplyWithStringBuffer(scan->access.ctx, id, id_size);
	scan->found++;
}

/* The cursor COUNT buckets further on: a bucket holds about one task. */
static uint64_t cursor_after(const struct scan *scan)
{
	uint64_t cursor = scan->cursor, steps = scan->count;

	do
		cursor = ids_scan_next(&scan->access.queue->ids, cursor);
	while (cursor != 0 && --steps > 0);
	return cursor;
}

static void reply_scan(struct scan *scan)
{
	const struct ids *ids = &scan->access.queue->ids;
	uint64_t cursor = scan->cursor, end = cursor_after(scan);

	reply_cursor(scan->access.ctx, end);
	RedisModule_ReplyWithArray(scan->access.ctx, REDISMODULE_POSTPONED_LEN);
	do
		ids_scan(ids, cursor, scan_task, scan);
	while ((cursor = ids_scan_next(ids, cursor)) != end);
	RedisModule_ReplySetArrayLength(scan->access.ctx, scan->found);
}

static void condemn(struct task *task, void *arg)
{
	struct scan *scan = arg;
	char id[TASK_ID_TEXT];

	if (!filter_passes(&scan->filter, task, id, task_id_text(task, id)) ||
	    (!scan->force && task_state(task, scan->access.now) == STATE_LEASED))
		return;
	if (scan->condemned_count == scan->condemned_room) {
		scan->condemned_room = 2 * scan->condemned_room + 8;
		scan->condemned = memory_resize(scan->condemned,
		                                scan->condemned_room * sizeof(*scan->condemned));
	}
	scan->condemned[scan->condemned_count++] = task;
}

/*
 * For each bucket, first collect its tasks, then delete them: each deletion may merge two buckets. The cursor stays
 * valid (ids.h).
 */
static uint64_t sweep(struct scan *scan, struct effects *effects)
{
	struct ids *ids = &scan->access.queue->ids;
	uint64_t cursor = scan->cursor, steps = scan->count;

	do {
		ids_scan(ids, cursor, condemn, scan);
		cursor = ids_scan_next(ids, cursor);
		scan->found += (long)scan->condemned_count;
		while (scan->condemned_count > 0) {
			struct task *task = scan->condemned[--scan->condemned_count];

			effects_delete(effects, task);
			queue_delete(scan->access.queue, task);
		}
	} while (cursor != 0 && --steps > 0);
	return cursor;
}

static void reply_sweep(struct scan *scan)
{
	struct effects effects;
	uint64_t cursor;

	effects_begin(&effects, &scan->access);
	cursor = sweep(scan, &effects);
	memory_free(scan->condemned);
	effects_send(&effects);
	metrics_add(&scan->access.metrics, METRIC_CANCELLED, (uint64_t)scan->found);
	reply_cursor(scan->access.ctx, cursor);
	RedisModule_ReplyWithLongLong(scan->access.ctx, scan->found);
	if (scan->found > 0)
		command_changed(&scan->access, "pawl.cancel");
}

static void reply_nothing(const struct scan *scan)
{
	reply_cursor(scan->access.ctx, 0);
	if (scan->sweeps)
		RedisModule_ReplyWithLongLong(scan->access.ctx, 0);
	else
		RedisModule_ReplyWithArray(scan->access.ctx, 0);
}

static bool read_scan_option(struct args *args, struct scan *scan)
{
	if (args_accept(args, "COUNT"))
		return args_number(args, "COUNT", 1, ARG_COUNT_MAX, &scan->count,
		                   &scan->count_given);
	if (args_accept(args, "MATCH"))
		return filter_match(args, &scan->filter);
	if (!scan->sweeps && args_accept(args, "PAYLOADS"))
		return scan->payloads = true;
	if (scan->sweeps && args_accept(args, "FORCE"))
		return scan->force = true;
	return filter_option(args, &scan->filter,
	                     scan->sweeps ? "COUNT, STATE, MATCH, FROM, TO, FORCE"
	                                  : "COUNT, STATE, MATCH, FROM, TO, PAYLOADS");
}

static bool read_scan(struct args *args, struct scan *scan)
{
	if (!arg_number(args->ctx, args->argv[2], "cursor", 0, CURSOR_MAX, &scan->cursor))
		return false;
	scan->cursor <<= CURSOR_SHIFT;
	while (args_left(args))
		if (!read_scan_option(args, scan))
			return false;
	if (!scan->sweeps || filter_given(&scan->filter))
		return true;
	RedisModule_ReplyWithError(args->ctx, "ERR PAWL.SWEEP needs at least one of STATE, MATCH, "
	                                      "FROM and TO; UNLINK deletes a whole queue");
	return false;
}

static int scan_or_sweep(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool sweeps)
{
	struct scan scan = {.filter = FILTER_ALL, .count = 10, .sweeps = sweeps};
	struct args args = {ctx, argv, argc, 3};

	if (argc < 3)
		return RedisModule_WrongArity(ctx);
	if (!read_scan(&args, &scan) || !(sweeps ? access_to_write(&scan.access, ctx, argv[1])
	                                         : access_to_read(&scan.access, ctx, argv[1])))
		return REDISMODULE_OK;
	scan.filter.span.now = scan.access.now;
	if (!scan.access.queue)
		reply_nothing(&scan);
	else if (sweeps)
		reply_sweep(&scan);
	else
		reply_scan(&scan);
	access_end(&scan.access);
	return REDISMODULE_OK;
}

int command_scan(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return scan_or_sweep(ctx, argv, argc, false);
}

int command_sweep(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return scan_or_sweep(ctx, argv, argc, true);
}

/* How many tasks PAWL.RANGE shows, and how many bytes of each payload. */
struct extent {
	uint64_t count, head;
};

static void reply_range(struct access *access, const struct queue_span *span,
                        const struct extent *extent)
{
	struct queue_range range = {.items = NULL};
	char id[TASK_ID_TEXT];

	if (access->queue)
		range = queue_range(access->queue, span, (size_t)extent->count);
	RedisModule_ReplyWithArray(access->ctx, (long)range.count);
	for (size_t i = 0; i < range.count; i++)
		reply_item(access, range.items[i].task, id, task_id_text(range.items[i].task, id),
		           extent->head);
	memory_free(range.items);
}

static bool read_range(struct args *args, struct filter *filter, struct extent *extent)
{
	bool given = false, good;

	good = arg_number(args->ctx, args->argv[2], "from-ms", 0, INT64_MAX, &filter->span.from) &&
	       arg_number(args->ctx, args->argv[3], "to-ms", 0, INT64_MAX, &filter->span.to);
	while (good && args_left(args)) {
		if (args_accept(args, "COUNT"))
			good = args_number(args, "COUNT", 1, ARG_COUNT_MAX, &extent->count, &given);
		else if (args_accept(args, "STATE"))
			good = filter_state(args, filter);
		else if (args_accept(args, "HEAD"))
			good = args_head(args, &extent->head);
		else
			good = args_unknown(args, "COUNT, STATE, HEAD");
	}
	return good;
}

int command_range(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct args args = {ctx, argv, argc, 4};
	struct filter filter = FILTER_ALL;
	struct extent extent = {.count = 100, .head = HEAD_ALL};
	struct access access;

	if (argc < 4)
		return RedisModule_WrongArity(ctx);
	if (!read_range(&args, &filter, &extent) || !access_to_read(&access, ctx, argv[1]))
		return REDISMODULE_OK;
	filter.span.now = access.now;
	reply_range(&access, &filter.span, &extent);
	access_end(&access);
	return REDISMODULE_OK;
}
