/* SPDX-License-Identifier: MIT */
/*
 * Random operations on a store with little memory and narrow slots, compared with a naive model: an array. So slots
 * open, split, stream and are compacted, tasks are moved out again, queues that are seldom taken from have a backlog, and
 * the store is closed, or killed, and opened again.
 * The clock is also set, forwards and back. A seed repeats a run: test_store_model --seed N.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

#define TASKS      6000
#define HELD       64
#define START      UINT64_C(1700000000000000000)
#define OPERATIONS 3000

enum fate { NONE, PENDING, HELD_BY_US, DEAD_NOW, GONE };

struct entry {
	uint64_t id, due;
	uint32_t size, tries;
	enum fate fate;
	size_t queue;
};

static const char *const queues[] = {"often", "seldom", "at the end"};

static struct entry tasks[TASKS];
static size_t count;
static struct pawl_store_task held[HELD];
static size_t held_count;
static struct random rng;
static struct sim_disk disk;
static struct pawl_clock_manual manual;
static struct pawl_store *store;
static uint64_t now;
static struct pawl_store_stats most; /* of all stores of a run */
static bool large;                   /* payloads */
static uint64_t backlogs;            /* seen at checks */

static void set_time(uint64_t time)
{
	now = time;
	pawl_clock_manual_set_wall(&manual,
	                           (struct timespec){.tv_sec = (time_t)(now / PAWL_SECOND),
	                                             .tv_nsec = (long)(now % PAWL_SECOND)});
}

static void advance(uint64_t ns)
{
	pawl_clock_manual_advance(&manual, ns);
	now += ns;
}

static void fill(unsigned char *payload, size_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		payload[i] = (unsigned char)(number + i);
}

static void open_store(void)
{
	struct pawl_store_options options = {.clock = &manual.clock,
	                                     .manual = true,
	                                     .sync_ns = PAWL_NEVER,
	                                     .width_ns = PAWL_SECOND,
	                                     .memory = 256 << 10,
	                                     .log_size = 1 << 20};
	char problem[PAWL_STORE_PROBLEM] = "";
	int error;

	options.problem = problem;
	error = pawl__store_open_on(&store, &disk.disk, &options);
	EXPECT_EQ(error, 0);
	if (error) {
		printf("  %s\n", problem);
		exit(1);
	}
}

/* Every number of the statistics that a lost or doubled task would change. */
static void check_stats(void)
{
	struct pawl_store_stats stats;
	size_t pending = 0, dead = 0;

	for (size_t i = 0; i < count; i++) {
		pending += tasks[i].fate == PENDING || tasks[i].fate == HELD_BY_US;
		dead += tasks[i].fate == DEAD_NOW;
	}
	pawl_store_get_stats(store, &stats, sizeof(stats));
	EXPECT_EQ(stats.pending, pending);
	EXPECT_EQ(stats.dead, dead);
	EXPECT_EQ(stats.leased, held_count);
	EXPECT_EQ(stats.damaged, 0);
	EXPECT(stats.memory_bytes <= (256 << 10));
	EXPECT(stats.slot_files <
	       1500); /* a backlog has a file for each width, which is a second here */
	for (size_t i = 0; i < store->queue_count; i++)
		backlogs += has_backlog(store->queues[i]);
	most.moved += stats.moved;
	most.checkpoints += stats.checkpoints;
	most.slot_files = stats.slot_files > most.slot_files ? stats.slot_files : most.slot_files;
}

static uint64_t some_delay(void)
{
	static const uint64_t most_of[] = {
	        1, 10 * PAWL_MS, PAWL_SECOND, 20 * PAWL_SECOND, 10 * PAWL_MINUTE, 3 * PAWL_HOUR};

	return random_below(&rng, most_of[random_below(&rng, 6)]);
}

static size_t find(uint64_t id)
{
	size_t i = 0;

	while (i < count && tasks[i].id != id)
		i++;
	EXPECT(i < count);
	return i;
}

static void put(size_t n)
{
	static unsigned char payloads[32][16384];
	struct pawl_store_change changes[32];
	uint64_t delay = some_delay();
	size_t queue = random_below(&rng, 3);

	for (size_t i = 0; i < n; i++) {
		size_t size = random_below(&rng, large ? random_below(&rng, 20) ? 200 : 16384 : 60);

		if (random_below(&rng, 3))
			delay = some_delay();
		fill(payloads[i], count + i, size);
		changes[i] = (struct pawl_store_change){.verb = PAWL_STORE_PUT,
		                                        .queue = queues[queue],
		                                        .at_ns = now + delay,
		                                        .payload = payloads[i],
		                                        .size = size};
	}
	if (count + n > TASKS)
		return;
	EXPECT_EQ(pawl_store_commit(store, changes, n), 0);
	for (size_t i = 0; i < n; i++)
		tasks[count++] = (struct entry){.id = changes[i].id,
		                                .due = changes[i].at_ns,
		                                .size = (uint32_t)changes[i].size,
		                                .fate = PENDING,
		                                .queue = queue};
}

