/* SPDX-License-Identifier: MIT */
/*
 * All calls of a purgatory race on real threads, with exact accounting at the end: each operation is completed,
 * cancelled or dropped, one of these and once, and then released, once and last. Every few rounds the threads meet, and
 * no trigger may be lost. (The explorer goes through the schedules of each race: verify/schedules/purgatory.c.) Every
 * thread advances the manual clock, so that deadlines fall due all the time, however slow the machine. Bounded by
 * counts:
 *
 *	test_purgatory_stress --rounds N      (also PAWL_STRESS_ROUNDS) N operations a thread
 *
 * Where the library promises an order, the notes are plain words, so that the thread sanitizer sees a race. Release
 * frees, for the address sanitizer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/purgatories.h"

#define THREADS 8
#define ENTRIES 256
#define KEYS    3 /* so that there are many operations under each, and a check takes several batches */
#define MOST    6 /* keys of one operation: more than it has room for in itself, and some equal */
#define BURST   6 /* rounds from one meeting to the next */

static uint64_t rounds;
static _Thread_local bool meets; /* false for the threads of the service */

static void count(uint64_t *word, uint64_t by)
{
	__atomic_fetch_add(word, by, __ATOMIC_SEQ_CST);
}

/* The outcomes of operations, by calls of their functions and by return values; atomic. */
struct account {
	uint64_t accepted;
	uint64_t completed, expired, cancelled, dropped, released;
	uint64_t by_check, by_complete, by_try, by_cancel;
};

struct job {
	struct pawl_op op; /* first */
	struct room *room;
	struct account *account;
	unsigned ready;                                  /* atomic */
	unsigned trying;                                 /* atomic: threads in try_complete */
	unsigned tries;                                  /* plain */
	unsigned completed, expired, cancelled, dropped; /* plain */
	unsigned number;
	uint64_t key; /* one of its keys */
	bool checks;  /* on_complete checks another key */
};

static struct job *job_from(struct pawl_op *op)
{
	return (struct job *)(void *)op;
}

static struct pawl_key key_number(const struct pawl_purgatory *purgatory, uint64_t number)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

	return pawl_purgatory_key(purgatory, &letters[number % KEYS], 1);
}

/* Let others go on, or not. */
static void dawdle(uint64_t turns)
{
	if (turns % 8 == 0)
		sched_yield();
	for (volatile uint64_t i = 0; i < turns % 8 * 30; i++)
		;
}

static bool job_try(struct pawl_op *op)
{
	struct job *job = job_from(op);
	bool ready = __atomic_load_n(&job->ready, __ATOMIC_SEQ_CST) != 0;

	EXPECT_EQ(__atomic_exchange_n(&job->trying, 1, __ATOMIC_SEQ_CST), 0);
	dawdle(++job->tries + job->number);
	EXPECT_EQ(__atomic_exchange_n(&job->trying, 0, __ATOMIC_SEQ_CST), 1);
	return ready;
}

static void job_complete(struct pawl_op *op)
{
	struct job *job = job_from(op);

	EXPECT_EQ(job->completed++, 0);
	count(&job->account->completed, 1);
	if (job->checks && meets)
		count(&job->account->by_check,
		      pawl_purgatory_check(job->room->purgatory,
		                           key_number(job->room->purgatory, job->number)));
}

static void job_expire(struct pawl_op *op)
{
	struct job *job = job_from(op);

	EXPECT_EQ(job->completed, 1);
	EXPECT_EQ(job->expired++, 0);
	count(&job->account->expired, 1);
}

static void job_cancelled(struct pawl_op *op)
{
	EXPECT_EQ(job_from(op)->cancelled++, 0);
	count(&job_from(op)->account->cancelled, 1);
}

static void job_drop(struct pawl_op *op)
{
	EXPECT_EQ(job_from(op)->dropped++, 0);
	count(&job_from(op)->account->dropped, 1);
}

/* A later access to the job is an access to freed memory. */
static void job_release(struct pawl_op *op)
{
	struct job *job = job_from(op);

	EXPECT_EQ(job->completed + job->cancelled + job->dropped, 1);
	EXPECT_EQ(pawl_op_completed(op), job->completed);
	EXPECT_EQ(job->trying, 0);
	job->tries++;
	count(&job->account->released, 1);
	memset(job, 0xa5, sizeof(*job));
	free(job);
}

static const struct pawl_op_type job_type = {.try_complete = job_try,
                                             .on_complete = job_complete,
                                             .on_expire = job_expire,
                                             .on_drop = job_drop,
                                             .release = job_release};

