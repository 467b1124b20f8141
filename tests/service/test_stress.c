/* SPDX-License-Identifier: MIT */
/*
 * Many threads at once, with exact accounting at the end: each arming ends in exactly one of ran, cancelled and
 * dropped. The explorer (verify/schedules) has each race by itself; this gives a thread sanitizer real threads, and
 * the system's clocks. Bounded by counts:
 *
 *	test_service_stress --rounds N      (also PAWL_STRESS_ROUNDS) N operations a thread
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/services.h"

#define THREADS 4
#define TASKS   16

static uint64_t rounds;

/* A task that counts, and notices if it is not alone. */
struct load {
	struct pawl_task task; /* first */
	struct fixture *fixture;
	uint64_t ran, dropped; /* atomic */
	unsigned inside_now;   /* atomic */
	uint64_t earliest;     /* it may run; atomic */
	uint64_t left;         /* runs that it arms itself for */
	uint64_t armed, cancelled;
};

static struct load *load_from(struct pawl_task *task)
{
	return (struct load *)(void *)task;
}

static uint64_t count_of(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void count(uint64_t *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

static uint64_t now(const struct load *load)
{
	return pawl_service_now(load->fixture->service);
}

static void load_run(struct pawl_task *task)
{
	struct load *load = load_from(task);

	EXPECT_EQ(__atomic_exchange_n(&load->inside_now, 1, __ATOMIC_SEQ_CST), 0);
	EXPECT(now(load) >= count_of(&load->earliest));
	if (load->left && load->left--) {
		int error = pawl_service_arm(load->fixture->service, task, 0);

		EXPECT(error == 0 || error == -EAGAIN);
	}
	count(&load->ran);
	EXPECT_EQ(__atomic_exchange_n(&load->inside_now, 0, __ATOMIC_SEQ_CST), 1);
}

static void load_drop(struct pawl_task *task)
{
	count(&load_from(task)->dropped);
}

/* Threads that all do the same. */
struct crew {
	struct fixture fixture;
	struct load *loads; /* TASKS for each thread */
	void (*work)(struct crew *crew, unsigned number, struct random *random);
	uint64_t tick;
	uint64_t cancelled, running; /* answers; atomic */
	unsigned done;               /* atomic: the poller shall end */
	unsigned started;            /* atomic: threads that are at work */
};

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	unsigned number = __atomic_fetch_add(&crew->started, 1, __ATOMIC_SEQ_CST);
	struct random random = {number + 1};

	crew->work(crew, number, &random);
	return NULL;
}

static bool is_manual(const struct crew *crew)
{
	return crew->fixture.options.workers == PAWL_SERVICE_MANUAL;
}

/* In manual mode a thread has to poll. */
static void *poller_run(void *arg)
{
	struct crew *crew = arg;

	while (is_manual(crew) && !__atomic_load_n(&crew->done, __ATOMIC_SEQ_CST))
		if (pawl_service_poll(crew->fixture.service, 7) == 0)
			sched_yield();
	return NULL;
}

static void crew_open(struct crew *crew, const struct pawl_service_options *options)
{
	memset(crew, 0, sizeof(*crew));
	fixture_open(&crew->fixture, options);
	crew->tick = options->tick_ns ? options->tick_ns : MS;
	crew->loads = fixture_alloc(&crew->fixture, THREADS * TASKS * sizeof(*crew->loads));
	for (unsigned i = 0; i < THREADS * TASKS; i++) {
		crew->loads[i].fixture = &crew->fixture;
		pawl_task_init(&crew->loads[i].task, load_run);
	}
}

/* All threads work; `meanwhile` is called on this one. */
static void crew_work(struct crew *crew, void (*work)(struct crew *, unsigned, struct random *),
                      void (*meanwhile)(struct crew *))
{
	pthread_t threads[THREADS], poller;

	crew->work = work;
	pthread_create(&poller, NULL, poller_run, crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, crew_run, crew);
	if (meanwhile)
		meanwhile(crew);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&crew->done, 1, __ATOMIC_SEQ_CST);
	pthread_join(poller, NULL);
}

/*
 * The counts of the service are those of the tasks and the threads. A cancel that returns
 * PAWL_SERVICE_RUNNING may have ended an arming, or not.
 */
