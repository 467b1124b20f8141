/* SPDX-License-Identifier: MIT */
/*
 * test_purgatory_model [--seed S] [--runs N] [--trace]
 *
 * Random operations on a random purgatory, compared after each step with a naive model: an array that is searched for
 * everything. The clock is moved by hand and one thing happens at a time, though on several threads, since the
 * operations of different threads are in different shards. Run k of seed S is run 0 of seed S + k, so that a failure
 * can be repeated alone.
 *
 * In some runs an operation that is completed checks a key, whose operations may do so again. Which operations are
 * completed by that does not depend on the order, which is not defined. Which call returns them does, and so does
 * whether the deadline won if both come in one step. There the model knows the sum, and accepts either story.
 */
#include <errno.h>

#include "../../src/base/random.h"
#include "../support/purgatories.h"

#define RUNS_DEFAULT 1500
#define OPERATIONS   24
#define KEYS         7
#define STEPS        150
#define HELPERS      3
#define NO_KEY       UINT32_MAX
#define CROWDS       2
#define CROWD_KEYS   600

/*
 * One operation, real and in the model. (A crowd is one under so many keys that the table of keys grows.)
 */
struct entry {
	struct request request; /* first: what really happens */
	/* The model: */
	bool waits;
	unsigned keys; /* a bit each */
	uint64_t deadline;
	unsigned tries;
	unsigned references;
	unsigned checks; /* the key that its on_complete checks; or NO_KEY */
	bool taken;      /* by try_or_watch, which returned 0 or 1: so it will be released */
	bool due_now;    /* its deadline may have been first in this step */
	char story[STORY_MAX];
};

struct world {
	struct room room;
	struct random random;
	struct entry entries[OPERATIONS];
	size_t told;        /* completions that check, complete and try_or_watch answered for */
	size_t completions; /* of the model, but for those that a deadline may have won */
	bool nested, stopped;
	FILE *trace;
	struct crowd {
		struct request request;
		bool waits;
		unsigned tries;
		size_t nkeys;
		bool under[CROWD_KEYS];
	} crowds[CROWDS];
};

static struct world world;

static const char *const key_bytes[KEYS] = {
        "", "a", "b", "ab", "key five", "\xff", "a longer key: 7"};

/* A call on one of the helpers' threads, or on this one; the others wait. */

struct helper {
	pthread_t thread;
	sem_t begin, done;
	void (*call)(void *arg);
	void *arg;
};

static struct helper helpers[HELPERS];

static void *helper_run(void *arg)
{
	struct helper *helper = arg;

	for (;;) {
		sem_wait(&helper->begin);
		if (!helper->call)
			return NULL;
		helper->call(helper->arg);
		sem_post(&helper->done);
	}
}

static void on_some_thread(void (*call)(void *), void *arg)
{
	uint64_t which = random_below(&world.random, 2 * HELPERS);

	if (which >= HELPERS) {
		call(arg);
		return;
	}
	helpers[which].call = call;
	helpers[which].arg = arg;
	sem_post(&helpers[which].begin);
	sem_wait(&helpers[which].done);
}

static void helpers_start(void)
{
	for (unsigned i = 0; i < HELPERS; i++) {
		sem_init(&helpers[i].begin, 0, 0);
		sem_init(&helpers[i].done, 0, 0);
		pthread_create(&helpers[i].thread, NULL, helper_run, &helpers[i]);
	}
}

static void helpers_end(void)
{
	for (unsigned i = 0; i < HELPERS; i++) {
		helpers[i].call = NULL;
		sem_post(&helpers[i].begin);
		pthread_join(helpers[i].thread, NULL);
	}
}

/* The model */

static void tell(struct entry *entry, char event)
{
	entry->story[strlen(entry->story)] = event;
}

/* The winner has given back the purgatory's reference, unless the operation is fresh. */
static void model_release(struct entry *entry)
{
	if (entry->story[0] && entry->references == 0)
		tell(entry, 'r');
}

static void model_check(unsigned key);

