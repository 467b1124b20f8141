/* SPDX-License-Identifier: MIT */
#include "random.h"

#include "redis_module.h"

enum { POOL = 256 };

uint64_t random_64(void)
{
	static uint64_t pool[POOL];
	static unsigned left;

	if (left == 0) {
		RedisModule_GetRandomBytes((unsigned char *)pool, sizeof(pool));
		left = POOL;
	}
	return pool[--left];
}