static void expect_accounts(struct crew *crew)
{
	static struct pawl_histogram histogram;
	struct pawl_service_stats stats;
	uint64_t ran = 0, dropped = 0;

	for (unsigned i = 0; i < THREADS * TASKS; i++) {
		ran += crew->loads[i].ran;
		dropped += crew->loads[i].dropped;
	}
	pawl_service_get_stats(crew->fixture.service, &stats, sizeof(stats));
	EXPECT_EQ(stats.pending, 0);
	EXPECT_EQ(stats.ran, ran);
	EXPECT_EQ(stats.dropped, dropped);
	EXPECT_EQ(stats.armed, stats.ran + stats.cancelled + stats.dropped);
	pawl_service_get_lateness(crew->fixture.service, &histogram);
	EXPECT_EQ(histogram.count, stats.ran);
	pawl_service_get_run_time(crew->fixture.service, &histogram);
	EXPECT_EQ(histogram.count, stats.ran);
	EXPECT(stats.cancelled >= crew->cancelled);
	EXPECT(stats.cancelled <= crew->cancelled + crew->running);
}

static void crew_close(struct crew *crew)
{
	pawl_service_stop(crew->fixture.service, load_drop);
	expect_accounts(crew);
	fixture_close(&crew->fixture);
}

static enum pawl_service_found counted(struct crew *crew, enum pawl_service_found found)
{
	if (found == PAWL_SERVICE_CANCELLED)
		count(&crew->cancelled);
	else if (found == PAWL_SERVICE_RUNNING)
		count(&crew->running);
	return found;
}

/* Every thread moves the manual clock on as it goes, so tasks fall due all the time, however slow the machine. */
static void move_clock(struct crew *crew, struct random *random)
{
	if (random_below(random, 4) == 0)
		pawl_clock_manual_advance(&crew->fixture.clock, MS / 2);
}

/*
 * Let others go on, or not. Where the CPUs are busy with something else, a yield lasts until all of it has had a time
 * slice, and tens of thousands of yields take minutes: so most of them are a short spin.
 */
static void dawdle(struct random *random)
{
	if (random_below(random, 512) == 0)
		sched_yield();
	for (volatile uint64_t i = random_below(random, 8) * 50; i > 0; i--)
		;
}

/* Cancel against expiry: a cancel that wins means no run, one that loses exactly one run. */
static void arm_and_cancel(struct crew *crew, unsigned number, struct random *random)
{
	struct pawl_service *service = crew->fixture.service;

	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS + i % TASKS];
		uint64_t ran = count_of(&load->ran),
		         delay = random_below(random, 3) * crew->tick / 2;
		bool wait = random_below(random, 2);
		enum pawl_service_found found;

		__atomic_store_n(&load->earliest, now(load) + delay, __ATOMIC_SEQ_CST);
		EXPECT_EQ(pawl_service_arm(service, &load->task, delay), 0);
		move_clock(crew, random);
		dawdle(random);
		found = counted(crew, wait ? pawl_service_cancel_wait(service, &load->task)
		                           : pawl_service_cancel(service, &load->task));
		if (!wait && found == PAWL_SERVICE_RUNNING)
			counted(crew, pawl_service_cancel_wait(service, &load->task));
		EXPECT_EQ(count_of(&load->ran), ran + (found == PAWL_SERVICE_CANCELLED ? 0 : 1));
		EXPECT_EQ(__atomic_load_n(&load->inside_now, __ATOMIC_SEQ_CST), 0);
	}
}

static void a_task_runs_unless_a_cancel_came_first(void)
{
	struct pawl_clock_system monotonic, boottime;
	struct pawl_clock *const clocks[] = {NULL, &monotonic.clock, &boottime.clock};

	pawl_clock_monotonic_init(&monotonic);
	pawl_clock_boottime_init(&boottime);
	for (size_t i = 0; i < COUNTOF(every_mode) * COUNTOF(clocks); i++) {
		struct pawl_service_options options = every_mode[i % COUNTOF(every_mode)];
		struct crew crew;

		options.clock = clocks[i / COUNTOF(every_mode)]; /* NULL: the manual one */
		options.tick_ns = options.clock ? 20000 : 0;
		crew_open(&crew, &options);
		crew_work(&crew, arm_and_cancel, NULL);
		crew_close(&crew);
	}
}

