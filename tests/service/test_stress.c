/* SPDX-License-Identifier: MIT */
/*
 * One stress test for every race of a service, with exact accounting at the end: each arming ends in exactly one of
 * ran, cancelled and dropped. Every thread moves the manual clock on as it goes, so things fall due all the time,
 * however slow the machine. Bounded by counts:
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
	void (*inside)(struct load *load);
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

static void load_run(struct pawl_task *task)
{
	struct load *load = load_from(task);

	EXPECT_EQ(__atomic_exchange_n(&load->inside_now, 1, __ATOMIC_SEQ_CST), 0);
	EXPECT(fixture_now(load->fixture) >= count_of(&load->earliest));
	if (load->inside)
		load->inside(load);
	count(&load->ran);
	EXPECT_EQ(__atomic_exchange_n(&load->inside_now, 0, __ATOMIC_SEQ_CST), 1);
}

static void load_drop(struct pawl_task *task)
{
	count(&load_from(task)->dropped);
}

static void load_init(struct load *load, struct fixture *fixture)
{
	memset(load, 0, sizeof(*load));
	load->fixture = fixture;
	pawl_task_init(&load->task, load_run);
}

/* Threads that all do the same. */
struct crew {
	struct fixture fixture;
	struct load *loads; /* TASKS for each thread */
	void (*work)(struct crew *crew, unsigned number, struct random *random);
	uint64_t cancelled, running; /* answers; atomic */
	unsigned done;               /* atomic: the poller shall end */
	unsigned next_number;        /* atomic */
	unsigned started;            /* atomic: threads that are at work */
};

static void *crew_run(void *arg)
{
	struct crew *crew = arg;
	unsigned number = __atomic_fetch_add(&crew->next_number, 1, __ATOMIC_SEQ_CST);
	struct random random = {number + 1};

	__atomic_fetch_add(&crew->started, 1, __ATOMIC_SEQ_CST);
	crew->work(crew, number, &random);
	return NULL;
}

/* In manual mode a thread has to poll. */
static void *poller_run(void *arg)
{
	struct crew *crew = arg;

	while (!__atomic_load_n(&crew->done, __ATOMIC_SEQ_CST))
		if (pawl_service_poll(crew->fixture.service, 7) == 0)
			sched_yield();
	return NULL;
}

static void crew_open(struct crew *crew, const struct pawl_service_options *options)
{
	memset(crew, 0, sizeof(*crew));
	fixture_open(&crew->fixture, options);
	crew->loads = malloc(THREADS * TASKS * sizeof(*crew->loads));
	for (unsigned i = 0; i < THREADS * TASKS; i++)
		load_init(&crew->loads[i], &crew->fixture);
}

/* All threads work; `meanwhile` is called on this one. */
static void crew_work(struct crew *crew, void (*meanwhile)(struct crew *))
{
	pthread_t threads[THREADS], poller;

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

static uint64_t sum_of_runs(const struct crew *crew)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < THREADS * TASKS; i++)
		sum += count_of(&crew->loads[i].ran);
	return sum;
}

/*
 * The counts of the service are those of the tasks and the threads. A cancel that returns
 * PAWL_SERVICE_RUNNING may have ended an arming, or not.
 */
static void expect_accounts(struct crew *crew)
{
	static struct pawl_histogram histogram;
	struct pawl_service_stats stats;
	uint64_t dropped = 0;

	for (unsigned i = 0; i < THREADS * TASKS; i++)
		dropped += count_of(&crew->loads[i].dropped);
	pawl_service_get_stats(crew->fixture.service, &stats, sizeof(stats));
	EXPECT_EQ(stats.pending, 0);
	EXPECT_EQ(stats.ran, sum_of_runs(crew));
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
	pawl_service_close(crew->fixture.service, load_drop);
	free(crew->loads);
}

