/* SPDX-License-Identifier: MIT */
/* A store with its threads, on real files: waiting, sharing a sync, descriptors, attachments, and a stress. */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../support/test.h"

#include <errno.h>
#include <pawl/store.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define PUTTERS 4
#define TAKERS  3
#define EACH    300

static char directory[] = "/tmp/pawl-store-XXXXXX";
static char path[64];
static struct pawl_store *store;

static void begin(const struct pawl_store_options *options)
{
	static unsigned number;

	snprintf(path, sizeof(path), "%s/%u", directory, number++);
	EXPECT_EQ(pawl_store_open(&store, path, options), 0);
}

static void *run_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	EXPECT_EQ(pthread_create(thread, NULL, run, arg), 0);
	return NULL;
}

static void *put_later(void *arg)
{
	usleep(10000);
	EXPECT_EQ(pawl_store_put(store, "q", 5 * PAWL_MS, arg, strlen(arg), NULL), 0);
	return NULL;
}

static void a_take_waits_for_a_task(void)
{
	struct pawl_store_task task;
	static char text[] = "tea";
	pthread_t thread;

	begin(NULL);
	run_thread(&thread, put_later, text);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, PAWL_NEVER, &task, 1), 1);
	EXPECT_STR(task.payload, "tea");
	EXPECT(pawl_store_now(store) >= task.due_ns);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	pthread_join(thread, NULL);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 5 * PAWL_MS, &task, 1), 0);
	pawl_store_close(store);
}

static void a_lease_that_lapses_wakes_a_take(void)
{
	struct pawl_store_task first, second;

	begin(NULL);
	EXPECT_EQ(pawl_store_put(store, "q", 0, "x", 1, NULL), 0);
	EXPECT_EQ(pawl_store_take(store, "q", 20 * PAWL_MS, 0, &first, 1), 1);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, PAWL_NEVER, &second, 1), 1);
	EXPECT_EQ(second.tries, 2);
	EXPECT_EQ(pawl_store_ack(store, &first), -ETIMEDOUT);
	EXPECT_EQ(pawl_store_ack(store, &second), 0);
	pawl_store_close(store);
}

static void *take_for_ever(void *arg)
{
	struct pawl_store_task task;

	*(int *)arg = pawl_store_take(store, "q", PAWL_MINUTE, PAWL_NEVER, &task, 1);
	return NULL;
}

static void stop_ends_the_takes_that_wait(void)
{
	pthread_t threads[3];
	int results[3] = {1, 1, 1};

	begin(NULL);
	for (int i = 0; i < 3; i++)
		run_thread(&threads[i], take_for_ever, &results[i]);
	usleep(10000);
	pawl_store_stop(store);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(results[i], -ECANCELED);
	}
	pawl_store_close(store);
}

static void a_descriptor_is_readable_while_a_task_is_due(void)
{
	struct pawl_store_task task;
	struct pollfd ready = {.events = POLLIN};

	begin(NULL);
	ready.fd = pawl_store_fd(store);
	if (ready.fd == -ENOTSUP) {
		pawl_store_close(store);
		return;
	}
	EXPECT(ready.fd >= 0);
	EXPECT_EQ(pawl_store_fd(store), ready.fd);
	EXPECT_EQ(poll(&ready, 1, 0), 0);
	EXPECT_EQ(pawl_store_put(store, "q", 10 * PAWL_MS, "x", 1, NULL), 0);
	EXPECT_EQ(poll(&ready, 1, -1), 1);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_EQ(poll(&ready, 1, 0), 0);
	EXPECT_EQ(pawl_store_release(store, &task), 0);
	EXPECT_EQ(poll(&ready, 1, -1), 1);
	pawl_store_close(store);
}

static void *put_many(void *arg)
{
	uintptr_t number = (uintptr_t)arg;
	struct random random = {number};

	for (unsigned i = 0; i < EACH; i++) {
		uint64_t word = number * EACH + i, id;
		uint64_t delay = random_below(&random, 3) ? 0 : random_below(&random, 30 * PAWL_MS);

		EXPECT_EQ(pawl_store_put(store, "q", delay, &word, sizeof(word), &id), 0);
	}
	return NULL;
}

static unsigned char seen[PUTTERS * EACH];

static void *take_many(void *arg)
{
	struct random random = {(uintptr_t)arg + 77};
	struct pawl_store_task tasks[4];
	int got;

	while ((got = pawl_store_take(store, "q", PAWL_HOUR, 300 * PAWL_MS, tasks, 4)) > 0)
		for (int i = 0; i < got; i++) {
			uint64_t word;

			memcpy(&word, tasks[i].payload, sizeof(word));
			if (random_below(&random, 5) == 0) {
				EXPECT_EQ(pawl_store_retry(store, &tasks[i],
				                           random_below(&random, PAWL_MS)),
				          0);
			} else if (random_below(&random, 5) == 0) {
				EXPECT_EQ(pawl_store_release(store, &tasks[i]), 0);
			} else {
				EXPECT_EQ(pawl_store_ack(store, &tasks[i]), 0);
				EXPECT_EQ(__atomic_exchange_n(&seen[word], 1, __ATOMIC_RELAXED), 0);
			}
		}
	EXPECT_EQ(got, 0);
	return NULL;
}

