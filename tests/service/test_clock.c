/* SPDX-License-Identifier: MIT */
/* Clocks: when a service sleeps and is woken, and what the clocks promise. */
#define _GNU_SOURCE
#include "../support/services.h"
#include <errno.h>

/* Sleeping and waking */

/* A manual clock that counts. The leader sleeps on it; a test waits until it does. */
struct counting_clock {
	struct pawl_clock clock;
	struct pawl_clock_manual manual;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t waits, wakes;
	bool waiting;
	uint64_t deadline;
};

static struct counting_clock *counting(struct pawl_clock *clock)
{
	return (struct counting_clock *)(void *)clock;
}

static uint64_t counting_now(struct pawl_clock *clock)
{
	struct pawl_clock *manual = &counting(clock)->manual.clock;

	return manual->now(manual);
}

static void counting_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct counting_clock *counter = counting(clock);

	pthread_mutex_lock(&counter->mutex);
	counter->waits++;
	counter->waiting = true;
	counter->deadline = deadline;
	pthread_cond_broadcast(&counter->changed);
	pthread_mutex_unlock(&counter->mutex);
	counter->manual.clock.wait(&counter->manual.clock, deadline);
	pthread_mutex_lock(&counter->mutex);
	counter->waiting = false;
	pthread_mutex_unlock(&counter->mutex);
}

static void counting_wake(struct pawl_clock *clock)
{
	struct counting_clock *counter = counting(clock);

	pthread_mutex_lock(&counter->mutex);
	counter->wakes++;
	pthread_mutex_unlock(&counter->mutex);
	counter->manual.clock.wake(&counter->manual.clock);
}

static void counting_init(struct counting_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->clock.now = counting_now;
	clock->clock.wait = counting_wait;
	clock->clock.wake = counting_wake;
	pawl_clock_manual_init(&clock->manual);
	pthread_mutex_init(&clock->mutex, NULL);
	pthread_cond_init(&clock->changed, NULL);
}

/* Wait until the leader sleeps, and with exactly this deadline. */
static void await_sleep(struct counting_clock *clock, uint64_t deadline)
{
	pthread_mutex_lock(&clock->mutex);
	while (!clock->waiting || clock->deadline != deadline)
		pthread_cond_wait(&clock->changed, &clock->mutex);
	pthread_mutex_unlock(&clock->mutex);
}

/* Wait until the leader has slept so often, and sleeps now. */
static void await_sleep_number(struct counting_clock *clock, uint64_t waits, uint64_t deadline)
{
	pthread_mutex_lock(&clock->mutex);
	while (!clock->waiting || clock->waits < waits)
		pthread_cond_wait(&clock->changed, &clock->mutex);
	EXPECT_EQ(clock->waits, waits);
	EXPECT_EQ(clock->deadline, deadline);
	pthread_mutex_unlock(&clock->mutex);
}

static uint64_t wakes_of(struct counting_clock *clock)
{
	uint64_t wakes;

	pthread_mutex_lock(&clock->mutex);
	wakes = clock->wakes;
	pthread_mutex_unlock(&clock->mutex);
	return wakes;
}

/* A wake-up is counted after it has run something, when another worker may be the leader already. */
static void expect_wakeups(struct pawl_service *service, uint64_t wakeups, uint64_t empty)
{
	struct pawl_service_stats stats;

	do
		pawl_service_get_stats(service, &stats, sizeof(stats));
	while (stats.wakeups < wakeups || stats.empty_wakeups < empty);
	EXPECT_EQ(stats.wakeups, wakeups);
	EXPECT_EQ(stats.empty_wakeups, empty);
}

static void in_every_mode_that_sleeps(void (*test)(struct pawl_service *, struct counting_clock *))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];
		struct counting_clock clock;
		struct pawl_service *service;

		if (options.workers == PAWL_SERVICE_MANUAL)
			continue;
		counting_init(&clock);
		options.clock = &clock.clock;
		service = service_with(&options);
		await_sleep(&clock, PAWL_NEVER);
		test(service, &clock);
		pawl_service_close(service, NULL);
	}
}

