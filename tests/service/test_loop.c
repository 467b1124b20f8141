/* SPDX-License-Identifier: MIT */
/* A user's loop: the clock's wake() or a descriptor tells it that its next poll is sooner. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../src/base/random.h"
#include "../support/services.h"

#if defined(__linux__) && !defined(PAWL_POSIX)
#include <sys/epoll.h>
#define HAS_FD 1
#else
#define HAS_FD 0
#endif

/* A clock that counts how often it is woken; its time is that of a manual one. */
struct loop_clock {
	struct pawl_clock clock;
	struct pawl_clock_manual manual;
	unsigned wakes; /* atomic */
};

static uint64_t loop_now(struct pawl_clock *clock)
{
	struct pawl_clock *manual = &((struct loop_clock *)(void *)clock)->manual.clock;

	return manual->now(manual);
}

static void loop_wait(struct pawl_clock *clock, uint64_t deadline)
{
	bool a_service_without_threads_waits = true;

	(void)clock;
	(void)deadline;
	EXPECT(!a_service_without_threads_waits);
}

static void loop_wake(struct pawl_clock *clock)
{
	__atomic_add_fetch(&((struct loop_clock *)(void *)clock)->wakes, 1, __ATOMIC_SEQ_CST);
}

static struct loop_clock loop_clock;

static struct pawl_service *open_loop(unsigned shards)
{
	const struct pawl_service_options options = {
	        .workers = PAWL_SERVICE_MANUAL, .shards = shards, .clock = &loop_clock.clock};

	memset(&loop_clock, 0, sizeof(loop_clock));
	loop_clock.clock.now = loop_now;
	loop_clock.clock.wait = loop_wait;
	loop_clock.clock.wake = loop_wake;
	pawl_clock_manual_init(&loop_clock.manual);
	return service_with(&options);
}

static unsigned wakes(void)
{
	return __atomic_load_n(&loop_clock.wakes, __ATOMIC_SEQ_CST);
}

static unsigned runs;

static void count_run(struct pawl_task *task)
{
	(void)task;
	runs++;
}

static void init_tasks(struct pawl_task *tasks, unsigned count)
{
	runs = 0;
	for (unsigned i = 0; i < count; i++)
		pawl_task_init(&tasks[i], count_run);
}

/* wake() */

static void an_arming_for_sooner_wakes_the_loop_once(void)
{
	struct pawl_service *service = open_loop(4);
	struct pawl_task tasks[4];

	init_tasks(tasks, 4);
	pawl_service_arm(service, &tasks[0], 100 * MS);
	EXPECT_EQ(wakes(), 0); /* the loop has not asked yet, and will */
	pawl_service_next(service);
	pawl_service_arm(service, &tasks[1], 200 * MS);
	EXPECT_EQ(wakes(), 0);
	pawl_service_arm(service, &tasks[2], 50 * MS);
	EXPECT_EQ(wakes(), 1);
	pawl_service_arm(service, &tasks[3], 40 * MS);
	EXPECT_EQ(wakes(), 1); /* it is awake, and will ask */
	EXPECT_EQ(pawl_service_next(service), 40 * MS);
	pawl_service_arm(service, &tasks[3], 30 * MS);
	EXPECT_EQ(wakes(), 2);
	pawl_service_close(service, NULL);
}