static void model_run(struct entry *entry, bool expired)
{
	entry->waits = false;
	world.completions++;
	tell(entry, 'c');
	if (entry->checks != NO_KEY)
		model_check(entry->checks);
	if (expired)
		tell(entry, 'e');
	model_release(entry);
}

static void model_complete(struct entry *entry)
{
	model_run(entry, false);
}

/* By a timeout of 0. */
static void model_expire(struct entry *entry)
{
	model_run(entry, true);
}

static void model_check(unsigned key)
{
	bool under[OPERATIONS];

	for (unsigned i = 0; i < OPERATIONS; i++)
		under[i] = world.entries[i].waits && (world.entries[i].keys >> key & 1);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct entry *entry = &world.entries[i];

		if (!under[i] || !entry->waits)
			continue;
		entry->tries++;
		if (entry->request.ready)
			model_complete(entry);
	}
}

static void model_withdraw(struct entry *entry, char event)
{
	entry->waits = false;
	tell(entry, event);
	model_release(entry);
}

static size_t model_count(bool pairs)
{
	size_t sum = 0;

	for (unsigned i = 0; i < OPERATIONS; i++)
		if (world.entries[i].waits)
			sum += pairs ? (size_t)__builtin_popcount(world.entries[i].keys) : 1;
	for (unsigned i = 0; i < CROWDS; i++)
		if (world.crowds[i].waits)
			sum += pairs ? world.crowds[i].nkeys : 1;
	return sum;
}

/* The real one */

static struct pawl_key key_now(unsigned key)
{
	return pawl_purgatory_key(world.room.purgatory, key_bytes[key], strlen(key_bytes[key]));
}

static void check_on_complete(struct request *request, char event)
{
	const struct entry *entry = (const struct entry *)(const void *)request;

	if (event == 'c' && entry->checks != NO_KEY)
		world.told += pawl_purgatory_check(world.room.purgatory, key_now(entry->checks));
}

struct real_call {
	struct entry *entry;
	struct pawl_key keys[2 * KEYS];
	size_t nkeys;
	uint64_t timeout;
	long answer;
};

static void real_watch(void *arg)
{
	struct real_call *call = arg;

	call->answer = pawl_purgatory_try_or_watch(world.room.purgatory, &call->entry->request.op,
	                                           call->keys, call->nkeys, call->timeout);
}

static void real_check(void *arg)
{
	struct real_call *call = arg;

	call->answer = (long)pawl_purgatory_check(world.room.purgatory, call->keys[0]);
}

static void real_cancel(void *arg)
{
	struct real_call *call = arg;

	call->answer = (long)pawl_purgatory_cancel_key(world.room.purgatory, call->keys[0],
	                                               request_cancelled);
}

static void real_complete(void *arg)
{
	struct real_call *call = arg;

	call->answer = pawl_op_complete(&call->entry->request.op);
}

static void real_unref(void *arg)
{
	struct real_call *call = arg;

	pawl_op_unref(&call->entry->request.op);
}

/* The steps */

static void trace(const char *what, const struct entry *entry, unsigned number)
{
	if (world.trace)
		fprintf(world.trace, "%s: operation %d, %u\n", what,
		        entry ? (int)(entry - world.entries) : -1, number);
}

static struct entry *some_entry(void)
{
	return &world.entries[random_below(&world.random, OPERATIONS)];
}

static bool is_over(const struct entry *entry)
{
	size_t length = strlen(entry->story);

	return length && entry->story[length - 1] == 'r';
}

/* Initialise an operation that was released, or was never submitted. */
static void begin_life(struct entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	request_init(&entry->request, &world.room);
	entry->checks = NO_KEY;
	if (world.nested && random_below(&world.random, 2)) {
		entry->checks = (unsigned)random_below(&world.random, KEYS);
		entry->request.inside = check_on_complete;
	}
	entry->references = random_below(&world.random, 3) == 0;
	if (entry->references)
		pawl_op_ref(&entry->request.op);
}

