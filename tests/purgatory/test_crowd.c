/* SPDX-License-Identifier: MIT */
/*
 * Threads check the same few keys all the time, with hundreds of operations under each. So checks take several
 * batches, meet each other, and leave retries to each other. A thread that makes an operation completable checks one of
 * its keys, once. After a few such steps all threads meet, outside of any call: each of these operations must be
 * completed now. Otherwise a trigger was lost, which later checks of the same key would hide.
 *
 *	test_purgatory_crowd --rounds N      (also PAWL_STRESS_ROUNDS) N steps a thread
 */
#define _GNU_SOURCE
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/purgatories.h"

#define THREADS 4
#define CROWD   160 /* operations of each thread */
#define KEYS    3
#define MOST    6 /* keys of an operation, some equal */
#define BURST   6 /* steps from one meeting to the next */

static uint64_t rounds;
static _Thread_local bool meets; /* false for the threads of the service */

struct member {
	struct pawl_op op; /* first */
	struct crew *crew;
	uint32_t key;       /* one of its keys */
	unsigned tries;     /* plain: for the thread sanitizer */
	unsigned trying;    /* atomic: threads in try_complete */
	unsigned ready;     /* atomic */
	unsigned completed; /* atomic: calls of on_complete */
	unsigned released;  /* atomic: calls of release */
	bool held;          /* by its thread */
};

struct crew {
	struct room room;
	unsigned next; /* atomic: the number of a thread */
	pthread_barrier_t meeting;
	struct member members[THREADS][CROWD];
};

static unsigned value_of(const unsigned *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static struct pawl_key key_number(const struct crew *crew, uint32_t number)
{
	return pawl_purgatory_key(crew->room.purgatory, &number, sizeof(number));
}

static bool member_try(struct pawl_op *op)
{
	struct member *member = (struct member *)(void *)op;
	bool ready = value_of(&member->ready);

	EXPECT_EQ(__atomic_exchange_n(&member->trying, 1, __ATOMIC_SEQ_CST), 0);
	if (++member->tries % 61 == 0)
		sched_yield();
	EXPECT_EQ(__atomic_exchange_n(&member->trying, 0, __ATOMIC_SEQ_CST), 1);
	return ready;
}

/* Some operations check another key in on_complete. */
static void member_complete(struct pawl_op *op)
{
	struct member *member = (struct member *)(void *)op;
	uint32_t other = (member->key + 1) % KEYS;

	EXPECT_EQ(__atomic_fetch_add(&member->completed, 1, __ATOMIC_SEQ_CST), 0);
	if (member->key == 0 && meets)
		pawl_purgatory_check(member->crew->room.purgatory, key_number(member->crew, other));
}

static void member_drop(struct pawl_op *op)
{
	struct member *member = (struct member *)(void *)op;

	EXPECT_EQ(value_of(&member->ready), 0);
	EXPECT_EQ(value_of(&member->completed), 0);
}

static void member_release(struct pawl_op *op)
{
	struct member *member = (struct member *)(void *)op;

	EXPECT_EQ(value_of(&member->trying), 0);
	member->tries++;
	EXPECT_EQ(__atomic_fetch_add(&member->released, 1, __ATOMIC_SEQ_CST), 0);
}

static const struct pawl_op_type member_type = {.try_complete = member_try,
                                                .on_complete = member_complete,
                                                .on_drop = member_drop,
                                                .release = member_release};

static void bring(struct member *member, struct random *random)
{
	struct crew *crew = member->crew;
	uint32_t numbers[MOST];
	struct pawl_key keys[MOST];
	size_t nkeys = 1 + (size_t)random_below(random, MOST);

	for (size_t i = 0; i < nkeys; i++) {
		numbers[i] = (uint32_t)random_below(random, KEYS);
		keys[i] = key_number(crew, numbers[i]);
	}
	*member = (struct member){.crew = crew, .key = numbers[nkeys - 1], .held = true};
	pawl_op_init(&member->op, &member_type);
	pawl_op_ref(&member->op);
	EXPECT_EQ(pawl_purgatory_try_or_watch(crew->room.purgatory, &member->op, keys, nkeys,
	                                      random_below(random, 8) ? HOUR : MS),
	          0);
}

static void let_go_of(struct member *member)
{
	member->held = false;
	pawl_op_unref(&member->op);
}

/* The next step in its life. */
static void step(struct member *member, struct random *random)
{
	if (value_of(&member->released)) {
		bring(member, random);
	} else if (member->held && value_of(&member->completed)) {
		let_go_of(member);
	} else if (member->held && random_below(random, 16) == 0) {
		pawl_op_complete(&member->op);
		let_go_of(member);
	} else if (member->held && !value_of(&member->ready)) {
		__atomic_store_n(&member->ready, 1, __ATOMIC_SEQ_CST);
		pawl_purgatory_check(member->crew->room.purgatory,
		                     key_number(member->crew, member->key));
	}
}

/* While no thread is in any call. */
static void expect_no_trigger_lost(struct member *members)
{
	for (unsigned i = 0; i < CROWD; i++)
		if (members[i].held && value_of(&members[i].ready))
			EXPECT(pawl_op_completed(&members[i].op));
}

static void meet(struct crew *crew, struct member *members)
{
	pthread_barrier_wait(&crew->meeting);
	expect_no_trigger_lost(members);
	pthread_barrier_wait(&crew->meeting);
}

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	unsigned number = __atomic_fetch_add(&crew->next, 1, __ATOMIC_SEQ_CST);
	struct member *members = crew->members[number];
	struct random random = {number + 1};

	meets = true;
	for (unsigned i = 0; i < CROWD; i++)
		bring(&members[i], &random);
	for (uint64_t i = 0; i < rounds; i++) {
		step(&members[random_below(&random, CROWD)], &random);
		if (i % BURST == 0)
			meet(crew, members);
		if (i % 64 == 0)
			pawl_clock_manual_advance(&crew->room.fixture.clock, MS / 2);
	}
	return NULL;
}

static void expect_nobody_lost(struct member *member)
{
	if (value_of(&member->ready))
		EXPECT_EQ(value_of(&member->completed), 1);
	if (member->held)
		let_go_of(member);
	if (value_of(&member->completed))
		EXPECT_EQ(value_of(&member->released), 1);
}

static void gather(unsigned shards)
{
	struct crew *crew = calloc(1, sizeof(*crew));
	pthread_t threads[THREADS];

	room_open(&crew->room, &every_mode[0], shards);
	pthread_barrier_init(&crew->meeting, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned j = 0; j < CROWD; j++)
			crew->members[i][j].crew = crew;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, crew_run, crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	settle(&crew->room.fixture);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned j = 0; j < CROWD; j++)
			expect_nobody_lost(&crew->members[i][j]);
	leave_room(&crew->room);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned j = 0; j < CROWD; j++)
			EXPECT_EQ(crew->members[i][j].released, 1);
	room_close(&crew->room);
	pthread_barrier_destroy(&crew->meeting);
	free(crew);
}

static void in_one_shard_no_trigger_is_lost(void)
{
	gather(1);
}

static void in_several_shards_no_trigger_is_lost(void)
{
	gather(4);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(in_one_shard_no_trigger_is_lost),
	        TEST(in_several_shards_no_trigger_is_lost),
	};

	test_usage(argc, argv, "[--rounds N]");
	rounds = test_number(argc, argv, "--rounds", "PAWL_STRESS_ROUNDS", 10000);
	return RUN_TESTS(tests);
}
