/* SPDX-License-Identifier: MIT */
/*
 * Unpredictable random numbers: a counter under a keyed hash, whose key comes from the server's generator. Asking that
 * generator for each number took more time than a PUT.
 */
#ifndef PAWL_REDIS_RANDOM_H
#define PAWL_REDIS_RANDOM_H

#include <stdint.h>

void random_init(void); /* once, before the first number */
uint64_t random_64(void);

#endif
