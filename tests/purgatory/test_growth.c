/* SPDX-License-Identifier: MIT */
/*
 * test_purgatory_growth [--seed S]
 *
 * Tables that grow, looked at from inside: how much one call moves, and whether both tables are right in the middle of
 * a growth. The other tests see growing tables from outside.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../../src/purgatory/layout.h"
#include "../support/purgatories.h"

#define MOST     4000 /* operations */
#define KEYS_MAX 6

static struct request requests[MOST];
static uint64_t seed = 1;

int __wrap_pawl__system_random(void *bytes, size_t size);

/* The secret of the hash: it decides which bucket a key has. */
int __wrap_pawl__system_random(void *bytes, size_t size)
{
	struct random random = {seed};

	for (size_t i = 0; i < size; i++)
		((unsigned char *)bytes)[i] = (unsigned char)random_next(&random);
	return 0;
}

/* One shard; with requests to use. */
static void open_one_shard(struct room *room)
{
	room_open(room, &every_mode[0], 1);
	requests_init(requests, MOST, room);
}

static void leave_and_close(struct room *room)
{
	leave_room(room);
	room_close(room);
}

static struct op_shard *shard_of(const struct room *room)
{
	return &room->purgatory->shards[0];
}

static bool grows(const struct room *room)
{
	return shard_of(room)->oldest != shard_of(room)->table;
}

static int watch_numbers(struct request *request, const uint32_t *numbers, size_t count)
{
	struct pawl_key keys[KEYS_MAX];

	for (size_t i = 0; i < count; i++)
		keys[i] = key_numbered(request->room, numbers[i]);
	return watch_keys(request, keys, count);
}

/* How far the growth has come: operations that have yet to move, and buckets that are left for good. */
struct progress {
	const struct table *oldest;
	uint64_t to_move, left;
};

static struct progress progress_of(const struct room *room)
{
	const struct op_shard *shard = shard_of(room);
	struct progress progress = {.oldest = shard->oldest};

	if (!grows(room))
		return progress;
	progress.left = shard->moved;
	for (uint64_t i = 0; i <= shard->oldest->mask; i++)
		progress.to_move += shard->oldest->buckets[i].count;
	return progress;
}

/* After a call that has completed nothing. A growth that has ended meanwhile had this much to do. */
static void expect_a_few_moves(const struct room *room, const struct progress *before)
{
	struct progress after = progress_of(room);

	if (before->to_move == 0 && before->left == 0)
		return; /* it did not grow before: a growth begins with nothing moved */
	if (after.oldest != before->oldest) {
		after.to_move = 0;
		after.left = before->oldest->mask + 1;
	}
	EXPECT(before->to_move - after.to_move + after.left - before->left <= MOST_MOVES);
}

/*
 * Every fourth operation is under one key, so its list is long; each other one has its own. The limit holds for the
 * bucket with the long list as well.
 */
static void no_call_moves_more_than_a_few_operations(void)
{
	struct progress progress;
	unsigned growths = 0, calls = 0;
	struct room room;

	open_one_shard(&room);
	for (uint32_t i = 0; i < MOST; i++) {
		const struct table *table = shard_of(&room)->table;

		progress = progress_of(&room);
		EXPECT_EQ(watch_numbered(&requests[i], i % 4 ? i : 0), 0);
		expect_a_few_moves(&room, &progress);
		growths += shard_of(&room)->table != table;
		calls += grows(&room);
		if (i % 8)
			continue;
		progress = progress_of(&room);
		EXPECT_EQ(check_numbered(&room, i), 0);
		expect_a_few_moves(&room, &progress);
	}
	EXPECT(growths >= 4);
	EXPECT(calls > 10 * growths);
	leave_and_close(&room);
}

/*
 * However many keys operations have: with up to four, two pairs a bucket, and those that come while it grows. A call of
 * more keys moves as many more operations.
 */
