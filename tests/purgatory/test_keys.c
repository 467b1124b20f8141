/* SPDX-License-Identifier: MIT */
/* Keys: what is refused, bytes, and the calls that go by key. */
#define _GNU_SOURCE
#include <errno.h>

#include "../../src/base/siphash.h"
#include "../support/purgatories.h"

/* The hash */

/* CPython 3.11 hashes by SipHash-1-3, with PYTHONHASHSEED=0 by a secret of zeroes. */
static void the_first_64_bits_of_a_hash_are_siphash_1_3(void)
{
	const uint64_t zeroes[2] = {0};
	uint32_t more;

	EXPECT_EQ(siphash(zeroes, "pawl", 4), UINT64_C(0xcf21cee8276ae4a9));
	EXPECT_EQ(siphash_96(zeroes, "pawl", 4, &more), UINT64_C(0xcf21cee8276ae4a9));
}

enum { KEYS = 4096, HASH_BITS = 96 };

/* 2048 of 4096 are to be expected, and 32 less or more. */
static void expect_half(unsigned keys)
{
	EXPECT(keys > 1800);
	EXPECT(keys < 2300);
}

struct hash_bits {
	bool is_set[HASH_BITS];
};

static struct hash_bits hash_bits(uint64_t key)
{
	const uint64_t secret[2] = {1, 2};
	struct hash_bits bits;
	uint32_t more;
	uint64_t hash = siphash_96(secret, &key, sizeof(key), &more);

	for (unsigned i = 0; i < HASH_BITS; i++)
		bits.is_set[i] = i < 64 ? hash >> i & 1 : more >> (i - 64) & 1;
	return bits;
}

static void a_bit_of_a_key_changes_each_bit_of_the_hash_for_half_of_the_keys(void)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned changed[HASH_BITS] = {0};

		for (uint64_t key = 0; key < KEYS; key++) {
			struct hash_bits one = hash_bits(key), other;

			other = hash_bits(key ^ UINT64_C(1) << bit);
			for (unsigned i = 0; i < HASH_BITS; i++)
				changed[i] += one.is_set[i] != other.is_set[i];
		}
		for (unsigned i = 0; i < HASH_BITS; i++)
			expect_half(changed[i]);
	}
}

static void two_bits_of_a_hash_are_equal_for_half_of_the_keys(void)
{
	static unsigned equal[HASH_BITS][HASH_BITS];

	for (uint64_t key = 0; key < KEYS; key++) {
		struct hash_bits bits = hash_bits(key);

		for (unsigned i = 0; i < HASH_BITS; i++)
			for (unsigned j = 0; j < i; j++)
				equal[i][j] += bits.is_set[i] == bits.is_set[j];
	}
	for (unsigned i = 0; i < HASH_BITS; i++)
		for (unsigned j = 0; j < i; j++)
			expect_half(equal[i][j]);
}

/* Refusals of try_or_watch */

/* As it was: fresh, and good for another call. */
static void expect_fresh(struct request *request)
{
	EXPECT_STR(request->story, "");
	expect_counted(request->room, 0, 0);
	EXPECT_EQ(pawl_service_pending(request->room->fixture.service), 0);
	request->ready = 1;
	EXPECT_EQ(watch(request, "abcdef", HOUR), 1);
	EXPECT_STR(request->story, "cr");
	request_init(request, request->room);
}

IN_EVERY_ROOM(bad_keys_are_refused)
{
	struct pawl_purgatory *other = purgatory_with(room->fixture.service, 2);
	const struct pawl_key good = key_of(room, "a");
	const struct pawl_key bad[] = {{0},
	                               pawl_purgatory_key(room->purgatory, NULL, 1),
	                               pawl_purgatory_key(other, "a", 1)};
	struct request request;

	request_init(&request, room);
	for (size_t i = 0; i < COUNTOF(bad); i++) {
		const struct pawl_key good_then_bad[] = {good, bad[i]};

		EXPECT_EQ(watch_keys(&request, &bad[i], 1), -EINVAL);
		EXPECT_EQ(watch_keys(&request, good_then_bad, 2), -EINVAL);
		expect_fresh(&request);
	}
	EXPECT_EQ(watch_keys(&request, &good, 0), -EINVAL);
	EXPECT_EQ(watch_keys(&request, NULL, 0), -EINVAL);
	/* There are no such keys in memory: the call must not read them. */
#if SIZE_MAX > UINT32_MAX
	EXPECT_EQ(watch_keys(&request, &good, (size_t)1 << 32), -EINVAL);
#endif
	EXPECT_EQ(watch_keys(&request, &good, SIZE_MAX), -EINVAL);
	expect_fresh(&request);
	pawl_purgatory_close(other);
}