#define IN_EVERY_MODE_THAT_SLEEPS(name)                                                  \
	static void name##_(struct pawl_service *service, struct counting_clock *clock); \
	static void name(void)                                                           \
	{                                                                                \
		in_every_mode_that_sleeps(name##_);                                      \
	}                                                                                \
	static void name##_(struct pawl_service *service, struct counting_clock *clock)

IN_EVERY_MODE_THAT_SLEEPS(an_idle_service_never_wakes)
{
	for (unsigned i = 0; i < 100; i++) {
		pawl_clock_manual_advance(&clock->manual, HOUR);
		pawl_service_settle(service);
	}
	await_sleep_number(clock, 1, PAWL_NEVER);
	EXPECT_EQ(wakes_of(clock), 0);
	expect_wakeups(service, 0, 0);
}

IN_EVERY_MODE_THAT_SLEEPS(a_service_sleeps_until_the_next_task_and_then_without_limit)
{
	struct note note;

	note_init_posting(&note);
	pawl_service_arm(service, &note.task, HOUR);
	await_sleep_number(clock, 2, HOUR);
	EXPECT_EQ(wakes_of(clock), 1);
	pawl_clock_manual_advance(&clock->manual, HOUR - 1);
	await_sleep_number(clock, 2, HOUR); /* not a tick sooner */
	pawl_clock_manual_advance(&clock->manual, 1);
	sem_wait(&note.entered);
	await_sleep_number(clock, 3, PAWL_NEVER);
	EXPECT_EQ(wakes_of(clock), 1);
	expect_wakeups(service, 2, 0);
}

/* A touch, an arming or a cancel of the task for which the leader sleeps does not wake it, either. */
IN_EVERY_MODE_THAT_SLEEPS(an_earlier_arm_wakes_the_service_and_a_later_one_does_not)
{
	struct note first, earlier, later;

	note_init_posting(&first);
	note_init_posting(&earlier);
	note_init_posting(&later);
	pawl_service_arm(service, &first.task, 10 * MS);
	await_sleep_number(clock, 2, 10 * MS);
	EXPECT_EQ(wakes_of(clock), 1);
	pawl_service_arm(service, &later.task, 20 * MS);
	pawl_service_arm(service, &later.task, 30 * MS);
	pawl_service_arm(service, &later.task, 10 * MS);
	pawl_service_touch(service, &later.task, 20 * MS);
	EXPECT_EQ(wakes_of(clock), 1);
	pawl_service_arm(service, &earlier.task, 5 * MS);
	EXPECT_EQ(wakes_of(clock), 2);
	await_sleep_number(clock, 3, 5 * MS);
	pawl_clock_manual_advance(&clock->manual, 5 * MS);
	sem_wait(&earlier.entered);
	await_sleep_number(clock, 4, 10 * MS);
	pawl_clock_manual_advance(&clock->manual, 5 * MS);
	sem_wait(&first.entered);
	await_sleep(clock, 20 * MS);
	EXPECT_EQ(wakes_of(clock), 2);
	pawl_clock_manual_advance(&clock->manual, 10 * MS);
	sem_wait(&later.entered);
}

IN_EVERY_MODE_THAT_SLEEPS(a_later_arm_does_not_hold_up_an_earlier_one)
{
	struct note first, later;

	note_init_posting(&first);
	note_init_posting(&later);
	pawl_service_arm(service, &first.task, 10 * MS);
	await_sleep_number(clock, 2, 10 * MS);
	pawl_service_arm(service, &later.task, 20 * MS);
	pawl_clock_manual_advance(&clock->manual, 10 * MS);
	sem_wait(&first.entered);
	await_sleep(clock, 20 * MS);
	pawl_clock_manual_advance(&clock->manual, 10 * MS);
	sem_wait(&later.entered);
}

/* No thread settles, and nothing else is pending. */
IN_EVERY_MODE_THAT_SLEEPS(a_run_that_ends_wakes_the_service_for_the_next_period)
{
	struct note note;

	note_init_posting(&note);
	pawl_service_arm_every(service, &note.task, 5 * MS, 5 * MS, PAWL_SERVICE_SKIP);
	for (unsigned i = 1; i <= 10; i++) {
		await_sleep(clock, i * 5 * MS);
		pawl_clock_manual_advance(&clock->manual, 5 * MS);
		sem_wait(&note.entered);
	}
	pawl_service_cancel_wait(service, &note.task);
}

static void stay_inside(struct pawl_task *task)
{
	stay(note_from(task));
}

static void a_run_that_ends_wakes_another_worker_that_is_the_leader(void)
{
	struct pawl_service_options options = {.workers = 2, .shards = 1};
	struct counting_clock clock;
	struct pawl_service *service;
	struct note note;

	counting_init(&clock);
	options.clock = &clock.clock;
	service = service_with(&options);
	note_init(&note, NULL);
	pawl_task_init(&note.task, stay_inside);
	pawl_service_arm_every(service, &note.task, 5 * MS, 5 * MS, PAWL_SERVICE_SKIP);
	await_sleep(&clock, 5 * MS);
	pawl_clock_manual_advance(&clock.manual, 5 * MS);
	sem_wait(&note.entered);
	await_sleep(&clock, PAWL_NEVER);
	sem_post(&note.leave);
	await_sleep(&clock, 10 * MS);
	EXPECT_EQ(pawl_service_cancel(service, &note.task), PAWL_SERVICE_CANCELLED);
	pawl_service_close(service, NULL);
}

IN_EVERY_MODE_THAT_SLEEPS(a_wakeup_for_a_cancelled_task_is_counted_as_empty)
{
	struct note note;

	note_init_posting(&note);
	pawl_service_arm(service, &note.task, 5 * MS);
	await_sleep_number(clock, 2, 5 * MS);
	pawl_service_cancel(service, &note.task);
	EXPECT_EQ(wakes_of(clock), 1);
	pawl_clock_manual_advance(&clock->manual, 5 * MS);
	await_sleep_number(clock, 3, PAWL_NEVER);
	expect_wakeups(service, 2, 1);
}

/* wait(PAWL_NEVER) waits forever, also at the end of time. */
IN_EVERY_MODE_THAT_SLEEPS(at_the_end_of_time_an_idle_service_sleeps)
{
	pawl_clock_manual_advance(&clock->manual, UINT64_MAX);
	pawl_clock_manual_advance(&clock->manual, 1);
	EXPECT_EQ(counting_now(&clock->clock), UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++)
		pawl_service_settle(service);
	await_sleep(clock, PAWL_NEVER);
	expect_wakeups(service, 0, 0);
}

/* Clocks */

static void the_manual_clock_begins_at_0_and_is_moved_by_hand(void)
{
	struct pawl_clock_manual manual;

	pawl_clock_manual_init(&manual);
	EXPECT_EQ(manual.clock.now(&manual.clock), 0);
	pawl_clock_manual_advance(&manual, 5);
	pawl_clock_manual_advance(&manual, 0);
	EXPECT_EQ(manual.clock.now(&manual.clock), 5);
	pawl_clock_manual_advance(&manual, UINT64_MAX - 6);
	EXPECT_EQ(manual.clock.now(&manual.clock), UINT64_MAX - 1);
	pawl_clock_manual_advance(&manual, UINT64_MAX);
	EXPECT_EQ(manual.clock.now(&manual.clock), UINT64_MAX);
}

static void arm_three_more(struct note *note)
{
	if (note->runs <= 3)
		arm(note, 250 * MS);
	pawl_service_arm(note->fixture->service, &note->other->task, note->number);
}

/* Also a task that others arm, and in slots that are far away. */
IN_EVERY_MODE(time_that_runs_stops_at_each_deadline)
{
	struct note *notes = new_notes(fixture, 20), *arms = new_note(fixture),
	            *armed = new_note(fixture), *periodic = new_note(fixture);

	for (unsigned i = 0; i < 20; i++)
		arm(&notes[i], (i * i + 1) * 37 * MS + i);
	arms->inside = arm_three_more;
	arms->other = armed;
	arms->number = 3 * MS + 1;
	arm(arms, SECOND);
	arm_every(periodic, SECOND, SECOND, PAWL_SERVICE_SKIP);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, 20 * SECOND + 7), 0);
	EXPECT_EQ(fixture_now(fixture), 20 * SECOND + 7);
	for (unsigned i = 0; i < 20; i++) {
		EXPECT_EQ(notes[i].runs, 1);
		EXPECT_EQ(notes[i].at[0], (i * i + 1) * 37 * MS + (i > 0 ? MS : 0));
	}
	EXPECT_EQ(arms->runs, 4);
	EXPECT_EQ(armed->runs, 4);
	EXPECT_EQ(periodic->runs, 20);
	for (unsigned i = 0; i < 4; i++) {
		EXPECT_EQ(arms->at[i], SECOND + i * 250 * MS);
		EXPECT_EQ(armed->at[i], arms->at[i] + 4 * MS);
	}
	for (unsigned i = 0; i < 20; i++)
		EXPECT_EQ(periodic->at[i], (i + 1) * SECOND);
}

