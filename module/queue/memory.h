/* SPDX-License-Identifier: MIT */
/*
 * The queue's allocator. In the module it is the server's, so that the memory counts for maxmemory (memory.c); in the
 * tests of the queue it is malloc. Without memory the process ends, as everywhere in the server: no caller checks for
 * NULL.
 */
#ifndef PAWL_MODULE_MEMORY_H
#define PAWL_MODULE_MEMORY_H

#include <stddef.h>

void *memory_new(size_t size);    /* not zeroed */
void *memory_zeroed(size_t size); /* all zeroes */
void *memory_resize(void *memory, size_t size);
void memory_free(void *memory);
size_t memory_size(void *memory); /* bytes allocated, rounding included; 0 for NULL */

/* Moves a block of memory: returns its new address, and the old one is free; or NULL if the block stays. */
typedef void *memory_move_fn(void *memory, void *arg);

#endif
