/* SPDX-License-Identifier: MIT */
/* Schedules that are seldom hit by chance, held open by hand. Each was a bug once. */
#define _GNU_SOURCE
#include <sched.h>

#include "../support/purgatories.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

#define DEPTH 16  /* at which on_complete is put off */
#define FULL  128 /* watches, with which the first table grows */

/* One thread gives an operation to try_or_watch while another completes it, in 16 nested calls. */
static struct {
	struct room room;
	struct request nested[DEPTH], late;
	sem_t allocating, completed, returned;
} deep;

static _Thread_local bool holds_calloc;

/* The allocation for further keys: try_or_watch has seen by then that the operation is still fresh. */
void *__wrap_calloc(size_t count, size_t size)
{
	if (holds_calloc) {
		holds_calloc = false;
		sem_post(&deep.allocating);
		sem_wait(&deep.completed);
	}
	return __real_calloc(count, size);
}

static void go_deeper(struct request *request, char event)
{
	if (event != 'c')
		return;
	if (request->other) {
		pawl_op_complete(&request->other->op);
		return;
	}
	sem_wait(&deep.allocating);
	EXPECT(pawl_op_complete(&deep.late.op));
	sem_post(&deep.completed);
	sem_wait(&deep.returned);
	EXPECT_STR(deep.late.story, ""); /* it is put off until this function has returned */
}

static void *watch_late(void *arg)
{
	(void)arg;
	holds_calloc = true;
	EXPECT_EQ(watch(&deep.late, "abcde", HOUR), 0);
	sem_post(&deep.returned);
	return NULL;
}

static void completed_in_nested_calls_while_it_is_being_watched_it_completes_once(void)
{
	pthread_t thread;

	room_open(&deep.room, &every_mode[0], 1);
	sem_init(&deep.allocating, 0, 0);
	sem_init(&deep.completed, 0, 0);
	sem_init(&deep.returned, 0, 0);
	request_init(&deep.late, &deep.room);
	pawl_op_ref(&deep.late.op);
	for (unsigned i = 0; i < DEPTH; i++) {
		request_init(&deep.nested[i], &deep.room);
		pawl_op_ref(&deep.nested[i].op);
		deep.nested[i].inside = go_deeper;
		deep.nested[i].other = i + 1 < DEPTH ? &deep.nested[i + 1] : NULL;
	}
	pthread_create(&thread, NULL, watch_late, NULL);
	EXPECT(pawl_op_complete(&deep.nested[0].op));
	pthread_join(thread, NULL);
	EXPECT_STR(deep.late.story, "c");
	expect_counted(&deep.room, 0, 0);
	pawl_op_unref(&deep.late.op);
	EXPECT_STR(deep.late.story, "cr");
	pawl_purgatory_close(deep.room.purgatory);
	pawl_service_close(deep.room.fixture.service, NULL);
}

/* A try_or_watch is about to let the table grow when stop begins to go through it. */
static struct {
	struct room room;
	struct request requests[FULL];
	sem_t growing, dropping;
	pthread_t thread;
	bool dropped;
} full;

static _Thread_local bool holds_aligned_alloc;

/* The allocation of the new table: the operation that makes it grow is linked already. */
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	if (holds_aligned_alloc) {
		holds_aligned_alloc = false;
		sem_post(&full.growing);
		sem_wait(&full.dropping);
	}
	return __real_aligned_alloc(alignment, size);
}

/* Each under a key of its own: for the operations of a few keys the table does not grow. */
static int watch_one(unsigned i)
{
	const struct pawl_key key = pawl_purgatory_key(full.room.purgatory, &i, sizeof(i));

	return pawl_purgatory_try_or_watch(full.room.purgatory, &full.requests[i].op, &key, 1,
	                                   HOUR);
}

static void *watch_last(void *arg)
{
	(void)arg;
	holds_aligned_alloc = true;
	EXPECT_EQ(watch_one(FULL - 1), 0);
	EXPECT(!holds_aligned_alloc);
	return NULL;
}

static void let_it_grow(struct request *request, char event)
{
	if (event != 'd')
		return;
	if (strcmp(request->story, "d") != 0)
		abort(); /* stop would go on forever */
	if (!full.dropped) {
		full.dropped = true;
		sem_post(&full.dropping);
		pthread_join(full.thread, NULL);
	}
}

static void a_table_that_stop_goes_through_does_not_grow(void)
{
	room_open(&full.room, &every_mode[0], 1);
	sem_init(&full.growing, 0, 0);
	sem_init(&full.dropping, 0, 0);
	requests_init(full.requests, FULL, &full.room);
	for (unsigned i = 0; i < FULL; i++)
		full.requests[i].inside = let_it_grow;
	for (unsigned i = 0; i < FULL - 1; i++)
		EXPECT_EQ(watch_one(i), 0);
	pthread_create(&full.thread, NULL, watch_last, NULL);
	sem_wait(&full.growing);
	pawl_purgatory_stop(full.room.purgatory);
	for (unsigned i = 0; i < FULL; i++)
		EXPECT_STR(full.requests[i].story, "dr");
	expect_counted(&full.room, 0, 0);
	room_close(&full.room);
}

/* The service first, then the purgatory: not as asked, but nothing may be lost or hang. */
static unsigned strangers; /* tasks that `dropped` got */

