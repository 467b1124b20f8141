/* SPDX-License-Identifier: MIT */
/* Active defragmentation: the server asks the module to move a value's memory to denser pages. */
#ifndef PAWL_MODULE_DEFRAG_H
#define PAWL_MODULE_DEFRAG_H

#include "redis_module.h"

/* Returns 0 when the queue is done, 1 to be called again. */
int defrag_queue(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);

#endif