static void a_table_has_grown_before_it_is_full_again(void)
{
	static const uint32_t counts[] = {1, 2, 3, 4, 100};

	for (size_t c = 0; c < COUNTOF(counts); c++) {
		uint32_t count = counts[c], few = count <= PAWL_OP_WATCHES;
		struct pawl_key keys[100];
		struct room room;

		open_one_shard(&room);
		for (uint32_t i = 0; i < (few ? MOST : MOST / 2); i++) {
			uint64_t buckets;

			for (uint32_t j = 0; j < count; j++)
				keys[j] = key_numbered(&room, count * i + j);
			EXPECT_EQ(watch_keys(&requests[i], keys, count), 0);
			buckets = shard_of(&room)->table->mask + 1;
			EXPECT(shard_of(&room)->watched <=
			       (few ? 2 * buckets + 64 : 3 * buckets + 512));
		}
		leave_and_close(&room);
	}
}

/* The lists of a table against its counts */

struct found {
	uint64_t operations, used;
};

static void expect_bucket_right(const struct op_shard *shard, const struct table *table,
                                uint64_t index, struct found *found)
{
	const struct bucket *bucket = &table->buckets[index];
	const struct bucket *read = NULL; /* by checks */
	uint64_t operations = 0;

	for (unsigned c = 0; c < CHAINS; c++) {
		const uintptr_t *link = &bucket->chains[c];

		for (uintptr_t node = *link; node; node = *link) {
			struct pawl_op_watches *watches =
			        (struct pawl_op_watches *)(node & ~(uintptr_t)3);
			unsigned key = node & 3;

			EXPECT(watches->link[key] == link);
			EXPECT_EQ(watches->low[key] & table->mask, index);
			EXPECT_EQ((watches->tags ^ table->tags) >> key & 1, 0);
			read = &shard->oldest->buckets[watches->low[key] & shard->oldest->mask];
			EXPECT(read->filter & UINT64_C(1) << (watches->low[key] >> 58));
			EXPECT(bucket->filter & UINT64_C(1) << (watches->low[key] >> 58));
			operations++;
			link = &watches->next[key];
		}
	}
	EXPECT_EQ(bucket->count, operations);
	EXPECT_EQ(bucket->adds > 0, operations > 0);
	if (operations == 0 && table == shard->table)
		EXPECT_EQ(bucket->filter, 0);
	found->operations += operations;
	found->used += operations > 0;
}

/* Nothing is under way, so there are no cursors. */
static void expect_tables_right(const struct room *room)
{
	const struct op_shard *shard = shard_of(room);
	struct found found = {0};

	for (const struct table *table = shard->table; table; table = table->older)
		for (uint64_t i = 0; i <= table->mask; i++) {
			struct found before = found;

			if (table == shard->table || table == shard->oldest)
				expect_bucket_right(shard, table, i, &found);
			else
				EXPECT_EQ(table->buckets[i].count, 0);
			if (table == shard->oldest && table != shard->table && i < shard->moved)
				EXPECT_EQ(found.operations, before.operations);
		}
	EXPECT_EQ(found.operations, shard->watched);
	EXPECT_EQ(found.used, shard->used);
	EXPECT(room->purgatory->tables[0] == shard->oldest);
}

/* A random operation on random requests. Key 0 is chosen often. */
static void do_something(struct room *room, struct random *random, uint32_t range)
{
	struct request *request = &requests[random_below(random, MOST)];
	uint32_t numbers[KEYS_MAX];
	size_t count = 1 + random_below(random, KEYS_MAX);

	for (size_t i = 0; i < count; i++)
		numbers[i] = random_below(random, 3) ? (uint32_t)random_below(random, range) : 0;
	if (request->story[0] || !request->op.home) {
		request_init(request, room);
		request->ready_from = 3 + (unsigned)random_below(random, 20);
		EXPECT_EQ(watch_numbers(request, numbers, count), 0);
	} else if (random_below(random, 4) == 0) {
		EXPECT(pawl_op_complete(&request->op));
	} else if (random_below(random, 8)) {
		check_numbered(room, numbers[0]);
	} else {
		pawl_purgatory_cancel_key(room->purgatory, key_numbered(room, numbers[0]),
		                          request_cancelled);
	}
}

