/* SPDX-License-Identifier: MIT */
#include "redis_module.h"

#define DEFINE(result, name, arguments) result(*RedisModule_##name) arguments;
REDISMODULE_FUNCTIONS(DEFINE)

int (*RedisModule_SetCommandACLCategories)(RedisModuleCommand *, const char *);

typedef int get_api_fn(const char *name, void *function);

static get_api_fn *get_api_of(RedisModuleCtx *ctx)
{
	return *(get_api_fn **)(void *)ctx;
}

const char *RedisModule_Bind(RedisModuleCtx *ctx)
{
	get_api_fn *get_api = get_api_of(ctx);

	get_api("RedisModule_SetCommandACLCategories", &RedisModule_SetCommandACLCategories);
#define FIND(result, name, arguments)                                             \
	if (get_api("RedisModule_" #name, &RedisModule_##name) != REDISMODULE_OK) \
		return "RedisModule_" #name;
	REDISMODULE_FUNCTIONS(FIND)
	return NULL;
}
