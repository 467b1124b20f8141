/* SPDX-License-Identifier: MIT */
/* Workers: which tasks run at the same time, and the threads as the kernel sees them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../support/services.h"

/* The other workers are free, and show it by running other tasks. */
static void hold_one_of_four(struct fixture *fixture)
{
	struct note *note = new_note(fixture), *others = new_notes(fixture, 3);

	hold(note);
	arm(note, 0);
	for (unsigned i = 0; i < 3; i++) {
		others[i].inside = stay;
		arm(&others[i], 0);
	}
	for (unsigned i = 0; i < 3; i++)
		sem_wait(&others[i].entered);
	EXPECT_EQ(note->runs, 1);
	for (unsigned i = 0; i < 3; i++)
		sem_post(&others[i].leave);
	sem_post(&note->leave);
	let_go(note);
	EXPECT_EQ(note->runs, 2);
}

static void a_task_never_runs_twice_at_once(void)
{
	in_mode(&(struct pawl_service_options){.workers = 4, .shards = 1}, hold_one_of_four);
	in_mode(&(struct pawl_service_options){.workers = 4, .shards = 4}, hold_one_of_four);
}

/* Four tasks that stay until they are told to leave: the first is due after `first`, each other one `step` later. */
static struct note *arm_four_to_stay(struct fixture *fixture, uint64_t first, uint64_t step)
{
	struct note *notes = new_notes(fixture, 4);

	for (unsigned i = 0; i < 4; i++) {
		notes[i].inside = stay;
		arm(&notes[i], first + i * step);
	}
	return notes;
}

IN_MODE(four_tasks_due_at_once_are_run_by_four_workers, .workers = 4, .shards = 1)
{
	struct note *notes = arm_four_to_stay(fixture, 5 * MS, 0);

	pawl_clock_manual_advance(&fixture->clock, 5 * MS);
	for (unsigned i = 0; i < 4; i++)
		sem_wait(&notes[i].entered); /* all four at the same time */
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(fixture);
}

static void hand_the_lead_on(struct fixture *fixture)
{
	struct note *notes = arm_four_to_stay(fixture, 5 * MS, 5 * MS);

	for (unsigned i = 0; i < 4; i++) {
		pawl_clock_manual_advance(&fixture->clock, 5 * MS);
		sem_wait(&notes[i].entered); /* although all before it are still running */
	}
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(fixture);
}

static void while_a_worker_is_idle_one_keeps_the_time(void)
{
	for (unsigned round = 0; round < 50; round++) {
		in_mode(&(struct pawl_service_options){.workers = 4, .shards = 1},
		        hand_the_lead_on);
		in_mode(&(struct pawl_service_options){.workers = 4, .shards = 4},
		        hand_the_lead_on);
	}
}

static void an_idle_task_may_go_to_another_service(void)
{
	static const unsigned workers[] = {64, 1, PAWL_SERVICE_MANUAL, 4, 1, 2};
	struct fixture fixture;
	struct note note;

	note_init(&note, &fixture);
	for (unsigned i = 0; i < 6; i++) {
		fixture_open(&fixture,
		             &(struct pawl_service_options){.workers = workers[i], .shards = 4});
		EXPECT_EQ(cancel(&note), PAWL_SERVICE_IDLE);
		for (unsigned j = 1; j <= 10; j++) {
			EXPECT_EQ(arm(&note, MS), 0);
			EXPECT_RUNS_AFTER(MS, &note, 10 * i + j);
		}
		fixture_close(&fixture);
	}
}

/* Whatever worker ran it last, the next service may have fewer. */
IN_MODE(a_task_that_many_workers_ran_goes_to_a_service_with_few, .workers = 4, .shards = 1)
{
	struct note *notes = arm_four_to_stay(fixture, 0, 0);
	struct fixture few;

	for (unsigned i = 0; i < 4; i++)
		sem_wait(&notes[i].entered); /* each has a worker of its own */
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(fixture);
	fixture_open(&few, &(struct pawl_service_options){.workers = 1, .shards = 1});
	for (unsigned i = 0; i < 4; i++) {
		notes[i].inside = NULL;
		notes[i].fixture = &few;
		EXPECT_EQ(arm(&notes[i], 0), 0);
		EXPECT_RUNS_AFTER(0, &notes[i], 2);
	}
	fixture_close(&few);
}

/* Threads, as the kernel sees them */

static bool read_name(const char *task, char *name, int size)
{
	char path[320];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	stream = fopen(path, "r");
	if (stream) {
		found = fgets(name, size, stream) != NULL;
		fclose(stream);
	}
	name[found ? strcspn(name, "\n") : 0] = '\0';
	return found;
}