IN_EVERY_ROOM(a_key_is_a_value)
{
	struct pawl_key first = key_of(room, "a"), copy = first, again = key_of(room, "a");
	struct request request;

	EXPECT_EQ(sizeof(first), 16);
	EXPECT(memcmp(&first, &again, sizeof(first)) == 0);
	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, &first, 1), 0);
	memset(&first, 0, sizeof(first));
	EXPECT_EQ(pawl_purgatory_cancel_key(room->purgatory, copy, request_cancelled), 1);
	EXPECT_STR(request.story, "kr");
}

IN_EVERY_ROOM(a_type_without_one_of_the_three_functions_is_refused)
{
	for (unsigned i = 0; i < 3; i++) {
		struct pawl_op_type type = request_type;
		struct request request;

		if (i == 0)
			type.try_complete = NULL;
		if (i == 1)
			type.on_complete = NULL;
		if (i == 2)
			type.release = NULL;
		request_init(&request, room);
		pawl_op_init(&request.op, &type);
		EXPECT_EQ(watch(&request, "a", HOUR), -EINVAL);
		EXPECT_STR(request.story, "");
		expect_counted(room, 0, 0);
	}
}

IN_EVERY_ROOM(on_expire_and_on_drop_may_be_missing)
{
	struct pawl_op_type type = request_type;
	struct request expired, dropped;

	type.on_expire = NULL;
	type.on_drop = NULL;
	request_init(&expired, room);
	request_init(&dropped, room);
	pawl_op_init(&expired.op, &type);
	pawl_op_init(&dropped.op, &type);
	EXPECT_EQ(watch(&expired, "a", MS), 0);
	EXPECT_EQ(watch(&dropped, "a", HOUR), 0);
	advance_and_settle(&room->fixture, MS);
	EXPECT_STR(expired.story, "cr");
	leave_room(room);
	EXPECT_STR(dropped.story, "r");
	EXPECT(!dropped.completed);
}

IN_EVERY_ROOM(an_operation_that_a_stopped_service_refused_is_fresh)
{
	struct request waits, completed;

	request_init(&waits, room);
	request_init(&completed, room);
	pawl_op_ref(&completed.op);
	pawl_service_stop(room->fixture.service, NULL);
	EXPECT_EQ(watch(&waits, "abcde", HOUR), -ECANCELED);
	EXPECT_EQ(watch(&waits, "abcde", PAWL_NEVER), 0);
	expect_counted(room, 5, 1);
	waits.ready = 1;
	EXPECT_EQ(check(room, "e"), 1);
	expect_gone(&waits, "cr");
	EXPECT_EQ(watch(&completed, "abcde", HOUR), -ECANCELED);
	EXPECT(pawl_op_complete(&completed.op));
	EXPECT_EQ(watch(&completed, "abcde", HOUR), 0);
	pawl_op_unref(&completed.op);
	expect_gone(&completed, "cr");
}

/* Keys */

IN_EVERY_ROOM(equal_keys_count_once)
{
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch(&request, "abababaabb", HOUR), 0);
	expect_counted(room, 2, 1);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_EQ(request.tries, 3);
	request.ready = 1;
	EXPECT_EQ(check(room, "b"), 1);
	expect_gone(&request, "cr");
}

/* Keys that differ in length alone, in a byte of zero, or in the last of a million bytes. */
IN_EVERY_ROOM(keys_are_bytes_of_any_value_and_length)
{
	enum { MIB = 1 << 20, COUNT = 10 };
	char *long_key = calloc(2, MIB);
	const struct {
		const char *bytes;
		size_t size;
	} all[COUNT] = {{NULL, 0},           {"\0", 1},
	                {"\0\0", 2},         {"a", 1},
	                {"a\0", 2},          {"a\0b", 3},
	                {"\xff\xfe", 2},     {long_key, MIB},
	                {long_key, MIB - 1}, {long_key + MIB, MIB}};
	struct pawl_key keys[COUNT];
	struct request requests[COUNT];

	long_key[2 * MIB - 1] = 1;
	requests_init(requests, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++) {
		keys[i] = pawl_purgatory_key(room->purgatory, all[i].bytes, all[i].size);
		EXPECT_EQ(watch_keys(&requests[i], &keys[i], 1), 0);
	}
	expect_counted(room, COUNT, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 0);
		for (unsigned j = 0; j < COUNT; j++)
			EXPECT_EQ(requests[j].tries, 2 + (j <= i));
	}
	for (unsigned i = 0; i < COUNT; i++) {
		requests[i].ready = 1;
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 1);
		EXPECT_STR(requests[i].story, "cr");
	}
	free(long_key);
}

