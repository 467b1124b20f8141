/* SPDX-License-Identifier: MIT */
/* Much of everything, on real files: memory, files and steps stay within their bounds. */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "../support/test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define START  UINT64_C(1700000000000000000)
#define MEMORY (256u << 10)
#define BATCH  500u

static char directory[] = "/tmp/pawl-bounds-XXXXXX";
static char path[64];
static struct pawl_clock_manual manual;
static struct pawl_store *store;
static struct pawl_store_options options;

static void open_store(void)
{
	EXPECT_EQ(pawl_store_open(&store, path, &options), 0);
}

static void begin(void)
{
	static unsigned number;

	snprintf(path, sizeof(path), "%s/%u", directory, number++);
	pawl_clock_manual_init(&manual);
	pawl_clock_manual_set_wall(&manual, (struct timespec){.tv_sec = START / PAWL_SECOND});
	options = (struct pawl_store_options){.clock = &manual.clock,
	                                      .manual = true,
	                                      .sync_ns = PAWL_NEVER,
	                                      .memory = MEMORY,
	                                      .log_size = 4u << 20};
	open_store();
}

static void pass(uint64_t ns)
{
	pawl_clock_manual_advance(&manual, ns);
	pawl_store_poll(store);
}

static struct pawl_store_stats stats(void)
{
	struct pawl_store_stats stats;

	pawl_store_get_stats(store, &stats, sizeof(stats));
	EXPECT(stats.memory_bytes <= options.memory);
	EXPECT_EQ(stats.damaged, 0);
	return stats;
}

/* Put n tasks, due at from and, evenly and in a mixed order, up to `span` later. */
static void put_many(uint64_t n, uint64_t from, uint64_t span, uint64_t *ids)
{
	struct pawl_store_change changes[BATCH];

	for (uint64_t done = 0; done < n; done += BATCH) {
		for (uint64_t i = 0; i < BATCH; i++)
			changes[i] = (struct pawl_store_change){
			        .verb = PAWL_STORE_PUT,
			        .queue = "q",
			        .at_ns = from + span / n * ((done + i) * 7919 % n),
			        .payload = "some payload",
			        .size = 12};
		EXPECT_EQ(pawl_store_commit(store, changes, BATCH), 0);
		for (uint64_t i = 0; ids && i < BATCH; i++)
			ids[done + i] = changes[i].id;
		stats();
	}
}

/* Take and acknowledge all that is due. Returns how many. */
static uint64_t drain(void)
{
	struct pawl_store_task tasks[BATCH];
	struct pawl_store_change changes[BATCH];
	uint64_t count = 0;
	int got;

	for (;;) {
		pawl_store_poll(store);
		got = pawl_store_take(store, "q", PAWL_HOUR, 0, tasks, BATCH);
		EXPECT(got >= 0);
		if (got <= 0)
			return count;
		for (int i = 0; i < got; i++) {
			EXPECT(tasks[i].due_ns <= pawl_store_now(store));
			changes[i] = (struct pawl_store_change){.verb = PAWL_STORE_ACK,
			                                        .task = &tasks[i]};
		}
		EXPECT_EQ(pawl_store_commit(store, changes, (size_t)got), 0);
		count += (uint64_t)got;
	}
}