static void count_answer(struct crew *crew, enum pawl_service_found found)
{
	if (found == PAWL_SERVICE_CANCELLED)
		count(&crew->cancelled);
	else if (found == PAWL_SERVICE_RUNNING)
		count(&crew->running);
}

static void move_clock(struct crew *crew, struct random *random)
{
	if (random_below(random, 4) == 0)
		pawl_clock_manual_advance(&crew->fixture.clock, MS / 2);
}

/*
 * Here another thread may come between. Where the CPUs are busy with something else, a yield lasts until all of it has
 * had a time slice, and tens of thousands of yields take minutes: so most of them are a short spin.
 */
static void give_way(void)
{
	static _Thread_local unsigned calls;

	if (calls++ % 64 == 0)
		sched_yield();
	for (volatile unsigned i = 0; i < 200; i++)
		;
}

/* Let others go on, or not. */
static void dawdle(struct random *random)
{
	uint64_t spins = random_below(random, 8);

	if (spins == 0)
		give_way();
	for (volatile uint64_t i = 0; i < spins * 50; i++)
		;
}

static void in_all_crews(void (*work)(struct crew *, unsigned, struct random *),
                         void (*meanwhile)(struct crew *))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct crew crew;

		crew_open(&crew, &every_mode[i]);
		crew.work = work;
		crew_work(&crew, meanwhile);
		crew_close(&crew);
	}
}

/* Cancel against expiry: a cancel that wins means no run, one that loses exactly one run. */

static void arm_for(struct load *load, uint64_t delay)
{
	__atomic_store_n(&load->earliest, fixture_now(load->fixture) + delay, __ATOMIC_SEQ_CST);
	EXPECT_EQ(pawl_service_arm(load->fixture->service, &load->task, delay), 0);
}

/* Returns the first answer; by then no run is under way. */
static enum pawl_service_found cancel_either_way(struct crew *crew, struct load *load,
                                                 struct random *random)
{
	struct pawl_service *service = crew->fixture.service;
	bool wait = random_below(random, 2);
	enum pawl_service_found found = wait ? pawl_service_cancel_wait(service, &load->task)
	                                     : pawl_service_cancel(service, &load->task);

	count_answer(crew, found);
	if (!wait && found == PAWL_SERVICE_RUNNING)
		count_answer(crew, pawl_service_cancel_wait(service, &load->task));
	return found;
}

static void arm_and_cancel(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS + i % TASKS];
		uint64_t ran = count_of(&load->ran);
		enum pawl_service_found found;

		arm_for(load, random_below(random, 3) * MS / 2);
		move_clock(crew, random);
		dawdle(random);
		found = cancel_either_way(crew, load, random);
		EXPECT_EQ(count_of(&load->ran), ran + (found == PAWL_SERVICE_CANCELLED ? 0 : 1));
		EXPECT_EQ(__atomic_load_n(&load->inside_now, __ATOMIC_SEQ_CST), 0);
	}
}

static void a_task_runs_unless_a_cancel_came_first(void)
{
	in_all_crews(arm_and_cancel, NULL);
}

/* One thread arms, and another one cancels: each arming ends once. */

static void cancel_of_others(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *mine = &crew->loads[number * TASKS + i % TASKS];
		struct load *any = &crew->loads[random_below(random, THREADS * TASKS)];

		EXPECT_EQ(pawl_service_arm(crew->fixture.service, &mine->task,
		                           random_below(random, 4) * MS),
		          0);
		move_clock(crew, random);
		count_answer(crew,
		             i % 3 ? pawl_service_cancel(crew->fixture.service, &any->task)
		                   : pawl_service_cancel_wait(crew->fixture.service, &any->task));
	}
}

static void an_arming_ends_once_whichever_thread_cancels(void)
{
	in_all_crews(cancel_of_others, NULL);
}

/* Re-arm inside the task. */

static void arm_until_none_is_left(struct load *load)
{
	if (load->left && load->left--)
		EXPECT_EQ(pawl_service_arm(load->fixture->service, &load->task, 0), 0);
}