static void arm_somehow(struct pawl_service *service, struct pawl_task *task, int way)
{
	switch (way) {
	case 0:
		pawl_service_arm(service, task, 10 * MS);
		break;
	case 1:
		pawl_service_arm_at(service, task, 10 * MS);
		break;
	case 2:
		pawl_service_touch(service, task, 10 * MS);
		break;
	case 3:
		pawl_service_arm_within(service, task, 10 * MS, 11 * MS);
		break;
	case 4:
		pawl_service_arm_every(service, task, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
		break;
	default:
		pawl_service_arm(service, task, 0);
	}
}

static void every_way_to_arm_wakes_the_loop(void)
{
	for (int way = 0; way < 6; way++)
		for (int moved = 0; moved < 2; moved++) {
			struct pawl_service *service = open_loop(1);
			struct pawl_task task;

			init_tasks(&task, 1);
			if (moved)
				pawl_service_arm(service, &task, HOUR);
			pawl_service_next(service);
			arm_somehow(service, &task, way);
			EXPECT_EQ(wakes(), 1);
			pawl_service_close(service, NULL);
		}
}

/* visit_by of the shard was still that of the cancelled task, so the arming did not wake the loop. */
static void a_task_armed_after_a_cancel_is_not_late(void)
{
	struct pawl_service *service = open_loop(1);
	struct pawl_task tasks[3];

	init_tasks(tasks, 3);
	pawl_service_arm(service, &tasks[0], 50 * MS);
	pawl_service_arm(service, &tasks[1], 500 * MS);
	pawl_service_cancel(service, &tasks[0]);
	EXPECT(pawl_service_next(service) > 60 * MS);
	pawl_service_arm(service, &tasks[2], 60 * MS);
	EXPECT_EQ(wakes(), 1);
	pawl_service_close(service, NULL);
}

static struct pawl_service *inside_service;
static struct pawl_task inside_other;

static void arm_another(struct pawl_task *task)
{
	count_run(task);
	pawl_service_arm(inside_service, &inside_other, 10 * MS);
}

static void a_poll_that_arms_does_not_wake_its_own_loop(void)
{
	struct pawl_service *service = inside_service = open_loop(1);
	struct pawl_task task;

	init_tasks(&inside_other, 1);
	pawl_task_init(&task, arm_another);
	pawl_service_arm(service, &task, 10 * MS);
	EXPECT_EQ(pawl_service_next(service), 10 * MS);
	pawl_clock_manual_advance(&loop_clock.manual, 10 * MS);
	EXPECT_EQ(pawl_service_poll(service, 0), 1);
	EXPECT_EQ(wakes(), 0);
	EXPECT_EQ(pawl_service_next(service), 20 * MS);
	pawl_service_close(service, NULL);
}

/* It asks for the next time before it sleeps. */
static void a_loop_that_has_polled_is_awake(void)
{
	struct pawl_service *service = open_loop(1);
	struct pawl_task task, far_away;

	init_tasks(&task, 1);
	init_tasks(&far_away, 1);
	pawl_service_arm(service, &far_away, HOUR);
	EXPECT(pawl_service_next(service) > MS);
	pawl_clock_manual_advance(&loop_clock.manual, 40 * MS);
	EXPECT_EQ(pawl_service_poll(service, 0), 0);
	pawl_service_arm(service, &task, 0);
	EXPECT_EQ(wakes(), 0);
	EXPECT_EQ(pawl_service_next(service), 40 * MS); /* now */
	pawl_service_arm(service, &task, 0);
	EXPECT_EQ(wakes(), 0); /* it was told to poll at once */
	EXPECT_EQ(pawl_service_poll(service, 0), 1);
	EXPECT(pawl_service_next(service) > 41 * MS);
	pawl_service_arm(service, &task, MS);
	EXPECT_EQ(wakes(), 1);
	pawl_service_close(service, NULL);
}

static void next_is_now_if_a_bounded_poll_left_tasks(void)
{
	struct pawl_service *service = open_loop(1);
	struct pawl_task tasks[2];

	init_tasks(tasks, 2);
	pawl_service_arm(service, &tasks[0], 10 * MS);
	pawl_service_arm(service, &tasks[1], 10 * MS);
	pawl_clock_manual_advance(&loop_clock.manual, 10 * MS + 1);
	EXPECT_EQ(pawl_service_poll(service, 1), 1);
	EXPECT_EQ(pawl_service_next(service), 10 * MS + 1);
	EXPECT_EQ(pawl_service_poll(service, 1), 1);
	EXPECT_EQ(pawl_service_next(service), PAWL_NEVER);
	EXPECT_EQ(wakes(), 0);
	pawl_service_close(service, NULL);
}

/* The loop of the header, on a clock of the system's, and threads that arm from outside. A lost wake-up hangs it. */
struct outside {
	struct pawl_clock_system clock;
	struct pawl_service *service;
	struct pawl_task *tasks;
	unsigned ran; /* by the loop's thread */
};

enum { OUTSIDERS = 3, EACH = 2000 };

static struct outside outside;

static void count_outside(struct pawl_task *task)
{
	(void)task;
	outside.ran++;
}

static void *arm_from_outside(void *first)
{
	struct pawl_task *task = first;

	for (unsigned i = 0; i < EACH; i++) {
		pawl_task_init(&task[i], count_outside);
		EXPECT_EQ(pawl_service_arm(outside.service, &task[i], i % 3 * MS / 2), 0);
	}
	return NULL;
}

static void outside_of(void (*sleep)(void), void (*init)(struct pawl_clock_system *))
{
	const struct pawl_service_options options = {
	        .workers = PAWL_SERVICE_MANUAL, .shards = 4, .clock = &outside.clock.clock};
	pthread_t threads[OUTSIDERS];

	init(&outside.clock);
	outside.service = service_with(&options);
	outside.tasks = malloc(OUTSIDERS * EACH * sizeof(*outside.tasks));
	outside.ran = 0;
	for (unsigned i = 0; i < OUTSIDERS; i++)
		pthread_create(&threads[i], NULL, arm_from_outside, &outside.tasks[i * EACH]);
	while (outside.ran < OUTSIDERS * EACH) {
		sleep();
		pawl_service_poll(outside.service, 0);
	}
	for (unsigned i = 0; i < OUTSIDERS; i++)
		pthread_join(threads[i], NULL);
	pawl_service_close(outside.service, NULL);
	free(outside.tasks);
}

static void sleep_by_clock(void)
{
	struct pawl_clock *clock = &outside.clock.clock;

	clock->wait(clock, pawl_service_next(outside.service));
}

static void a_loop_that_sleeps_on_the_clock_runs_tasks_armed_by_other_threads(void)
{
	outside_of(sleep_by_clock, pawl_clock_monotonic_init);
	outside_of(sleep_by_clock, pawl_clock_boottime_init);
}

/* One task at a time, due at once: a loop that loses the only wake-up waits forever. */
enum { ROUNDS = 5000 };

static struct {
	struct pawl_clock_system clock;
	struct pawl_service *service;
	struct pawl_task task;
	sem_t ran;
	bool over; /* atomic */
} rounds;

static void say_that_it_ran(struct pawl_task *task)
{
	(void)task;
	sem_post(&rounds.ran);
}

static bool over(void)
{
	return __atomic_load_n(&rounds.over, __ATOMIC_SEQ_CST);
}

static void *loop_until_over(void *unused)
{
	struct pawl_clock *clock = &rounds.clock.clock;

	while (!over()) {
		clock->wait(clock, pawl_service_next(rounds.service));
		pawl_service_poll(rounds.service, 0);
	}
	return unused;
}

static void a_loop_is_woken_each_time_that_it_sleeps(void)
{
	const struct pawl_service_options options = {
	        .workers = PAWL_SERVICE_MANUAL, .shards = 1, .clock = &rounds.clock.clock};
	pthread_t loop;

	pawl_clock_monotonic_init(&rounds.clock);
	rounds.service = service_with(&options);
	rounds.over = false;
	sem_init(&rounds.ran, 0, 0);
	pawl_task_init(&rounds.task, say_that_it_ran);
	pthread_create(&loop, NULL, loop_until_over, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(pawl_service_arm(rounds.service, &rounds.task, 0), 0);
		sem_wait(&rounds.ran);
	}
	__atomic_store_n(&rounds.over, true, __ATOMIC_SEQ_CST);
	rounds.clock.clock.wake(&rounds.clock.clock);
	pthread_join(loop, NULL);
	pawl_service_close(rounds.service, NULL);
}

/* The descriptor */

static void the_descriptor_is_refused_where_there_is_none(void)
{
	struct pawl_service *service = open_loop(1);
	const struct pawl_service_options manual = {.workers = PAWL_SERVICE_MANUAL};

	EXPECT_EQ(pawl_service_fd(service), -ENOTSUP); /* a clock of one's own */
	pawl_service_close(service, NULL);
	service = service_with(NULL);
	EXPECT_EQ(pawl_service_fd(service), -EINVAL); /* it has threads */
	pawl_service_close(service, NULL);
	service = service_with(&manual);
	EXPECT(HAS_FD ? pawl_service_fd(service) >= 0 : pawl_service_fd(service) == -ENOTSUP);
	pawl_service_close(service, NULL);
}

#if HAS_FD
static bool readable(int fd)
{
	struct pollfd poller = {fd, POLLIN, 0};

	EXPECT(poll(&poller, 1, 0) >= 0);
	return poller.revents & POLLIN;
}

static int open_fd(struct fixture *fixture, unsigned shards)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                             .shards = shards};
	int fd;

	fixture_open(fixture, &options);
	fd = pawl_service_fd(fixture->service);
	EXPECT(fd >= 0);
	return fd;
}

