/* SPDX-License-Identifier: MIT */
/* The page's memory: allocated piece by piece, freed all at once. */
#ifndef PAWL_PLAYGROUND_MEMORY_H
#define PAWL_PLAYGROUND_MEMORY_H

#include <stddef.h>

/* Free everything. */
void memory_reset(void);

/* Zeroed, and aligned as malloc aligns; NULL if the memory is used up. */
void *memory_take(size_t size);

#endif
