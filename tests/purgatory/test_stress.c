/* SPDX-License-Identifier: MIT */
/*
 * Every race of a purgatory, with exact accounting at the end: each operation is completed, cancelled or dropped, one
 * of these and once, and then released, once and last. Every thread advances the manual clock, so that deadlines fall
 * due all the time, however slow the machine. Bounded by counts:
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
#define ENTRIES 32
#define KEYS    6
#define MOST    6 /* keys of one operation: more than it has room for in itself */

static uint64_t rounds;

static void count(uint64_t *word, uint64_t by)
{
	__atomic_fetch_add(word, by, __ATOMIC_SEQ_CST);
}

static uint64_t count_of(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
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
	bool checks; /* on_complete checks another key */
	bool *freed; /* set by release; or NULL */
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
	if (job->checks)
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
	if (job->freed)
		__atomic_store_n(job->freed, true, __ATOMIC_SEQ_CST);
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
	bool stops;           /* two of the threads stop the purgatory on the way */
	unsigned done;        /* atomic: the poller shall end */
	unsigned next_number; /* atomic */
};

/* With a reference, or NULL. */
static struct job *find(struct crew *crew, struct random *random)
{
	uint64_t entry = random_below(random, ENTRIES);
	struct job *job;

	pthread_mutex_lock(&crew->entries[entry].lock);
	job = crew->entries[entry].job;
	if (job)
		pawl_op_ref(&job->op);
	pthread_mutex_unlock(&crew->entries[entry].lock);
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

static int give(struct crew *crew, struct job *job, struct random *random)
{
	struct pawl_purgatory *purgatory = crew->room.purgatory;
	size_t nkeys = 1 + (size_t)random_below(random, MOST);
	uint64_t pick = random_below(random, 6);
	struct pawl_key keys[MOST];

	for (size_t i = 0; i < nkeys; i++)
		keys[i] = key_number(purgatory, random_next(random));
	return pawl_purgatory_try_or_watch(purgatory, &job->op, keys, nkeys,
	                                   pick == 5 ? PAWL_NEVER : pick * MS / 2);
}

static void bring(struct crew *crew, struct random *random)
{
	struct job *job = job_new(&crew->room, &crew->account, (unsigned)random_below(random, 99));
	int answer;

	job->ready = random_below(random, 16) == 0;
	job->checks = random_below(random, 4) == 0;
	pawl_op_ref(&job->op);
	answer = give(crew, job, random);
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

static void make_ready_and_check(struct crew *crew, struct random *random)
{
	struct job *job = find(crew, random);

	if (!job)
		return;
	__atomic_store_n(&job->ready, 1, __ATOMIC_SEQ_CST);
	count(&crew->account.by_check,
	      pawl_purgatory_check(crew->room.purgatory,
	                           key_number(crew->room.purgatory, random_next(random))));
	pawl_op_completed(&job->op);
	pawl_op_unref(&job->op);
}

static void complete_one(struct crew *crew, struct random *random)
{
	struct job *job = find(crew, random);

	if (!job)
		return;
	count(&crew->account.by_complete, pawl_op_complete(&job->op));
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

static void act(struct crew *crew, struct random *random)
{
	bring(crew, random);
	switch (random_below(random, 8)) {
	case 0:
		cancel_one_key(crew, random);
		break;
	case 1:
	case 2:
		complete_one(crew, random);
		break;
	case 3:
		pawl_purgatory_watched(crew->room.purgatory);
		pawl_purgatory_delayed(crew->room.purgatory);
		insert(crew, random_below(random, ENTRIES), NULL);
		break;
	default:
		make_ready_and_check(crew, random);
	}
	if (random_below(random, 4) == 0)
		pawl_clock_manual_advance(&crew->room.fixture.clock, MS / 2);
}

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	unsigned number = __atomic_fetch_add(&crew->next_number, 1, __ATOMIC_SEQ_CST);
	struct random random = {number + 1};

	for (uint64_t i = 0; i < rounds; i++) {
		act(crew, &random);
		if (crew->stops && number < 2 && i == rounds / 2)
			pawl_purgatory_stop(crew->room.purgatory);
	}
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
	crew_work(&crew);
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

/* Eight threads meet at one operation, each with a reference: exactly one of them, or the deadline, wins. */

struct meeting {
	struct room room;
	struct account account;
	pthread_barrier_t barrier;
	struct job *job;
	uint64_t round;
	uint64_t wins; /* atomic: answers that said: this call */
	int given;     /* what try_or_watch answered */
	bool stopping; /* in this round one thread stops the purgatory */
	unsigned next_number;
};

static uint64_t win(struct meeting *meeting, uint64_t role)
{
	struct pawl_purgatory *purgatory = meeting->room.purgatory;
	const struct pawl_key keys[] = {key_number(purgatory, 0), key_number(purgatory, 1),
	                                key_number(purgatory, 2)};

	switch (role) {
	case 0:
		meeting->given = pawl_purgatory_try_or_watch(purgatory, &meeting->job->op, keys, 3,
		                                             meeting->round % 3 * MS);
		return meeting->given == 1 && !pawl_op_expired(&meeting->job->op);
	case 1:
		return pawl_purgatory_check(purgatory, keys[0]);
	case 2:
		return pawl_purgatory_check(purgatory, keys[1]);
	case 3:
		return pawl_op_complete(&meeting->job->op);
	case 4:
		return pawl_purgatory_cancel_key(purgatory, keys[2], job_cancelled);
	case 5:
		pawl_clock_manual_advance(&meeting->room.fixture.clock, 3 * MS);
		return 0;
	case 6:
		if (meeting->stopping)
			pawl_purgatory_stop(purgatory);
		else
			pawl_service_poll(meeting->room.fixture.service, 0);
		return 0;
	default:
		__atomic_store_n(&meeting->job->ready, 1, __ATOMIC_SEQ_CST);
		return pawl_purgatory_check(purgatory, keys[0]);
	}
}

static void *meeting_run(void *arg)
{
	struct meeting *meeting = arg;
	unsigned number = __atomic_fetch_add(&meeting->next_number, 1, __ATOMIC_SEQ_CST);
	struct random random = {number + 1};

	for (;;) {
		pthread_barrier_wait(&meeting->barrier);
		if (!meeting->job)
			return NULL;
		dawdle(random_next(&random));
		count(&meeting->wins, win(meeting, (number + meeting->round) % THREADS));
		pthread_barrier_wait(&meeting->barrier);
	}
}

static void begin_round(struct meeting *meeting, uint64_t round, bool *freed,
                        const struct pawl_op_type *type, unsigned references)
{
	*freed = false;
	meeting->round = round;
	meeting->wins = 0;
	meeting->stopping = round % 8 == 7;
	memset(&meeting->account, 0, sizeof(meeting->account));
	meeting->job = job_new(&meeting->room, &meeting->account, (unsigned)round);
	meeting->job->freed = freed;
	pawl_op_init(&meeting->job->op, type);
	for (unsigned i = 0; i < references; i++)
		pawl_op_ref(&meeting->job->op);
}

/* One of them has won, or will: the deadline has passed, and every try says yes. */
static void expect_one_winner(struct meeting *meeting, bool *freed)
{
	struct account *account = &meeting->account;

	advance_and_settle(&meeting->room.fixture, 3 * MS);
	if (meeting->given < 0) {
		EXPECT_EQ(meeting->given, -ECANCELED);
		EXPECT_EQ(meeting->wins, account->completed);
		EXPECT_EQ(count_of(&account->released), 0);
		free(meeting->job);
		return;
	}
	EXPECT(!*freed);
	pawl_op_unref(&meeting->job->op);
	EXPECT(*freed);
	EXPECT_EQ(account->completed + account->cancelled + account->dropped, 1);
	EXPECT_EQ(meeting->wins + account->expired + account->dropped, 1);
	EXPECT_EQ(account->released, 1);
	expect_counted(&meeting->room, 0, 0);
}

static void end_round(struct meeting *meeting)
{
	if (!meeting->stopping)
		return;
	pawl_purgatory_close(meeting->room.purgatory);
	meeting->room.purgatory = purgatory_with(meeting->room.fixture.service, 3);
}

static void meet(const struct pawl_service_options *options)
{
	pthread_t threads[THREADS];
	struct meeting meeting;
	bool freed;

	memset(&meeting, 0, sizeof(meeting));
	room_open(&meeting.room, options, 3);
	pthread_barrier_init(&meeting.barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, meeting_run, &meeting);
	for (uint64_t round = 0; round < rounds / 2; round++) {
		begin_round(&meeting, round, &freed, &job_type, 1);
		pthread_barrier_wait(&meeting.barrier);
		pthread_barrier_wait(&meeting.barrier);
		expect_one_winner(&meeting, &freed);
		end_round(&meeting);
	}
	meeting.job = NULL;
	pthread_barrier_wait(&meeting.barrier);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&meeting.barrier);
	room_close(&meeting.room);
}

static void exactly_one_of_eight_threads_wins_an_operation(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		meet(&every_mode[i]);
}

/*
 * Release is last: each thread gives its own reference back as soon as it is done, so any of them may be the last, as
 * well as tries that have not returned.
 */

struct party {
	struct meeting meeting;
	sem_t released;
};

static void party_release(struct pawl_op *op)
{
	struct job *job = job_from(op);
	struct party *party = (struct party *)(void *)job->room;

	job_release(op);
	sem_post(&party->released);
}

static const struct pawl_op_type party_type = {.try_complete = job_try,
                                               .on_complete = job_complete,
                                               .on_expire = job_expire,
                                               .on_drop = job_drop,
                                               .release = party_release};

static uint64_t join_in(struct meeting *meeting, uint64_t role)
{
	struct pawl_op *op = &meeting->job->op;
	struct pawl_purgatory *purgatory = meeting->room.purgatory;
	uint64_t won = role == 0   ? pawl_op_complete(op)
	               : role == 1 ? pawl_purgatory_cancel_key(purgatory, key_number(purgatory, 1),
	                                                       job_cancelled)
	                           : pawl_purgatory_check(purgatory, key_number(purgatory, role));

	if (role == 2)
		pawl_clock_manual_advance(&meeting->room.fixture.clock, MS);
	pawl_op_unref(op);
	return won;
}

static void *party_run(void *arg)
{
	struct party *party = arg;
	struct meeting *meeting = &party->meeting;
	unsigned number = __atomic_fetch_add(&meeting->next_number, 1, __ATOMIC_SEQ_CST);

	for (;;) {
		pthread_barrier_wait(&meeting->barrier);
		if (!meeting->job)
			return NULL;
		count(&meeting->wins, join_in(meeting, (number + meeting->round) % THREADS));
		pthread_barrier_wait(&meeting->barrier);
	}
}

static void hold_a_round(struct party *party, uint64_t round)
{
	struct meeting *meeting = &party->meeting;
	struct pawl_key keys[KEYS];
	bool freed;

	begin_round(meeting, round, &freed, &party_type, THREADS);
	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = key_number(meeting->room.purgatory, i);
	EXPECT_EQ(pawl_purgatory_try_or_watch(meeting->room.purgatory, &meeting->job->op, keys,
	                                      KEYS, MS),
	          0);
	meeting->job->ready = round % 2;
	pthread_barrier_wait(&meeting->barrier);
	pthread_barrier_wait(&meeting->barrier);
	advance_and_settle(&meeting->room.fixture, MS);
	sem_wait(&party->released);
	EXPECT(freed);
	EXPECT_EQ(meeting->account.released, 1);
	EXPECT_EQ(meeting->wins + meeting->account.expired, 1);
}

static void give_parties(const struct pawl_service_options *options)
{
	struct party *party = calloc(1, sizeof(*party));
	pthread_t threads[THREADS];

	room_open(&party->meeting.room, options, 2);
	sem_init(&party->released, 0, 0);
	pthread_barrier_init(&party->meeting.barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, party_run, party);
	for (uint64_t round = 0; round < rounds / 2; round++)
		hold_a_round(party, round);
	party->meeting.job = NULL;
	pthread_barrier_wait(&party->meeting.barrier);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	room_close(&party->meeting.room);
	free(party);
}

static void the_last_unref_releases_once(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		give_parties(&every_mode[i]);
}

/*
 * No trigger is lost: one thread submits operations without a deadline, another one makes each ready and checks once,
 * at any time. Other pairs of threads check the same keys all the time, and may complete them first. If a trigger gets
 * lost this waits forever, and the test's timeout ends it.
 */

struct pair {
	struct room *room;
	struct account *account;
	struct job *job; /* handed over at the barrier */
	unsigned number;
	pthread_barrier_t barrier;
};

static struct pawl_key key_of_pair(const struct pair *pair)
{
	return key_number(pair->room->purgatory, pair->number % 2);
}

static void *change_run(void *arg)
{
	struct pair *pair = arg;
	struct random random = {pair->number};

	for (uint64_t i = 0; i < rounds; i++) {
		pthread_barrier_wait(&pair->barrier);
		dawdle(random_next(&random));
		__atomic_store_n(&pair->job->ready, 1, __ATOMIC_SEQ_CST);
		pawl_purgatory_check(pair->room->purgatory, key_of_pair(pair));
		pthread_barrier_wait(&pair->barrier);
	}
	return NULL;
}

static void await_completion(const struct job *job)
{
	while (!pawl_op_completed(&job->op))
		sched_yield();
}

static void *wait_run(void *arg)
{
	struct pair *pair = arg;
	struct random random = {pair->number + 99};

	for (uint64_t i = 0; i < rounds; i++) {
		const struct pawl_key key = key_of_pair(pair);
		struct job *job = job_new(pair->room, pair->account, (unsigned)i);
		int answer;

		pawl_op_ref(&job->op);
		pair->job = job;
		pthread_barrier_wait(&pair->barrier);
		dawdle(random_next(&random));
		answer = pawl_purgatory_try_or_watch(pair->room->purgatory, &job->op, &key, 1,
		                                     PAWL_NEVER);
		EXPECT(answer == 0 || answer == 1);
		pthread_barrier_wait(&pair->barrier);
		await_completion(job);
		pawl_op_unref(&job->op);
	}
	return NULL;
}

static void no_trigger_is_lost(void)
{
	enum { PAIRS = 4 };
	struct account account = {0};
	struct pair pairs[PAIRS];
	pthread_t threads[2 * PAIRS];
	struct room room;

	room_open(&room, &every_mode[0], 4);
	for (unsigned i = 0; i < PAIRS; i++) {
		pairs[i] = (struct pair){.room = &room, .account = &account, .number = i};
		pthread_barrier_init(&pairs[i].barrier, NULL, 2);
		pthread_create(&threads[2 * i], NULL, wait_run, &pairs[i]);
		pthread_create(&threads[2 * i + 1], NULL, change_run, &pairs[i]);
	}
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(account.completed, PAIRS * rounds);
	EXPECT_EQ(account.released, PAIRS * rounds);
	expect_counted(&room, 0, 0);
	room_close(&room);
}

/*
 * Kafka's test: 100 operations, 20 threads, 20 attempts at each in random order. The last attempt makes it completable
 * and checks, while others may be trying it: no trigger may be lost.
 */

#define OPERATIONS 100
#define ATTEMPTS   20

struct attempts {
	struct room room;
	struct account account;
	struct job *jobs[OPERATIONS];
	unsigned left[OPERATIONS];             /* atomic */
	unsigned order[OPERATIONS * ATTEMPTS]; /* operations, each as often as it is attempted */
	uint64_t next;                         /* atomic */
};

static void shuffle(unsigned *order, struct random *random)
{
	for (unsigned i = 0; i < OPERATIONS * ATTEMPTS; i++) {
		uint64_t j = random_below(random, i + 1);

		order[i] = order[j];
		order[j] = i % OPERATIONS;
	}
}

static void *attempt_run(void *arg)
{
	struct attempts *attempts = arg;
	uint64_t i;

	while ((i = __atomic_fetch_add(&attempts->next, 1, __ATOMIC_SEQ_CST)) <
	       OPERATIONS * ATTEMPTS) {
		unsigned which = attempts->order[i];

		if (__atomic_sub_fetch(&attempts->left[which], 1, __ATOMIC_SEQ_CST) == 0)
			__atomic_store_n(&attempts->jobs[which]->ready, 1, __ATOMIC_SEQ_CST);
		pawl_purgatory_check(
		        attempts->room.purgatory,
		        pawl_purgatory_key(attempts->room.purgatory, &which, sizeof(which)));
	}
	return NULL;
}

static void attempt_all(uint64_t seed)
{
	struct attempts *attempts = calloc(1, sizeof(*attempts));
	pthread_t threads[20];

	room_open(&attempts->room, &every_mode[0], 4);
	shuffle(attempts->order, &(struct random){seed});
	for (unsigned i = 0; i < OPERATIONS; i++) {
		const struct pawl_key key =
		        pawl_purgatory_key(attempts->room.purgatory, &i, sizeof(i));

		attempts->left[i] = ATTEMPTS;
		attempts->jobs[i] = job_new(&attempts->room, &attempts->account, i);
		EXPECT_EQ(pawl_purgatory_try_or_watch(attempts->room.purgatory,
		                                      &attempts->jobs[i]->op, &key, 1, HOUR),
		          0);
	}
	for (unsigned i = 0; i < COUNTOF(threads); i++)
		pthread_create(&threads[i], NULL, attempt_run, attempts);
	for (unsigned i = 0; i < COUNTOF(threads); i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(attempts->account.completed, OPERATIONS);
	EXPECT_EQ(attempts->account.released, OPERATIONS);
	expect_counted(&attempts->room, 0, 0);
	room_close(&attempts->room);
	free(attempts);
}

static void no_operation_is_lost_among_100_with_20_threads(void)
{
	for (uint64_t seed = 1; seed <= rounds / 20 + 1; seed++)
		attempt_all(seed);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(check_complete_expire_and_cancel_race_on_the_same_operations),
	        TEST(check_complete_expire_cancel_and_stop_race_on_the_same_operations),
	        TEST(exactly_one_of_eight_threads_wins_an_operation),
	        TEST(the_last_unref_releases_once),
	        TEST(no_trigger_is_lost),
	        TEST(no_operation_is_lost_among_100_with_20_threads),
	};

	test_usage(argc, argv, "[--rounds N]");
	rounds = test_number(argc, argv, "--rounds", "PAWL_STRESS_ROUNDS", 1500);
	return RUN_TESTS(tests);
}
