/* SPDX-License-Identifier: MIT */
#include "ids.h"

#include "../../src/base/assert.h"
#include "../../src/base/siphash.h"
#include "memory.h"

/*
 * Up to FEW tasks there is no table: one list is as quick to search. SEGMENT is the number of buckets that are
 * allocated at a time, few enough to be quick.
 */
enum { FEW = 8, SEGMENT_BITS = 9, SEGMENT = 1 << SEGMENT_BITS, SPLITS_AHEAD = 8 };

uint64_t ids_secret[2];

static uint64_t hash_of(const unsigned char *bytes, size_t size)
{
	return siphash(ids_secret, bytes, size);
}

static uint64_t hash_of_task(const struct task *task)
{
	return hash_of(task->data, task->id_size);
}

/* How many low bits of the hash select one of `buckets` buckets; one bit less for those that are not split yet. */
static unsigned depth_of(size_t buckets)
{
	return buckets > 1 ? 64u - (unsigned)__builtin_clzll(buckets - 1) : 0;
}

static uint64_t low_bits(uint64_t hash, unsigned bits)
{
	return hash & ((UINT64_C(1) << bits) - 1);
}

/* How many bits of the hash select bucket `index`. */
static unsigned bits_of(const struct ids *ids, uint64_t index)
{
	unsigned depth = depth_of(ids->buckets);
	uint64_t half = depth ? UINT64_C(1) << (depth - 1) : 0;

	if (depth == 0 || index >= half || index + half < ids->buckets)
		return depth;
	return depth - 1;
}

static uint64_t index_of(const struct ids *ids, uint64_t hash)
{
	unsigned depth = depth_of(ids->buckets);
	uint64_t index = low_bits(hash, depth);

	return index < ids->buckets ? index : low_bits(hash, depth - 1);
}

static struct task **bucket_at(const struct ids *ids, uint64_t index)
{
	return &ids->segments[index >> SEGMENT_BITS][index & (SEGMENT - 1)];
}

static struct task **bucket_of(struct ids *ids, const struct task *task)
{
	return ids->segments ? bucket_at(ids, index_of(ids, hash_of_task(task))) : &ids->few;
}

static void link_to(struct task **bucket, struct task *task)
{
	task->next_in_bucket = *bucket;
	*bucket = task;
}

static void add_segment(struct ids *ids)
{
	if (ids->segment_count == ids->segment_room) {
		ids->segment_room = ids->segment_room ? ids->segment_room * 2 : 1;
		ids->segments =
		        memory_resize(ids->segments, ids->segment_room * sizeof(*ids->segments));
	}
	ids->segments[ids->segment_count++] = memory_zeroed(SEGMENT * sizeof(struct task *));
}

/*
 * Buckets are split in order, so the tasks that a split will read are known in advance. The first task of a bucket is
 * prefetched SPLITS_AHEAD splits before, and each further one two splits later: only then is its address known.
 */
static void prefetch_split(const struct ids *ids, uint64_t index)
{
	for (unsigned ahead = SPLITS_AHEAD; ahead > 0; ahead -= 2) {
		const struct task *task = NULL;

		if (index + ahead < ids->buckets)
			task = *bucket_at(ids, index + ahead);
		for (unsigned i = ahead; task && i < SPLITS_AHEAD; i += 2)
			task = task->next_in_bucket;
		if (task)
			task_prefetch(task);
	}
}

static void split(struct ids *ids)
{
	uint64_t fresh = ids->buckets, source;
	struct task **from, *task, *next;

	if (fresh >> SEGMENT_BITS == ids->segment_count)
		add_segment(ids);
	ids->buckets++;
	source = low_bits(fresh, depth_of(ids->buckets) - 1);
	from = bucket_at(ids, source);
	prefetch_split(ids, source);
	task = *from;
	*from = NULL;
	for (; task; task = next) {
		next = task->next_in_bucket;
		link_to(bucket_of(ids, task), task);
	}
}

static void merge(struct ids *ids)
{
	uint64_t last = ids->buckets - 1;
	struct task **from = bucket_at(ids, last), **to, *task, *next;

	to = bucket_at(ids, low_bits(last, depth_of(ids->buckets) - 1));
	for (task = *from; task; task = next) {
		next = task->next_in_bucket;
		link_to(to, task);
	}
	*from = NULL;
	ids->buckets--;
	if (ids->segment_count > (ids->buckets >> SEGMENT_BITS) + 1)
		memory_free(ids->segments[--ids->segment_count]);
}

static void open_table(struct ids *ids)
{
	struct task *task = ids->few, *next;

	add_segment(ids);
	ids->buckets = FEW;
	ids->few = NULL;
	for (; task; task = next) {
		next = task->next_in_bucket;
		link_to(bucket_of(ids, task), task);
	}
}