static void start_self_arming(struct crew *crew, unsigned number, struct random *random)
{
	(void)random;
	for (unsigned i = 0; i < TASKS; i++) {
		struct load *load = &crew->loads[number * TASKS + i];

		load->inside = arm_until_none_is_left;
		load->left = rounds / TASKS;
		EXPECT_EQ(pawl_service_arm(crew->fixture.service, &load->task, 0), 0);
	}
}

static void a_task_that_arms_itself_runs_each_time(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct crew crew;

		crew_open(&crew, &every_mode[i]);
		crew.work = start_self_arming;
		crew_work(&crew, NULL);
		pawl_service_settle(crew.fixture.service);
		EXPECT_EQ(sum_of_runs(&crew), THREADS * TASKS * (rounds / TASKS + 1));
		crew_close(&crew);
	}
}

/*
 * Armed inside, cancelled outside: who wins is open, but nothing is lost. The run that was awaited may have armed
 * itself after the cancel, and so on until none is left.
 */
static void cancel_self_arming(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS + i % TASKS];
		enum pawl_service_found found;

		load->inside = arm_until_none_is_left;
		load->left = random_below(random, 4);
		EXPECT_EQ(pawl_service_arm(crew->fixture.service, &load->task, 0), 0);
		do {
			dawdle(random);
			found = cancel_either_way(crew, load, random);
		} while (found == PAWL_SERVICE_RUNNING);
		EXPECT_EQ(__atomic_load_n(&load->inside_now, __ATOMIC_SEQ_CST), 0);
	}
}

static void a_task_that_arms_itself_can_be_cancelled(void)
{
	in_all_crews(cancel_self_arming, NULL);
}

/* Touch against expiry. */

static void touch_and_touch(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS + random_below(random, TASKS)];
		uint64_t delay = random_below(random, 3) * MS;

		EXPECT_EQ(pawl_service_touch(crew->fixture.service, &load->task, delay), 0);
		if (random_below(random, 8) == 0)
			count_answer(crew,
			             pawl_service_cancel_wait(crew->fixture.service, &load->task));
		move_clock(crew, random);
	}
}

static void a_touched_task_is_counted_once(void)
{
	in_all_crews(touch_and_touch, NULL);
}

/* A task touched before it is due, again and again, does not run until it is left alone. */
static void touch_in_time(struct crew *crew, unsigned number, struct random *random)
{
	struct load *load = &crew->loads[number * TASKS];

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t ran = count_of(&load->ran);

		arm_for(load, 1000 * HOUR);
		for (unsigned j = 0; j < 4; j++)
			EXPECT_EQ(pawl_service_touch(crew->fixture.service, &load->task,
			                             1000 * HOUR + j * MS),
			          0);
		move_clock(crew, random);
		EXPECT_EQ(pawl_service_cancel(crew->fixture.service, &load->task),
		          PAWL_SERVICE_CANCELLED);
		count(&crew->cancelled);
		EXPECT_EQ(count_of(&load->ran), ran);
	}
}

static void touch_puts_off_a_task_that_is_not_due(void)
{
	in_all_crews(touch_in_time, NULL);
}

/* Stop against arm, cancel and settle, by two threads at once. */

static void *stop_run(void *arg)
{
	struct crew *crew = arg;

	pawl_service_stop(crew->fixture.service, load_drop);
	EXPECT_EQ(pawl_service_pending(crew->fixture.service), 0);
	return NULL;
}

static void *settle_run(void *arg)
{
	struct crew *crew = arg;

	pawl_service_settle(crew->fixture.service);
	return NULL;
}

/* A settle of a manual service polls, and the crew's poller does that. */
static bool settles(const struct crew *crew)
{
	return crew->fixture.options.workers != PAWL_SERVICE_MANUAL;
}