static void it_is_readable_when_a_poll_is_worth_it(void)
{
	struct pawl_task tasks[3];
	struct fixture fixture;
	int fd = open_fd(&fixture, 4);

	init_tasks(tasks, 3);
	EXPECT(!readable(fd));
	pawl_service_arm(fixture.service, &tasks[0], 5 * MS);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture.clock, 4 * MS);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture.clock, MS);
	EXPECT(readable(fd));
	EXPECT(readable(fd)); /* until the poll */
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 1);
	EXPECT(!readable(fd));
	pawl_service_arm(fixture.service, &tasks[0], 0);
	EXPECT(readable(fd));
	pawl_service_arm(fixture.service, &tasks[1], 0);
	pawl_service_arm(fixture.service, &tasks[2], 5 * MS);
	EXPECT_EQ(pawl_service_poll(fixture.service, 1), 1);
	EXPECT(readable(fd)); /* one is left */
	EXPECT_EQ(pawl_service_poll(fixture.service, 1), 1);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_fd(fixture.service), fd);
	pawl_service_close(fixture.service, NULL);
}

static void a_cancelled_task_leaves_it_readable_once_at_most(void)
{
	struct pawl_task tasks[2];
	struct fixture fixture;
	int fd = open_fd(&fixture, 1);

	init_tasks(tasks, 2);
	pawl_service_arm(fixture.service, &tasks[0], 0);
	pawl_service_arm(fixture.service, &tasks[1], 20 * MS);
	pawl_service_cancel(fixture.service, &tasks[0]);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 0);
	EXPECT(!readable(fd));
	pawl_service_cancel(fixture.service, &tasks[1]);
	pawl_clock_manual_advance(&fixture.clock, 20 * MS);
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 0);
	EXPECT(!readable(fd));
	pawl_service_close(fixture.service, NULL);
}