static void a_table_is_right_at_every_point_of_a_growth(void)
{
	unsigned growing = 0;

	fprintf(stderr, "    seed %llu: repeat with --seed\n", (unsigned long long)seed);
	for (unsigned run = 0; run < 20; run++) {
		struct random random = {seed + run};
		struct room room;

		open_one_shard(&room);
		for (unsigned i = 0; i < 1500; i++) {
			do_something(&room, &random, 20000);
			if (i % 16 == 0 || (grows(&room) && i % 4 == 0))
				expect_tables_right(&room);
			growing += grows(&room);
		}
		leave_room(&room);
		expect_tables_right(&room);
		room_close(&room);
	}
	EXPECT(growing > 100);
}

/* A table that is prepared and no longer needed waits until it is. */
static void a_table_may_empty_while_its_successor_is_prepared(void)
{
	enum { FULL = 2 * FEW_BUCKETS };
	struct room room;

	room_open(&room, &every_mode[0], 1);
	for (unsigned round = 0; round < 3; round++) {
		requests_init(requests, MOST, &room);
		for (uint32_t i = 0; i < FULL + round; i++)
			EXPECT_EQ(watch_numbered(&requests[i], i), 0);
		for (uint32_t i = 0; i < FULL + round; i++) {
			requests[i].ready = 1;
			EXPECT_EQ(check_numbered(&room, i), 1);
			EXPECT_STR(requests[i].story, "cr");
		}
		expect_tables_right(&room);
		expect_counted(&room, 0, 0);
	}
	room_close(&room);
}

/* A key whose bucket is that of key 0, in a table that has not grown. */
static uint32_t neighbour_of_key_0(const struct room *room)
{
	struct request first, other;
	uint32_t number = 0;

	request_init(&first, (struct room *)(uintptr_t)room);
	EXPECT_EQ(watch_numbered(&first, 0), 0);
	do {
		request_init(&other, first.room);
		EXPECT_EQ(watch_numbered(&other, ++number), 0);
		pawl_op_complete(&other.op);
	} while ((first.op.watches.low[0] ^ other.op.watches.low[0]) % FEW_BUCKETS);
	pawl_op_complete(&first.op);
	return number;
}

/* It releases the lock after some of them, and goes on where it was. */
static void a_check_passes_many_operations_of_another_key(void)
{
	struct room room;
	uint32_t other;

	open_one_shard(&room);
	other = neighbour_of_key_0(&room);
	for (uint32_t i = 0; i < MOST; i++)
		EXPECT_EQ(watch_numbered(&requests[i], i % 1000 ? 0 : other), 0);
	for (uint32_t i = 0; i < MOST; i += 1000)
		requests[i].ready = 1;
	EXPECT_EQ(check_numbered(&room, other), MOST / 1000);
	EXPECT_EQ(shard_of(&room)->table->mask, FEW_BUCKETS - 1);
	EXPECT_EQ(requests[1].tries, 2); /* both by try_or_watch */
	expect_tables_right(&room);
	leave_and_close(&room);
}

/* An operation with many keys does not wait until others have made room for it. */
static void many_keys_end_one_growth_and_the_next(void)
{
	enum { MANY = 3000 };
	static struct pawl_key keys[MANY];
	struct request many;
	struct room room;
	uint32_t i = 0;

	open_one_shard(&room);
	request_init(&many, &room);
	while (!grows(&room))
		EXPECT_EQ(watch_numbered(&requests[i], i), 0), i++;
	for (uint32_t k = 0; k < MANY; k++)
		keys[k] = key_numbered(&room, k / 2);
	EXPECT_EQ(watch_keys(&many, keys, MANY), 0);
	expect_counted(&room, i + MANY / 2, i + 1);
	EXPECT(shard_of(&room)->table->mask > MANY);
	EXPECT(!grows(&room));
	expect_tables_right(&room);
	leave_room(&room);
	expect_tables_right(&room);
	room_close(&room);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(no_call_moves_more_than_a_few_operations),
	        TEST(a_table_has_grown_before_it_is_full_again),
	        TEST(a_table_is_right_at_every_point_of_a_growth),
	        TEST(a_table_may_empty_while_its_successor_is_prepared),
	        TEST(a_check_passes_many_operations_of_another_key),
	        TEST(many_keys_end_one_growth_and_the_next),
	};

	if (argc == 3 && strcmp(argv[1], "--seed") == 0)
		seed = strtoull(argv[2], NULL, 10);
	return RUN_TESTS(tests);
}
