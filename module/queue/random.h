/* SPDX-License-Identifier: MIT */
/*
 * Unpredictable random numbers: a counter under a keyed hash, whose key comes from the server's generator. Asking that
 * generator for each number took more time than a PUT.
 */
#ifndef PAWL_MODULE_RANDOM_H
#define PAWL_MODULE_RANDOM_H

#include <stdint.h>

void random_init(const uint64_t key[2]); /* once, before the first number */
uint64_t random_64(void);

#endif