/* Bytes of the files whose names begin so. */
static uint64_t bytes_of(const char *prefix)
{
	DIR *names = opendir(path);
	struct dirent *entry;
	struct stat file;
	uint64_t bytes = 0;

	while (names && (entry = readdir(names)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    fstatat(dirfd(names), entry->d_name, &file, 0) == 0)
			bytes += (uint64_t)file.st_size;
	closedir(names);
	return bytes;
}

static void a_slot_that_is_too_large_for_memory_is_opened_in_parts(void)
{
	begin();
	put_many(60000, START + 5 * PAWL_HOUR, PAWL_MINUTE, NULL);
	EXPECT(stats().in_memory < 10);
	pass(5 * PAWL_HOUR + PAWL_MINUTE);
	EXPECT(stats().in_memory > 100);
	EXPECT_EQ(drain(), 60000);
	EXPECT_EQ(stats().pending, 0);
	pawl_store_close(store);
}

static void tasks_of_one_nanosecond_are_opened_in_parts(void)
{
	begin();
	put_many(20000, START + 5 * PAWL_HOUR, 0, NULL);
	pass(5 * PAWL_HOUR);
	EXPECT_EQ(drain(), 20000);
	pawl_store_close(store);
}

static void a_backlog_that_nobody_takes_is_kept_in_files(void)
{
	begin();
	put_many(30000, START, PAWL_MINUTE, NULL);
	EXPECT_EQ(stats().pending, 30000);
	pass(2 * PAWL_MINUTE);
	pawl_store_close(store);
	open_store();
	EXPECT_EQ(drain(), 30000);
	pawl_store_close(store);
}

/* Memory is full of tasks of the next minutes; one that is due sooner gets in, and is in time. */
static void a_task_that_is_due_sooner_gets_memory(void)
{
	struct pawl_store_task task;

	begin();
	put_many(20000, START + 8 * PAWL_MINUTE, PAWL_MINUTE, NULL);
	EXPECT_EQ(pawl_store_put(store, "soon", PAWL_SECOND, "x", 1, NULL), 0);
	pawl_store_poll(store);
	pass(PAWL_SECOND);
	EXPECT_EQ(pawl_store_take(store, "soon", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	pass(10 * PAWL_MINUTE);
	EXPECT_EQ(drain(), 20000);
	pawl_store_close(store);
}

/* Four queues that nobody takes from, each of several times the memory; a fifth one is served in time. */
static void a_queue_without_workers_does_not_hold_up_the_others(void)
{
	static const char *const idle[] = {"a", "b", "c", "d"};
	struct pawl_store_task task;

	begin();
	for (unsigned i = 0; i < 20000; i++)
		EXPECT_EQ(pawl_store_put(store, idle[i % 4], i % 60 * PAWL_SECOND, "x", 1, NULL),
		          0);
	for (unsigned i = 0; i < 600; i++)
		EXPECT_EQ(pawl_store_put(store, "busy", i * PAWL_SECOND, "y", 1, NULL), 0);
	for (unsigned i = 0; i < 600; i++) {
		pawl_store_poll(store);
		EXPECT_EQ(pawl_store_take(store, "busy", PAWL_HOUR, 0, &task, 1), 1);
		EXPECT_EQ(task.due_ns, START + i * PAWL_SECOND);
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
		stats();
		pass(PAWL_SECOND);
	}
	EXPECT_EQ(stats().pending, 20000);
	pawl_store_close(store);
	EXPECT_EQ(pawl_store_check(path, NULL, NULL), 0);
}

/* Its first tasks stay in memory, and those that become due later come after it; also over a restart. Tasks that became
 * due between two polls, a second here, are not sorted. */
static void a_backlog_is_taken_in_order(void)
{
	struct pawl_store_task task;
	uint64_t last = 0, taken = 0;

	begin();
	put_many(60000, START, PAWL_MINUTE, NULL);
	for (unsigned i = 0; i < 60; i++)
		pass(PAWL_SECOND);
	EXPECT(stats().in_memory < 2000);
	for (unsigned rounds = 0; taken < 60000 && rounds < 60000; rounds++) {
		EXPECT(pawl_store_next(store) <= pawl_store_now(store));
		pawl_store_poll(store);
		while (pawl_store_take(store, "q", PAWL_HOUR, 0, &task, 1) == 1) {
			EXPECT(task.due_ns + PAWL_SECOND >= last);
			last = task.due_ns;
			taken++;
			EXPECT_EQ(pawl_store_ack(store, &task), 0);
			if (taken == 30000)
				break;
		}
		if (taken == 30000) {
			pawl_store_close(store);
			open_store();
		}
	}
	EXPECT_EQ(taken, 60000);
	EXPECT_EQ(stats().pending, 0);
	pawl_store_close(store);
}

/* Each slot is larger than the memory; what is due in it first comes first. */
static void a_worker_that_keeps_up_gets_each_task_in_time(void)
{
	struct pawl_store_task task;
	uint64_t late = 0, taken = 0;

	begin();
	put_many(60000, START, 4 * PAWL_HOUR, NULL);
	pawl_store_close(store);
	open_store();
	for (unsigned i = 0; i < 4 * 360 + 1; i++) {
		while (pawl_store_take(store, "q", PAWL_HOUR, 0, &task, 1) == 1) {
			uint64_t by = pawl_store_now(store) - task.due_ns;

			late = by > late ? by : late;
			taken++;
			EXPECT_EQ(pawl_store_ack(store, &task), 0);
		}
		pass(10 * PAWL_SECOND);
	}
	EXPECT_EQ(taken, 60000);
	EXPECT(late <= 10 * PAWL_SECOND);
	pawl_store_close(store);
}

static void a_year_of_hourly_puts_leaves_no_file_behind(void)
{
	uint64_t most = 0;

	begin();
	for (unsigned hour = 0; hour < 365 * 24; hour++) {
		put_many(BATCH, pawl_store_now(store) + 100 * PAWL_HOUR, PAWL_HOUR, NULL);
		pass(PAWL_HOUR);
		drain();
		most = stats().slot_files > most ? stats().slot_files : most;
		if (hour == 150)
			hour = 365 * 24 - 150; /* the middle of the year is like the rest */
	}
	pass(200 * PAWL_HOUR);
	drain();
	EXPECT_EQ(stats().pending, 0);
	pawl_store_close(store);
	open_store();
	EXPECT(most < 120);
	EXPECT_EQ(stats().slot_files, 0);
	EXPECT_EQ(bytes_of("slot"), 0);
	EXPECT(store->slot_count < 4);
	pawl_store_close(store);
}

static void cancelled_far_tasks_free_their_space(void)
{
	static uint64_t ids[40000];
	uint64_t full;

	begin();
	put_many(40000, START + 500 * PAWL_HOUR, PAWL_HOUR, ids);
	store->want_checkpoint = true;
	pawl_store_poll(store);
	full = bytes_of("slot");
	EXPECT(full > 40000 * 12);
	for (unsigned i = 0; i < 40000; i++)
		if (i % 10)
			EXPECT_EQ(pawl_store_cancel(store, ids[i]), 0);
	pawl_store_poll(store);
	store->want_checkpoint = true;
	pawl_store_poll(store);
	EXPECT(bytes_of("slot") < full / 4);
	EXPECT_EQ(stats().pending, 4000);
	pass(502 * PAWL_HOUR);
	EXPECT_EQ(drain(), 4000);
	pawl_store_close(store);
}

static void ten_thousand_queues_have_their_tasks(void)
{
	struct pawl_store_task task;
	char name[32];

	begin();
	pawl_store_close(store);
	options.memory = 4u << 20; /* for all that is due */
	open_store();
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "queue number %u", i);
		EXPECT_EQ(pawl_store_put(store, name, i % 2 ? 0 : PAWL_HOUR, name, strlen(name),
		                         NULL),
		          0);
	}
	pawl_store_close(store);
	open_store();
	pass(PAWL_HOUR);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "queue number %u", i);
		EXPECT_EQ(pawl_store_take(store, name, PAWL_MINUTE, 0, &task, 1), 1);
		EXPECT_STR(task.payload, name);
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
	}
	EXPECT_EQ(stats().pending, 0);
	pawl_store_close(store);
}

