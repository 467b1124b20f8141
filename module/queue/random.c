/* SPDX-License-Identifier: MIT */
#include "random.h"

#include "../src/hash/siphash.h"
#include "redis_module.h"

static uint64_t key[2], counter;

void random_init(void)
{
	RedisModule_GetRandomBytes((unsigned char *)key, sizeof(key));
}

uint64_t random_64(void)
{
	counter++;
	return siphash(key, &counter, sizeof(counter));
}