/* How many threads have the name; NULL: any. */
static unsigned threads_named(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)) != NULL) {
		char comm[64];

		count += read_name(entry->d_name, comm, sizeof(comm)) &&
		         (!name || strcmp(comm, name) == 0);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

/*
 * On each thread of a service: does it block all signals that can be blocked? The thread asks itself, since under an
 * emulator the kernel knows only what the emulator blocks. It checks the first of the real-time signals: qemu does not
 * have the last.
 */
static void count_blocking(unsigned worker, void *arg)
{
	unsigned *blocking = arg;
	bool all = true;
	sigset_t set;

	(void)worker;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	for (int number = 1; number < 32; number++)
		all &= sigismember(&set, number) == (number != SIGKILL && number != SIGSTOP);
	all &= sigismember(&set, SIGRTMIN) == 1;
	__atomic_add_fetch(blocking, all, __ATOMIC_SEQ_CST);
}

static void expect_threads(unsigned workers, unsigned threads)
{
	char name[] = "a-name-longer-than-15";
	unsigned blocking = 0;
	struct pawl_service_options options = {.workers = workers,
	                                       .name = name,
	                                       .on_thread_start = count_blocking,
	                                       .on_thread_start_arg = &blocking};
	struct pawl_service *service = service_with(&options);

	memset(name, 'x', sizeof(name) - 1);
	while (threads_named("a-name-longer-t") < threads)
		sched_yield();
	EXPECT_EQ(threads_named("a-name-longer-t"), threads);
	pawl_service_stop(service, NULL);
	EXPECT_EQ(blocking, threads);
	while (threads_named(
	        "a-name-longer-t")) /* joined, but the kernel may be about to forget them */
		sched_yield();
	pawl_service_close(service, NULL);
}

static void threads_have_the_services_name_and_block_all_signals(void)
{
	struct pawl_service *service;

	while (threads_named("pawl")) /* of earlier tests */
		sched_yield();
	service = service_with(NULL);
	while (threads_named("pawl") < 1) /* a thread names itself */
		sched_yield();
	EXPECT_EQ(threads_named("pawl"), 1);
	pawl_service_close(service, NULL);
	expect_threads(0, 1);
	expect_threads(1, 1);
	expect_threads(4, 4);
	expect_threads(PAWL_SERVICE_MANUAL, 0);
}

/* on_thread_start */

/* The notes of `ask`, inside a task on a thread of the service. */
static struct note asked_inside(const struct pawl_service_options *options,
                                void (*ask)(struct note *note))
{
	struct fixture fixture;
	struct note note;

	fixture_open(&fixture, options);
	note_init(&note, &fixture);
	note.inside = ask;
	EXPECT_EQ(arm(&note, 0), 0);
	settle(&fixture);
	pawl_service_close(fixture.service, NULL);
	return note;
}

struct starts {
	unsigned calls[4];
	unsigned wrong; /* calls on a thread that was started before, or with a wrong number */
};

static _Thread_local unsigned started_as; /* from 1 */

static void note_start(unsigned worker, void *arg)
{
	struct starts *starts = arg;

	if (worker >= COUNTOF(starts->calls) || started_as) {
		__atomic_add_fetch(&starts->wrong, 1, __ATOMIC_SEQ_CST);
		return;
	}
	started_as = worker + 1;
	__atomic_add_fetch(&starts->calls[worker], 1, __ATOMIC_SEQ_CST);
	pthread_setname_np(pthread_self(), "my-own-name");
}

static void note_started_as(struct note *note)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	note->number = strcmp(name, "my-own-name") == 0 ? started_as : UINT64_MAX;
}

static void on_thread_start_is_called_once_on_each_thread_before_any_task(void)
{
	struct starts starts = {0};
	const struct pawl_service_options options = {
	        .workers = 4, .on_thread_start = note_start, .on_thread_start_arg = &starts};
	struct note notes[20];
	struct fixture fixture;

	fixture_open(&fixture, &options);
	for (unsigned i = 0; i < COUNTOF(notes); i++) {
		note_init(&notes[i], &fixture);
		notes[i].inside = note_started_as;
		EXPECT_EQ(arm(&notes[i], 0), 0);
	}
	settle(&fixture);
	pawl_service_close(fixture.service,
	                   NULL); /* a thread that was not needed has started by then */
	for (unsigned i = 0; i < COUNTOF(notes); i++)
		EXPECT(notes[i].number >= 1 && notes[i].number <= 4);
	for (unsigned i = 0; i < 4; i++)
		EXPECT_EQ(starts.calls[i], 1);
	EXPECT_EQ(starts.wrong, 0);
}

