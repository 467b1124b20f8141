/* SPDX-License-Identifier: MIT */
#include "deliver.h"

#include "arguments.h"
#include "memory.h"

struct delivery {
	struct task *task;
	uint64_t due;
	struct token token;
};

static void reply_token(RedisModuleCtx *ctx, const struct token *token)
{
	char text[TOKEN_TEXT];

	if (token->secret == 0)
		RedisModule_ReplyWithNull(ctx);
	else
		RedisModule_ReplyWithStringBuffer(ctx, text, token_text(token, text));
}

void reply_reason(RedisModuleCtx *ctx, const struct task *task)
{
	struct note note = task_note(task);

	if (note.reason_size == 0)
		RedisModule_ReplyWithNull(ctx);
	else
		RedisModule_ReplyWithStringBuffer(ctx, (const char *)note.reason, note.reason_size);
}

void reply_task(RedisModuleCtx *ctx, const struct task *task, const char *id, size_t id_size,
                uint64_t due, const struct token *token)
{
	RedisModule_ReplyWithArray(ctx, 5);
	RedisModule_ReplyWithStringBuffer(ctx, id, id_size);
	RedisModule_ReplyWithStringBuffer(ctx, (const char *)task_payload(task),
	                                  task->payload_size);
	RedisModule_ReplyWithLongLong(ctx, task->tries);
	RedisModule_ReplyWithLongLong(ctx, (long long)due);
	reply_token(ctx, token);
}

static void parcel_add(struct parcel *parcel, const struct task *task, uint64_t due,
                       const struct token *token)
{
	size_t count = parcel->count++;

	if ((count & (count + 1)) == 0) /* 0, 1, 3, 7...: full */
		parcel->deliveries = memory_resize(parcel->deliveries,
		                                   (2 * count + 1) * sizeof(*parcel->deliveries));
	parcel->deliveries[count] = (struct delivery){task_copy(task), due, *token};
}

void parcel_reply(RedisModuleCtx *ctx, const struct parcel *parcel)
{
	char id[TASK_ID_TEXT];

	RedisModule_ReplyWithArray(ctx, (long)parcel->count);
	for (size_t i = 0; i < parcel->count; i++) {
		const struct delivery *delivery = &parcel->deliveries[i];

		reply_task(ctx, delivery->task, id, task_id_text(delivery->task, id), delivery->due,
		           &delivery->token);
	}
}

void parcel_free(struct parcel *parcel)
{
	while (parcel->count > 0)
		memory_free(parcel->deliveries[--parcel->count].task);
	memory_free(parcel->deliveries);
	parcel->deliveries = NULL;
}

void finish_task(struct visit *visit, struct task *task, const char *id, size_t id_size,
                 struct effects *effects)
{
	uint64_t again = task_again(task, visit->now);

	if (again) {
		effects_set(effects, queue_restart(visit->queue, task, again));
	} else {
		effects_drop_id(effects, id, id_size);
		queue_delete(visit->queue, task);
	}
}

uint64_t lease_end(const struct visit *visit, const struct task *task, uint64_t ms)
{
	return visit->now + ms + queue_backoff(visit->queue, task);
}

static void deliver_one(struct visit *visit, struct task *task, uint64_t lease_ms,
                        struct effects *effects, struct parcel *parcel)
{
	struct token token = lease_ms ? token_new(visit->now) : (struct token){0, 0};
	uint64_t due = task->at;
	char id[TASK_ID_TEXT];
	size_t id_size = task_id_text(task, id);

	if (task->tries < TASK_TRIES_MAX)
		task->tries++;
	queue_count_delivery(visit->queue, task, visit->now);
	if (parcel)
		parcel_add(parcel, task, due, &token);
	else
		reply_task(visit->ctx, task, id, id_size, due, &token);
	if (lease_ms) {
		queue_lease(visit->queue, task, lease_end(visit, task, lease_ms), token.secret);
		effects_set_id(effects, task, &token, id, id_size);
	} else {
		finish_task(visit, task, id, id_size, effects);
	}
}

void deliver(struct visit *visit, const struct take *take, struct parcel *parcel)
{
	struct effects effects;
	struct task *task;
	long count = 0;

	effects_begin(&effects, visit);
	if (!parcel)
		RedisModule_ReplyWithArray(visit->ctx, REDISMODULE_POSTPONED_LEN);
	for (; (uint64_t)count < take->count &&
	       (task = queue_first_due(visit->queue, visit->now)) != NULL;
	     count++)
		deliver_one(visit, task, take->lease_ms, &effects, parcel);
	if (!parcel)
		RedisModule_ReplySetArrayLength(visit->ctx, count);
	effects_send(&effects);
	visit_changed(visit, "pawl.take");
}