/* Random keys, with equal ones among them. */
static void choose_keys(struct real_call *call)
{
	call->nkeys = 1 + (size_t)random_below(&world.random, 2 * KEYS);
	call->entry->keys = 0;
	for (size_t i = 0; i < call->nkeys; i++) {
		unsigned key = (unsigned)random_below(&world.random, KEYS);

		call->keys[i] = key_now(key);
		call->entry->keys |= 1u << key;
	}
}

static uint64_t choose_timeout(void)
{
	switch (random_below(&world.random, 4)) {
	case 0:
		return PAWL_NEVER;
	case 1:
		return random_below(&world.random, 3) * MS;
	default:
		return random_below(&world.random, 40 * MS);
	}
}

/* try_or_watch of the model: try, watch, try again. */
static long model_watch(struct entry *entry, uint64_t timeout)
{
	unsigned from = entry->request.ready_from;

	if (world.stopped)
		return -ECANCELED;
	entry->taken = true;
	if (entry->story[0] == 'c') /* completed when it was fresh */
		return 0;
	if (entry->request.ready || from) {
		entry->tries += from ? from : 1;
		model_complete(entry);
		return 1;
	}
	entry->tries += 2;
	if (timeout == 0) {
		model_expire(entry);
		return 1;
	}
	entry->waits = true;
	entry->deadline =
	        timeout == PAWL_NEVER ? PAWL_NEVER : fixture_now(&world.room.fixture) + timeout;
	return 0;
}

static void step_watch(void)
{
	struct real_call call = {.entry = some_entry(), .timeout = choose_timeout()};
	struct entry *entry = call.entry;
	long expected;

	if (entry->taken && !is_over(entry)) {
		if (entry->references) { /* otherwise it may not be touched */
			call.keys[0] = key_now(0);
			call.nkeys = 1;
			real_watch(&call);
			EXPECT(call.answer == -EBUSY ||
			       (world.stopped && call.answer == -ECANCELED));
		}
		return;
	}
	if (is_over(entry) || entry->story[0] == '\0')
		begin_life(entry);
	choose_keys(&call);
	entry->request.ready = random_below(&world.random, 8) == 0;
	entry->request.ready_from = random_below(&world.random, 8) ? 0 : 2;
	if (entry->request.ready)
		entry->request.ready_from = 0;
	trace("try_or_watch", entry, entry->keys);
	on_some_thread(real_watch, &call);
	world.told += call.answer == 1;
	expected = model_watch(entry, call.timeout);
	EXPECT_EQ(call.answer, expected);
}

static void step_ready(void)
{
	struct entry *entry = some_entry();

	if (entry->waits)
		entry->request.ready = (unsigned)random_below(&world.random, 2);
}

static void step_check(void)
{
	unsigned key = (unsigned)random_below(&world.random, KEYS);
	struct real_call call = {.keys = {key_now(key)}, .nkeys = 1};

	trace("check", NULL, key);
	on_some_thread(real_check, &call);
	world.told += (size_t)call.answer;
	model_check(key);
}

static void step_cancel(void)
{
	unsigned key = (unsigned)random_below(&world.random, KEYS);
	struct real_call call = {.keys = {key_now(key)}, .nkeys = 1};
	long expected = 0;

	trace("cancel_key", NULL, key);
	on_some_thread(real_cancel, &call);
	for (unsigned i = 0; i < OPERATIONS; i++)
		if (world.entries[i].waits && (world.entries[i].keys >> key & 1)) {
			model_withdraw(&world.entries[i], 'k');
			expected++;
		}
	EXPECT_EQ(call.answer, expected);
}

static void step_complete(void)
{
	struct entry *entry = some_entry();
	struct real_call call = {.entry = entry};
	bool fresh = !entry->taken && entry->story[0] == '\0' && entry->request.room;

	if (!entry->references)
		return;
	trace("complete", entry, 0);
	EXPECT_EQ(pawl_op_completed(&entry->request.op), strchr(entry->story, 'c') != NULL);
	on_some_thread(real_complete, &call);
	world.told += (size_t)call.answer;
	EXPECT_EQ(call.answer, entry->waits || fresh);
	if (call.answer)
		model_complete(entry);
}

