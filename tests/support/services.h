/* SPDX-License-Identifier: MIT */
/*
 * Services on a manual clock, in every mode there is, and tasks that note when and where they ran.
 *
 *	IN_EVERY_MODE(it_runs_when_its_time_has_come)
 *	{
 *		struct note *note = new_note(fixture);
 *
 *		EXPECT_EQ(arm(note, 5 * MS), 0);
 *		EXPECT_RUNS_AFTER(5 * MS, note, 1);
 *	}
 */
#ifndef PAWL_TESTS_SERVICES_H
#define PAWL_TESTS_SERVICES_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#include "pawl/service.h"
#include "test.h"

#define MS             PAWL_MS
#define SECOND         PAWL_SECOND
#define HOUR           PAWL_HOUR
#define NOTES          64
#define COUNTOF(array) (sizeof(array) / sizeof((array)[0]))

/* A service under test, and the clock that the test moves. */
struct fixture {
	struct pawl_service_options options;
	struct pawl_clock_manual clock;
	struct pawl_service *service;
	pthread_t driver;
	struct lasting *lasting;
};

/* Memory that lasts until the service is closed: tasks in it may be pending when a test returns. */
struct lasting {
	struct lasting *next;
	_Alignas(max_align_t) char bytes[];
};

/* A task that notes its runs, and may do something more inside. */
struct note {
	struct pawl_task task; /* first: a task is its note */
	struct fixture *fixture;
	void (*inside)(struct note *note);
	unsigned runs, drops;
	uint64_t at[NOTES]; /* the clock's time of the first runs */
	pthread_t thread;   /* of the last run */
	struct note *other; /* for inside */
	uint64_t number;    /* for inside */
	int answer;         /* of what inside did */
	sem_t entered, leave;
	bool left; /* stay has ended */
};

static inline uint64_t fixture_now(struct fixture *fixture)
{
	return fixture->clock.clock.now(&fixture->clock.clock);
}

static inline struct note *note_from(struct pawl_task *task)
{
	return (struct note *)(void *)task;
}

static inline void note_run(struct pawl_task *task)
{
	struct note *note = note_from(task);

	if (note->runs < NOTES)
		note->at[note->runs] = fixture_now(note->fixture);
	note->runs++;
	note->thread = pthread_self();
	if (note->inside)
		note->inside(note);
}

static inline void note_drop(struct pawl_task *task)
{
	note_from(task)->drops++;
}

static inline void note_init(struct note *note, struct fixture *fixture)
{
	memset(note, 0, sizeof(*note));
	note->fixture = fixture;
	sem_init(&note->entered, 0, 0);
	sem_init(&note->leave, 0, 0);
	pawl_task_init(&note->task, note_run);
}

/* Zeros. It is freed by fixture_close. */
static inline void *fixture_alloc(struct fixture *fixture, size_t size)
{
	struct lasting *lasting = calloc(1, sizeof(*lasting) + size);

	if (!lasting)
		abort();
	lasting->next = fixture->lasting;
	fixture->lasting = lasting;
	return lasting->bytes;
}

static inline struct note *new_notes(struct fixture *fixture, size_t count)
{
	struct note *notes = fixture_alloc(fixture, count * sizeof(*notes));

	for (size_t i = 0; i < count; i++)
		note_init(&notes[i], fixture);
	return notes;
}

static inline struct note *new_note(struct fixture *fixture)
{
	return new_notes(fixture, 1);
}

/* The functions of the service for the task of a note, in the service of its fixture. */

static inline int arm(struct note *note, uint64_t delay)
{
	return pawl_service_arm(note->fixture->service, &note->task, delay);
}

static inline int arm_at(struct note *note, uint64_t deadline)
{
	return pawl_service_arm_at(note->fixture->service, &note->task, deadline);
}

static inline int arm_every(struct note *note, uint64_t first, uint64_t period,
                            enum pawl_service_missed missed)
{
	return pawl_service_arm_every(note->fixture->service, &note->task, first, period, missed);
}

static inline int touch(struct note *note, uint64_t delay)
{
	return pawl_service_touch(note->fixture->service, &note->task, delay);
}

static inline enum pawl_service_found cancel(struct note *note)
{
	return pawl_service_cancel(note->fixture->service, &note->task);
}

static inline enum pawl_service_found cancel_wait(struct note *note)
{
	return pawl_service_cancel_wait(note->fixture->service, &note->task);
}

static inline uint64_t deadline_of(struct note *note)
{
	return pawl_service_deadline(note->fixture->service, &note->task);
}

/* For inside: posts `entered`, and waits for `leave`. */
static inline void stay(struct note *note)
{
	sem_post(&note->entered);
	sem_wait(&note->leave);
	note->left = true;
}

/* For inside: only posts `entered`. */
static inline void say_entered(struct note *note)
{
	sem_post(&note->entered);
}

