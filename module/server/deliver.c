/* SPDX-License-Identifier: MIT */
#include "deliver.h"

#include "../../src/base/assert.h"
#include "../queue/memory.h"

/* One delivered task. */
struct delivery {
	struct task *task; /* in a parcel: a copy */
	uint64_t due;
	struct token token; /* all zeroes: no lease */
	bool dead;
};

/* The id and the token as text: for the reply and for the replicas. */
struct texts {
	char id[TASK_ID_TEXT], token[TOKEN_TEXT];
	size_t id_size, token_size; /* token_size is 0 without a token */
};

static void write_texts(struct texts *texts, const struct delivery *delivery)
{
	texts->id_size = task_id_text(delivery->task, texts->id);
	texts->token_size = 0;
	if (delivery->token.secret != 0)
		texts->token_size = token_text(&delivery->token, texts->token);
}

void reply_reason(RedisModuleCtx *ctx, const struct task *task)
{
	struct extras extras = task_extras(task);

	if (extras.reason_size == 0)
		RedisModule_ReplyWithNull(ctx);
	else
		RedisModule_ReplyWithStringBuffer(ctx, (const char *)extras.reason,
		                                  extras.reason_size);
}

/* [id, payload, tries, due-ms, token], and for a dead task the reason. */
static void reply_delivery(RedisModuleCtx *ctx, const struct delivery *delivery,
                           const struct texts *texts)
{
	const struct task *task = delivery->task;

	RedisModule_ReplyWithArray(ctx, delivery->dead ? 6 : 5);
	RedisModule_ReplyWithStringBuffer(ctx, texts->id, texts->id_size);
	RedisModule_ReplyWithStringBuffer(ctx, (const char *)task_payload(task),
	                                  task->payload_size);
	RedisModule_ReplyWithLongLong(ctx, task->tries);
	RedisModule_ReplyWithLongLong(ctx, (long long)delivery->due);
	if (texts->token_size > 0)
		RedisModule_ReplyWithStringBuffer(ctx, texts->token, texts->token_size);
	else
		RedisModule_ReplyWithNull(ctx);
	if (delivery->dead)
		reply_reason(ctx, task);
}

/* Begin the reply [key, deliveries]. */
static void reply_key(RedisModuleCtx *ctx, const RedisModuleString *key)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(key, &size);

	RedisModule_ReplyWithArray(ctx, 2);
	RedisModule_ReplyWithStringBuffer(ctx, text, size);
}

static void parcel_add(struct parcel *parcel, const struct delivery *delivery)
{
	size_t count = parcel->count++;

	if ((count & (count + 1)) == 0) /* 0, 1, 3, 7...: full */
		parcel->deliveries = memory_resize(parcel->deliveries,
		                                   (2 * count + 1) * sizeof(*parcel->deliveries));
	parcel->deliveries[count] = *delivery;
	parcel->deliveries[count].task = task_copy(delivery->task);
}

void parcel_reply(RedisModuleCtx *ctx, const struct parcel *parcel)
{
	struct texts texts;

	if (parcel->key)
		reply_key(ctx, parcel->key);
	RedisModule_ReplyWithArray(ctx, (long)parcel->count);
	for (size_t i = 0; i < parcel->count; i++) {
		write_texts(&texts, &parcel->deliveries[i]);
		reply_delivery(ctx, &parcel->deliveries[i], &texts);
	}
}

void parcel_free(struct parcel *parcel)
{
	while (parcel->count > 0)
		memory_free(parcel->deliveries[--parcel->count].task);
	memory_free(parcel->deliveries);
	parcel->deliveries = NULL;
	if (parcel->key)
		RedisModule_FreeString(NULL, parcel->key);
	parcel->key = NULL;
}

bool finish_task(struct access *access, struct task *task, struct effects *effects)
{
	uint64_t again = task_again(task, access->now);

	if (again)
		effects_set(effects, queue_restart(access->queue, task, again));
	else
		queue_delete(access->queue, task);
	return !again;
}

uint64_t lease_end(const struct access *access, const struct task *task, uint64_t ms)
{
	return access->now + ms + queue_backoff(access->queue, task);
}

struct task *take_first(struct queue *queue, const struct take *take, uint64_t now)
{
	return take->dead ? queue_first_dead(queue, now) : queue_first_due(queue, now);
}

uint64_t take_next(struct queue *queue, bool dead)
{
	return dead ? queue_next_dead(queue) : queue_next_due(queue);
}

/* Not called for dead tasks: they have used up their tries, and are not late. */
static void count_try(struct access *access, struct task *task)
{
	if (task->tries < TASK_TRIES_MAX)
		task->tries++;
	queue_count_delivery(access->queue, task, access->now);
	ASSERT(task->at <= access->now);
	metrics_deliver(&access->metrics, access->now - task->at);
}

static void deliver_one(struct access *access, struct task *task, const struct take *take,
                        struct effects *effects, struct parcel *parcel)
{
	struct delivery delivery = {.task = task, .due = task->at, .dead = take->dead};
	struct texts texts;

	if (!take->dead)
		count_try(access, task);
	if (take->lease_ms)
		delivery.token = token_new(access->now);
	else
		queue_prefetch_behind(access->queue, task);
	write_texts(&texts, &delivery);
	if (parcel)
		parcel_add(parcel, &delivery);
	else
		reply_delivery(access->ctx, &delivery, &texts);
	if (take->lease_ms) {
		queue_lease(access->queue, task, lease_end(access, task, take->lease_ms),
		            delivery.token.secret);
		effects_set_id(effects, task, texts.token, texts.token_size, texts.id,
		               texts.id_size);
	} else if (finish_task(access, task, effects)) {
		effects_delete_id(effects, texts.id, texts.id_size);
	}
}

/*
 * Whether take->count tasks are known to be deliverable. If not, the reply's length is set afterwards, which is slower:
 * the server then allocates a block of 16 KB.
 */
static bool count_is_known(const struct access *access, const struct take *take)
{
	if (take->count == 1)
		return true;
	return !take->dead &&
	       timeline_until_at_least(&access->queue->alive, access->now) >= take->count;
}

static void begin_reply(struct access *access, const struct take *take, long length)
{
	if (take->names_key)
		reply_key(access->ctx, access->name);
	RedisModule_ReplyWithArray(access->ctx, length);
}

void deliver(struct access *access, const struct take *take, struct parcel *parcel)
{
	struct effects effects;
	struct task *task;
	long count = 0, length = REDISMODULE_POSTPONED_LEN;

	if (count_is_known(access, take))
		length = (long)take->count;
	effects_begin(&effects, access);
	if (!parcel)
		begin_reply(access, take, length);
	else if (take->names_key)
		parcel->key = RedisModule_CreateStringFromString(NULL, access->name);
	for (; (uint64_t)count < take->count &&
	       (task = take_first(access->queue, take, access->now)) != NULL;
	     count++)
		deliver_one(access, task, take, &effects, parcel);
	ASSERT(count > 0);
	if (!parcel && length == REDISMODULE_POSTPONED_LEN)
		RedisModule_ReplySetArrayLength(access->ctx, count);
	effects_send(&effects);
	commit(access, take->dead ? "pawl.dead" : "pawl.take");
}