static void step_ref(void)
{
	struct entry *entry = some_entry();
	struct real_call call = {.entry = entry};

	if (!entry->references && !entry->waits)
		return;
	if (entry->references && random_below(&world.random, 2)) {
		trace("unref", entry, entry->references);
		on_some_thread(real_unref, &call);
		entry->references--;
		if (!entry->waits)
			model_release(entry);
	} else {
		pawl_op_ref(&entry->request.op);
		entry->references++;
	}
}

/* Due when its tick is over: deadlines are rounded up. */
static bool is_due(const struct entry *entry, uint64_t now)
{
	return entry->waits && entry->deadline != PAWL_NEVER &&
	       (entry->deadline + MS - 1) / MS * MS <= now;
}

static void step_time(void)
{
	uint64_t ns = random_below(&world.random, 4) ? random_below(&world.random, 3 * MS)
	                                             : random_below(&world.random, 30 * MS);
	bool due[OPERATIONS];

	trace("time passes", NULL, (unsigned)ns);
	advance_and_settle(&world.room.fixture, ns);
	for (unsigned i = 0; i < OPERATIONS; i++)
		due[i] = is_due(&world.entries[i], fixture_now(&world.room.fixture));
	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct entry *entry = &world.entries[i];

		entry->due_now = due[i];
		if (entry->waits && due[i])
			model_complete(entry);
	}
}

/* The two stories; where the deadline took part, with the e or without. */
static bool same_story(const struct entry *entry)
{
	char without[STORY_MAX] = "";
	const char *story = entry->request.story;

	if (!entry->due_now)
		return strcmp(story, entry->story) == 0;
	for (size_t i = 0, j = 0; story[i]; i++)
		if (story[i] != 'e')
			without[j++] = story[i];
	return strcmp(without, entry->story) == 0 && (world.nested || strchr(story, 'e'));
}

/* No call returns what the deadline has won. From here on the model has the real story. */
static void settle_stories(struct entry *entry)
{
	if (!entry->due_now)
		return;
	if (strchr(entry->request.story, 'e'))
		world.completions--;
	strcpy(entry->story, entry->request.story);
	entry->due_now = false;
}

static void compare(void)
{
	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct entry *entry = &world.entries[i];

		if (!same_story(entry)) {
			EXPECT_STR(entry->request.story, entry->story);
			fprintf(stderr, "    ^ operation %u\n", i);
		}
		settle_stories(entry);
		if (!world.nested)
			EXPECT_EQ(entry->request.tries, entry->tries);
	}
	EXPECT_EQ(world.told, world.completions);
	expect_counted(&world.room, model_count(true), model_count(false));
}

static void begin_crowd(struct crowd *crowd)
{
	static uint32_t numbers[CROWD_KEYS];
	static struct pawl_key keys[CROWD_KEYS];
	uint64_t one_of = 1 + random_below(&world.random, 8);

	memset(crowd, 0, sizeof(*crowd));
	request_init(&crowd->request, &world.room);
	for (uint32_t i = 0; i < CROWD_KEYS; i++) {
		if (i && random_below(&world.random, one_of))
			continue;
		numbers[i] = i;
		keys[crowd->nkeys++] =
		        pawl_purgatory_key(world.room.purgatory, &numbers[i], sizeof(numbers[i]));
		crowd->under[i] = true;
	}
	EXPECT_EQ(pawl_purgatory_try_or_watch(world.room.purgatory, &crowd->request.op, keys,
	                                      crowd->nkeys, PAWL_NEVER),
	          0);
	crowd->tries = 2;
	crowd->waits = true;
}

