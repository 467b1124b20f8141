/* SPDX-License-Identifier: MIT */
/* Active defragmentation: the server asks for a value's memory to be moved to where it lies closely. */
#ifndef PAWL_REDIS_DEFRAG_H
#define PAWL_REDIS_DEFRAG_H

#include "redis_module.h"

/* Returns 0 when it is through, 1 if it has to go on. */
int defrag_queue(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);

#endif
