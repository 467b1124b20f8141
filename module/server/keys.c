/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include <stdbool.h>
#include <string.h>

#include "../../src/base/siphash.h"
#include "../queue/ids.h"

static size_t bucket_of(int db, const RedisModuleString *name)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(name, &size);

	return (siphash(ids_secret, text, size) + (uint64_t)db) % KEYS_BUCKETS;
}

static bool is_of(const struct keys_entry *entry, int db, const char *text, size_t size)
{
	size_t other_size;
	const char *other = RedisModule_StringPtrLen(entry->name, &other_size);

	return entry->db == db && other_size == size && memcmp(other, text, size) == 0;
}

struct keys_entry *keys_find(const struct keys *keys, int db, const RedisModuleString *name)
{
	struct keys_entry *entry = keys->buckets[bucket_of(db, name)];
	size_t size;
	const char *text = RedisModule_StringPtrLen(name, &size);

	while (entry && !is_of(entry, db, text, size))
		entry = entry->next;
	return entry;
}

void keys_add(struct keys *keys, struct keys_entry *entry, int db, const RedisModuleString *name)
{
	struct keys_entry **bucket = &keys->buckets[bucket_of(db, name)];

	entry->name = RedisModule_CreateStringFromString(NULL, name);
	entry->db = db;
	entry->next = *bucket;
	*bucket = entry;
	keys->count++;
}

void keys_remove(struct keys *keys, struct keys_entry *entry)
{
	struct keys_entry **link = &keys->buckets[bucket_of(entry->db, entry->name)];

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	RedisModule_FreeString(NULL, entry->name);
	keys->count--;
}
