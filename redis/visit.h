/* SPDX-License-Identifier: MIT */
/*
 * A visit to a key: it is opened, read, perhaps changed, and closed within one command. No pointer is kept afterwards:
 * between two commands the value may be freed, renamed, swapped or copied.
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
	struct metrics *metrics; /* of this key, or NULL before its first use */
};

/*
 * Open the key. False: it has another type, and WRONGTYPE was replied. After visit_to_read() only the questions of queue.h
 * may be called.
 */
bool visit_to_read(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name);
bool visit_to_write(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name);
/*
 * Open to write, without a reply. False: the key has another type or does not exist; visit_end() is not needed. A caller
 * that visits several keys at the same time reads the clock once for all of them, since it may be set in between.
 */
bool visit_quietly(struct visit *visit, RedisModuleCtx *ctx, RedisModuleString *name, uint64_t now);

/* The task with the id in this argument, which arg_can_be_id() has checked; NULL if there is none. */
struct task *visit_find(struct visit *visit, const RedisModuleString *arg);

/* Create the queue if the key does not exist. */
void visit_create(struct visit *visit);

/*
 * A command changed the queue: delete dead tasks beyond MAXDEAD, the oldest first and at most TRIM_MAX; notify WATCH,
 * keyspace notifications (as `event`) and blocked takers; delete the key if the queue is empty.
 */
void visit_changed(struct visit *visit, const char *event);
/* The same for a command of the replication stream, but MAXDEAD is left to the primary. */
void visit_followed(struct visit *visit, const char *event);

void visit_end(struct visit *visit);

#endif
