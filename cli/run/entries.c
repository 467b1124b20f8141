/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

/* The size of the timetable before the name. Few lines have one, so the others have no room for it. */
static size_t timetable_size(enum line_kind kind)
{
	return kind == LINE_CALENDAR ? sizeof(struct timetable) : 0;
}

struct entry *entry_new(const struct line *line, uint64_t number)
{
	struct entry *entry = malloc(sizeof(*entry) + timetable_size(line->kind) +
	                             line->name.length + line->text.length + sizeof("\n"));
	char *at;

	if (!entry)
		return NULL;
	*entry = (struct entry){
	        .ns = line->ns,
	        .number = number,
	        .text_length = (uint32_t)line->text.length,
	        .name_length = (uint16_t)line->name.length,
	        .kind = (uint8_t)line->kind,
	};
	memcpy(entry->bytes, &line->timetable, timetable_size(line->kind));
	at = entry->bytes + timetable_size(line->kind);
	if (line->name.length > 0)
		memcpy(at, line->name.text, line->name.length);
	at += line->name.length;
	memcpy(at, line->text.text, line->text.length);
	memcpy(at + line->text.length, "\n", sizeof("\n"));
	return entry;
}

const char *entry_text(const struct entry *entry)
{
	return entry->bytes + timetable_size(entry->kind) + entry->name_length;
}

bool entry_repeats(const struct entry *entry)
{
	return entry->kind == LINE_EVERY || entry->kind == LINE_CALENDAR;
}

bool entry_waits_for_wall(const struct entry *entry)
{
	return entry->kind == LINE_AT || entry->kind == LINE_CALENDAR;
}

struct timetable entry_timetable(const struct entry *entry)
{
	struct timetable timetable;

	memcpy(&timetable, entry->bytes, sizeof(timetable));
	return timetable;
}

/* FNV-1a */
static uint64_t hash(struct span name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < name.length; i++)
		hash = (hash ^ (unsigned char)name.text[i]) * 0x100000001b3u;
	return hash;
}

static struct span name_of(const struct entry *entry)
{
	return (struct span){entry->bytes + timetable_size(entry->kind), entry->name_length};
}

static struct entry **bucket_of(const struct names *names, struct span name)
{
	return &names->buckets[hash(name) & (names->size - 1)];
}

static void insert(struct names *names, struct entry *entry)
{
	struct entry **bucket = bucket_of(names, name_of(entry));

	entry->next_named = *bucket;
	*bucket = entry;
}

static bool grow(struct names *names)
{
	struct names larger = {.size = names->size ? names->size * 2 : 64, .count = names->count};

	larger.buckets = calloc(larger.size, sizeof(struct entry *));
	if (!larger.buckets)
		return false;
	for (size_t i = 0; i < names->size; i++)
		for (struct entry *entry = names->buckets[i], *next; entry; entry = next) {
			next = entry->next_named;
			insert(&larger, entry);
		}
	free(names->buckets);
	*names = larger;
	return true;
}

bool names_add(struct names *names, struct entry *entry)
{
	if (names->count >= names->size && !grow(names))
		return false;
	insert(names, entry);
	names->count++;
	return true;
}

struct entry *names_find(const struct names *names, struct span name)
{
	struct entry *entry = names->size ? *bucket_of(names, name) : NULL;

	while (entry && (entry->name_length != name.length ||
	                 memcmp(name_of(entry).text, name.text, name.length) != 0))
		entry = entry->next_named;
	return entry;
}

void names_remove(struct names *names, struct entry *entry)
{
	struct entry **link;

	if (entry->name_length == 0)
		return;
	link = bucket_of(names, name_of(entry));
	while (*link != entry)
		link = &(*link)->next_named;
	*link = entry->next_named;
	names->count--;
}

void names_close(struct names *names)
{
	free(names->buckets);
	*names = (struct names){0};
}
