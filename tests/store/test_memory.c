/* SPDX-License-Identifier: MIT */
/*
 * Every allocation fails, once or from then on: a call returns -ENOMEM and has changed nothing, or 0 and has done it.
 * Nothing is lost and nothing leaks. The linker puts the functions here in the place of the real ones (--wrap); those of
 * the simulated disk, which also allocates, are the real ones.
 */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

#define START UINT64_C(1700000000000000000)
#define TASKS 48u
#define LAST  (TASKS - 1) /* put by one test only */
#define NEVER SIZE_MAX

static struct {
	size_t calls, fail_at; /* counted from 0 */
	bool on;               /* also all calls after it */
	long blocks;           /* not freed yet */
} memory;

static bool fails(void)
{
	size_t call = memory.calls++;

	return call == memory.fail_at || (memory.on && call > memory.fail_at);
}

static void *counted(void *block)
{
	memory.blocks += block != NULL;
	return block;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
	if (fails())
		return NULL;
	memory.blocks -= block != NULL;
	return counted(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
	memory.blocks -= block != NULL;
	__real_free(block);
}

static void fail_from(size_t call, bool on)
{
	memory.calls = 0;
	memory.fail_at = call;
	memory.on = on;
}

static void fail_no_more(void)
{
	fail_from(NEVER, false);
}

/* What is known of each task. Its payload is its number. */
enum fate { UNKNOWN, PENDING, DEAD_NOW, GONE };
static struct known {
	uint64_t id;
	enum fate fate;
} known[TASKS];

static struct sim_disk disk;
static struct pawl_clock_manual manual;
static struct pawl_store *store;
static char long_name[] = "a queue whose name has many bytes, 00";

static void damage(const char *file, uint64_t offset, const char *what, void *arg)
{
	(void)arg;
	printf("  %s, offset %" PRIu64 ": %s\n", file, offset, what);
	EXPECT(!"damage was reported");
}

static int open_store(void)
{
	static const uint64_t width = PAWL_MINUTE;
	struct pawl_store_options options = {.clock = &manual.clock,
	                                     .manual = true,
	                                     .width_ns = width,
	                                     .report = damage,
	                                     .memory = 256 << 10,
	                                     .log_size = 256 << 10};

	return pawl__store_open_on(&store, &disk.disk, &options);
}

static void begin(void)
{
	pawl_clock_manual_init(&manual);
	pawl_clock_manual_set_wall(&manual, (struct timespec){.tv_sec = START / PAWL_SECOND});
	sim_init(&disk);
	memset(known, 0, sizeof(known));
	memory.blocks = 0;
	fail_no_more();
}

static void end(void)
{
	EXPECT_EQ(memory.blocks, 0);
	sim_free(&disk);
}

static void expect_error(int error)
{
	if (error)
		EXPECT_EQ(error, -ENOMEM);
}

/* The payloads are large, so that buffers grow and slots are written. */
static const char *payload_of(size_t i)
{
	static char text[3000];

	memset(text, 'x', sizeof(text));
	snprintf(text, sizeof(text), "%zu", i);
	return text;
}

static size_t number_of(const struct pawl_store_task *task)
{
	size_t i = strtoul(task->payload, NULL, 10);

	EXPECT(i < TASKS);
	EXPECT_EQ(task->id, known[i].id);
	return i;
}

static const char *queue_of(size_t i)
{
	snprintf(long_name + sizeof(long_name) - 3, 3, "%02u", (unsigned)i % 100);
	return i % 4 ? "q" : long_name;
}

static void put(size_t i, uint64_t delay)
{
	int error = pawl_store_put(store, queue_of(i), delay, payload_of(i), i % 3 ? 3000 : 3,
	                           &known[i].id);

	expect_error(error);
	known[i].fate = error ? UNKNOWN : PENDING;
}

/* Ten in one commit: more than need no memory of their own. */
static void put_ten(size_t first)
{
	struct pawl_store_change changes[10];
	char texts[10][8];
	int error;

	for (size_t i = 0; i < 10; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%zu", first + i);
		changes[i] = (struct pawl_store_change){.verb = PAWL_STORE_PUT,
		                                        .queue = "q",
		                                        .payload = texts[i],
		                                        .size = strlen(texts[i]),
		                                        .at_ns = pawl_store_now(store) +
		                                                 i * PAWL_MINUTE};
	}
	error = pawl_store_commit(store, changes, 10);
	expect_error(error);
	for (size_t i = 0; i < 10; i++) {
		known[first + i].id = changes[i].id;
		known[first + i].fate = error ? UNKNOWN : PENDING;
	}
}

static void cancel(size_t i)
{
	int error = known[i].fate == PENDING ? pawl_store_cancel(store, known[i].id) : -ENOENT;

	if (error == 0)
		known[i].fate = GONE;
	else if (error != -ENOENT && error != -EBUSY)
		expect_error(error);
}

static void end_lease(struct pawl_store_task *task, unsigned how)
{
	size_t i = number_of(task);
	int error = how == 0   ? pawl_store_ack(store, task)
	            : how == 1 ? pawl_store_retry(store, task, 2 * PAWL_HOUR)
	                       : pawl_store_bury(store, task, "it does not work");

	EXPECT_EQ(known[i].fate, PENDING);
	expect_error(error);
	EXPECT(task->payload == NULL);
	if (!error && how != 1)
		known[i].fate = how == 0 ? GONE : DEAD_NOW;
}

/* One commit: if the second change gets no memory, the first has not happened either. */
static void end_both(struct pawl_store_task *tasks)
{
	size_t first = number_of(&tasks[0]);
	struct pawl_store_change changes[2] = {
	        {.verb = PAWL_STORE_BURY, .task = &tasks[0], .reason = "it does not work"},
	        {.verb = PAWL_STORE_RETRY,
	         .task = &tasks[1],
	         .at_ns = pawl_store_now(store) + 5 * PAWL_HOUR}};
	int error = pawl_store_commit(store, changes, 2);

	expect_error(error);
	known[first].fate = error ? known[first].fate : DEAD_NOW;
}

static void take(unsigned how)
{
	struct pawl_store_task tasks[3];
	int got = pawl_store_take(store, "q", PAWL_HOUR, 0, tasks, 3);

	expect_error(got < 0 ? got : 0);
	if (got >= 2 && how % 2) {
		end_both(tasks);
		tasks[0] = tasks[got - 1];
		got -= 2;
	}
	for (int i = 0; i < got; i++)
		end_lease(&tasks[i], (how + (unsigned)i) % 3);
}

static void revive(void)
{
	for (size_t i = 0; i < TASKS; i++)
		if (known[i].fate == DEAD_NOW) {
			int error = i % 2 ? pawl_store_drop(store, known[i].id)
			                  : pawl_store_requeue(store, known[i].id, PAWL_HOUR);

			expect_error(error);
			known[i].fate = error ? DEAD_NOW : i % 2 ? GONE : PENDING;
			return;
		}
}

/* A list that returns no error has all. */
static void check_list(enum pawl_store_state state, enum fate fate)
{
	struct pawl_store_task tasks[TASKS + 1];
	unsigned seen[TASKS] = {0};
	int got = pawl_store_list(store, state, NULL, 0, 0, tasks, TASKS + 1);

	expect_error(got < 0 ? got : 0);
	for (int i = 0; i < got; i++) {
		seen[number_of(&tasks[i])]++;
		pawl_store_release(store, &tasks[i]);
	}
	for (size_t i = 0; got >= 0 && i < TASKS; i++)
		EXPECT_EQ(seen[i], known[i].fate == fate);
}

static void check_it(void)
{
	struct pawl_store_stats stats;
	size_t pending = 0;

	check_list(PAWL_STORE_PENDING, PENDING);
	check_list(PAWL_STORE_DEAD, DEAD_NOW);
	for (size_t i = 0; i < TASKS; i++)
		pending += known[i].fate == PENDING;
	pawl_store_get_stats(store, &stats, sizeof(stats));
	EXPECT_EQ(stats.pending, pending);
	EXPECT_EQ(stats.damaged, 0);
	EXPECT_EQ(store->failed, 0);
}

static void pass(uint64_t ns)
{
	pawl_clock_manual_advance(&manual, ns);
	pawl_store_poll(store);
}

/* Each kind of call, openings of slots into slots and into memory, and checkpoints. */
static void use_it(void)
{
	for (size_t i = 0; i < LAST - 10; i++) {
		put(i, i % 5 * 7 * PAWL_MINUTE);
		if (i % 7 == 6)
			cancel(i - 1);
		if (i % 3 == 2)
			take((unsigned)i / 3);
		if (i % 8 == 7) {
			store->want_checkpoint |= i % 16 == 15;
			pass(5 * PAWL_MINUTE);
			revive();
		}
	}
	put_ten(LAST - 10);
	check_it();
	pass(PAWL_HOUR);
	take(0);
}

/* All that is pending comes, once. */
static void drain(void)
{
	struct pawl_store_task task;

	for (unsigned round = 0; round < 8; round++) {
		pass(2 * PAWL_HOUR);
		for (size_t i = 0; i < TASKS; i++)
			while (pawl_store_take(store, queue_of(i), PAWL_HOUR, 0, &task, 1) == 1)
				end_lease(&task, 0);
	}
	for (size_t i = 0; i < TASKS; i++)
		EXPECT(known[i].fate != PENDING);
}

static void fail_each_of_a_life(bool on)
{
	size_t call = 0, calls;

	do {
		begin();
		EXPECT_EQ(open_store(), 0);
		fail_from(call, on);
		use_it();
		calls = memory.calls;
		fail_no_more();
		check_it();
		pawl_store_close(store);
		EXPECT_EQ(memory.blocks, 0);
		EXPECT_EQ(open_store(), 0);
		check_it();
		drain();
		pawl_store_close(store);
		end();
		if (test_failures)
			printf("  allocation %zu\n", call);
	} while (++call <= calls && !test_failures);
	printf("  %zu allocations\n", call - 1);
}

static void an_allocation_that_fails_once_loses_nothing(void)
{
	fail_each_of_a_life(false);
}

static void memory_that_has_run_out_loses_nothing(void)
{
	fail_each_of_a_life(true);
}

static void fail_each_of_an_open(bool on)
{
	size_t call = 0, calls;
	int error;

	do {
		begin();
		EXPECT_EQ(open_store(), 0);
		use_it();
		put(LAST, 0); /* the log has commits that no checkpoint has */
		pawl_store_close(store);
		fail_from(call, on);
		error = open_store();
		calls = memory.calls;
		fail_no_more();
		expect_error(error);
		if (!error) {
			check_it();
			pawl_store_close(store);
		}
		EXPECT_EQ(memory.blocks, 0);
		EXPECT_EQ(open_store(), 0);
		check_it();
		drain();
		pawl_store_close(store);
		end();
		if (test_failures)
			printf("  allocation %zu of open\n", call);
	} while (++call <= calls && !test_failures);
	printf("  %zu allocations\n", call - 1);
}

static void an_open_without_memory_leaves_the_store_as_it_was(void)
{
	fail_each_of_an_open(false);
	fail_each_of_an_open(true);
}

static void acknowledge(struct pawl_store *of, struct pawl_store_task *task, void *arg)
{
	size_t i = number_of(task);

	(void)arg;
	known[i].fate = pawl_store_ack(of, task) == 0 ? GONE : known[i].fate;
}

/* Time passes for the store and for the service. */
static void run_attached(struct pawl_service *service, struct pawl_clock_manual *clock)
{
	for (unsigned i = 0; i < 8; i++) {
		pass(PAWL_MINUTE);
		pawl_clock_manual_advance(clock, PAWL_MINUTE);
		pawl_service_poll(service, 0);
	}
}

/* Runners of an attachment take tasks, too: a take without memory is tried again. The service has its memory before. */
static size_t attach_without_memory(size_t call, bool on)
{
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL, .shards = 1};
	struct pawl_service *service;
	struct pawl_store_attachment *attachment;
	size_t calls;
	int error;

	pawl_clock_manual_init(&clock);
	options.clock = &clock.clock;
	EXPECT_EQ(pawl_service_open(&service, &options), 0);
	begin();
	EXPECT_EQ(open_store(), 0);
	put(1, 0);
	put(2, PAWL_MINUTE);
	fail_from(call, on);
	error = pawl_store_attach(&attachment, store, service, "q", PAWL_MINUTE, 2, acknowledge,
	                          NULL);
	expect_error(error);
	if (!error)
		run_attached(service, &clock);
	calls = memory.calls;
	fail_no_more();
	if (error)
		EXPECT_EQ(pawl_store_attach(&attachment, store, service, "q", PAWL_MINUTE, 2,
		                            acknowledge, NULL),
		          0);
	run_attached(service, &clock);
	EXPECT_EQ(known[1].fate, GONE);
	EXPECT_EQ(known[2].fate, GONE);
	pawl_store_detach(attachment);
	pawl_store_close(store);
	end();
	pawl_service_close(service, NULL);
	return calls;
}

static void an_attachment_without_memory_runs_each_task_later(void)
{
	for (int on = 0; on < 2; on++) {
		size_t call = 0;

		while (!test_failures && call <= attach_without_memory(call, on))
			call++;
		printf("  %zu allocations\n", call);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_allocation_that_fails_once_loses_nothing),
	        TEST(memory_that_has_run_out_loses_nothing),
	        TEST(an_open_without_memory_leaves_the_store_as_it_was),
	        TEST(an_attachment_without_memory_runs_each_task_later),
	};

	return RUN_TESTS(tests);
}
