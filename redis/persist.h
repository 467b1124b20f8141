/* SPDX-License-Identifier: MIT */
/* The data type: what the server needs to know to save, load, copy, measure and free a queue. */
#ifndef PAWL_REDIS_PERSIST_H
#define PAWL_REDIS_PERSIST_H

#include "redis_module.h"

/* Make the type known to the server. REDISMODULE_OK or REDISMODULE_ERR. */
int register_type(RedisModuleCtx *ctx);

#endif