static struct job *job_new(struct room *room, struct account *account, unsigned number)
{
	struct job *job = calloc(1, sizeof(*job));

	job->room = room;
	job->account = account;
	job->number = number;
	pawl_op_init(&job->op, &job_type);
	return job;
}

/* Threads that all do the same, on a table of operations that each may find and use. */
struct crew {
	struct room room;
	struct account account;
	struct {
		pthread_mutex_t lock;
		struct job *job; /* with the table's reference */
	} entries[ENTRIES];
	pthread_barrier_t meeting;
	bool stops;           /* two of the threads stop the purgatory on the way */
	unsigned done;        /* atomic: the poller shall end */
	unsigned next_number; /* atomic */
};

/* A thread of the crew. */
struct hand {
	struct crew *crew;
	struct random random;
	struct job *triggered
	        [BURST]; /* made ready and checked since the last meeting; with references */
	unsigned count;
};

/* With a reference, or NULL. */
static struct job *find(struct hand *hand)
{
	uint64_t entry = random_below(&hand->random, ENTRIES);
	struct job *job;

	pthread_mutex_lock(&hand->crew->entries[entry].lock);
	job = hand->crew->entries[entry].job;
	if (job)
		pawl_op_ref(&job->op);
	pthread_mutex_unlock(&hand->crew->entries[entry].lock);
	return job;
}

/* Put it in the table; give back the reference to the operation that was there. */
static void insert(struct crew *crew, uint64_t entry, struct job *job)
{
	struct job *before;

	pthread_mutex_lock(&crew->entries[entry].lock);
	before = crew->entries[entry].job;
	crew->entries[entry].job = job;
	pthread_mutex_unlock(&crew->entries[entry].lock);
	if (before)
		pawl_op_unref(&before->op);
}

static int give(struct pawl_purgatory *purgatory, struct job *job, struct random *random)
{
	static const uint64_t timeouts[] = {0, MS / 2, MS, 2 * MS, HOUR, HOUR, HOUR, PAWL_NEVER};
	size_t nkeys = 1 + (size_t)random_below(random, MOST);
	struct pawl_key keys[MOST];

	for (size_t i = 0; i < nkeys; i++) {
		job->key = random_next(random);
		keys[i] = key_number(purgatory, job->key);
	}
	return pawl_purgatory_try_or_watch(purgatory, &job->op, keys, nkeys,
	                                   timeouts[random_below(random, COUNTOF(timeouts))]);
}

static void bring(struct crew *crew, struct random *random)
{
	struct job *job = job_new(&crew->room, &crew->account, (unsigned)random_below(random, 99));
	int answer;

	job->ready = random_below(random, 16) == 0;
	job->checks = random_below(random, 4) == 0;
	pawl_op_ref(&job->op);
	answer = give(crew->room.purgatory, job, random);
	if (answer < 0) {
		EXPECT_EQ(answer, -ECANCELED);
		EXPECT_EQ(job->completed + job->cancelled + job->dropped, 0);
		free(job);
		return;
	}
	count(&crew->account.accepted, 1);
	count(&crew->account.by_try, answer == 1 && !pawl_op_expired(&job->op));
	insert(crew, random_below(random, ENTRIES), job);
}

static void make_ready_and_check(struct hand *hand)
{
	struct pawl_purgatory *purgatory = hand->crew->room.purgatory;
	struct job *job = find(hand);

	if (!job)
		return;
	__atomic_store_n(&job->ready, 1, __ATOMIC_SEQ_CST);
	count(&hand->crew->account.by_check,
	      pawl_purgatory_check(purgatory, key_number(purgatory, job->key)));
	hand->triggered[hand->count++] = job;
}

static void complete_one(struct hand *hand)
{
	struct job *job = find(hand);

	if (!job)
		return;
	count(&hand->crew->account.by_complete, pawl_op_complete(&job->op));
	EXPECT(!pawl_op_complete(&job->op));
	pawl_op_unref(&job->op);
}

static void cancel_one_key(struct crew *crew, struct random *random)
{
	count(&crew->account.by_cancel,
	      pawl_purgatory_cancel_key(crew->room.purgatory,
	                                key_number(crew->room.purgatory, random_next(random)),
	                                job_cancelled));
}

