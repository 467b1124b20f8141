/* SPDX-License-Identifier: MIT */
/*
 * Where a queue's memory comes from. The module takes it from the server, so that it counts for
 * maxmemory (memory.c); the tests of the queue alone take it from malloc. Running out ends the process,
 * as it does everywhere in the server: nobody checks for NULL.
 */
#ifndef PAWL_REDIS_MEMORY_H
#define PAWL_REDIS_MEMORY_H

#include <stddef.h>

void *memory_new(size_t size);    /* not zeroed */
void *memory_zeroed(size_t size); /* all zeroes */
void *memory_resize(void *memory, size_t size);
void memory_free(void *memory);
size_t memory_size(void *memory); /* what it really takes; 0 for NULL */

/* Moves a block of memory: returns where it is now, or NULL if it stays. The old place is gone then. */
typedef void *memory_move_fn(void *memory, void *arg);

#endif
