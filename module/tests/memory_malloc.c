/* SPDX-License-Identifier: MIT */
/* module/queue/memory.h from malloc, for tests of the queue without a server. */
#include <malloc.h>
#include <stdlib.h>

#include "../queue/memory.h"

static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void *memory_new(size_t size)
{
	return checked(malloc(size));
}

void *memory_zeroed(size_t size)
{
	return checked(calloc(1, size));
}

void *memory_resize(void *memory, size_t size)
{
	return checked(realloc(memory, size));
}

void memory_free(void *memory)
{
	free(memory);
}

size_t memory_size(void *memory)
{
	return memory ? malloc_usable_size(memory) : 0;
}
