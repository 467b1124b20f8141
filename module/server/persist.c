/* SPDX-License-Identifier: MIT */
/*
 * A queue in a snapshot: the number of tasks, the server's last fence (token.h), the settings, blocks of tasks
 * (encode.h), an empty block. The server stores the encoding version and passes it to load_queue(). Encoding 1 has no
 * fence and no settings.
 */
#include "access.h"

#include <stdio.h>

#include "../queue/encode.h"
#include "../queue/memory.h"
#include "replicate.h"

enum {
	ENCODING = 2,
	ENCODING_OF_TASKS_ALONE = 1, /* can be read, is not written */
	BLOCK = 64 * 1024,           /* a block is written when it has this size */
	ROOM_MAX = 1 << 20, /* tasks for which room is made at once: the count may be damaged */
};

struct saving {
	RedisModuleIO *io;
	struct bytes block;
	uint64_t last;
};

static void save_block(RedisModuleIO *io, struct bytes *block)
{
	RedisModule_SaveStringBuffer(io, (const char *)block->data, block->size);
	block->size = 0;
}

static void save_task(struct task *task, void *arg)
{
	struct saving *saving = arg;

	if (saving->block.size == 0)
		saving->last = 0;
	encode_task(&saving->block, task, &saving->last);
	if (saving->block.size >= BLOCK)
		save_block(saving->io, &saving->block);
}

static void save_settings(RedisModuleIO *io, const struct queue *queue)
{
	RedisModule_SaveUnsigned(io, queue->settings.paused);
	RedisModule_SaveUnsigned(io, queue->settings.max_dead);
	RedisModule_SaveUnsigned(io, queue->settings.backoff_ms);
	RedisModule_SaveUnsigned(io, queue->settings.backoff_max_ms);
}

static void save_queue(RedisModuleIO *io, void *value)
{
	struct saving saving = {.io = io};

	RedisModule_SaveUnsigned(io, queue_count(value));
	RedisModule_SaveUnsigned(io, fence_to_store(clock_now()));
	save_settings(io, value);
	queue_each(value, save_task, &saving);
	if (saving.block.size > 0)
		save_block(io, &saving.block);
	save_block(io, &saving.block);
	memory_free(saving.block.data);
}

/* Load one block. *more: it was not the last one. Returns NULL, or what is wrong. */
static const char *load_block(RedisModuleIO *io, struct queue *queue, bool *more)
{
	const char *wrong = "it cannot be read";
	size_t size;
	char *data = RedisModule_LoadStringBuffer(io, &size);

	*more = false;
	if (data && !RedisModule_IsIOError(io)) {
		*more = size > 0;
		wrong = decode_block((const unsigned char *)data, size, queue);
	}
	if (data)
		RedisModule_Free(data);
	return wrong;
}

static const char *load_fence(RedisModuleIO *io)
{
	static char wrong[160];
	uint64_t fence = RedisModule_LoadUnsigned(io), now = clock_now(), max = fence_max(now);

	if (RedisModule_IsIOError(io))
		return "its fence cannot be read";
	fence_learn(fence, now);
	if (fence <= max)
		return NULL;
	snprintf(wrong, sizeof(wrong),
	         "its fence is %llu, must be at most %llu, a year ahead of this server's clock",
	         (unsigned long long)fence, (unsigned long long)max);
	return wrong;
}

/* Returns whether the settings are valid. */
static bool load_settings(RedisModuleIO *io, struct queue *queue)
{
	uint64_t paused = RedisModule_LoadUnsigned(io);
	struct settings *settings = &queue->settings;

	settings->paused = paused == 1;
	settings->max_dead = RedisModule_LoadUnsigned(io);
	settings->backoff_ms = RedisModule_LoadUnsigned(io);
	settings->backoff_max_ms = RedisModule_LoadUnsigned(io);
	return !RedisModule_IsIOError(io) && paused <= 1 && settings->max_dead <= TASK_TIME_MAX &&
	       settings->backoff_ms <= settings->backoff_max_ms &&
	       settings->backoff_max_ms <= TASK_TIME_MAX;
}

static const char *load_head(RedisModuleIO *io, struct queue *queue)
{
	const char *wrong = load_fence(io);

	if (!wrong && !load_settings(io, queue))
		wrong = "its settings cannot be read";
	return wrong;
}

static const char *load_tasks(RedisModuleIO *io, int encoding, struct queue *queue)
{
	uint64_t count = RedisModule_LoadUnsigned(io);
	const char *wrong = NULL;
	bool more = true;

	if (RedisModule_IsIOError(io))
		return "it cannot be read";
	if (encoding != ENCODING_OF_TASKS_ALONE)
		wrong = load_head(io, queue);
	if (wrong)
		return wrong;
	queue_reserve(queue, count < ROOM_MAX ? (size_t)count : ROOM_MAX);
	while (more && !wrong)
		wrong = load_block(io, queue, &more);
	if (!wrong && (queue_count(queue) != count || queue_empty(queue)))
		wrong = "its tasks are not as many as it says";
	return wrong;
}

static void *load_queue(RedisModuleIO *io, int encoding)
{
	struct queue *queue;
	const char *wrong;

	if (encoding != ENCODING && encoding != ENCODING_OF_TASKS_ALONE) {
		RedisModule_LogIOError(io, "warning", "pawl: cannot read encoding %d, only 1 to %d",
		                       encoding, ENCODING);
		return NULL;
	}
	queue = queue_new();
	wrong = load_tasks(io, encoding, queue);
	queue_forget_lapses(queue, clock_now());
	if (!wrong)
		return queue;
	RedisModule_LogIOError(io, "warning", "pawl: a queue cannot be loaded: %s", wrong);
	queue_free(queue);
	return NULL;
}