/* The time of the wheel is PAWL_NEVER then, and so is its next opening if it has no timer. */
static void it_is_not_readable_at_the_end_of_time_with_nothing_pending(void)
{
	const struct pawl_service_options options = {
	        .workers = PAWL_SERVICE_MANUAL, .shards = 1, .tick_ns = 1};
	struct pawl_task task;
	struct fixture fixture;
	int fd;

	fixture_open(&fixture, &options);
	fd = pawl_service_fd(fixture.service);
	init_tasks(&task, 1);
	pawl_service_arm(fixture.service, &task, HOUR);
	pawl_clock_manual_advance(&fixture.clock, PAWL_NEVER);
	EXPECT(readable(fd));
	EXPECT_EQ(pawl_service_poll(fixture.service, 0), 1);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_next(fixture.service), PAWL_NEVER);
	EXPECT(!readable(fd));
	pawl_service_close(fixture.service, NULL);
}

static void it_is_never_readable_after_a_stop_and_closed_with_the_service(void)
{
	struct pawl_task task;
	struct fixture fixture;
	int fd = open_fd(&fixture, 1);

	init_tasks(&task, 1);
	pawl_service_arm(fixture.service, &task, 0);
	EXPECT(readable(fd));
	pawl_service_stop(fixture.service, NULL);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture.clock, HOUR);
	pawl_service_next(fixture.service);
	pawl_service_poll(fixture.service, 0);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_fd(fixture.service), fd);
	EXPECT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	pawl_service_close(fixture.service, NULL);
	EXPECT_EQ(fcntl(fd, F_GETFD), -1);
	pawl_clock_manual_advance(&fixture.clock, HOUR); /* no longer wakes anything */
}

