/* SPDX-License-Identifier: MIT */
/*
 * An access to a key: it is opened, read, perhaps changed, and closed within one command. No pointer is kept
 * afterwards: between two commands the value may be freed, renamed, swapped or copied.
 */
#ifndef PAWL_MODULE_ACCESS_H
#define PAWL_MODULE_ACCESS_H

#include "../queue/queue.h"
#include "redis_module.h"

struct metrics;

extern RedisModuleType *queue_type;

struct access {
	RedisModuleCtx *ctx;
	RedisModuleString *name; /* borrowed */
	RedisModuleKey *key;
	struct queue *queue; /* NULL: the key does not exist */
	uint64_t now;
	struct metrics *metrics; /* of this key, or NULL before its first use */
};

/*
 * Open the key. False: it has another type, and WRONGTYPE was replied. After access_to_read() only the questions of
 * queue.h may be called.
 */
bool access_to_read(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name);
bool access_to_write(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name);
/*
 * Open to write, without a reply. False: the key has another type or does not exist; access_end() is not needed. A
 * caller that opens several keys at the same time reads the clock once for all of them, since it may be set in between.
 */
bool access_quietly(struct access *access, RedisModuleCtx *ctx, RedisModuleString *name,
                    uint64_t now);

/* The task with the id in this argument, which arg_can_be_id() has checked; NULL if there is none. */
struct task *access_find(struct access *access, const RedisModuleString *arg);

/* Create the queue if the key does not exist. */
void access_create(struct access *access);

/*
 * A command changed the queue: delete dead tasks beyond MAXDEAD, the oldest first and at most TRIM_MAX; notify WATCH,
 * keyspace notifications (as `event`) and blocked takers; delete the key if the queue is empty.
 */
void access_changed(struct access *access, const char *event);
/* The same for a command of the replication stream, but MAXDEAD is left to the primary. */
void access_followed(struct access *access, const char *event);

void access_end(struct access *access);

#endif