struct rewriting {
	RedisModuleIO *aof;
	RedisModuleString *key;
};

static void emit_task(struct task *task, void *arg)
{
	struct rewriting *to = arg;
	struct token token = {fence_to_store(clock_now()), task->token};
	struct extras extras = task_extras(task);
	char id[TASK_ID_TEXT], text[TOKEN_TEXT];
	size_t id_size = task_id_text(task, id);

	RedisModule_EmitAOF(to->aof, "PAWL.PUTAT", task->has_extras ? "slbblclbbll" : "slbblclb",
	                    to->key, (long long)task->at, id, id_size, task_payload(task),
	                    (size_t)task->payload_size, (long long)task->max_tries,
	                    stored_state(task), (long long)task->tries, text,
	                    token_text(&token, text), extras.reason, (size_t)extras.reason_size,
	                    (long long)extras.period, (long long)extras.base);
}

static void emit_settings(RedisModuleIO *aof, RedisModuleString *key,
                          const struct settings *settings)
{
	RedisModule_EmitAOF(aof, "PAWL.SETUP", "sllll", key, (long long)settings->paused,
	                    (long long)settings->max_dead, (long long)settings->backoff_ms,
	                    (long long)settings->backoff_max_ms);
}

static void rewrite_queue(RedisModuleIO *aof, RedisModuleString *key, void *value)
{
	const struct queue *queue = value;

	if (settings_any(&queue->settings))
		emit_settings(aof, key, &queue->settings);
	queue_each(value, emit_task, &(struct rewriting){aof, key});
}

static void digest_task(struct task *task, void *arg)
{
	RedisModuleDigest *digest = arg;

	RedisModule_DigestAddStringBuffer(digest, (const char *)task->data, task_data_size(task));
	RedisModule_DigestAddStringBuffer(digest, stored_state(task), 4);
	RedisModule_DigestAddLongLong(digest, (long long)task->at);
	RedisModule_DigestAddLongLong(digest, (long long)task->token);
	RedisModule_DigestAddLongLong(digest, task->tries);
	RedisModule_DigestAddLongLong(digest, task->max_tries);
	RedisModule_DigestEndSequence(digest);
}

static void digest_queue(RedisModuleDigest *digest, void *value)
{
	const struct settings *settings = &((const struct queue *)value)->settings;

	RedisModule_DigestAddLongLong(digest, settings->paused);
	RedisModule_DigestAddLongLong(digest, (long long)settings->max_dead);
	RedisModule_DigestAddLongLong(digest, (long long)settings->backoff_ms);
	RedisModule_DigestAddLongLong(digest, (long long)settings->backoff_max_ms);
	RedisModule_DigestEndSequence(digest);
	queue_each(value, digest_task, digest);
}

static void free_queue(void *value)
{
	queue_free(value);
}

static size_t measure_queue(const void *value)
{
	return queue_memory(value);
}

/* UNLINK frees a value in another thread if this is large. */
static size_t effort_to_free(RedisModuleString *key, const void *value)
{
	(void)key;
	return queue_count(value);
}

static void *copy_queue(RedisModuleString *from, RedisModuleString *to, const void *value)
{
	(void)from;
	(void)to;
	return queue_copy(value);
}

/* Active defragmentation: the server asks the module to move a value's memory to denser pages. */

enum { BUCKETS = 64 }; /* moved between two checks whether the time is over */

static void *move(void *memory, void *ctx)
{
	return RedisModule_DefragAlloc(ctx, memory);
}

/*
 * A large queue is moved in several calls, with commands between them. The server keeps the cursor, which is that of a
 * scan of the ids and stays valid. The first call also moves everything but the tasks, which is a small part. Returns 0
 * when the queue is done, 1 to be called again.
 */
static int defrag_queue(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value)
{
	unsigned long cursor = 0;

	(void)key;
	if (RedisModule_DefragCursorGet(ctx, &cursor) != REDISMODULE_OK)
		cursor = 0;
	if (cursor == 0)
		*value = queue_move(*value, move, ctx);
	do
		for (unsigned i = 0; i < BUCKETS && (cursor || i == 0); i++)
			cursor = queue_move_tasks(*value, cursor, move, ctx);
	while (cursor != 0 && !RedisModule_DefragShouldStop(ctx));
	if (cursor == 0)
		return 0;
	RedisModule_DefragCursorSet(ctx, cursor);
	return 1;
}

/* The data type */

int register_type(RedisModuleCtx *ctx)
{
	RedisModuleTypeMethods methods = {
	        .version = REDISMODULE_TYPE_METHOD_VERSION,
	        .rdb_load = load_queue,
	        .rdb_save = save_queue,
	        .aof_rewrite = rewrite_queue,
	        .mem_usage = measure_queue,
	        .digest = digest_queue,
	        .free = free_queue,
	        .free_effort = effort_to_free,
	        .copy = copy_queue,
	        .defrag = defrag_queue,
	};

	queue_type = RedisModule_CreateDataType(ctx, "pawlqueue", ENCODING, &methods);
	return queue_type ? REDISMODULE_OK : REDISMODULE_ERR;
}
