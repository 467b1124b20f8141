/* SPDX-License-Identifier: MIT */
/* A user's pool: options.dispatch, and polls that answer its calls. Here the test itself is the pool. */
#define _GNU_SOURCE
#include <sched.h>

#include "../support/services.h"
#include "../support/step_clock.h"

static sem_t called;
static pthread_t dispatcher;
static struct step_clock sleeps;

static void note_call(struct pawl_service *service, void *arg)
{
	EXPECT(arg == &called);
	EXPECT(service != NULL);
	dispatcher = pthread_self();
	sem_post(&called);
}

static void in_pool(struct pawl_service_options options, void (*test)(struct fixture *))
{
	sem_init(&called, 0, 0);
	step_clock_init(&sleeps);
	options.dispatch = note_call;
	options.dispatch_arg = &called;
	in_mode(&options, test);
}

/* The clock `sleeps` says when the service's thread sleeps. */
#define IN_POOL(name, ...) \
	FIXTURE_TEST(name, in_pool((struct pawl_service_options){__VA_ARGS__}, name##_))

static int calls_waiting(void)
{
	int waiting = 0;

	sem_getvalue(&called, &waiting);
	return waiting;
}

IN_POOL(a_due_task_calls_the_pool_and_is_pending_until_a_poll_takes_it, .workers = 4, .shards = 4)
{
	struct note *note = new_note(fixture);

	arm(note, 5 * MS);
	pawl_clock_manual_advance(&fixture->clock, 5 * MS);
	sem_wait(&called);
	EXPECT(!pthread_equal(dispatcher, pthread_self()));
	EXPECT_EQ(pawl_service_pending(fixture->service), 1);
	EXPECT_EQ(note->runs, 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(note->runs, 1);
	EXPECT(pthread_equal(note->thread, pthread_self()));
	expect_counts(fixture->service, 1, 1, 0, 0);
	end(fixture);
	EXPECT_EQ(calls_waiting(), 0);
}

IN_POOL(a_task_in_the_queue_of_the_pool_can_be_cancelled, .workers = 1, .shards = 1)
{
	struct note *note = malloc(sizeof(*note));

	note_init(note, fixture);
	arm(note, 0);
	sem_wait(&called);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	free(note); /* it is not in that queue */
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
}

/* And the pool is not called again and again in vain. */
IN_POOL(a_poll_that_finds_all_cancelled_is_the_last, .workers = 2, .shards = 4,
        .clock = &sleeps.clock)
{
	struct note *note = new_note(fixture);

	arm(note, 0);
	sem_wait(&called);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	step_clock_step(&sleeps); /* the service's thread sleeps */
	EXPECT_EQ(calls_waiting(), 0);
	while (sem_trywait(&called) == 0)
		pawl_service_poll(fixture->service, 1);
}

static void *settle_service(void *service)
{
	pawl_service_settle(service);
	return NULL;
}

/* The settle may begin before the cancel or after it: it ends in both cases. */
IN_POOL(a_settle_ends_when_all_was_cancelled, .workers = 1, .shards = 1)
{
	struct note *note = new_note(fixture);

	for (unsigned i = 0; i < 100; i++) {
		pthread_t thread;

		arm(note, 0);
		sem_wait(&called);
		pthread_create(&thread, NULL, settle_service, fixture->service);
		for (unsigned j = 0; j < i; j++)
			sched_yield();
		EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
		EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
		pthread_join(thread, NULL);
	}
}

static void *poll_one(void *service)
{
	return (void *)(uintptr_t)pawl_service_poll(service, 1);
}

/* A task that stays: its thread is busy until `leave`. */
static pthread_t keep_busy(struct note *note)
{
	pthread_t thread;

	note->inside = stay;
	arm(note, 0);
	sem_wait(&called);
	pthread_create(&thread, NULL, poll_one, note->fixture->service);
	sem_wait(&note->entered);
	return thread;
}

IN_POOL(a_second_thread_is_called_while_the_first_is_busy, .workers = 2, .shards = 1,
        .clock = &sleeps.clock)
{
	struct note *busy = new_note(fixture), *other = new_note(fixture);
	pthread_t thread;

	thread = keep_busy(busy);
	step_clock_step(&sleeps);      /* the service's thread sleeps */
	EXPECT_EQ(calls_waiting(), 0); /* and has not called the pool in vain */
	EXPECT_EQ(cancel(busy), PAWL_SERVICE_RUNNING);
	arm(other, 0);
	sem_wait(&called);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(other->runs, 1);
	sem_post(&busy->leave);
	EXPECT(cancel_wait(busy) != PAWL_SERVICE_CANCELLED);
	pthread_join(thread, NULL);
}

static void arm_at_once(struct note *note)
{
	arm(note, 0);
}

/* Both are due before the first poll: it runs one, and a second thread is called for the other. */
static void expect_call_for_the_other(struct fixture *fixture)
{
	struct note *busy = new_note(fixture), *other = new_note(fixture);
	pthread_t thread;

	busy->inside = stay;
	arm(busy, 0);
	on_another_thread(other, arm_at_once);
	EXPECT(fixture->options.shards == 1 || busy->task.home != other->task.home);
	other->inside = stay;
	sem_wait(&called);
	pthread_create(&thread, NULL, poll_one, fixture->service);
	sem_wait(&called); /* although the first one is in its task, or will be */
	sem_post(&busy->leave);
	sem_post(&other->leave);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	pthread_join(thread, NULL);
	EXPECT_EQ(busy->runs + other->runs, 2);
}

IN_POOL(the_poll_that_answers_looks_whether_there_is_more, .workers = 2, .shards = 1)
{
	expect_call_for_the_other(fixture);
}

IN_POOL(it_also_looks_in_other_shards, .workers = 2, .shards = 4)
{
	expect_call_for_the_other(fixture);
}

IN_POOL(no_more_threads_are_called_than_workers, .workers = 1, .shards = 1, .clock = &sleeps.clock)
{
	struct note *busy = new_note(fixture), *other = new_note(fixture);
	pthread_t thread;

	thread = keep_busy(busy);
	arm(other, 0);
	step_clock_step(&sleeps); /* the service's thread sleeps: it does not call */
	EXPECT_EQ(calls_waiting(), 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	sem_post(&busy->leave);
	pthread_join(thread, NULL);
	sem_wait(&called); /* since a thread is free again */
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(other->runs, 1);
}

IN_POOL(a_bounded_poll_calls_the_pool_again_for_the_rest, .workers = 2, .shards = 1)
{
	struct note *notes = new_notes(fixture, 3);

	for (unsigned i = 0; i < 3; i++)
		arm(&notes[i], MS);
	pawl_clock_manual_advance(&fixture->clock, MS);
	for (unsigned i = 0; i < 3; i++) {
		sem_wait(&called);
		EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	}
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(notes[i].runs, 1);
	settle(fixture);
	while (sem_trywait(&called) == 0) /* a call from when the last task was started */
		EXPECT_EQ(pawl_service_poll(fixture->service, 1), 0);
}

static void arm_ten_times(struct note *note)
{
	if (note->runs < 10)
		arm(note, 0);
}

IN_POOL(a_poll_runs_at_most_the_tasks_pending_when_it_begins, .workers = 1, .shards = 1)
{
	for (size_t max = 0; max <= 100; max += 50) {
		struct note *note = new_note(fixture);

		note->inside = arm_ten_times;
		arm(note, 0);
		for (unsigned i = 1; i <= 10; i++) {
			sem_wait(&called);
			EXPECT_EQ(pawl_service_poll(fixture->service, max), 1);
			EXPECT_EQ(note->runs, i);
		}
	}
}

IN_POOL(a_poll_without_a_call_runs_nothing, .workers = 2, .shards = 1)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	arm(note, 5 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	end(fixture);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
}

static unsigned dropped;

static void count_dropped(struct pawl_task *task)
{
	(void)task;
	__atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void *stop_service(void *service)
{
	pawl_service_stop(service, count_dropped);
	return NULL;
}

IN_POOL(a_stop_waits_until_the_call_was_answered, .workers = 2, .shards = 1)
{
	struct note *note = new_note(fixture);
	pthread_t thread;

	dropped = 0;
	arm(note, 0);
	sem_wait(&called);
	pthread_create(&thread, NULL, stop_service, fixture->service);
	while (arm(note, 0) == 0)
		; /* until it has begun */
	EXPECT_EQ(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST), 0);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0); /* now runs nothing */
	pthread_join(thread, NULL);
	EXPECT_EQ(dropped, 1);
	EXPECT_EQ(note->runs, 0);
}

static void poll_here(struct pawl_service *service, void *unused)
{
	(void)unused;
	pawl_service_poll(service, 0);
}

IN_MODE(dispatch_may_poll_itself, .workers = 2, .dispatch = poll_here)
{
	struct note *note = new_note(fixture);

	arm_every(note, MS, MS, PAWL_SERVICE_BURST);
	EXPECT_RUNS_AFTER(10 * MS, note, 10);
	EXPECT(!pthread_equal(note->thread, pthread_self()));
}

static unsigned started;

static void count_start(unsigned worker, void *unused)
{
	(void)unused;
	EXPECT_EQ(worker, 0);
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
}

static void the_service_has_one_thread(void)
{
	const struct pawl_service_options options = {
	        .workers = 4, .dispatch = poll_here, .on_thread_start = count_start};

	started = 0;
	pawl_service_close(service_with(&options), NULL);
	EXPECT_EQ(started, 1);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_due_task_calls_the_pool_and_is_pending_until_a_poll_takes_it),
	        TEST(a_task_in_the_queue_of_the_pool_can_be_cancelled),
	        TEST(a_poll_that_finds_all_cancelled_is_the_last),
	        TEST(a_settle_ends_when_all_was_cancelled),
	        TEST(a_second_thread_is_called_while_the_first_is_busy),
	        TEST(the_poll_that_answers_looks_whether_there_is_more),
	        TEST(it_also_looks_in_other_shards),
	        TEST(no_more_threads_are_called_than_workers),
	        TEST(a_bounded_poll_calls_the_pool_again_for_the_rest),
	        TEST(a_poll_runs_at_most_the_tasks_pending_when_it_begins),
	        TEST(a_poll_without_a_call_runs_nothing),
	        TEST(a_stop_waits_until_the_call_was_answered),
	        TEST(dispatch_may_poll_itself),
	        TEST(the_service_has_one_thread),
	};

	return RUN_TESTS(tests);
}