static inline struct pawl_service *service_with(const struct pawl_service_options *options)
{
	struct pawl_service *service = NULL;
	int error = pawl_service_open(&service, options);

	if (error) {
		fprintf(stderr, "no service: %s\n", strerror(-error));
		abort();
	}
	return service;
}

static inline void fixture_open(struct fixture *fixture, const struct pawl_service_options *options)
{
	*fixture = (struct fixture){.options = *options};
	pawl_clock_manual_init(&fixture->clock);
	if (!options->clock)
		fixture->options.clock = &fixture->clock.clock;
	fixture->service = service_with(&fixture->options);
}

static inline void fixture_close(struct fixture *fixture)
{
	pawl_service_close(fixture->service, NULL);
	while (fixture->lasting) {
		struct lasting *lasting = fixture->lasting;

		fixture->lasting = lasting->next;
		free(lasting);
	}
}

static inline void settle(struct fixture *fixture)
{
	pawl_service_settle(fixture->service);
}

/* Afterwards all tasks that are due by then have run. */
static inline void advance_and_settle(struct fixture *fixture, uint64_t ns)
{
	pawl_clock_manual_advance(&fixture->clock, ns);
	settle(fixture);
}

/* The wall clock, in seconds since 1970 and nanoseconds. */

static inline struct timespec at(int64_t seconds, uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)ns};
}

static inline void set_wall_ns(struct fixture *fixture, int64_t seconds, uint64_t ns)
{
	pawl_clock_manual_set_wall(&fixture->clock, at(seconds, ns));
}

static inline void set_wall(struct fixture *fixture, int64_t seconds)
{
	set_wall_ns(fixture, seconds, 0);
}

/* In nanoseconds. */
static inline uint64_t wall(struct fixture *fixture)
{
	struct timespec time = pawl_clock_manual_wall(&fixture->clock);

	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static inline int arm_at_time(struct note *note, struct timespec time)
{
	return pawl_service_arm_at_time(note->fixture->service, &note->task, time);
}

static inline int arm_wall(struct note *note, int64_t seconds)
{
	return arm_at_time(note, at(seconds, 0));
}

/* When `ns` more have passed, the task of the note has run so many times in all. */
#define EXPECT_RUNS_AFTER(ns, note, expected) \
	(advance_and_settle((note)->fixture, ns), EXPECT_EQ((note)->runs, expected))

/* The last call of a test whose own tasks go out of scope, pending or not. Those of new_note may stay. */
static inline void end(struct fixture *fixture)
{
	pawl_service_stop(fixture->service, NULL);
}

static inline void *drive(void *fixture)
{
	settle(fixture);
	return NULL;
}

/*
 * Due tasks run on another thread, also in manual mode, until end_driving. So a test can look at running tasks.
 */
static inline void begin_driving(struct fixture *fixture)
{
	pthread_create(&fixture->driver, NULL, drive, fixture);
}

static inline void end_driving(struct fixture *fixture)
{
	pthread_join(fixture->driver, NULL);
}

/* Arm the task and wait until it runs. It runs until let_go. */
static inline void hold(struct note *note)
{
	note->inside = stay;
	EXPECT_EQ(arm(note, 0), 0);
	begin_driving(note->fixture);
	sem_wait(&note->entered);
}

/* The same for a periodic task, which is due when `ns` have passed. */
static inline void hold_periodic(struct note *note, uint64_t period,
                                 enum pawl_service_missed missed, uint64_t ns)
{
	note->inside = stay;
	EXPECT_EQ(arm_every(note, period, period, missed), 0);
	pawl_clock_manual_advance(&note->fixture->clock, ns);
	begin_driving(note->fixture);
	sem_wait(&note->entered);
}

static inline void let_go(struct note *note)
{
	sem_post(&note->leave);
	end_driving(note->fixture);
	note->inside = NULL;
}

/* How many tasks can run at the same time. */
static inline unsigned workers_of(const struct fixture *fixture)
{
	return fixture->options.workers > 1024 ? 1 : fixture->options.workers;
}

/* Every worker runs a gate until open_gates, so due tasks stay pending. */
struct gates {
	struct note notes[4];
};

static inline void shut_gates(struct gates *gates, struct fixture *fixture)
{
	for (unsigned i = 0; i < workers_of(fixture); i++) {
		note_init(&gates->notes[i], fixture);
		gates->notes[i].inside = stay;
		EXPECT_EQ(arm(&gates->notes[i], 0), 0);
	}
	begin_driving(fixture);
	for (unsigned i = 0; i < workers_of(fixture); i++)
		sem_wait(&gates->notes[i].entered);
}

static inline void open_gates(struct gates *gates, struct fixture *fixture)
{
	for (unsigned i = 0; i < workers_of(fixture); i++)
		sem_post(&gates->notes[i].leave);
	end_driving(fixture);
}

static inline void *on_thread_run(void *arg)
{
	struct note *note = arg;

	note->inside(note);
	return NULL;
}

/* Call inside on a thread of its own, and wait for it. */
static inline void on_another_thread(struct note *note, void (*inside)(struct note *))
{
	pthread_t thread;

	note->inside = inside;
	pthread_create(&thread, NULL, on_thread_run, note);
	pthread_join(thread, NULL);
	note->inside = NULL;
}

static inline void free_it(struct pawl_task *task)
{
	memset(task, 0xA5, sizeof(*task));
	free(task);
}

static inline void cancel_it(struct note *note)
{
	note->answer = (int)cancel(note);
}

static inline void post_entered(struct pawl_task *task)
{
	sem_post(&note_from(task)->entered);
}

static inline void note_init_posting(struct note *note)
{
	note_init(note, NULL);
	pawl_task_init(&note->task, post_entered);
}

/* armed = ran + cancelled + dropped + pending, and these. */
static inline void expect_counts(struct pawl_service *service, uint64_t armed, uint64_t ran,
                                 uint64_t cancelled, uint64_t dropped)
{
	struct pawl_service_stats stats;

	pawl_service_get_stats(service, &stats, sizeof(stats));
	EXPECT_EQ(stats.armed, armed);
	EXPECT_EQ(stats.ran, ran);
	EXPECT_EQ(stats.cancelled, cancelled);
	EXPECT_EQ(stats.dropped, dropped);
	EXPECT_EQ(stats.armed, stats.ran + stats.cancelled + stats.dropped + stats.pending);
	EXPECT_EQ(stats.pending, pawl_service_pending(service));
}

static const struct pawl_service_options every_mode[] = {
        {.workers = 1, .shards = 1},
        {.workers = 1, .shards = 4},
        {.workers = 4, .shards = 1},
        {.workers = 4, .shards = 4},
        {.workers = PAWL_SERVICE_MANUAL, .shards = 1},
        {.workers = PAWL_SERVICE_MANUAL, .shards = 4},
};

/* The simplest pool: a thread for each job. */
static inline void *pool_job(void *service)
{
	pawl_service_poll(service, 0);
	return NULL;
}

/* Detached by an attribute: with winpthreads, a thread that was detached afterwards sometimes did not run. */
static inline void pool_dispatch(struct pawl_service *service, void *unused)
{
	pthread_attr_t detached;
	pthread_t thread;

	(void)unused;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, pool_job, service) != 0)
		pool_job(service);
	pthread_attr_destroy(&detached);
}