static void an_edge_triggered_loop_misses_nothing(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct pawl_task tasks[3];
	struct fixture fixture;
	int fd = open_fd(&fixture, 1);

	init_tasks(tasks, 3);
	EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	for (unsigned i = 0; i < 3; i++)
		pawl_service_arm(fixture.service, &tasks[i], 0);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
		EXPECT_EQ(pawl_service_poll(fixture.service, 1), 1);
	}
	EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	close(epoll);
	pawl_service_close(fixture.service, NULL);
}

static void without_descriptors_it_fails_and_can_be_asked_again(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL};
	struct pawl_service *service = service_with(&options);
	struct rlimit before, none;

	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	EXPECT_EQ(pawl_service_fd(service), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	EXPECT(pawl_service_fd(service) >= 0);
	pawl_service_close(service, NULL);
}

static void sleep_by_fd(void)
{
	struct pollfd poller = {pawl_service_fd(outside.service), POLLIN, 0};

	EXPECT_EQ(poll(&poller, 1, -1), 1);
}

static void a_loop_that_sleeps_on_the_descriptor_runs_tasks_armed_by_other_threads(void)
{
	outside_of(sleep_by_fd, pawl_clock_monotonic_init);
	outside_of(sleep_by_fd, pawl_clock_boottime_init);
}
#endif

/*
 * Random calls, and their necessary result: something is due, so the descriptor is readable; a poll without a bound
 * leaves it not readable. And with wake(): the loop was told a time, and something is due before it, so it was woken.
 */
enum { TASKS = 12 };

struct model {
	struct pawl_service *service;
	struct pawl_task tasks[TASKS];
	uint64_t due[TASKS]; /* in ticks; PAWL_NEVER: idle */
	uint64_t now;        /* in ticks */
};

static uint64_t first_due(const struct model *model)
{
	uint64_t first = PAWL_NEVER;

	for (unsigned i = 0; i < TASKS; i++)
		first = model->due[i] < first ? model->due[i] : first;
	return first;
}

static void begin_model(struct model *model, struct pawl_service *service)
{
	model->service = service;
	model->now = 0;
	init_tasks(model->tasks, TASKS);
	for (unsigned i = 0; i < TASKS; i++)
		model->due[i] = PAWL_NEVER;
}

static uint64_t some_delay(struct random *random)
{
	return random_below(random, UINT64_C(1) << random_below(random, 14));
}

static void arm_or_cancel(struct model *model, struct random *random)
{
	unsigned i = (unsigned)random_below(random, TASKS);
	uint64_t delay = some_delay(random);

	switch (random_below(random, 3)) {
	case 0:
		pawl_service_cancel(model->service, &model->tasks[i]);
		model->due[i] = PAWL_NEVER;
		return;
	case 1:
		pawl_service_touch(model->service, &model->tasks[i], delay * MS);
		break;
	default:
		pawl_service_arm(model->service, &model->tasks[i], delay * MS);
	}
	model->due[i] = model->now + delay;
}

static void let_time_pass(struct model *model, struct pawl_clock_manual *clock,
                          struct random *random)
{
	uint64_t ticks = some_delay(random);