static void take(size_t n, size_t queue)
{
	static unsigned char payload[16384];
	int got;

	if (held_count == HELD)
		return;
	got = pawl_store_take(store, queues[queue], PAWL_HOUR * 24 * 365, 0, held + held_count,
	                      n < HELD - held_count ? n : HELD - held_count);
	EXPECT(got >= 0);
	for (int i = 0; i < got; i++) {
		const struct pawl_store_task *task = &held[held_count++];
		size_t at = find(task->id);

		if (at == count)
			return;
		EXPECT_EQ(tasks[at].fate, PENDING);
		EXPECT_EQ(tasks[at].queue, queue);
		EXPECT(task->due_ns <= now);
		EXPECT_EQ(task->due_ns, tasks[at].due);
		EXPECT_EQ(task->tries, ++tasks[at].tries);
		EXPECT_EQ(task->size, tasks[at].size);
		fill(payload, at, task->size);
		EXPECT(memcmp(task->payload, payload, task->size) == 0);
		tasks[at].fate = HELD_BY_US;
	}
}

static void end_one(void)
{
	size_t which = random_below(&rng, held_count), at = find(held[which].id);
	uint64_t delay = some_delay(), how = random_below(&rng, 8);

	if (how < 4) {
		EXPECT_EQ(pawl_store_ack(store, &held[which]), 0);
		tasks[at].fate = GONE;
	} else if (how < 6) {
		EXPECT_EQ(pawl_store_retry(store, &held[which], delay), 0);
		tasks[at].due = now + delay;
		tasks[at].fate = PENDING;
	} else if (how == 6 &&
	           !large) { /* large ones would be dropped, with a quarter of the memory */
		EXPECT_EQ(pawl_store_bury(store, &held[which], "because"), 0);
		tasks[at].fate = DEAD_NOW;
	} else {
		EXPECT_EQ(pawl_store_release(store, &held[which]), 0);
		tasks[at].fate = PENDING;
	}
	held[which] = held[--held_count];
}

static void change_one(void)
{
	size_t at = random_below(&rng, count);
	uint64_t delay = some_delay();
	int error = pawl_store_cancel(store, tasks[at].id);

	if (tasks[at].fate == PENDING) {
		EXPECT_EQ(error, 0);
		tasks[at].fate = GONE;
	} else {
		EXPECT_EQ(error, tasks[at].fate == HELD_BY_US ? -EBUSY : -ENOENT);
	}
	if (tasks[at].fate != DEAD_NOW) {
		EXPECT_EQ(pawl_store_drop(store, tasks[at].id), -ENOENT);
	} else if (random_below(&rng, 2)) {
		EXPECT_EQ(pawl_store_drop(store, tasks[at].id), 0);
		tasks[at].fate = GONE;
	} else {
		EXPECT_EQ(pawl_store_requeue(store, tasks[at].id, delay), 0);
		tasks[at].fate = PENDING;
		tasks[at].due = now + delay;
		tasks[at].tries = 0;
	}
}

static void cancel_many(void)
{
	for (size_t i = random_below(&rng, 4); i < count; i += 2)
		if (tasks[i].fate == PENDING) {
			EXPECT_EQ(pawl_store_cancel(store, tasks[i].id), 0);
			tasks[i].fate = GONE;
		}
}

static bool answer(size_t doubt, void *arg)
{
	(void)doubt;
	(void)arg;
	return true;
}

/* Close it; or kill -9: all that was written is there, and nothing else happens. */
static void reopen(void)
{
	struct sim_disk after;
	size_t steps = disk.step_count;

	for (; held_count > 0; held_count--) {
		tasks[find(held[held_count - 1].id)].fate = PENDING;
		pawl__copy_free(&held[held_count - 1]);
	}
	pawl_store_close(store);
	sim_crash(&disk, random_below(&rng, 2) ? disk.step_count : steps, answer, NULL, &after);
	sim_free(&disk);
	disk = after;
	open_store();
}

