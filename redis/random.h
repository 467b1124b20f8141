/* SPDX-License-Identifier: MIT */
/* Random numbers that nobody can foresee, from the server's generator, drawn in bulk. */
#ifndef PAWL_REDIS_RANDOM_H
#define PAWL_REDIS_RANDOM_H

#include <stdint.h>

uint64_t random_64(void);

#endif