static void close_table(struct ids *ids)
{
	for (uint64_t i = 0; i < ids->buckets; i++) {
		struct task *task = *bucket_at(ids, i), *next;

		for (; task; task = next) {
			next = task->next_in_bucket;
			link_to(&ids->few, task);
		}
	}
	ids_free(ids);
}

void ids_reserve(struct ids *ids, size_t count)
{
	ASSERT(!ids->segments && ids->count == 0);
	if (count <= FEW)
		return;
	while (ids->segment_count * SEGMENT < count)
		add_segment(ids);
	ids->buckets = count;
}

void ids_free(struct ids *ids)
{
	while (ids->segment_count > 0)
		memory_free(ids->segments[--ids->segment_count]);
	memory_free(ids->segments);
	ids->segments = NULL;
	ids->segment_room = ids->buckets = 0;
}

struct task *ids_find(const struct ids *ids, const struct task_id *id)
{
	struct task *task = ids->few;

	if (ids->segments)
		task = *bucket_at(ids, index_of(ids, hash_of(id->bytes, id->size)));
	while (task && !task_has_id(task, id))
		task = task->next_in_bucket;
	return task;
}

void ids_prefetch(const struct ids *ids, const unsigned char *id, size_t size)
{
	if (ids->segments)
		__builtin_prefetch(bucket_at(ids, index_of(ids, hash_of(id, size))), 1);
}

/* For ASSERT. */
static __attribute__((unused)) bool has_id_of(const struct task *bucket, const struct task *task)
{
	for (; bucket; bucket = bucket->next_in_bucket)
		if (bucket->id_size == task->id_size && bucket->made_here == task->made_here &&
		    __builtin_memcmp(bucket->data, task->data, task->id_size) == 0)
			return true;
	return false;
}

void ids_add(struct ids *ids, struct task *task)
{
	if (!ids->segments && ids->count == FEW)
		open_table(ids);
	ASSERT(!has_id_of(*bucket_of(ids, task), task));
	link_to(bucket_of(ids, task), task);
	ids->count++;
	if (ids->segments && ids->count > ids->buckets)
		split(ids);
}

/* The table shrinks only when a quarter of the buckets is too many: a varying count causes few splits and merges. */
void ids_remove(struct ids *ids, struct task *task)
{
	struct task **link = bucket_of(ids, task);

	while (*link != task) {
		ASSERT(*link);
		link = &(*link)->next_in_bucket;
	}
	*link = task->next_in_bucket;
	ids->count--;
	if (!ids->segments)
		return;
	if (ids->count < FEW / 2)
		close_table(ids);
	else if (ids->count < ids->buckets - ids->buckets / 4 && ids->buckets > FEW)
		merge(ids);
}

static uint64_t reversed(uint64_t x)
{
	x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
	x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
	return __builtin_bswap64(x);
}

void ids_scan(const struct ids *ids, uint64_t cursor, void (*fn)(struct task *, void *), void *arg)
{
	struct task *task = ids->few, *next;

	if (ids->segments)
		task = *bucket_at(ids, index_of(ids, reversed(cursor)));
	for (; task; task = next) {
		next = task->next_in_bucket;
		/* An earlier hash was scanned already, before two buckets merged. */
		if (reversed(hash_of_task(task)) >= cursor)
			fn(task, arg);
	}
}

/* The end of the bucket's range: the next multiple of its width. After the last bucket it wraps to 0. */
uint64_t ids_scan_next(const struct ids *ids, uint64_t cursor)
{
	unsigned bits = ids->segments ? bits_of(ids, index_of(ids, reversed(cursor))) : 0;

	if (bits == 0)
		return 0;
	return ((cursor >> (64 - bits)) + 1) << (64 - bits);
}

void ids_move(struct ids *ids, memory_move_fn *move, void *arg)
{
	void *moved = ids->segments ? move(ids->segments, arg) : NULL;

	if (moved)
		ids->segments = moved;
	for (size_t i = 0; i < ids->segment_count; i++) {
		moved = move(ids->segments[i], arg);
		if (moved)
			ids->segments[i] = moved;
	}
}

void ids_move_tasks(struct ids *ids, uint64_t cursor, memory_move_fn *move, void *arg,
                    void (*moved)(const void *from, struct task *to, void *), void *moved_arg)
{
	struct task **link = &ids->few;

	if (ids->segments)
		link = bucket_at(ids, index_of(ids, reversed(cursor)));
	for (; *link; link = &(*link)->next_in_bucket) {
		const void *from = *link;
		struct task *to = move(*link, arg);

		if (!to)
			continue;
		*link = to;
		moved(from, to, moved_arg);
	}
}

size_t ids_memory(const struct ids *ids)
{
	size_t segment = ids->segment_count ? memory_size(ids->segments[0]) : 0;

	return memory_size(ids->segments) + ids->segment_count * segment;
}