/* The whole list in pages, in order, with every task that is pending. */
static void check_list(void)
{
	struct pawl_store_task page[100];
	uint64_t from = 0, after = 0;
	size_t seen = 0, pending = 0;
	int got;

	do {
		got = pawl_store_list(store, PAWL_STORE_PENDING, NULL, from, after, page, 100);
		EXPECT(got >= 0);
		for (int i = 0; i < got; i++) {
			EXPECT(page[i].due_ns > from ||
			       (page[i].due_ns == from && page[i].id > after));
			from = page[i].due_ns;
			after = page[i].id;
			EXPECT(tasks[find(page[i].id)].fate == PENDING ||
			       tasks[find(page[i].id)].fate == HELD_BY_US);
			EXPECT_EQ(page[i].tries, tasks[find(page[i].id)].tries);
			pawl_store_release(store, &page[i]);
			seen++;
		}
	} while (got == 100);
	for (size_t i = 0; i < count; i++)
		pending += tasks[i].fate == PENDING || tasks[i].fate == HELD_BY_US;
	EXPECT_EQ(seen, pending);
}

static void operate(void)
{
	uint64_t kind = random_below(&rng, 1000);

	if (kind < 250)
		put(1 + random_below(&rng, 8));
	else if (kind < 270)
		put(32);
	else if (kind < 450)
		take(1 + random_below(&rng, 20), random_below(&rng, 8) == 0);
	else if (kind < 750 && held_count)
		end_one();
	else if (kind < 800 && count)
		change_one();
	else if (kind < 802)
		cancel_many();
	else if (kind < 990)
		advance(random_below(&rng, PAWL_SECOND) << random_below(&rng, 8));
	else if (kind < 992)
		set_time(now + random_below(&rng, PAWL_HOUR));
	else if (kind < 994)
		set_time(now - random_below(&rng, 2 * PAWL_HOUR));
	else if (kind < 996)
		reopen();
	else if (kind < 997)
		check_list();
	else
		store->want_checkpoint = true;
	pawl_store_poll(store);
}

/* All that is pending comes, however long it takes. */
static void drain(void)
{
	size_t left = 1;

	for (unsigned rounds = 0; left && rounds < 100000; rounds++) {
		left = 0;
		for (size_t i = 0; i < count; i++)
			left += tasks[i].fate == PENDING;
		take(HELD, rounds % 3);
		while (held_count > 0) {
			tasks[find(held[held_count - 1].id)].fate = GONE;
			EXPECT_EQ(pawl_store_ack(store, &held[--held_count]), 0);
		}
		advance(PAWL_SECOND * 20);
		pawl_store_poll(store);
	}
	EXPECT_EQ(left, 0);
}

static void run(uint64_t seed)
{
	rng.state = seed;
	count = held_count = 0;
	large = random_below(&rng, 3) == 0;
	pawl_clock_manual_init(&manual);
	set_time(START);
	sim_init(&disk);
	open_store();
	for (unsigned i = 0; i < OPERATIONS && test_failures == 0; i++) {
		operate();
		if (i % 64 == 0)
			check_stats();
	}
	if (test_failures == 0) {
		check_list();
		drain();
		advance(24 * PAWL_HOUR); /* slots of which all tasks were cancelled */
		pawl_store_poll(store);
		store->want_checkpoint = true;
		pawl_store_poll(store);
		check_stats();
		EXPECT_EQ(disk.name_count, 2); /* a checkpoint and a log: no slot is left behind */
	}
	pawl_store_close(store);
	sim_free(&disk);
	if (test_failures)
		printf("  seed %" PRIu64 "\n", seed);
}

static uint64_t first_seed = 1, seeds = 8;

static void a_store_does_what_an_array_does(void)
{
	for (uint64_t seed = first_seed; seed < first_seed + seeds && test_failures == 0; seed++)
		run(seed);
	printf("  seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " moves, %" PRIu64
	       " checkpoints, at most %" PRIu64 " slots in files, %" PRIu64 " backlogs at checks\n",
	       first_seed, first_seed + seeds - 1, most.moved, most.checkpoints, most.slot_files,
	       backlogs);
	EXPECT(backlogs > 0 || seeds < 8);
}

int main(int argc, char **argv)
{
	static const struct test cases[] = {TEST(a_store_does_what_an_array_does)};

	if (getenv("PAWL_RUNS"))
		seeds = strtoull(getenv("PAWL_RUNS"), NULL, 10);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seeds = 1, first_seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seeds") == 0)
			seeds = strtoull(argv[i + 1], NULL, 10);
	}
	return RUN_TESTS(cases);
}
