/* SPDX-License-Identifier: MIT */
/* WebAssembly's memory behind the part that the linker placed. It grows and never shrinks. */
#include "memory.h"

#include <stdint.h>

#define PAGE  65536u
#define ALIGN 16u

extern char __heap_base; /* the linker's */

static size_t top;  /* the first free address */
static size_t used; /* the first that was never taken, and so is still zero */

void memory_reset(void)
{
	top = 0;
}

static size_t rounded_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

void *memory_take(size_t size)
{
	size_t begin = rounded_up(top ? top : (size_t)(uintptr_t)&__heap_base, ALIGN);
	size_t pages = __builtin_wasm_memory_size(0);

	if (size > SIZE_MAX - begin - PAGE)
		return NULL;
	if (begin + size > pages * PAGE) {
		size_t more = rounded_up(begin + size, PAGE) / PAGE - pages;

		if (__builtin_wasm_memory_grow(0, more) == SIZE_MAX)
			return NULL;
	}
	if (begin < used)
		__builtin_memset((void *)begin, 0, used - begin < size ? used - begin : size);
	top = begin + size;
	used = top > used ? top : used;
	return (void *)begin;
}
