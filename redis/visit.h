/* SPDX-License-Identifier: MIT */
/*
 * A visit to a key: opened, looked into, perhaps changed, closed, all within one command. Nothing of it is
 * kept: between two commands the value may be freed, renamed, swapped or copied.
 */
#ifndef PAWL_REDIS_VISIT_H
#define PAWL_REDIS_VISIT_H

#include "queue.h"
#include "redis_module.h"

struct metrics;

extern RedisModuleType *queue_type;

struct visit {
	RedisModuleCtx *ctx;
	RedisModuleString *name; /* borrowed */
	RedisModuleKey *key;
	struct queue *queue; /* NULL: the key does not exist */
	uint64_t now;
	struct metrics *metrics; /* of this name, once it was looked for */
};

/*
 * Open the key. False: it holds something else, and WRONGTYPE was replied. To read changes nothing: only what
 * queue.h calls a question may be asked then.
 */
bool visit_to_read(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name);
bool visit_to_write(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name);
/*
 * To write at this time, without a reply. False also if the key does not exist; then there is nothing to end.
 * Whoever visits several keys at one moment reads the clock once for all of them: it may be set in between.
 */
bool visit_quietly(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name, uint64_t now);

/* Make the queue if the key does not exist. */
void visit_create(struct visit *visit);

/*
 * The queue was changed by a command: drop dead tasks that are more than it may hold, the oldest first and a bounded
 * number each time, tell WATCH, keyspace notifications (as `event`) and blocked takers, and delete the key if nothing is left in it.
 */
void visit_changed(struct visit *visit, const char *event);
/* The same for what was changed on the word of another server: that decides which tasks go. */
void visit_followed(struct visit *visit, const char *event);

void visit_end(struct visit *visit);

#endif
