/* SPDX-License-Identifier: MIT */
/* The data type: the functions by which the server saves, loads, copies, measures and frees a queue. */
#ifndef PAWL_MODULE_PERSIST_H
#define PAWL_MODULE_PERSIST_H

#include "redis_module.h"

/* Register the type. Returns REDISMODULE_OK or REDISMODULE_ERR. */
int register_type(RedisModuleCtx *ctx);

#endif
