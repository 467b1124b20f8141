/* SPDX-License-Identifier: MIT */
/*
 * An access to a key: it is opened, read, perhaps changed, and closed within one command. No pointer is kept
 * afterwards: between two commands the value may be freed, renamed, swapped or copied.
 */
#ifndef PAWL_MODULE_ACCESS_H
#define PAWL_MODULE_ACCESS_H

#include "../queue/queue.h"
#include "metrics.h"
#include "redis_module.h"

extern RedisModuleType *queue_type;

/*
 * persist.c: register the data type, that is, the functions by which the server saves, loads, copies, measures,
 * defragments and frees a queue. Returns REDISMODULE_OK or REDISMODULE_ERR.
 */
int register_type(RedisModuleCtx *ctx);

struct access {
	RedisModuleCtx *ctx;
	RedisModuleString *name; /* borrowed */
	RedisModuleKey *key;
	struct queue *queue; /* NULL: the key does not exist */
	uint64_t now;
	struct key_metrics metrics;
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

/* Create the queue if the key does not exist. */
void access_create(struct access *access);

/* Delete the key and its queue. */
void access_delete(struct access *access);

void access_end(struct access *access);

/* The server's wall clock in milliseconds; in tests, a clock that only clock_set() changes. */
uint64_t clock_now(void);

/* The time is `ms` until the next call. */
void clock_set(uint64_t ms);
bool clock_is_set(void);

#endif
