/* SPDX-License-Identifier: MIT */
/* A hash table by key (database and name), for the lines of takers and for the counters of queues. */
#ifndef PAWL_MODULE_KEYS_H
#define PAWL_MODULE_KEYS_H

#include <stddef.h>

#include "redis_module.h"

enum { KEYS_BUCKETS = 1 << 14 };

/* An entry is a member of the thing that belongs to the key. */
struct keys_entry {
	struct keys_entry *next; /* in its bucket */
	RedisModuleString *name; /* the table's own copy */
	int db;
};

struct keys {
	struct keys_entry *buckets[KEYS_BUCKETS];
	size_t count;
};

/* The entry of a key, or NULL. */
struct keys_entry *keys_find(const struct keys *keys, int db, const RedisModuleString *name);
/* Add an entry for a key that has none. The name is copied. */
void keys_add(struct keys *keys, struct keys_entry *entry, int db, const RedisModuleString *name);
void keys_remove(struct keys *keys, struct keys_entry *entry);

#endif
