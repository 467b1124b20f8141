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

static void in_loop(unsigned shards, void (*test)(struct fixture *fixture))
{
	memset(&loop_clock, 0, sizeof(loop_clock));
	loop_clock.clock.now = loop_now;
	loop_clock.clock.wait = loop_wait;
	loop_clock.clock.wake = loop_wake;
	pawl_clock_manual_init(&loop_clock.manual);
	in_mode(&(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL,
	                                       .shards = shards,
	                                       .clock = &loop_clock.clock},
	        test);
}

#define IN_LOOP(shards, name) FIXTURE_TEST(name, in_loop(shards, name##_))

static unsigned wakes(void)
{
	return __atomic_load_n(&loop_clock.wakes, __ATOMIC_SEQ_CST);
}

/* wake() */

IN_LOOP(4, an_arming_for_sooner_wakes_the_loop_once)
{
	struct note *tasks = new_notes(fixture, 4);

	arm(&tasks[0], 100 * MS);
	EXPECT_EQ(wakes(), 0); /* the loop has not asked yet, and will */
	pawl_service_next(fixture->service);
	arm(&tasks[1], 200 * MS);
	EXPECT_EQ(wakes(), 0);
	arm(&tasks[2], 50 * MS);
	EXPECT_EQ(wakes(), 1);
	arm(&tasks[3], 40 * MS);
	EXPECT_EQ(wakes(), 1); /* it is awake, and will ask */
	EXPECT_EQ(pawl_service_next(fixture->service), 40 * MS);
	arm(&tasks[3], 30 * MS);
	EXPECT_EQ(wakes(), 2);
}

static void arm_somehow(struct note *note, int way)
{
	switch (way) {
	case 0:
		arm(note, 10 * MS);
		break;
	case 1:
		arm_at(note, 10 * MS);
		break;
	case 2:
		touch(note, 10 * MS);
		break;
	case 3:
		pawl_service_arm_within(note->fixture->service, &note->task, 10 * MS, 11 * MS);
		break;
	case 4:
		arm_every(note, 10 * MS, 10 * MS, PAWL_SERVICE_SKIP);
		break;
	default:
		arm(note, 0);
	}
}

IN_LOOP(1, every_way_to_arm_wakes_the_loop)
{
	for (int way = 0; way < 6; way++)
		for (unsigned moved = 0; moved < 2; moved++) {
			struct note *note = new_note(fixture);
			unsigned before = wakes();

			if (moved)
				arm(note, HOUR);
			pawl_service_next(fixture->service);
			arm_somehow(note, way);
			EXPECT_EQ(wakes(), before + 1);
			cancel(note);
		}
}

/* visit_by of the shard was still that of the cancelled task, so the arming did not wake the loop. */
IN_LOOP(1, a_task_armed_after_a_cancel_is_not_late)
{
	struct note *tasks = new_notes(fixture, 3);

	arm(&tasks[0], 50 * MS);
	arm(&tasks[1], 500 * MS);
	cancel(&tasks[0]);
	EXPECT(pawl_service_next(fixture->service) > 60 * MS);
	arm(&tasks[2], 60 * MS);
	EXPECT_EQ(wakes(), 1);
}

static void arm_the_other(struct note *note)
{
	arm(note->other, 10 * MS);
}