static void stop_by_two(struct crew *crew)
{
	pthread_t stopper, settler;

	while (__atomic_load_n(&crew->started, __ATOMIC_SEQ_CST) < THREADS)
		sched_yield();
	if (settles(crew))
		pthread_create(&settler, NULL, settle_run, crew);
	pthread_create(&stopper, NULL, stop_run, crew);
	stop_run(crew);
	pthread_join(stopper, NULL);
	if (settles(crew))
		pthread_join(settler, NULL);
}

/* Each arming is a new one: the one before it has ended. */
static void arm_until_refused(struct crew *crew, unsigned number, struct random *random)
{
	for (unsigned i = 0;; i++) {
		struct load *load = &crew->loads[number * TASKS + i % TASKS];
		uint64_t delay = random_below(random, 3) * MS / 2;
		enum pawl_service_found found;

		if (i >= TASKS) {
			found = pawl_service_cancel_wait(crew->fixture.service, &load->task);
			load->cancelled += found == PAWL_SERVICE_CANCELLED;
			count_answer(crew, found);
		}
		if (pawl_service_arm(crew->fixture.service, &load->task, delay) == -ECANCELED)
			break;
		load->armed++;
		move_clock(crew, random);
	}
	for (unsigned i = 0; i < TASKS; i++) {
		struct load *load = &crew->loads[number * TASKS + i];
		enum pawl_service_found found =
		        pawl_service_cancel(crew->fixture.service, &load->task);

		load->cancelled += found == PAWL_SERVICE_CANCELLED;
		count_answer(crew, found);
	}
}

static void stop_drops_tasks_that_neither_ran_nor_were_cancelled(void)
{
	for (uint64_t i = 0; i < rounds / 20 + 8; i++) {
		struct crew crew;

		crew_open(&crew, &every_mode[i % COUNTOF(every_mode)]);
		crew.work = arm_until_refused;
		crew_work(&crew, stop_by_two);
		for (unsigned j = 0; j < THREADS * TASKS; j++) {
			struct load *load = &crew.loads[j];

			EXPECT_EQ(load->armed, load->ran + load->cancelled + load->dropped);
		}
		crew_close(&crew);
	}
}

/* Settle during cancels and moves: it returns. */

static void settle_often(struct crew *crew)
{
	for (uint64_t i = 0; i < rounds / 4 && settles(crew); i++)
		pawl_service_settle(crew->fixture.service);
}

static void arm_and_take_away(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS];

		EXPECT_EQ(pawl_service_arm(crew->fixture.service, &load->task, 0), 0);
		if (random_below(random, 2))
			EXPECT_EQ(pawl_service_arm(crew->fixture.service, &load->task, HOUR), 0);
		dawdle(random);
		count_answer(crew, pawl_service_cancel(crew->fixture.service, &load->task));
	}
}

static void settle_returns_although_due_tasks_are_cancelled_or_moved(void)
{
	in_all_crews(arm_and_take_away, settle_often);
}

/* When settle returns, every task that was due when it was called has run. */
static void arm_and_settle(struct crew *crew, unsigned number, struct random *random)
{
	struct load *load = &crew->loads[number * TASKS];

	(void)random;
	for (uint64_t i = 0; i < rounds / 4; i++) {
		EXPECT_EQ(pawl_service_arm_at(crew->fixture.service, &load->task, 0), 0);
		pawl_service_settle(crew->fixture.service);
		EXPECT_EQ(count_of(&load->ran), i + 1);
		EXPECT_EQ(pawl_service_cancel(crew->fixture.service, &load->task),
		          PAWL_SERVICE_IDLE);
	}
}

static void settle_waits_for_all_that_is_due(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct crew crew;

		if (every_mode[i].workers == PAWL_SERVICE_MANUAL)
			continue; /* one thread at a time polls there */
		crew_open(&crew, &every_mode[i]);
		crew.work = arm_and_settle;
		crew_work(&crew, NULL);
		crew_close(&crew);
	}
}

/* Cancel_wait against the run, and then the memory is freed. */

