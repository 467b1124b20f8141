/* SPDX-License-Identifier: MIT */
/* The purgatories in the live view of a service. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/purgatories.h"
#include "../support/viewer.h"

enum { MOST = 100 };

int __wrap_pawl__system_random(void *bytes, size_t size);

/* The same secret each time, so that keys are in the same buckets in every run. */
int __wrap_pawl__system_random(void *bytes, size_t size)
{
	memset(bytes, 1, size);
	return 0;
}

static void describe(struct pawl_op *op, char *text, size_t size)
{
	unsigned number = (unsigned)__atomic_load_n(&request_from(op)->number, __ATOMIC_SEQ_CST);

	snprintf(text, size, "number %u\t\"%s\"", number, number & 1 ? "\xc3\xa4" : "\xff");
}

static struct pawl_purgatory *described_purgatory(struct pawl_service *service, unsigned shards)
{
	const struct pawl_purgatory_options options = {.shards = shards, .describe = describe};
	struct pawl_purgatory *purgatory = NULL;

	EXPECT_EQ(pawl_purgatory_open(&purgatory, service, &options), 0);
	return purgatory;
}

static void look(struct room *room, struct viewer *viewer)
{
	EXPECT_EQ(pawl_service_inspect(room->fixture.service, socket_path()), 0);
	viewer_open(viewer, socket_path());
}

/* The number of waiting operations of the key that is shown as number `index`; 0: there is none. */
static uint64_t waiting_at(const struct viewer *viewer, unsigned index)
{
	const char *at = member(member(viewer->text, "purgatories"), "keys");

	do
		at = strstr(at, "\"waiting\":");
	while (at && index-- > 0 && at++);
	return at ? number_in(at, "waiting") : 0;
}

/* These keys are in different buckets, so the counts are exact. */
IN_EVERY_ROOM(the_keys_with_most_waiting_are_shown_with_their_numbers)
{
	static struct request requests[MOST];
	struct viewer viewer;
	unsigned count = 0;
	const char *shown;

	look(room, &viewer);
	for (unsigned key = 0; key < 4; key++)
		for (unsigned i = 0; i < (key + 1) * 10 && count < MOST; i++) {
			char letter[] = {(char)('a' + key), '\0'};

			request_init(&requests[count], room);
			EXPECT_EQ(watch(&requests[count++], letter, HOUR), 0);
		}
	EXPECT(ask(&viewer));
	shown = member(viewer.text, "purgatories");
	EXPECT_EQ(number_in(shown, "watched"), count);
	EXPECT_EQ(number_in(shown, "delayed"), count);
	for (unsigned i = 0; i < 4; i++)
		EXPECT_EQ(waiting_at(&viewer, i), (4 - i) * 10);
	cancel_key(room, "d");
	cancel_key(room, "b");
	EXPECT(ask(&viewer));
	EXPECT_EQ(waiting_at(&viewer, 0), 30);
	EXPECT_EQ(waiting_at(&viewer, 1), 10);
	EXPECT_EQ(waiting_at(&viewer, 2), 0);
	EXPECT_EQ(number_in(member(viewer.text, "purgatories"), "cancelled"), 60);
	cancel_key(room, "a");
	for (unsigned i = 30; i < 40; i++) /* some of "c" */
		requests[i].ready = 1;
	EXPECT_EQ(check(room, "c"), 10);
	EXPECT(ask(&viewer));
	EXPECT_EQ(waiting_at(&viewer, 0), 20);
	cancel_key(room, "c");
	EXPECT(ask(&viewer));
	EXPECT_EQ(waiting_at(&viewer, 0), 0);
	EXPECT(strstr(viewer.text, "\"keys\":[]"));
	viewer_close(&viewer);
	leave_room(room);
}

