/* SPDX-License-Identifier: MIT */
/* The queue allocates from the server. */
#include "../queue/memory.h"

#include "redis_module.h"

void *memory_new(size_t size)
{
	return RedisModule_Alloc(size);
}

void *memory_zeroed(size_t size)
{
	return RedisModule_Calloc(1, size);
}

void *memory_resize(void *memory, size_t size)
{
	return RedisModule_Realloc(memory, size);
}

void memory_free(void *memory)
{
	RedisModule_Free(memory);
}

size_t memory_size(void *memory)
{
	return memory ? RedisModule_MallocSize(memory) : 0;
}