struct heap_load {
	struct pawl_task task; /* first */
	uint64_t *ran;
	uint64_t begun, ended;
};

static void heap_run(struct pawl_task *task)
{
	struct heap_load *load = (struct heap_load *)(void *)task;

	load->begun++;
	give_way();
	load->ended++;
	count(load->ran);
}

static void arm_wait_and_free(struct crew *crew, unsigned number, struct random *random)
{
	struct pawl_service *service = crew->fixture.service;

	for (uint64_t i = 0; i < rounds; i++) {
		struct heap_load *load = malloc(sizeof(*load));
		enum pawl_service_found found;

		*load = (struct heap_load){.ran = &crew->loads[number].ran};
		pawl_task_init(&load->task, heap_run);
		if (i % 2)
			pawl_service_arm(service, &load->task, random_below(random, 2) * MS / 2);
		else
			pawl_service_arm_every(service, &load->task, MS / 2, MS / 2,
			                       (enum pawl_service_missed)random_below(random, 3));
		move_clock(crew, random);
		dawdle(random);
		found = pawl_service_cancel_wait(service, &load->task);
		count_answer(crew, found);
		EXPECT_EQ(load->begun, load->ended);
		EXPECT(i % 2 == 0 || load->ended == (found == PAWL_SERVICE_CANCELLED ? 0 : 1));
		EXPECT(found == PAWL_SERVICE_CANCELLED || load->ended);
		memset(load, 0xA5, sizeof(*load));
		free(load);
	}
}

static void after_cancel_wait_the_memory_may_be_freed(void)
{
	in_all_crews(arm_wait_and_free, NULL);
}

/* A task that frees itself: its memory is soon another task, maybe of another thread. */

static void free_itself(struct pawl_task *task)
{
	struct heap_load *load = (struct heap_load *)(void *)task;
	uint64_t *ran = load->ran;

	memset(load, 0xA5, sizeof(*load));
	free(load);
	count(ran);
}

static void arm_and_forget(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct heap_load *load = malloc(sizeof(*load));

		*load = (struct heap_load){.ran = &crew->loads[number].ran};
		pawl_task_init(&load->task, free_itself);
		EXPECT_EQ(pawl_service_arm(crew->fixture.service, &load->task,
		                           random_below(random, 3) * MS),
		          0);
		move_clock(crew, random);
	}
}

static void tasks_may_free_themselves(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct crew crew;

		crew_open(&crew, &every_mode[i]);
		crew.work = arm_and_forget;
		crew_work(&crew, NULL);
		advance_and_settle(&crew.fixture, 3 * MS);
		EXPECT_EQ(sum_of_runs(&crew), THREADS * rounds);
		crew_close(&crew);
	}
}

/*
 * The memory is a task of another thread's before the old one's function has returned: the end of the old run must not
 * end the new one, nor the new arming count for the old task.
 */
struct relay {
	struct pawl_task task; /* first */
	struct fixture *fixture;
	uint64_t left;
	uint64_t *ran;
	sem_t *done;
};

static void relay_run(struct pawl_task *task)
{
	struct relay *relay = (struct relay *)(void *)task;

	count(relay->ran);
	if (relay->left-- == 0) {
		sem_post(relay->done);
		return;
	}
	pawl_task_init(&relay->task, relay_run);
	EXPECT_EQ(pawl_service_arm(relay->fixture->service, &relay->task, 0), 0);
	give_way(); /* another worker may have it already */
}