/* So many that the table grows, and a scan takes several snapshots. */
IN_EVERY_ROOM(a_busy_key_is_found_among_thousands)
{
	enum { OTHERS = 10000, BUSY = 700 };
	struct request *requests = calloc(OTHERS + BUSY, sizeof(*requests));
	struct viewer viewer;
	char name[32];

	requests_init(requests, OTHERS + BUSY, room);
	for (unsigned i = 0; i < OTHERS + BUSY; i++) {
		struct pawl_key key;

		snprintf(name, sizeof(name), i % 15 || i / 15 >= BUSY ? "key %u" : "busy", i);
		key = key_of(room, name);
		EXPECT_EQ(watch_keys(&requests[i], &key, 1), 0);
	}
	look(room, &viewer);
	for (unsigned i = 0; i < 40; i++)
		EXPECT(ask(&viewer));
	EXPECT(waiting_at(&viewer, 0) >=
	       BUSY * 9 / 10); /* a bucket's share may be its neighbour's */
	EXPECT(waiting_at(&viewer, 0) <= BUSY + 100);
	EXPECT(waiting_at(&viewer, 1) < 100);
	EXPECT_EQ(number_in(member(viewer.text, "purgatories"), "watched"), OTHERS + BUSY);
	viewer_close(&viewer);
	leave_room(room);
	free(requests);
}

IN_EVERY_ROOM(one_operation_of_a_key_is_put_into_words)
{
	struct pawl_purgatory *other = room->purgatory;
	struct request request;
	struct viewer viewer;

	room->purgatory = described_purgatory(room->fixture.service, 1);
	request_init(&request, room);
	request.number = 7;
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	look(room, &viewer);
	EXPECT(strstr(viewer.text, "\"operation\":\"number 7\\u0009\\\"\xc3\xa4\\\"\""));
	__atomic_store_n(&request.number, 8, __ATOMIC_SEQ_CST);
	EXPECT(ask(&viewer));
	EXPECT(strstr(viewer.text, "\"operation\":\"number 8\\u0009\\\"\\ufffd\\\"\""));
	EXPECT_EQ(cancel_key(room, "a"), 1);
	EXPECT_STR(request.story, "kr"); /* the view has given its reference back */
	EXPECT(ask(&viewer));
	viewer_close(&viewer);
	pawl_purgatory_close(room->purgatory);
	room->purgatory = other;
	leave_room(room);
}

/* At the same time as everything else */

struct viewers {
	pthread_t threads[3];
	bool stop;
};

static void *look_often(void *stop)
{
	struct viewer viewer;

	viewer_open(&viewer, socket_path());
	while (!__atomic_load_n((bool *)stop, __ATOMIC_SEQ_CST))
		EXPECT(ask(&viewer));
	viewer_close(&viewer);
	return NULL;
}

static void viewers_start(struct viewers *viewers)
{
	viewers->stop = false;
	for (unsigned i = 0; i < COUNTOF(viewers->threads); i++)
		pthread_create(&viewers->threads[i], NULL, look_often, &viewers->stop);
}

static void viewers_stop(struct viewers *viewers)
{
	__atomic_store_n(&viewers->stop, true, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < COUNTOF(viewers->threads); i++)
		pthread_join(viewers->threads[i], NULL);
}

/* Operations on the stack, which are gone when stop has returned, even if the view had a reference. */
static void a_purgatory_is_closed_while_it_is_looked_at(void)
{
	const struct pawl_service_options options = {.workers = 2, .shards = 2};
	struct viewers viewers;
	struct room room;

	fixture_open(&room.fixture, &options);
	EXPECT_EQ(pawl_service_inspect(room.fixture.service, socket_path()), 0);
	viewers_start(&viewers);
	for (unsigned round = 0; round < 200; round++) {
		struct request requests[20];

		room.purgatory = described_purgatory(room.fixture.service, 2);
		requests_init(requests, COUNTOF(requests), &room);
		for (unsigned i = 0; i < COUNTOF(requests); i++)
			EXPECT_EQ(watch(&requests[i], i % 3 ? "ab" : "c", HOUR), 0);
		if (round % 2)
			cancel_key(&room, "c");
		leave_room(&room);
		for (unsigned i = 0; i < COUNTOF(requests); i++)
			EXPECT_EQ(requests[i].story[strlen(requests[i].story) - 1], 'r');
		memset(requests, 0xA5, sizeof(requests));
		pawl_purgatory_close(room.purgatory);
	}
	viewers_stop(&viewers);
	pawl_service_close(room.fixture.service, NULL);
}

/* An operation that is withdrawn while the view describes it: so the view calls its release. */

static sem_t described, withdrawn;
static unsigned descriptions;

/* The first time it lasts until `withdrawn` is posted. */
static void describe_slowly(struct pawl_op *op, char *text, size_t size)
{
	describe(op, text, size);
	if (__atomic_fetch_add(&descriptions, 1, __ATOMIC_SEQ_CST) > 0)
		return;
	sem_post(&described);
	sem_wait(&withdrawn);
}