/* Whatever the takers leave, the test takes; each task comes to its end once. */
static void stress(const struct pawl_store_options *options)
{
	pthread_t threads[PUTTERS + TAKERS];
	struct pawl_store_stats stats;

	memset(seen, 0, sizeof(seen));
	begin(options);
	for (uintptr_t i = 0; i < PUTTERS; i++)
		run_thread(&threads[i], put_many, (void *)i);
	for (uintptr_t i = 0; i < TAKERS; i++)
		run_thread(&threads[PUTTERS + i], take_many, (void *)i);
	for (int i = 0; i < PUTTERS + TAKERS; i++)
		pthread_join(threads[i], NULL);
	do {
		take_many(NULL);
		pawl_store_get_stats(store, &stats, sizeof(stats));
	} while (stats.pending > 0);
	for (unsigned i = 0; i < PUTTERS * EACH; i++)
		EXPECT_EQ(seen[i], 1);
	EXPECT_EQ(stats.put, PUTTERS * EACH);
	EXPECT_EQ(stats.acked, PUTTERS * EACH);
	printf("  %u commits, %u syncs, %u checkpoints\n", (unsigned)stats.commits,
	       (unsigned)stats.syncs, (unsigned)stats.checkpoints);
	pawl_store_close(store);
}

static void threads_that_commit_at_once_lose_nothing(void)
{
	stress(NULL);
}

static void checkpoints_go_on_beside_commits(void)
{
	stress(&(struct pawl_store_options){.log_size = 256 << 10,
	                                    .memory = 256 << 10,
	                                    .sync_ns = PAWL_MS,
	                                    .width_ns = PAWL_SECOND});
}

static unsigned ran;

static void count(struct pawl_store *of, struct pawl_store_task *task, void *arg)
{
	EXPECT(arg == &ran);
	if (task->tries == 1 && task->size % 2)
		EXPECT_EQ(pawl_store_retry(of, task, 0), 0);
	else {
		__atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
		EXPECT_EQ(pawl_store_ack(of, task), 0);
	}
}

static void attached_tasks_run_on_the_workers_of_a_service(void)
{
	struct pawl_service_options workers = {.workers = 3};
	struct pawl_store_attachment *attachment = NULL;
	struct pawl_service *service;
	struct pawl_store_stats stats;

	ran = 0;
	begin(&(struct pawl_store_options){.sync_ns = PAWL_NEVER});
	EXPECT_EQ(pawl_service_open(&service, &workers), 0);
	for (unsigned i = 0; i < 50; i++)
		EXPECT_EQ(pawl_store_put(store, "q", 0, "abc", i % 3, NULL), 0);
	EXPECT_EQ(pawl_store_attach(&attachment, store, service, "q", PAWL_MINUTE, 0, count, &ran),
	          -EINVAL);
	EXPECT_EQ(pawl_store_attach(&attachment, store, service, "q", PAWL_MINUTE, 2, count, &ran),
	          0);
	for (unsigned i = 0; i < 50; i++)
		EXPECT_EQ(pawl_store_put(store, "q", i % 4 * PAWL_MS, "abc", i % 3, NULL), 0);
	do
		pawl_store_get_stats(store, &stats, sizeof(stats));
	while (stats.pending > 0);
	pawl_store_detach(attachment);
	EXPECT_EQ(ran, 100);
	EXPECT_EQ(pawl_store_put(store, "q", 0, "x", 1, NULL), 0);
	pawl_service_close(service, NULL);
	pawl_store_close(store);
}

static void leave(struct pawl_store *of, struct pawl_store_task *task, void *arg)
{
	(void)of;
	(void)task;
	__atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
}

static void a_task_that_the_function_leaves_alone_comes_again(void)
{
	struct pawl_store_attachment *attachment;
	struct pawl_service *service;

	ran = 0;
	begin(NULL);
	EXPECT_EQ(pawl_service_open(&service, NULL), 0);
	EXPECT_EQ(pawl_store_attach(&attachment, store, service, "q", PAWL_MS, 1, leave, &ran), 0);
	EXPECT_EQ(pawl_store_put(store, "q", 0, "x", 1, NULL), 0);
	while (__atomic_load_n(&ran, __ATOMIC_RELAXED) < 3)
		usleep(1000);
	pawl_store_detach(attachment);
	pawl_service_close(service, NULL);
	pawl_store_close(store);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_take_waits_for_a_task),
	        TEST(a_lease_that_lapses_wakes_a_take),
	        TEST(stop_ends_the_takes_that_wait),
	        TEST(a_descriptor_is_readable_while_a_task_is_due),
	        TEST(threads_that_commit_at_once_lose_nothing),
	        TEST(checkpoints_go_on_beside_commits),
	        TEST(attached_tasks_run_on_the_workers_of_a_service),
	        TEST(a_task_that_the_function_leaves_alone_comes_again),
	};
	int failed;
	char command[80];

	if (!mkdtemp(directory))
		return 1;
	failed = RUN_TESTS(tests);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command) != 0 || failed;
}