/* Every call, of any thread, for any task. Tasks arm themselves as well. */
static void do_anything(struct crew *crew, unsigned number, struct random *random)
{
	struct pawl_service *service = crew->fixture.service;

	(void)number;
	for (uint64_t i = 0; i < rounds; i++) {
		struct pawl_task *task = &crew->loads[random_below(random, THREADS * TASKS)].task;
		uint64_t delay = random_below(random, 5) * MS / 2;
		int error = 0;

		switch (random_below(random, 5)) {
		case 0:
			counted(crew, pawl_service_cancel(service, task));
			break;
		case 1:
			counted(crew, pawl_service_cancel_wait(service, task));
			break;
		case 2:
			error = pawl_service_touch(service, task, delay);
			break;
		case 3:
			error = pawl_service_arm_every(
			        service, task, delay, delay + MS,
			        (enum pawl_service_missed)random_below(random, 3));
			break;
		default:
			error = pawl_service_arm(service, task, delay);
		}
		EXPECT(error == 0 || error == -EAGAIN);
		move_clock(crew, random);
	}
}

/* A settle of a manual service polls, and the crew's poller does that. */
static void sample_and_settle(struct crew *crew)
{
	struct pawl_service_stats stats;
	uint64_t armed = 0, ran = 0;

	for (uint64_t i = 0; i < rounds / 10; i++) {
		pawl_service_get_stats(crew->fixture.service, &stats, sizeof(stats));
		EXPECT_EQ(stats.armed, stats.ran + stats.cancelled + stats.dropped + stats.pending);
		EXPECT(stats.pending <= THREADS * TASKS);
		EXPECT(stats.queued <= stats.pending);
		EXPECT(stats.armed >= armed && stats.ran >= ran);
		armed = stats.armed;
		ran = stats.ran;
		if (!is_manual(crew))
			pawl_service_settle(crew->fixture.service);
	}
}

/* The run that was awaited may have armed itself after the cancel. */
static void cancel_all(struct crew *crew)
{
	for (unsigned i = 0; i < THREADS * TASKS; i++)
		while (counted(crew, pawl_service_cancel_wait(crew->fixture.service,
		                                              &crew->loads[i].task)) ==
		       PAWL_SERVICE_RUNNING)
			;
	EXPECT_EQ(pawl_service_pending(crew->fixture.service), 0);
}

/* No quota of max_pending is lost or gained. */
static void statistics_add_up_under_load(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];
		const size_t limit = 20;
		struct crew crew;

		options.max_pending = limit;
		crew_open(&crew, &options);
		for (unsigned j = 0; j < THREADS * TASKS; j++)
			crew.loads[j].left = rounds / 10;
		crew_work(&crew, do_anything, sample_and_settle);
		cancel_all(&crew);
		for (unsigned j = 0; j <= limit; j++)
			EXPECT_EQ(pawl_service_arm(crew.fixture.service, &crew.loads[j].task, HOUR),
			          j < limit ? 0 : -EAGAIN);
		cancel_all(&crew);
		crew_close(&crew);
	}
}

/* Stop against arm, cancel and settle, by two threads at once. */

static void *stop_run(void *arg)
{
	struct crew *crew = arg;

	pawl_service_stop(crew->fixture.service, load_drop);
	EXPECT_EQ(pawl_service_pending(crew->fixture.service), 0);
	return NULL;
}

static void stop_by_two(struct crew *crew)
{
	pthread_t stopper;

	while (__atomic_load_n(&crew->started, __ATOMIC_SEQ_CST) < THREADS)
		sched_yield();
	pthread_create(&stopper, NULL, stop_run, crew);
	if (!is_manual(crew))
		pawl_service_settle(crew->fixture.service);
	stop_run(crew);
	pthread_join(stopper, NULL);
}

static void cancel_load(struct crew *crew, struct load *load)
{
	load->cancelled +=
	        counted(crew, pawl_service_cancel_wait(crew->fixture.service, &load->task)) ==
	        PAWL_SERVICE_CANCELLED;
}