IN_EVERY_MODE(time_that_runs_ends_between_two_deadlines)
{
	struct note *note = new_note(fixture);

	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, 5),
	          0); /* nothing pending */
	EXPECT_EQ(fixture_now(fixture), 5);
	arm_at(note, HOUR);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, HOUR - 6), 0);
	EXPECT_EQ(note->runs, 0);
	EXPECT_EQ(fixture_now(fixture), HOUR - 1);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, 1), 0);
	EXPECT_EQ(note->runs, 1);
	arm(note, 0);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, 0), 0); /* what is due */
	EXPECT_EQ(note->runs, 2);
	arm_at(note, PAWL_NEVER);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, UINT64_MAX), 0);
	EXPECT_EQ(note->runs, 2);
	EXPECT_EQ(fixture_now(fixture), UINT64_MAX);
	end(fixture);
	EXPECT_EQ(pawl_clock_manual_run(&fixture->clock, fixture->service, 1), 0); /* stopped */
}

static void set_the_clock_back(struct note *note)
{
	pawl_clock_manual_set_wall(&note->fixture->clock, (struct timespec){.tv_sec = 100});
	note->inside = NULL;
}

/* The first task runs at 5 s and sets the wall clock to 100 s, so that 130 s by that clock are 35 s by the other. */
IN_EVERY_MODE(time_that_runs_stops_at_the_times_of_the_wall_clock)
{
	struct note *first = new_note(fixture), *second = new_note(fixture);

	first->inside = set_the_clock_back;
	pawl_clock_manual_set_wall(&fixture->clock, (struct timespec){.tv_sec = 1000});
	pawl_service_arm_at_time(fixture->service, &first->task, (struct timespec){.tv_sec = 1005});
	pawl_clock_manual_run(&fixture->clock, fixture->service, 6 * SECOND);
	pawl_service_arm_at_time(fixture->service, &second->task, (struct timespec){.tv_sec = 130});
	pawl_clock_manual_run(&fixture->clock, fixture->service, HOUR);
	EXPECT_EQ(first->runs, 1);
	EXPECT_EQ(first->at[0], 5 * SECOND);
	EXPECT_EQ(second->runs, 1);
	EXPECT_EQ(second->at[0], 35 * SECOND);
}