static void a_task_may_become_another_one_while_it_runs(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct relay relays[THREADS];
		uint64_t ran = 0;
		struct fixture fixture;
		sem_t done;

		fixture_open(&fixture, &every_mode[i]);
		sem_init(&done, 0, 0);
		for (unsigned j = 0; j < THREADS; j++) {
			relays[j] = (struct relay){.fixture = &fixture, .left = rounds / 2};
			relays[j].ran = &ran;
			relays[j].done = &done;
			pawl_task_init(&relays[j].task, relay_run);
			pawl_service_arm(fixture.service, &relays[j].task, 0);
		}
		pawl_service_settle(fixture.service);
		for (unsigned j = 0; j < THREADS; j++)
			sem_wait(&done);
		pawl_service_settle(fixture.service);
		EXPECT_EQ(ran, THREADS * (rounds / 2 + 1));
		expect_counts(fixture.service, ran, ran, 0, 0);
		pawl_service_close(fixture.service, NULL);
	}
}

/* All threads arm the same few tasks, also while they run: none runs twice at once. */

static void arm_the_same(struct crew *crew, unsigned number, struct random *random)
{
	(void)number;
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[random_below(random, 3)];

		switch (random_below(random, 8)) {
		case 0:
			count_answer(crew, pawl_service_cancel(crew->fixture.service, &load->task));
			break;
		case 1:
			pawl_service_touch(crew->fixture.service, &load->task, 0);
			break;
		case 2:
			pawl_service_arm_every(crew->fixture.service, &load->task, MS, MS,
			                       (enum pawl_service_missed)random_below(random, 3));
			break;
		default:
			pawl_service_arm(crew->fixture.service, &load->task, 0);
		}
		move_clock(crew, random);
	}
}

static void a_task_armed_while_it_runs_never_runs_twice_at_once(void)
{
	in_all_crews(arm_the_same, NULL);
}

/* Statistics add up under load, and no quota of max_pending is lost or gained. */

static void sample(struct crew *crew)
{
	struct pawl_service_stats stats;
	uint64_t armed = 0, ran = 0;

	for (uint64_t i = 0; i < rounds / 10; i++) {
		pawl_service_get_stats(crew->fixture.service, &stats, sizeof(stats));
		EXPECT_EQ(stats.armed, stats.ran + stats.cancelled + stats.dropped + stats.pending);
		EXPECT(stats.pending <= THREADS * TASKS);
		EXPECT(stats.queued <= stats.pending);
		EXPECT(stats.armed >= armed && stats.ran >= ran);
		EXPECT(pawl_service_pending(crew->fixture.service) <= THREADS * TASKS);
		armed = stats.armed;
		ran = stats.ran;
	}
}

static void do_anything(struct crew *crew, unsigned number, struct random *random)
{
	struct pawl_service *service = crew->fixture.service;

	(void)number;
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[random_below(random, THREADS * TASKS)];
		uint64_t delay = random_below(random, 5) * MS / 2;
		int error = 0;

		switch (random_below(random, 5)) {
		case 0:
			count_answer(crew, pawl_service_cancel(service, &load->task));
			break;
		case 1:
			count_answer(crew, pawl_service_cancel_wait(service, &load->task));
			break;
		case 2:
			error = pawl_service_touch(service, &load->task, delay);
			break;
		case 3:
			error = pawl_service_arm_every(
			        service, &load->task, delay + 1, delay + 1,
			        (enum pawl_service_missed)random_below(random, 3));
			break;
		default:
			error = pawl_service_arm(service, &load->task, delay);
		}
		EXPECT(error == 0 || error == -EAGAIN);
		move_clock(crew, random);
	}
}

static void cancel_all(struct crew *crew)
{
	for (unsigned i = 0; i < THREADS * TASKS; i++)
		count_answer(crew,
		             pawl_service_cancel_wait(crew->fixture.service, &crew->loads[i].task));
	EXPECT_EQ(pawl_service_pending(crew->fixture.service), 0);
}

static void statistics_add_up_under_load(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];
		const size_t limit = 20;
		struct crew crew;

		options.max_pending = limit;
		crew_open(&crew, &options);
		crew.work = do_anything;
		crew_work(&crew, sample);
		cancel_all(&crew);
		for (unsigned j = 0; j <= limit; j++)
			EXPECT_EQ(pawl_service_arm(crew.fixture.service, &crew.loads[j].task, HOUR),
			          j < limit ? 0 : -EAGAIN);
		cancel_all(&crew);
		crew_close(&crew);
	}
}