IN_EVERY_ROOM(an_empty_key_is_the_same_with_and_without_an_address)
{
	const struct pawl_key both[] = {pawl_purgatory_key(room->purgatory, NULL, 0),
	                                pawl_purgatory_key(room->purgatory, "xyz", 0)};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, both, 2), 0);
	expect_counted(room, 1, 1);
	request.ready = 1;
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, both[1]), 1);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(an_operation_may_have_a_thousand_keys)
{
	enum { COUNT = 1000 };
	static struct pawl_key keys[2 * COUNT];
	struct request request;

	for (uint32_t i = 0; i < COUNT; i++)
		keys[i] = keys[COUNT + i] = key_numbered(room, i);
	for (unsigned round = 0; round < 2; round++) {
		request_init(&request, room);
		EXPECT_EQ(watch_keys(&request, keys, round ? 2 * COUNT : COUNT), 0);
		expect_counted(room, COUNT, 1);
		for (uint32_t i = 0; i < COUNT; i++)
			EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 0);
		EXPECT_EQ(request.tries, COUNT + 2);
		request.ready = 1;
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[COUNT - 1]), 1);
		expect_gone(&request, "cr");
	}
}

/* Keys become empty and are used again, among other keys. */
IN_EVERY_ROOM(keys_come_and_go)
{
	enum { COUNT = 300 };
	struct request *requests = malloc(COUNT * sizeof(*requests));

	for (unsigned round = 0; round < 3; round++) {
		requests_init(requests, COUNT, room);
		for (unsigned i = 0; i < COUNT; i++)
			EXPECT_EQ(watch_numbered(&requests[i], i), 0);
		expect_counted(room, COUNT, COUNT);
		for (unsigned i = 0; i < COUNT; i++) {
			unsigned number = (i * 7 + round) % COUNT;

			requests[number].ready = 1;
			EXPECT_EQ(check_numbered(room, number), 1);
			EXPECT_EQ(check_numbered(room, number), 0);
			expect_counted(room, COUNT - 1 - i, COUNT - 1 - i);
		}
	}
	free(requests);
}

/* Check and cancel_key */

IN_EVERY_ROOM(check_cancel_and_stop_go_through_as_many_as_there_are)
{
	enum { COUNT = 3000 };
	struct request *r = malloc(COUNT * sizeof(*r));

	requests_init(r, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(watch(&r[i], i % 3 ? "ab" : "a", HOUR), 0);
	for (unsigned i = 0; i < COUNT; i++)
		r[i].ready = i % 2;
	EXPECT_EQ(check(room, "c"), 0);
	EXPECT_EQ(check(room, "a"), COUNT / 2);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(r[i].tries, 3); /* once by the second check */
	EXPECT_EQ(cancel_key(room, "b"), COUNT / 3);
	expect_counted(room, COUNT / 6, COUNT / 6);
	leave_room(room);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_STR(r[i].story, i % 2 ? "cr" : i % 3 ? "kr" : "dr");
	free(r);
}

/* During the check each operation that completes withdraws the next two. */
static void take_two_away(struct request *request, char event)
{
	if (event != 'c' || !request->other)
		return;
	pawl_op_complete(&request->other[0].op);
	pawl_op_complete(&request->other[1].op);
	check(request->room, "b");
}

IN_EVERY_ROOM(a_check_goes_on_while_its_list_changes)
{
	enum { COUNT = 999 };
	struct request *r = malloc(COUNT * sizeof(*r));
	size_t completed;

	requests_init(r, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++) {
		pawl_op_ref(&r[i].op);
		EXPECT_EQ(watch(&r[i], "ab", HOUR), 0);
		r[i].ready = i % 3 == 0;
		r[i].inside = take_two_away;
		r[i].other = i % 3 == 0 ? &r[i + 1] : NULL;
	}
	completed = check(room, "a");
	EXPECT(completed >= 1 && completed <= COUNT);
	expect_counted(room, 0, 0);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_STR(r[i].story, "c");
		pawl_op_unref(&r[i].op);
		EXPECT_STR(r[i].story, "cr");
	}
	free(r);
}