static void act(struct hand *hand)
{
	struct crew *crew = hand->crew;
	uint64_t pick = random_below(&hand->random, 256);

	bring(crew, &hand->random);
	if (pick == 0) {
		cancel_one_key(crew, &hand->random);
	} else if (pick < 64) {
		complete_one(hand);
	} else if (pick < 96) {
		pawl_purgatory_watched(crew->room.purgatory);
		pawl_purgatory_delayed(crew->room.purgatory);
		insert(crew, random_below(&hand->random, ENTRIES), NULL);
	} else {
		make_ready_and_check(hand);
	}
	if (pick % 4 == 0)
		pawl_clock_manual_advance(&crew->room.fixture.clock, MS / 2);
}

/*
 * While no thread of the crew is in any call: what was ready when one of its keys was checked is over. Otherwise a
 * trigger was lost, which later checks of the same key would hide.
 */
static void meet(struct hand *hand)
{
	pthread_barrier_wait(&hand->crew->meeting);
	for (unsigned i = 0; i < hand->count; i++) {
		struct job *job = hand->triggered[i];

		EXPECT(pawl_op_completed(&job->op) || job->cancelled || job->dropped);
	}
	pthread_barrier_wait(&hand->crew->meeting);
	while (hand->count > 0)
		pawl_op_unref(&hand->triggered[--hand->count]->op);
}

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	unsigned number = __atomic_fetch_add(&crew->next_number, 1, __ATOMIC_SEQ_CST);
	struct hand hand = {.crew = crew, .random = {number + 1}};

	meets = true;
	for (uint64_t i = 0; i < rounds; i++) {
		act(&hand);
		if (crew->stops && number < 2 && i == rounds / 2)
			pawl_purgatory_stop(crew->room.purgatory);
		if (i % BURST == BURST - 1)
			meet(&hand);
	}
	meet(&hand);
	return NULL;
}

/* In manual mode a thread has to poll. */
static void *poller_run(void *arg)
{
	struct crew *crew = arg;

	while (!__atomic_load_n(&crew->done, __ATOMIC_SEQ_CST))
		if (pawl_service_poll(crew->room.fixture.service, 7) == 0)
			sched_yield();
	return NULL;
}

static void crew_work(struct crew *crew)
{
	pthread_t threads[THREADS], poller;

	pthread_create(&poller, NULL, poller_run, crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, crew_run, crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&crew->done, 1, __ATOMIC_SEQ_CST);
	pthread_join(poller, NULL);
}

/* At rest: each outcome happened once, and one call returned it. */
static void expect_accounts(const struct account *account)
{
	EXPECT_EQ(account->completed + account->cancelled + account->dropped, account->accepted);
	EXPECT_EQ(account->released, account->accepted);
	EXPECT_EQ(account->by_check + account->by_complete + account->by_try + account->expired,
	          account->completed);
	EXPECT_EQ(account->by_cancel, account->cancelled);
}

static void everybody_races(const struct pawl_service_options *options, unsigned shards, bool stops)
{
	unsigned before = test_failures;
	struct crew crew;

	memset(&crew, 0, sizeof(crew));
	room_open(&crew.room, options, shards);
	crew.stops = stops;
	for (unsigned i = 0; i < ENTRIES; i++)
		pthread_mutex_init(&crew.entries[i].lock, NULL);
	pthread_barrier_init(&crew.meeting, NULL, THREADS);
	crew_work(&crew);
	pthread_barrier_destroy(&crew.meeting);
	settle(&crew.room.fixture);
	if (stops)
		EXPECT_EQ(pawl_purgatory_delayed(crew.room.purgatory), 0);
	EXPECT_EQ(crew.account.accepted - crew.account.completed - crew.account.cancelled -
	                  crew.account.dropped,
	          pawl_purgatory_delayed(crew.room.purgatory));
	leave_room(&crew.room);
	expect_counted(&crew.room, 0, 0);
	for (unsigned i = 0; i < ENTRIES; i++)
		insert(&crew, i, NULL);
	expect_accounts(&crew.account);
	room_close(&crew.room);
	if (test_failures != before)
		fprintf(stderr, "    ^ with %u shards, workers %d, stop %d\n", shards,
		        (int)options->workers, stops);
}

static void check_complete_expire_and_cancel_race_on_the_same_operations(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		everybody_races(&every_mode[i], i % 2 ? 1 : 4, false);
}

static void check_complete_expire_cancel_and_stop_race_on_the_same_operations(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		everybody_races(&every_mode[i], i % 2 ? 4 : 1, true);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(check_complete_expire_and_cancel_race_on_the_same_operations),
	        TEST(check_complete_expire_cancel_and_stop_race_on_the_same_operations),
	};

	test_usage(argc, argv, "[--rounds N]");
	rounds = test_number(argc, argv, "--rounds", "PAWL_STRESS_ROUNDS", 1500);
	return RUN_TESTS(tests);
}