/*
 * An arming against the leader that is going to sleep: if neither sees the other, the task never runs, and this test
 * never ends. With many shards the leader reads their visit_by for a long time; and with a clock whose wait()
 * returns at once until shortly before the arming, it goes to sleep all the time.
 */
struct restless_clock {
	struct pawl_clock clock;
	struct pawl_clock_manual manual;
	unsigned restless; /* atomic */
};

static struct restless_clock *restless_from(struct pawl_clock *clock)
{
	return (struct restless_clock *)(void *)clock;
}

static uint64_t restless_now(struct pawl_clock *clock)
{
	struct pawl_clock *manual = &restless_from(clock)->manual.clock;

	return manual->now(manual);
}

static void restless_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct pawl_clock *manual = &restless_from(clock)->manual.clock;

	if (!__atomic_load_n(&restless_from(clock)->restless, __ATOMIC_SEQ_CST))
		manual->wait(manual, deadline);
}

static void restless_wake(struct pawl_clock *clock)
{
	struct pawl_clock *manual = &restless_from(clock)->manual.clock;

	manual->wake(manual);
}

static void set_restless(struct restless_clock *clock, unsigned restless)
{
	__atomic_store_n(&clock->restless, restless, __ATOMIC_SEQ_CST);
}

static void arm_each_time_it_falls_asleep(unsigned workers)
{
	struct restless_clock clock = {.clock = {restless_now, restless_wait, restless_wake, NULL}};
	const struct pawl_service_options options = {
	        .workers = workers, .shards = 1024, .wheel_size = 2, .clock = &clock.clock};
	struct random random = {workers};
	struct pawl_service *service;
	struct note note;

	pawl_clock_manual_init(&clock.manual);
	service = service_with(&options);
	note_init_posting(&note);
	for (uint64_t i = 0; i < 2 * rounds; i++) {
		set_restless(&clock, 1);
		clock.clock.wake(&clock.clock);
		for (volatile uint64_t j = random_below(&random, 60000); j > 0; j--)
			;
		set_restless(&clock, 0);
		EXPECT_EQ(pawl_service_arm(service, &note.task, i % 4 ? MS : 0), 0);
		pawl_clock_manual_advance(&clock.manual, i % 4 ? MS : 0);
		sem_wait(&note.entered);
		EXPECT(pawl_service_cancel_wait(service, &note.task) != PAWL_SERVICE_CANCELLED);
	}
	expect_counts(service, 2 * rounds, 2 * rounds, 0, 0);
	pawl_service_close(service, NULL);
}

static void a_task_armed_while_the_leader_goes_to_sleep_runs(void)
{
	arm_each_time_it_falls_asleep(1);
	arm_each_time_it_falls_asleep(2);
}

/*
 * Two threads arm at the same time, in two shards, while one worker is a follower and the other is the leader. The
 * tasks wait for each other: if both threads call the same worker, they wait forever.
 */
struct meeting {
	struct fixture fixture;
	struct note notes[2];
	unsigned next_number;      /* atomic */
	uint64_t rounds_begun[2];  /* by thread; atomic */
	uint64_t arrivals, leaves; /* atomic */
};

/* It spins first, so that the two go on at the same time. */
static void await_count(const uint64_t *word, uint64_t wanted)
{
	for (unsigned spins = 0; count_of(word) < wanted; spins++)
		if (spins > 10000)
			sched_yield();
}

static void meet(struct note *note)
{
	struct meeting *meeting = (struct meeting *)(void *)note->fixture;

	count(&meeting->arrivals);
	await_count(&meeting->arrivals, 2 * note->runs);
	count(&meeting->leaves);
}