IN_LOOP(1, a_poll_that_arms_does_not_wake_its_own_loop)
{
	struct note *note = new_note(fixture);

	note->inside = arm_the_other;
	note->other = new_note(fixture);
	arm(note, 10 * MS);
	EXPECT_EQ(pawl_service_next(fixture->service), 10 * MS);
	pawl_clock_manual_advance(&loop_clock.manual, 10 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT_EQ(wakes(), 0);
	EXPECT_EQ(pawl_service_next(fixture->service), 20 * MS);
}

/* It asks for the next time before it sleeps. */
IN_LOOP(1, a_loop_that_has_polled_is_awake)
{
	struct note *task = new_note(fixture), *far_away = new_note(fixture);

	arm(far_away, HOUR);
	EXPECT(pawl_service_next(fixture->service) > MS);
	pawl_clock_manual_advance(&loop_clock.manual, 40 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	arm(task, 0);
	EXPECT_EQ(wakes(), 0);
	EXPECT_EQ(pawl_service_next(fixture->service), 40 * MS); /* now */
	arm(task, 0);
	EXPECT_EQ(wakes(), 0); /* it was told to poll at once */
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT(pawl_service_next(fixture->service) > 41 * MS);
	arm(task, MS);
	EXPECT_EQ(wakes(), 1);
}

IN_LOOP(1, next_is_now_if_a_bounded_poll_left_tasks)
{
	struct note *tasks = new_notes(fixture, 2);

	arm(&tasks[0], 10 * MS);
	arm(&tasks[1], 10 * MS);
	pawl_clock_manual_advance(&loop_clock.manual, 10 * MS + 1);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	EXPECT_EQ(pawl_service_next(fixture->service), 10 * MS + 1);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	EXPECT_EQ(wakes(), 0);
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

/* The descriptor */

static int fd_with(const struct pawl_service_options *options)
{
	struct pawl_service *service = service_with(options);
	int fd = pawl_service_fd(service);

	pawl_service_close(service, NULL);
	return fd;
}

static void the_descriptor_is_refused_where_there_is_none(void)
{
	const struct pawl_service_options threads = {0}, manual = {.workers = PAWL_SERVICE_MANUAL};

	EXPECT_EQ(fd_with(&threads), -EINVAL);
	EXPECT(HAS_FD ? fd_with(&manual) >= 0 : fd_with(&manual) == -ENOTSUP);
}

IN_LOOP(1, a_clock_of_ones_own_has_no_descriptor)
{
	EXPECT_EQ(pawl_service_fd(fixture->service), -ENOTSUP);
}

#if HAS_FD
static bool readable(int fd)
{
	struct pollfd poller = {fd, POLLIN, 0};

	EXPECT(poll(&poller, 1, 0) >= 0);
	return poller.revents & POLLIN;
}

#define WITH_FD(shards_, name) IN_MODE(name, .workers = PAWL_SERVICE_MANUAL, .shards = shards_)

static int fd_of(struct fixture *fixture)
{
	int fd = pawl_service_fd(fixture->service);

	EXPECT(fd >= 0);
	return fd;
}

WITH_FD(4, it_is_readable_when_a_poll_is_worth_it)
{
	struct note *tasks = new_notes(fixture, 3);
	int fd = fd_of(fixture);

	EXPECT(!readable(fd));
	arm(&tasks[0], 5 * MS);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture->clock, 4 * MS);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture->clock, MS);
	EXPECT(readable(fd));
	EXPECT(readable(fd)); /* until the poll */
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT(!readable(fd));
	arm(&tasks[0], 0);
	EXPECT(readable(fd));
	arm(&tasks[1], 0);
	arm(&tasks[2], 5 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	EXPECT(readable(fd)); /* one is left */
	EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_fd(fixture->service), fd);
}

WITH_FD(1, a_cancelled_task_leaves_it_readable_once_at_most)
{
	struct note *tasks = new_notes(fixture, 2);
	int fd = fd_of(fixture);

	arm(&tasks[0], 0);
	arm(&tasks[1], 20 * MS);
	cancel(&tasks[0]);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	EXPECT(!readable(fd));
	cancel(&tasks[1]);
	pawl_clock_manual_advance(&fixture->clock, 20 * MS);
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 0);
	EXPECT(!readable(fd));
}

/* The time of the wheel is PAWL_NEVER then, and so is its next opening if it has no timer. */
IN_MODE(it_is_not_readable_at_the_end_of_time_with_nothing_pending, .workers = PAWL_SERVICE_MANUAL,
        .shards = 1, .tick_ns = 1)
{
	struct note *note = new_note(fixture);
	int fd = fd_of(fixture);

	arm(note, HOUR);
	pawl_clock_manual_advance(&fixture->clock, PAWL_NEVER);
	EXPECT(readable(fd));
	EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_next(fixture->service), PAWL_NEVER);
	EXPECT(!readable(fd));
}

