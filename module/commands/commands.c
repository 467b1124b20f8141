/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "../server/replicate.h"
#include "../server/takers.h"
#include "arguments.h"

struct task *command_find(struct access *access, const RedisModuleString *arg)
{
	struct task_id id;

	if (!access->queue || !arg_id(access->ctx, arg, &id))
		return NULL;
	return queue_find(access->queue, &id);
}

void command_changed(struct access *access, const char *event)
{
	commit(access, event);
	takers_plan(access);
}

bool args_head(struct args *args, uint64_t *head)
{
	bool given = *head != HEAD_ALL;

	return args_number(args, "HEAD", 0, TASK_PAYLOAD_MAX, head, &given);
}

void reply_number(RedisModuleCtx *ctx, const char *name, uint64_t value)
{
	RedisModule_ReplyWithCString(ctx, name);
	RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

void reply_payload(RedisModuleCtx *ctx, const struct task *task, uint64_t head)
{
	const char *bytes = (const char *)task_payload(task);
	uint32_t size = task->payload_size;

	if (head == HEAD_ALL) {
		RedisModule_ReplyWithStringBuffer(ctx, bytes, size);
		return;
	}
	RedisModule_ReplyWithArray(ctx, 2);
	RedisModule_ReplyWithStringBuffer(ctx, bytes, size < head ? size : (size_t)head);
	RedisModule_ReplyWithLongLong(ctx, size);
}

void reply_each_setting(RedisModuleCtx *ctx, const struct queue *queue)
{
	struct settings settings = queue ? queue->settings : (struct settings){0};

	reply_number(ctx, "paused", settings.paused);
	reply_number(ctx, "maxdead", settings.max_dead);
	reply_number(ctx, "backoff-ms", settings.backoff_ms);
	reply_number(ctx, "backoff-max-ms", settings.backoff_max_ms);
}
