/* SPDX-License-Identifier: MIT */
/* A hash table of chains with a lock for each group of buckets. Its memory is not malloc's: a program may count that. */
#define _GNU_SOURCE
#include "table.h"

#include "../system/system.h"

#ifdef PAWL_CHECKED
enum { BUCKET_BITS = 18, BUCKETS = 1 << BUCKET_BITS, GROUPS = 64, CHUNK = 256 };

struct entry {
	struct entry *next;
	struct record record;
};

static struct group {
	int held;
	struct entry *unused;
} __attribute__((aligned(LINE))) groups[GROUPS];
static struct entry *first_in_bucket[BUCKETS];

static unsigned bucket_of(const void *address)
{
	return (unsigned)(((uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15)) >>
	                  (64 - BUCKET_BITS));
}

static struct group *lock_group(unsigned bucket)
{
	struct group *group = &groups[bucket % GROUPS];

	while (__atomic_exchange_n(&group->held, 1, __ATOMIC_SEQ_CST))
		yield_cpu();
	return group;
}

static void unlock_group(struct group *group)
{
	__atomic_store_n(&group->held, 0, __ATOMIC_SEQ_CST);
}

/* The link to the entry; to NULL if there is none. */
static struct entry **find(unsigned bucket, enum checked_kind kind, const void *address)
{
	struct entry **link = &first_in_bucket[bucket];

	while (*link && ((*link)->record.address != address || (*link)->record.kind != kind))
		link = &(*link)->next;
	return link;
}

static void add_chunk(struct group *group)
{
	struct entry *entries = pawl__system_pages(CHUNK * sizeof(*entries));

	if (!entries)
		pawl__mistake("the checked build", "the system has no memory for its table");
	for (unsigned i = 0; i < CHUNK; i++) {
		entries[i].next = group->unused;
		group->unused = &entries[i];
	}
}

static struct entry *take_unused(struct group *group)
{
	struct entry *entry;

	if (!group->unused)
		add_chunk(group);
	entry = group->unused;
	group->unused = entry->next;
	entry->next = NULL;
	return entry;
}

bool pawl__table_get(enum checked_kind kind, const void *address, struct record *record)
{
	unsigned bucket = bucket_of(address);
	struct group *group = lock_group(bucket);
	const struct entry *entry = *find(bucket, kind, address);

	if (entry)
		*record = entry->record;
	unlock_group(group);
	return entry != NULL;
}

void pawl__table_put(const struct record *record)
{
	unsigned bucket = bucket_of(record->address);
	struct group *group = lock_group(bucket);
	struct entry **link = find(bucket, record->kind, record->address);

	if (!*link)
		*link = take_unused(group);
	(*link)->record = *record;
	unlock_group(group);
}

void pawl__table_remove(enum checked_kind kind, const void *address)
{
	unsigned bucket = bucket_of(address);
	struct group *group = lock_group(bucket);
	struct entry **link = find(bucket, kind, address), *entry = *link;

	if (entry) {
		*link = entry->next;
		entry->next = group->unused;
		group->unused = entry;
	}
	unlock_group(group);
}

/* The address of a thread's own variable tells it from all others that live. */
static const void *this_thread(void)
{
	static _Thread_local char own;

	return &own;
}

bool pawl__table_enter(const void *wheel, const char *call, struct record *record)
{
	unsigned bucket = bucket_of(wheel);
	struct group *group = lock_group(bucket);
	struct entry *entry = *find(bucket, A_WHEEL, wheel);
	bool entered = entry && (!entry->record.depth || entry->record.thread == this_thread());

	*record = entry ? entry->record : (struct record){.kind = A_WHEEL};
	if (entered) {
		if (entry->record.depth++ == 0)
			entry->record.name = call;
		entry->record.thread = this_thread();
	}
	unlock_group(group);
	return entered;
}

void pawl__table_leave(const void *wheel)
{
	unsigned bucket = bucket_of(wheel);
	struct group *group = lock_group(bucket);
	struct entry *entry = *find(bucket, A_WHEEL, wheel);

	if (entry && entry->record.depth)
		entry->record.depth--;
	unlock_group(group);
}
#endif