static void time_does_not_run_for_a_service_with_another_clock(void)
{
	struct pawl_clock_manual other;
	struct fixture fixture;
	struct note note;

	fixture_open(&fixture, &(struct pawl_service_options){.workers = PAWL_SERVICE_MANUAL});
	note_init(&note, &fixture);
	pawl_clock_manual_init(&other);
	arm(&note, MS);
	EXPECT_EQ(pawl_clock_manual_run(&other, fixture.service, HOUR), -EINVAL);
	EXPECT_EQ(other.clock.now(&other.clock), 0);
	EXPECT_EQ(note.runs, 0);
	pawl_service_close(fixture.service, NULL);
}

static void *wait_for_ever(void *clock)
{
	((struct pawl_clock *)clock)->wait(clock, PAWL_NEVER);
	return NULL;
}

static void expect_a_good_clock(struct pawl_clock *clock, bool moves)
{
	uint64_t now = clock->now(clock);
	pthread_t thread;

	clock->wait(clock, now); /* is over */
	clock->wait(clock, 0);
	clock->wake(clock);
	clock->wait(clock, PAWL_NEVER); /* the wake before it was kept */
	clock->wake(clock);
	clock->wake(clock);
	clock->wait(clock, PAWL_NEVER);
	pthread_create(&thread, NULL, wait_for_ever, clock);
	clock->wake(clock);
	pthread_join(thread, NULL);
	while (moves && clock->now(clock) < now + MS)
		clock->wait(clock, now + MS);
	EXPECT(clock->now(clock) >= now);
}

static void every_clock_keeps_a_wake_until_the_next_wait(void)
{
	struct pawl_clock_system monotonic, boottime;
	struct pawl_clock_manual manual;
	struct counting_clock own;

	pawl_clock_monotonic_init(&monotonic);
	pawl_clock_boottime_init(&boottime);
	pawl_clock_manual_init(&manual);
	counting_init(&own);
	expect_a_good_clock(&monotonic.clock, true);
	expect_a_good_clock(&boottime.clock, true);
	expect_a_good_clock(&manual.clock, false);
	expect_a_good_clock(&own.clock, false);
}

static void *wait_until_the_end_of_time(void *clock)
{
	((struct pawl_clock *)clock)->wait(clock, PAWL_NEVER - 1);
	return NULL;
}