/* Check one of its keys, which may complete it. */
static void check_crowds(void)
{
	uint32_t number = (uint32_t)random_below(&world.random, CROWD_KEYS);
	size_t expected = 0;

	for (unsigned i = 0; i < CROWDS; i++) {
		struct crowd *crowd = &world.crowds[i];

		if (!crowd->waits || !crowd->under[number])
			continue;
		crowd->request.ready = random_below(&world.random, 4) == 0;
		crowd->tries++;
		crowd->waits = !crowd->request.ready;
		expected += crowd->request.ready;
	}
	EXPECT_EQ(pawl_purgatory_check(
	                  world.room.purgatory,
	                  pawl_purgatory_key(world.room.purgatory, &number, sizeof(number))),
	          expected);
}

static void step_crowd(void)
{
	struct crowd *crowd = &world.crowds[random_below(&world.random, CROWDS)];

	if (!crowd->waits && !world.stopped)
		begin_crowd(crowd);
	else
		check_crowds();
	for (unsigned i = 0; i < CROWDS; i++) {
		EXPECT_EQ(world.crowds[i].request.tries, world.crowds[i].tries);
		if (world.crowds[i].tries)
			EXPECT_EQ(strlen(world.crowds[i].request.story) == 0,
			          world.crowds[i].waits);
	}
}

static void step_stop(void)
{
	trace("stop", NULL, 0);
	pawl_purgatory_stop(world.room.purgatory);
	world.stopped = true;
	for (unsigned i = 0; i < CROWDS; i++)
		world.crowds[i].waits = false;
	for (unsigned i = 0; i < OPERATIONS; i++)
		if (world.entries[i].waits)
			model_withdraw(&world.entries[i], 'd');
}

static void step(void)
{
	uint64_t which = random_below(&world.random, 100);

	if (which < 30)
		step_watch();
	else if (which < 50)
		step_check();
	else if (which < 60)
		step_ready();
	else if (which < 66)
		step_complete();
	else if (which < 80)
		step_ref();
	else if (which < 93)
		step_time();
	else if (which < 96)
		step_crowd();
	else if (which < 99)
		step_cancel();
	else if (random_below(&world.random, 3) == 0)
		step_stop();
}

static void begin_world(uint64_t seed, FILE *to)
{
	static const struct pawl_service_options manual = {.workers = PAWL_SERVICE_MANUAL,
	                                                   .shards = 2};

	memset(&world, 0, sizeof(world));
	/* Neighbouring seeds shall not give similar streams. */
	world.random.state = random_next(&(struct random){seed});
	world.trace = to;
	world.nested = random_below(&world.random, 2);
	room_open(&world.room, &manual, 1 + (unsigned)random_below(&world.random, 4));
}

/* The end: waiting operations are dropped, references are given back, all that were submitted are released. */
static void end_world(void)
{
	step_stop();
	compare();
	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct entry *entry = &world.entries[i];

		while (entry->references) {
			pawl_op_unref(&entry->request.op);
			entry->references--;
			model_release(entry);
		}
		EXPECT(!entry->taken || is_over(entry));
	}
	compare();
	room_close(&world.room);
}

int main(int argc, char **argv)
{
	uint64_t seed = test_number(argc, argv, "--seed", "PAWL_SEED", 1);
	uint64_t runs = test_number(argc, argv, "--runs", "PAWL_RUNS", RUNS_DEFAULT);
	FILE *to = test_flag(argc, argv, "--trace") ? stdout : NULL;

	test_usage(argc, argv, "[--seed N] [--runs N] [--trace]");
	printf("the purgatory does what the model does: seed %" PRIu64 ", %" PRIu64 " runs\n", seed,
	       runs);
	helpers_start();
	for (uint64_t k = 0; k < runs && !test_failures; k++) {
		begin_world(seed + k, to);
		for (unsigned i = 0; i < STEPS && !test_failures; i++) {
			step();
			compare();
		}
		if (!test_failures)
			end_world();
		if (test_failures)
			fprintf(stderr, "FAILED: repeat with --seed %" PRIu64 " --runs 1 --trace\n",
			        seed + k);
	}
	helpers_end();
	return test_failures != 0;
}