	pawl_clock_manual_advance(clock, ticks * MS);
	model->now += ticks;
}

static void poll_all(struct model *model)
{
	unsigned due = 0;

	for (unsigned i = 0; i < TASKS; i++)
		if (model->due[i] <= model->now) {
			model->due[i] = PAWL_NEVER;
			due++;
		}
	EXPECT_EQ(pawl_service_poll(model->service, 0), due);
}

static void expect_at(bool holds, const char *otherwise, uint64_t seed, int call)
{
	if (!holds)
		fprintf(stderr, "seed %" PRIu64 ", call %d: %s\n", seed, call, otherwise);
	EXPECT(holds);
}

#if HAS_FD
static void at_random_the_descriptor_is_readable_when_something_is_due(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct random random = {seed};
		struct model model;
		struct fixture fixture;
		int fd = open_fd(&fixture, 1 + (unsigned)seed % 3);

		begin_model(&model, fixture.service);
		for (int i = 0; i < 200; i++) {
			uint64_t choice = random_below(&random, 8);

			if (choice == 0)
				poll_all(&model);
			else if (choice == 1)
				let_time_pass(&model, &fixture.clock, &random);
			else
				arm_or_cancel(&model, &random);
			expect_at(!(choice == 0 && readable(fd)), "readable after a poll", seed, i);
			expect_at(first_due(&model) > model.now || readable(fd),
			          "due, but not readable", seed, i);
		}
		pawl_service_close(fixture.service, NULL);
	}
}
#endif

static void the_loop_is_woken_for_random_sooner_armings(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct random random = {seed};
		struct model model;
		uint64_t told = 0; /* in ticks */
		unsigned before = 0;

		begin_model(&model, open_loop(1 + (unsigned)seed % 3));
		for (int i = 0; i < 200; i++) {
			uint64_t choice = random_below(&random, 8);

			if (choice == 0) {
				poll_all(&model);
				told = 0; /* it is awake until it asks */
			} else if (choice == 1) {
				let_time_pass(&model, &loop_clock.manual, &random);
			} else if (choice == 2) {
				uint64_t next = pawl_service_next(model.service);

				before = wakes();
				told = next == PAWL_NEVER ? PAWL_NEVER : next / MS;
				told = told <= model.now ? 0 : told; /* it polls */
			} else {
				arm_or_cancel(&model, &random);
			}
			expect_at(first_due(&model) >= told || wakes() > before,
			          "the loop sleeps too long", seed, i);
		}
		pawl_service_close(model.service, NULL);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(an_arming_for_sooner_wakes_the_loop_once),
		TEST(every_way_to_arm_wakes_the_loop),
		TEST(a_task_armed_after_a_cancel_is_not_late),
		TEST(a_poll_that_arms_does_not_wake_its_own_loop),
		TEST(a_loop_that_has_polled_is_awake),
		TEST(next_is_now_if_a_bounded_poll_left_tasks),
		TEST(a_loop_that_sleeps_on_the_clock_runs_tasks_armed_by_other_threads),
		TEST(a_loop_is_woken_each_time_that_it_sleeps),
		TEST(the_descriptor_is_refused_where_there_is_none),
		TEST(the_loop_is_woken_for_random_sooner_armings),
#if HAS_FD
		TEST(it_is_readable_when_a_poll_is_worth_it),
		TEST(a_cancelled_task_leaves_it_readable_once_at_most),
		TEST(it_is_not_readable_at_the_end_of_time_with_nothing_pending),
		TEST(it_is_never_readable_after_a_stop_and_closed_with_the_service),
		TEST(an_edge_triggered_loop_misses_nothing),
		TEST(without_descriptors_it_fails_and_can_be_asked_again),
		TEST(a_loop_that_sleeps_on_the_descriptor_runs_tasks_armed_by_other_threads),
		TEST(at_random_the_descriptor_is_readable_when_something_is_due),
#endif
	};

	return RUN_TESTS(tests);
}