static void payloads_have_any_size_up_to_the_largest(void)
{
	static char payload[MEMORY / 16];
	struct pawl_store_task task;

	memset(payload, 7, sizeof(payload));
	begin();
	for (size_t size = 0; size <= sizeof(payload); size = size * 5 / 2 + 1) {
		EXPECT_EQ(pawl_store_put(store, "near", 0, payload, size, NULL), 0);
		EXPECT_EQ(pawl_store_put(store, "far", PAWL_HOUR, payload, size, NULL), 0);
		pawl_store_close(store);
		open_store();
		EXPECT_EQ(pawl_store_take(store, "near", PAWL_MINUTE, 0, &task, 1), 1);
		EXPECT_EQ(task.size, size);
		EXPECT(memcmp(task.payload, payload, size) == 0);
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
		pass(PAWL_HOUR);
		EXPECT_EQ(pawl_store_take(store, "far", PAWL_MINUTE, 0, &task, 1), 1);
		EXPECT_EQ(task.size, size);
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
	}
	pawl_store_close(store);
}

static void a_directory_is_open_once(void)
{
	struct pawl_store *second = NULL;
	char problem[PAWL_STORE_PROBLEM];
	struct pawl_store_options own = {.manual = true, .problem = problem};

	begin();
	EXPECT_EQ(pawl_store_open(&second, path, &own), -EBUSY);
	EXPECT(second == NULL);
	EXPECT_EQ(pawl_store_check(path, NULL, NULL), -EBUSY);
	pawl_store_close(store);
	EXPECT_EQ(pawl_store_check(path, NULL, NULL), 0);
	EXPECT_EQ(pawl_store_open(&second, "/nowhere/at/all", &own), -ENOENT);
	EXPECT(strstr(problem, "/nowhere/at/all") != NULL);
	EXPECT_EQ(pawl_store_check("/nowhere/at/all", NULL, NULL), -ENOENT);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_slot_that_is_too_large_for_memory_is_opened_in_parts),
	        TEST(tasks_of_one_nanosecond_are_opened_in_parts),
	        TEST(a_backlog_that_nobody_takes_is_kept_in_files),
	        TEST(a_task_that_is_due_sooner_gets_memory),
	        TEST(a_queue_without_workers_does_not_hold_up_the_others),
	        TEST(a_backlog_is_taken_in_order),
	        TEST(a_worker_that_keeps_up_gets_each_task_in_time),
	        TEST(a_year_of_hourly_puts_leaves_no_file_behind),
	        TEST(cancelled_far_tasks_free_their_space),
	        TEST(ten_thousand_queues_have_their_tasks),
	        TEST(payloads_have_any_size_up_to_the_largest),
	        TEST(a_directory_is_open_once),
	};
	char command[80];
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = RUN_TESTS(tests);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command) != 0 || failed;
}