/* Each arming is a new one: the one before it has ended. */
static void arm_until_refused(struct crew *crew, unsigned number, struct random *random)
{
	struct load *loads = &crew->loads[number * TASKS];

	for (unsigned i = 0;; i++) {
		struct load *load = &loads[i % TASKS];
		uint64_t delay = random_below(random, 3) * MS / 2;

		cancel_load(crew, load);
		if (pawl_service_arm(crew->fixture.service, &load->task, delay) == -ECANCELED)
			break;
		load->armed++;
		move_clock(crew, random);
	}
	for (unsigned i = 0; i < TASKS; i++)
		cancel_load(crew, &loads[i]);
}

static void stop_drops_tasks_that_neither_ran_nor_were_cancelled(void)
{
	for (uint64_t i = 0; i < rounds / 20 + 8; i++) {
		struct crew crew;

		crew_open(&crew, &every_mode[i % COUNTOF(every_mode)]);
		crew_work(&crew, arm_until_refused, stop_by_two);
		for (unsigned j = 0; j < THREADS * TASKS; j++) {
			struct load *load = &crew.loads[j];

			EXPECT_EQ(load->armed, load->ran + load->cancelled + load->dropped);
		}
		crew_close(&crew);
	}
}

/* Freed memory, which is soon another task, maybe of another thread; also with a pool of threads */

struct heap_load {
	struct pawl_task task; /* first */
	uint64_t *ran;
	uint64_t begun, ended;
};

static void heap_run(struct pawl_task *task)
{
	struct heap_load *load = (struct heap_load *)(void *)task;

	load->begun++;
	for (volatile unsigned i = 0; i < 200; i++)
		;
	load->ended++;
	count(load->ran);
}

static void free_itself(struct pawl_task *task)
{
	uint64_t *ran = ((struct heap_load *)(void *)task)->ran;

	free_it(task);
	count(ran);
}

static struct heap_load *new_heap_load(struct crew *crew, unsigned number, pawl_task_fn *run)
{
	struct heap_load *load = calloc(1, sizeof(*load));

	load->ran = &crew->loads[number].ran;
	pawl_task_init(&load->task, run);
	return load;
}

static void arm_wait_and_free(struct crew *crew, unsigned number, struct random *random)
{
	struct pawl_service *service = crew->fixture.service;

	for (uint64_t i = 0; i < rounds; i++) {
		struct heap_load *load = new_heap_load(crew, number, heap_run);
		struct heap_load *forgotten = new_heap_load(crew, number, free_itself);
		bool once = i % 2;
		enum pawl_service_found found;

		EXPECT_EQ(pawl_service_arm(service, &forgotten->task, random_below(random, 3) * MS),
		          0);
		if (once)
			pawl_service_arm(service, &load->task, random_below(random, 2) * MS / 2);
		else
			pawl_service_arm_every(service, &load->task, MS / 2, MS / 2,
			                       (enum pawl_service_missed)random_below(random, 3));
		move_clock(crew, random);
		dawdle(random);
		found = counted(crew, pawl_service_cancel_wait(service, &load->task));
		EXPECT_EQ(load->begun, load->ended);
		EXPECT(!once || load->ended == (found == PAWL_SERVICE_CANCELLED ? 0 : 1));
		EXPECT(found == PAWL_SERVICE_CANCELLED || load->ended);
		free_it(&load->task);
	}
}

static void free_in(const struct pawl_service_options *options)
{
	struct crew crew;

	crew_open(&crew, options);
	crew_work(&crew, arm_wait_and_free, NULL);
	advance_and_settle(&crew.fixture, 3 * MS);
	crew_close(&crew);
}

static void memory_may_be_freed_after_cancel_wait_and_by_the_task(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		free_in(&every_mode[i]);
	for (size_t i = 0; i < COUNTOF(every_pool); i++)
		free_in(&every_pool[i]);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(a_task_runs_unless_a_cancel_came_first),
	        TEST(statistics_add_up_under_load),
	        TEST(stop_drops_tasks_that_neither_ran_nor_were_cancelled),
	        TEST(memory_may_be_freed_after_cancel_wait_and_by_the_task),
	};

	test_usage(argc, argv, "[--rounds N]");
	rounds = test_number(argc, argv, "--rounds", "PAWL_STRESS_ROUNDS", 2000);
	return RUN_TESTS(tests);
}