static const struct pawl_service_options every_pool[] = {
        {.workers = 1, .shards = 1, .dispatch = pool_dispatch},
        {.workers = 4, .shards = 4, .dispatch = pool_dispatch},
};

/* A failure prints the mode. */
static inline void in_mode(const struct pawl_service_options *options,
                           void (*test)(struct fixture *fixture))
{
	unsigned before = test_failures;
	struct fixture fixture;

	fixture_open(&fixture, options);
	test(&fixture);
	fixture_close(&fixture);
	if (test_failures != before)
		fprintf(stderr, "    ^ with %s %d, shards %u, max_pending %zu\n",
		        options->dispatch ? "a pool of" : "workers", (int)options->workers,
		        options->shards, options->max_pending);
}

static inline void in_every_pool(void (*test)(struct fixture *fixture))
{
	for (size_t i = 0; i < COUNTOF(every_pool); i++)
		in_mode(&every_pool[i], test);
}

static inline void in_every_mode(void (*test)(struct fixture *fixture))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		in_mode(&every_mode[i], test);
	in_every_pool(test);
}

/* In every mode that has threads of its own. */
static inline void in_every_mode_with_threads(void (*test)(struct fixture *fixture))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		if (every_mode[i].workers != PAWL_SERVICE_MANUAL)
			in_mode(&every_mode[i], test);
	in_every_pool(test);
}

static inline void in_every_mode_limited(size_t max_pending, void (*test)(struct fixture *fixture))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];

		options.max_pending = max_pending;
		in_mode(&options, test);
	}
}

/* A test of a fixture; `run` calls it, in some modes. */
#define FIXTURE_TEST(name, run)                       \
	static void name##_(struct fixture *fixture); \
	static void name(void)                        \
	{                                             \
		run;                                  \
	}                                             \
	static void name##_(struct fixture *fixture)

#define IN_EVERY_MODE(name)              FIXTURE_TEST(name, in_every_mode(name##_))
#define IN_EVERY_MODE_WITH_THREADS(name) FIXTURE_TEST(name, in_every_mode_with_threads(name##_))
#define IN_EVERY_MODE_LIMITED(max_pending, name) \
	FIXTURE_TEST(name, in_every_mode_limited(max_pending, name##_))

/* Only with these options: IN_MODE(name, .workers = 4, .shards = 1). */
#define IN_MODE(name, ...) \
	FIXTURE_TEST(name, in_mode(&(const struct pawl_service_options){__VA_ARGS__}, name##_))

#endif