static void without_threads_on_thread_start_is_not_called(void)
{
	struct starts starts = {0};
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                             .on_thread_start = note_start,
	                                             .on_thread_start_arg = &starts};

	EXPECT_EQ(asked_inside(&options, note_started_as).runs, 1);
	EXPECT_EQ(starts.calls[0] + starts.wrong, 0);
}

/* stack_size */

static void ask_stack(struct note *note)
{
	pthread_attr_t attributes;
	size_t size = 0;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstacksize(&attributes, &size);
	pthread_attr_destroy(&attributes);
	note->number = size;
}

static uint64_t stack_with(size_t stack_size)
{
	const struct pawl_service_options options = {.stack_size = stack_size, .shards = 1};

	return asked_inside(&options, ask_stack).number;
}

/* A C library may add a few pages for itself, or use a few of these. */
static void a_stack_is_as_large_as_asked(void)
{
	const uint64_t page = 65536;

	EXPECT(stack_with(256 * 1024) >= 256 * 1024 - page / 4);
#ifndef __SANITIZE_THREAD__ /* whose stacks are never so small */
	EXPECT(stack_with(256 * 1024) < 256 * 1024 + 2 * page);
#endif
	EXPECT(stack_with(3 * 1024 * 1024 + 1) >= 3 * 1024 * 1024 + 1);
}

static void *ask_own_stack(void *note)
{
	ask_stack(note);
	return NULL;
}

static void without_an_option_a_stack_is_as_large_as_any_threads(void)
{
	struct note note = {0};
	pthread_t thread;

	pthread_create(&thread, NULL, ask_own_stack, &note);
	pthread_join(thread, NULL);
	EXPECT_EQ(stack_with(0), note.number);
}

/* It takes 30 of musl's 128 KiB. */
static void use_stack(struct note *note)
{
	struct pawl_histogram lateness;

	pawl_service_get_lateness(note->fixture->service, &lateness);
	note->number = lateness.count + 1;
}

static void a_task_may_have_a_histogram_on_its_stack(void)
{
	const struct pawl_service_options options = {.shards = 1};

	EXPECT_EQ(asked_inside(&options, use_stack).number, 1);
}

static void manual_mode_starts_no_thread(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL};
	unsigned before = threads_named(NULL);
	struct pawl_service *service = service_with(&options);

	EXPECT(threads_named(NULL) <= before); /* one of an earlier test may be about to end */
	pawl_service_close(service, NULL);
}

static void the_callers_signals_stay_as_they_are(void)
{
	sigset_t some, before, after;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &some, &before);
	pawl_service_close(service_with(NULL), NULL);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	EXPECT(sigismember(&after, SIGUSR2) == 1);
	EXPECT(sigismember(&after, SIGUSR1) == 0);
	EXPECT(sigismember(&after, SIGTERM) == 0);
}

#ifndef PAWL_POSIX /* src/system/linux.c does it, posix.c cannot */
/* Linux may wake a thread 50 us late by default; a worker sets a sixteenth of a tick if that is less. */
static void ask_slack(struct note *note)
{
	note->answer = prctl(PR_GET_TIMERSLACK);
}

static int slack_with_ticks_of(uint64_t tick_ns)
{
	const struct pawl_service_options options = {.tick_ns = tick_ns, .shards = 1};

	return asked_inside(&options, ask_slack).answer;
}

static void a_worker_sleeps_no_longer_than_a_sixteenth_of_a_tick_more(void)
{
	prctl(PR_SET_TIMERSLACK, 50000); /* threads inherit it */
	EXPECT_EQ(slack_with_ticks_of(16000), 1000);
	EXPECT_EQ(slack_with_ticks_of(1), 1);
	EXPECT_EQ(slack_with_ticks_of(HOUR), 50000);
	EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 50000);
}
#endif

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_never_runs_twice_at_once),
	        TEST(four_tasks_due_at_once_are_run_by_four_workers),
	        TEST(while_a_worker_is_idle_one_keeps_the_time),
	        TEST(an_idle_task_may_go_to_another_service),
	        TEST(a_task_that_many_workers_ran_goes_to_a_service_with_few),
	        TEST(threads_have_the_services_name_and_block_all_signals),
	        TEST(on_thread_start_is_called_once_on_each_thread_before_any_task),
	        TEST(without_threads_on_thread_start_is_not_called),
	        TEST(a_stack_is_as_large_as_asked),
	        TEST(without_an_option_a_stack_is_as_large_as_any_threads),
	        TEST(a_task_may_have_a_histogram_on_its_stack),
	        TEST(manual_mode_starts_no_thread),
	        TEST(the_callers_signals_stay_as_they_are),
#ifndef PAWL_POSIX
	        TEST(a_worker_sleeps_no_longer_than_a_sixteenth_of_a_tick_more),
#endif
	};

	return RUN_TESTS(tests);
}