static void *arm_beside_the_other(void *arg)
{
	struct meeting *meeting = arg;
	unsigned number = __atomic_fetch_add(&meeting->next_number, 1, __ATOMIC_SEQ_CST);
	struct random random = {number};

	for (uint64_t i = 1; i <= 2 * rounds; i++) {
		await_count(&meeting->leaves, 2 * (i - 1));
		for (volatile uint64_t j = random_below(&random, 200000); j > 0; j--)
			;
		count(&meeting->rounds_begun[number]);
		await_count(&meeting->rounds_begun[!number], i);
		EXPECT_EQ(
		        pawl_service_arm(meeting->fixture.service, &meeting->notes[number].task, 0),
		        0);
	}
	return NULL;
}

static void two_threads_that_arm_at_once_do_not_call_the_same_worker(void)
{
	const struct pawl_service_options options = {.workers = 2, .shards = 2};
	struct meeting meeting = {.next_number = 0};
	pthread_t threads[2];

	fixture_open(&meeting.fixture, &options);
	for (unsigned i = 0; i < 2; i++) {
		note_init(&meeting.notes[i], &meeting.fixture);
		meeting.notes[i].inside = meet;
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, arm_beside_the_other, &meeting);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	settle(&meeting.fixture);
	expect_counts(meeting.fixture.service, 4 * rounds, 4 * rounds, 0, 0);
	pawl_service_close(meeting.fixture.service, NULL);
}

/* On the real clock: cases that the manual clock cannot produce. */

static void hit_the_real_clock(struct crew *crew, unsigned number, struct random *random)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct load *load = &crew->loads[number * TASKS + random_below(random, TASKS)];

		pawl_service_arm(crew->fixture.service, &load->task, random_below(random, 200000));
		if (random_below(random, 3) == 0)
			count_answer(crew,
			             pawl_service_cancel_wait(crew->fixture.service, &load->task));
	}
}

static void expect_accounts_on(struct pawl_clock *clock, const struct pawl_service_options *mode)
{
	struct pawl_service_options options = *mode;
	struct crew crew;

	crew_open(&crew, mode);
	pawl_service_close(crew.fixture.service, NULL);
	options.clock = clock;
	options.tick_ns = 20000;
	crew.fixture.service = service_with(&options);
	crew.work = hit_the_real_clock;
	crew_work(&crew, NULL);
	crew_close(&crew);
}

static void the_systems_clocks_lose_nothing_either(void)
{
	struct pawl_clock_system boottime;

	pawl_clock_boottime_init(&boottime);
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		expect_accounts_on(NULL, &every_mode[i]);
		expect_accounts_on(&boottime.clock, &every_mode[i]);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(a_task_runs_unless_a_cancel_came_first),
	        TEST(an_arming_ends_once_whichever_thread_cancels),
	        TEST(a_task_that_arms_itself_runs_each_time),
	        TEST(a_task_that_arms_itself_can_be_cancelled),
	        TEST(a_touched_task_is_counted_once),
	        TEST(touch_puts_off_a_task_that_is_not_due),
	        TEST(stop_drops_tasks_that_neither_ran_nor_were_cancelled),
	        TEST(settle_returns_although_due_tasks_are_cancelled_or_moved),
	        TEST(settle_waits_for_all_that_is_due),
	        TEST(after_cancel_wait_the_memory_may_be_freed),
	        TEST(tasks_may_free_themselves),
	        TEST(a_task_may_become_another_one_while_it_runs),
	        TEST(a_task_armed_while_it_runs_never_runs_twice_at_once),
	        TEST(statistics_add_up_under_load),
	        TEST(a_task_armed_while_the_leader_goes_to_sleep_runs),
	        TEST(two_threads_that_arm_at_once_do_not_call_the_same_worker),
	        TEST(the_systems_clocks_lose_nothing_either),
	};

	test_usage(argc, argv, "[--rounds N]");
	rounds = test_number(argc, argv, "--rounds", "PAWL_STRESS_ROUNDS", 2000);
	return RUN_TESTS(tests);
}
