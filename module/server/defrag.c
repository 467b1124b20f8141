/* SPDX-License-Identifier: MIT */
#include "defrag.h"

#include "../queue/queue.h"

enum { BUCKETS = 64 }; /* moved between two checks whether the time is over */

static void *move(void *memory, void *ctx)
{
	return RedisModule_DefragAlloc(ctx, memory);
}

/*
 * A large queue is moved in several calls, with commands between them. The server keeps the cursor, which is that of a
 * scan of the ids and stays valid. The first call also moves everything but the tasks, which is a small part.
 */
int defrag_queue(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value)
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
