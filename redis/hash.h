/* SPDX-License-Identifier: MIT */
/* SipHash with one round a word and three at the end: a keyed hash that is quick on short strings. */
#ifndef PAWL_REDIS_HASH_H
#define PAWL_REDIS_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const unsigned char *bytes, size_t size, const uint64_t key[2]);

#endif