/* Viewers ask, and the view describes the request until `withdrawn` is posted. */
static void begin_to_describe(struct room *room, struct request *request, struct viewers *viewers)
{
	const struct pawl_service_options options = {.workers = 1, .shards = 1};
	const struct pawl_purgatory_options slowly = {.shards = 1, .describe = describe_slowly};

	sem_init(&described, 0, 0);
	sem_init(&withdrawn, 0, 0);
	descriptions = 0;
	fixture_open(&room->fixture, &options);
	EXPECT_EQ(pawl_purgatory_open(&room->purgatory, room->fixture.service, &slowly), 0);
	request_init(request, room);
	EXPECT_EQ(watch(request, "a", HOUR), 0);
	EXPECT_EQ(pawl_service_inspect(room->fixture.service, socket_path()), 0);
	viewers_start(viewers);
	sem_wait(&described);
}

static void stop_in_release(struct request *request, char event)
{
	if (event == 'r')
		pawl_purgatory_stop(request->room->purgatory);
}

static void stop_on_the_thread_of_the_view(void)
{
	struct viewers viewers;
	struct request request;
	struct room room;

	begin_to_describe(&room, &request, &viewers);
	request.inside = stop_in_release;
	cancel_key(&room, "a");
	sem_post(&withdrawn);
	viewers_stop(&viewers);
}

static void stop_in_a_release_that_the_view_calls_ends_the_program(void)
{
	pid_t pid;
	int status = 0;

	socket_path(); /* its directory is this process's */
	pid = fork();
	if (pid == 0) {
		alarm(60); /* it waits for itself: SIGALRM is not SIGABRT */
		stop_on_the_thread_of_the_view();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A stop on another thread, while the view describes an operation. */

static struct pawl_purgatory *to_stop;
static long stopper; /* the number of the thread that stops it; 0: it has not begun */
static bool stopped;

static void *stop_it(void *unused)
{
	__atomic_store_n(&stopper, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	pawl_purgatory_stop(to_stop);
	__atomic_store_n(&stopped, true, __ATOMIC_SEQ_CST);
	return unused;
}

static bool sleeps(long thread)
{
	char path[64], state = '?';
	FILE *file;

	if (thread == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", thread);
	file = fopen(path, "r");
	EXPECT(!file || fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
	if (file)
		fclose(file);
	return state == 'S';
}

static void release_before_stop_returns(struct request *request, char event)
{
	(void)request;
	if (event == 'r')
		EXPECT(!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST));
}

/*
 * The view has a reference to the operation, and gives it back when stop sleeps, or has returned. Other viewers wait for
 * their turn: the view must not describe the operation to them before stop goes on.
 */
static void stop_beside_viewers(void)
{
	struct viewers viewers;
	struct request request;
	struct room room;
	pthread_t other;

	begin_to_describe(&room, &request, &viewers);
	request.inside = release_before_stop_returns;
	to_stop = room.purgatory;
	stopper = 0;
	stopped = false;
	pthread_create(&other, NULL, stop_it, NULL);
	while (!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) &&
	       !sleeps(__atomic_load_n(&stopper, __ATOMIC_SEQ_CST)))
		sched_yield();
	sem_post(&withdrawn);
	pthread_join(other, NULL);
	EXPECT_STR(request.story, "dr");
	EXPECT_EQ(descriptions, 1);
	viewers_stop(&viewers);
	pawl_purgatory_close(room.purgatory);
	pawl_service_close(room.fixture.service, NULL);
}

static void stop_waits_for_the_view_that_has_begun_and_for_no_other(void)
{
	for (unsigned round = 0; round < 50; round++)
		stop_beside_viewers();
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(stop_in_a_release_that_the_view_calls_ends_the_program),
	        TEST(the_keys_with_most_waiting_are_shown_with_their_numbers),
	        TEST(a_busy_key_is_found_among_thousands),
	        TEST(one_operation_of_a_key_is_put_into_words),
	        TEST(a_purgatory_is_closed_while_it_is_looked_at),
	        TEST(stop_waits_for_the_view_that_has_begun_and_for_no_other),
	};
	int code;

	code = RUN_TESTS(tests);
	remove_socket_directory();
	return code;
}