static uint64_t cpu_time(pthread_t thread)
{
	struct timespec time = {0, 0};
	clockid_t clock;

	EXPECT_EQ(pthread_getcpuclockid(thread, &clock), 0);
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Waits until the thread takes no CPU time for a while, so a thread that does not sleep hangs the test. */
static void expect_sleeps(pthread_t thread)
{
	const struct timespec nap = {0, 10 * (long)MS};
	uint64_t before = 0, after;

	for (int equal = 0; equal < 20; before = after) {
		nanosleep(&nap, NULL);
		after = cpu_time(thread);
		equal = after == before ? equal + 1 : 0;
	}
}

/* The time to wait and the present must not be summed up beyond the end of time. */
static void a_wait_until_the_end_of_time_sleeps(void)
{
	struct pawl_clock_system clocks[2];
	pthread_t thread;

	pawl_clock_monotonic_init(&clocks[0]);
	pawl_clock_boottime_init(&clocks[1]);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, wait_until_the_end_of_time, &clocks[i].clock);
		expect_sleeps(thread);
		clocks[i].clock.wake(&clocks[i].clock);
		pthread_join(thread, NULL);
	}
}

static void expect_reads(struct pawl_clock *clock, clockid_t id)
{
	struct timespec before, after;
	uint64_t now;

	clock_gettime(id, &before);
	now = clock->now(clock);
	clock_gettime(id, &after);
	EXPECT(now >= (uint64_t)before.tv_sec * SECOND + (uint64_t)before.tv_nsec);
	EXPECT(now <= (uint64_t)after.tv_sec * SECOND + (uint64_t)after.tv_nsec);
}

static void the_systems_clocks_are_those_that_they_say(void)
{
	struct pawl_clock_system clock;

	pawl_clock_monotonic_init(&clock);
	expect_reads(&clock.clock, CLOCK_MONOTONIC);
	pawl_clock_boottime_init(&clock);
	expect_reads(&clock.clock, CLOCK_BOOTTIME);
}

struct timed {
	struct pawl_task task; /* first */
	struct pawl_clock *clock;
	uint64_t deadline;
	sem_t *ran;
};

static void expect_not_early(struct pawl_task *task)
{
	const struct timed *timed = (struct timed *)(void *)task;

	EXPECT(timed->clock->now(timed->clock) >= timed->deadline);
	sem_post(timed->ran);
}

/* From now to 40 ms ahead. */
static void expect_none_early(struct pawl_clock *clock, unsigned workers)
{
	const struct pawl_service_options options = {.clock = clock, .workers = workers};
	struct pawl_service *service = service_with(&options);
	struct timed timed[20];
	sem_t ran;

	sem_init(&ran, 0, 0);
	for (unsigned i = 0; i < COUNTOF(timed); i++) {
		timed[i] = (struct timed){.clock = clock,
		                          .deadline = clock->now(clock) + i * i * MS / 10,
		                          .ran = &ran};
		pawl_task_init(&timed[i].task, expect_not_early);
		EXPECT_EQ(pawl_service_arm_at(service, &timed[i].task, timed[i].deadline), 0);
	}
	for (unsigned i = 0; i < COUNTOF(timed); i++)
		sem_wait(&ran);
	pawl_service_settle(service);
	expect_counts(service, COUNTOF(timed), COUNTOF(timed), 0, 0);
	pawl_service_close(service, NULL);
}

static void no_task_is_early_by_the_systems_clocks(void)
{
	struct pawl_clock_system boottime, monotonic;

	pawl_clock_boottime_init(&boottime);
	pawl_clock_monotonic_init(&monotonic);
	for (unsigned workers = 1; workers <= 2; workers++) {
		expect_none_early(&boottime.clock, workers);
		expect_none_early(&monotonic.clock, workers);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_idle_service_never_wakes),
	        TEST(a_service_sleeps_until_the_next_task_and_then_without_limit),
	        TEST(an_earlier_arm_wakes_the_service_and_a_later_one_does_not),
	        TEST(a_later_arm_does_not_hold_up_an_earlier_one),
	        TEST(a_run_that_ends_wakes_the_service_for_the_next_period),
	        TEST(a_run_that_ends_wakes_another_worker_that_is_the_leader),
	        TEST(a_wakeup_for_a_cancelled_task_is_counted_as_empty),
	        TEST(at_the_end_of_time_an_idle_service_sleeps),
	        TEST(the_manual_clock_begins_at_0_and_is_moved_by_hand),
	        TEST(time_that_runs_stops_at_each_deadline),
	        TEST(time_that_runs_ends_between_two_deadlines),
	        TEST(time_that_runs_stops_at_the_times_of_the_wall_clock),
	        TEST(time_does_not_run_for_a_service_with_another_clock),
	        TEST(every_clock_keeps_a_wake_until_the_next_wait),
	        TEST(a_wait_until_the_end_of_time_sleeps),
	        TEST(the_systems_clocks_are_those_that_they_say),
	        TEST(no_task_is_early_by_the_systems_clocks),
	};

	return RUN_TESTS(tests);
}