IN_EVERY_ROOM(cancel_key_without_a_callback_just_releases)
{
	struct request r[3];

	requests_init(r, 3, room);
	for (unsigned i = 0; i < 3; i++)
		watch(&r[i], i ? "ab" : "b", HOUR);
	EXPECT_EQ(pawl_purgatory_cancel_key(room->purgatory, key_of(room, "a"), NULL), 2);
	EXPECT_STR(r[0].story, "");
	EXPECT_STR(r[1].story, "r");
	EXPECT_STR(r[2].story, "r");
	expect_counted(room, 1, 1);
	leave_room(room);
}

static void on_a_new_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, run, arg), 0);
	pthread_join(thread, NULL);
}

static void *watch_a(void *request)
{
	EXPECT_EQ(watch(request, "a", HOUR), 0);
	return NULL;
}

static void submit_again(struct request *request, char event)
{
	if (event == 'k')
		watch_a(request->other);
}

/* An operation, and the one that `cancelled` submits for it. */
struct resubmitted {
	struct request first, second;
};

static void *cancel_and_submit_again(void *resubmitted)
{
	struct request *first = &((struct resubmitted *)resubmitted)->first;
	struct request *second = &((struct resubmitted *)resubmitted)->second;

	EXPECT_EQ(cancel_key(first->room, "a"), 1);
	EXPECT_STR(first->story, "kr");
	EXPECT_STR(second->story, "");
	expect_counted(first->room, 1, 1);
	EXPECT_EQ(cancel_key(first->room, "a"), 1);
	EXPECT_STR(second->story, "kr");
	return NULL;
}

/* The shard of a thread depends on its number: with 17 new threads each shard comes before and after each other one. */
IN_EVERY_ROOM(cancel_key_leaves_operations_that_its_callback_submits)
{
	for (unsigned i = 0; i < 17; i++) {
		struct resubmitted resubmitted;

		request_init(&resubmitted.first, room);
		request_init(&resubmitted.second, room);
		resubmitted.first.inside = submit_again;
		resubmitted.first.other = &resubmitted.second;
		if (i % 2)
			on_a_new_thread(watch_a, &resubmitted.first);
		else
			watch_a(&resubmitted.first);
		on_a_new_thread(cancel_and_submit_again, &resubmitted);
	}
}

/* An operation that completes submits the next one, which becomes ready as soon as it is watched. */
static void start_next(struct request *request, char event)
{
	if (event != 'c' || !request->other)
		return;
	EXPECT_EQ(watch(request->other, "a", HOUR), 0);
	request->other->ready = 1;
}

IN_EVERY_ROOM(a_check_ends_though_each_completion_starts_another)
{
	enum { COUNT = 2000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));

	requests_init(requests, COUNT, room);
	for (unsigned i = 0; i + 1 < COUNT; i++) {
		requests[i].inside = start_next;
		requests[i].other = &requests[i + 1];
	}
	EXPECT_EQ(watch(&requests[0], "a", HOUR), 0);
	requests[0].ready = 1;
	EXPECT(check(room, "a") >= 1);
	EXPECT_STR(requests[COUNT - 1].story, "");
	expect_counted(room, 1, 1);
	leave_room(room);
	free(requests);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_first_64_bits_of_a_hash_are_siphash_1_3),
	        TEST(a_bit_of_a_key_changes_each_bit_of_the_hash_for_half_of_the_keys),
	        TEST(two_bits_of_a_hash_are_equal_for_half_of_the_keys),
	        TEST(bad_keys_are_refused),
	        TEST(a_key_is_a_value),
	        TEST(a_type_without_one_of_the_three_functions_is_refused),
	        TEST(on_expire_and_on_drop_may_be_missing),
	        TEST(an_operation_that_a_stopped_service_refused_is_fresh),
	        TEST(equal_keys_count_once),
	        TEST(keys_are_bytes_of_any_value_and_length),
	        TEST(an_empty_key_is_the_same_with_and_without_an_address),
	        TEST(an_operation_may_have_a_thousand_keys),
	        TEST(keys_come_and_go),
	        TEST(check_cancel_and_stop_go_through_as_many_as_there_are),
	        TEST(a_check_goes_on_while_its_list_changes),
	        TEST(cancel_key_without_a_callback_just_releases),
	        TEST(cancel_key_leaves_operations_that_its_callback_submits),
	        TEST(a_check_ends_though_each_completion_starts_another),
	};

	return RUN_TESTS(tests);
}