static void count_stranger(struct pawl_task *task)
{
	(void)task;
	strangers++;
}

static void without_its_service_an_operation_waits_on(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct request checked, completed, dropped;
		struct room room;

		room_open(&room, &every_mode[i], 2);
		request_init(&checked, &room);
		request_init(&completed, &room);
		request_init(&dropped, &room);
		pawl_op_ref(&completed.op);
		EXPECT_EQ(watch(&checked, "a", HOUR), 0);
		EXPECT_EQ(watch(&completed, "bcdef", HOUR), 0);
		EXPECT_EQ(watch(&dropped, "b", HOUR), 0);
		strangers = 0;
		pawl_service_stop(room.fixture.service, count_stranger);
		EXPECT_EQ(strangers, 0);
		expect_counted(&room, 7, 3);
		checked.ready = 1;
		EXPECT_EQ(check(&room, "a"), 1);
		EXPECT(pawl_op_complete(&completed.op));
		pawl_op_unref(&completed.op);
		pawl_purgatory_close(room.purgatory);
		EXPECT_STR(checked.story, "cr");
		EXPECT_STR(completed.story, "cr");
		EXPECT_STR(dropped.story, "dr");
		pawl_service_close(room.fixture.service, NULL);
	}
}

/*
 * A poll has begun the alarm and has not run it yet; meanwhile a check wins the operation. Close waits for that poll.
 * The clock holds up the poll.
 */
static struct {
	struct pawl_clock clock;
	uint64_t now;
	struct room room;
	struct request request;
	sem_t polling, poll_on;
} slow;

static _Thread_local unsigned looks_at_clock;

enum { LOOK_BEFORE_RUN = 2 }; /* reads of the clock by a poll: by then due tasks have begun */

static uint64_t slow_now(struct pawl_clock *clock)
{
	(void)clock;
	if (looks_at_clock && looks_at_clock++ == LOOK_BEFORE_RUN) {
		sem_post(&slow.polling);
		sem_wait(&slow.poll_on);
	}
	return __atomic_load_n(&slow.now, __ATOMIC_SEQ_CST);
}

static void never_wait(struct pawl_clock *clock, uint64_t deadline)
{
	(void)clock;
	(void)deadline;
}

static void never_wake(struct pawl_clock *clock)
{
	(void)clock;
}

static bool slow_try(struct pawl_op *op)
{
	return __atomic_load_n(&request_from(op)->ready, __ATOMIC_SEQ_CST) != 0;
}

static void slow_note(struct pawl_op *op, const char *event)
{
	struct request *request = request_from(op);

	strncat(request->story, event, STORY_MAX - 1 - strlen(request->story));
}

static void slow_complete(struct pawl_op *op)
{
	slow_note(op, "c");
}

static void slow_release(struct pawl_op *op)
{
	slow_note(op, "r");
}

static void *poll_slowly(void *arg)
{
	(void)arg;
	looks_at_clock = 1;
	pawl_service_poll(slow.room.fixture.service, 0);
	return NULL;
}

static void *close_slowly(void *arg)
{
	pawl_purgatory_close(slow.room.purgatory);
	__atomic_store_n((bool *)arg, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void close_waits_for_a_late_alarm(void)
{
	static const struct pawl_op_type type = {
	        .try_complete = slow_try, .on_complete = slow_complete, .release = slow_release};
	struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL, .shards = 1};
	pthread_t poller, closer;
	bool closed = false;

	slow.clock = (struct pawl_clock){.now = slow_now, .wait = never_wait, .wake = never_wake};
	options.clock = &slow.clock;
	sem_init(&slow.polling, 0, 0);
	sem_init(&slow.poll_on, 0, 0);
	EXPECT_EQ(pawl_service_open(&slow.room.fixture.service, &options), 0);
	EXPECT_EQ(pawl_purgatory_open(&slow.room.purgatory, slow.room.fixture.service, NULL), 0);
	request_init(&slow.request, &slow.room);
	pawl_op_init(&slow.request.op, &type);
	EXPECT_EQ(watch(&slow.request, "a", MS), 0);
	__atomic_store_n(&slow.now, HOUR, __ATOMIC_SEQ_CST);
	pthread_create(&poller, NULL, poll_slowly, NULL);
	sem_wait(&slow.polling); /* the poll has begun the alarm, and not called it */
	__atomic_store_n(&slow.request.ready, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(check(&slow.room, "a"), 1);
	EXPECT_STR(slow.request.story, "cr"); /* the alarm has popped nothing yet */
	expect_counted(&slow.room, 0, 0);
	pthread_create(&closer, NULL, close_slowly, &closed);
	for (unsigned i = 0; i < 1000; i++)
		sched_yield();
	EXPECT(!__atomic_load_n(&closed, __ATOMIC_SEQ_CST));
	sem_post(&slow.poll_on);
	pthread_join(poller, NULL);
	pthread_join(closer, NULL);
	EXPECT_STR(slow.request.story, "cr");
	pawl_service_close(slow.room.fixture.service, NULL);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(completed_in_nested_calls_while_it_is_being_watched_it_completes_once),
	        TEST(a_table_that_stop_goes_through_does_not_grow),
	        TEST(without_its_service_an_operation_waits_on),
	        TEST(close_waits_for_a_late_alarm),
	};

	return RUN_TESTS(tests);
}