static void it_is_never_readable_after_a_stop_and_closed_with_the_service(void)
{
	struct fixture fixture;
	int fd;

	fixture_open(&fixture, &(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL});
	fd = fd_of(&fixture);
	arm(new_note(&fixture), 0);
	EXPECT(readable(fd));
	end(&fixture);
	EXPECT(!readable(fd));
	pawl_clock_manual_advance(&fixture.clock, HOUR);
	pawl_service_next(fixture.service);
	pawl_service_poll(fixture.service, 0);
	EXPECT(!readable(fd));
	EXPECT_EQ(pawl_service_fd(fixture.service), fd);
	EXPECT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	fixture_close(&fixture);
	EXPECT_EQ(fcntl(fd, F_GETFD), -1);
	pawl_clock_manual_advance(&fixture.clock, HOUR); /* no longer wakes anything */
}

WITH_FD(1, an_edge_triggered_loop_misses_nothing)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct note *tasks = new_notes(fixture, 3);
	int fd = fd_of(fixture);

	EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	for (unsigned i = 0; i < 3; i++)
		arm(&tasks[i], 0);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
		EXPECT_EQ(pawl_service_poll(fixture->service, 1), 1);
	}
	EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	close(epoll);
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
	struct note *notes;
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

static void begin_model(struct model *model, struct fixture *fixture)
{
	model->service = fixture->service;
	model->notes = new_notes(fixture, TASKS);
	model->now = 0;
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
		cancel(&model->notes[i]);
		model->due[i] = PAWL_NEVER;
		return;
	case 1:
		touch(&model->notes[i], delay * MS);
		break;
	default:
		arm(&model->notes[i], delay * MS);
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

static uint64_t seed; /* of the random calls, which also gives the number of shards */

static void expect_at(bool holds, const char *otherwise, int call)
{
	if (!holds)
		fprintf(stderr, "seed %" PRIu64 ", call %d: %s\n", seed, call, otherwise);
	EXPECT(holds);
}

#if HAS_FD
static void poll_by_the_descriptor_at_random(struct fixture *fixture)
{
	struct random random = {seed};
	int fd = fd_of(fixture);
	struct model model;

	begin_model(&model, fixture);
	for (int i = 0; i < 200; i++) {
		uint64_t choice = random_below(&random, 8);

		if (choice == 0)
			poll_all(&model);
		else if (choice == 1)
			let_time_pass(&model, &fixture->clock, &random);
		else
			arm_or_cancel(&model, &random);
		expect_at(!(choice == 0 && readable(fd)), "readable after a poll", i);
		expect_at(first_due(&model) > model.now || readable(fd), "due, but not readable",
		          i);
	}
}

static void at_random_the_descriptor_is_readable_when_something_is_due(void)
{
	for (seed = 1; seed <= 200; seed++)
		in_mode(&(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL,
		                                       .shards = 1 + (unsigned)seed % 3},
		        poll_by_the_descriptor_at_random);
}
#endif

static void arm_beside_a_loop_at_random(struct fixture *fixture)
{
	struct random random = {seed};
	struct model model;
	uint64_t told = 0; /* in ticks */
	unsigned before = 0;

	begin_model(&model, fixture);
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
		expect_at(first_due(&model) >= told || wakes() > before, "the loop sleeps too long",
		          i);
	}
}

static void the_loop_is_woken_for_random_sooner_armings(void)
{
	for (seed = 1; seed <= 200; seed++)
		in_loop(1 + (unsigned)seed % 3, arm_beside_a_loop_at_random);
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
		TEST(the_descriptor_is_refused_where_there_is_none),
		TEST(a_clock_of_ones_own_has_no_descriptor),
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
