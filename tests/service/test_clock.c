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
	struct counting_clock *self = counting(clock);

	pthread_mutex_lock(&self->mutex);
	self->waits++;
	self->waiting = true;
	self->deadline = deadline;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->mutex);
	self->manual.clock.wait(&self->manual.clock, deadline);
	pthread_mutex_lock(&self->mutex);
	self->waiting = false;
	pthread_mutex_unlock(&self->mutex);
}

static void counting_wake(struct pawl_clock *clock)
{
	struct counting_clock *self = counting(clock);

	pthread_mutex_lock(&self->mutex);
	self->wakes++;
	pthread_mutex_unlock(&self->mutex);
	self->manual.clock.wake(&self->manual.clock);
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

static struct counting_clock counter;

/* Wait until the leader sleeps, and with exactly this deadline. */
static void await_sleep(uint64_t deadline)
{
	pthread_mutex_lock(&counter.mutex);
	while (!counter.waiting || counter.deadline != deadline)
		pthread_cond_wait(&counter.changed, &counter.mutex);
	pthread_mutex_unlock(&counter.mutex);
}

/* Wait until the leader has slept so often, and sleeps now. */
static void await_sleep_number(uint64_t waits, uint64_t deadline)
{
	pthread_mutex_lock(&counter.mutex);
	while (!counter.waiting || counter.waits < waits)
		pthread_cond_wait(&counter.changed, &counter.mutex);
	EXPECT_EQ(counter.waits, waits);
	EXPECT_EQ(counter.deadline, deadline);
	pthread_mutex_unlock(&counter.mutex);
}

static uint64_t wakes(void)
{
	uint64_t count;

	pthread_mutex_lock(&counter.mutex);
	count = counter.wakes;
	pthread_mutex_unlock(&counter.mutex);
	return count;
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

static void in_mode_that_sleeps(struct pawl_service_options options, void (*test)(struct fixture *))
{
	counting_init(&counter);
	options.clock = &counter.clock;
	in_mode(&options, test);
}

static void in_every_mode_that_sleeps(void (*test)(struct fixture *fixture))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		if (every_mode[i].workers != PAWL_SERVICE_MANUAL)
			in_mode_that_sleeps(every_mode[i], test);
}

#define IN_EVERY_MODE_THAT_SLEEPS(name) FIXTURE_TEST(name, in_every_mode_that_sleeps(name##_))

static void pass(uint64_t ns)
{
	pawl_clock_manual_advance(&counter.manual, ns);
}

static struct note *new_note_that_tells(struct fixture *fixture)
{
	struct note *note = new_note(fixture);

	note->inside = say_entered;
	return note;
}

IN_EVERY_MODE_THAT_SLEEPS(an_idle_service_never_wakes)
{
	await_sleep(PAWL_NEVER);
	for (unsigned i = 0; i < 100; i++) {
		pass(HOUR);
		settle(fixture);
	}
	await_sleep_number(1, PAWL_NEVER);
	EXPECT_EQ(wakes(), 0);
	expect_wakeups(fixture->service, 0, 0);
}

IN_EVERY_MODE_THAT_SLEEPS(a_service_sleeps_until_the_next_task_and_then_without_limit)
{
	struct note *note = new_note_that_tells(fixture);

	await_sleep(PAWL_NEVER);
	arm(note, HOUR);
	await_sleep_number(2, HOUR);
	EXPECT_EQ(wakes(), 1);
	pass(HOUR - 1);
	await_sleep_number(2, HOUR); /* not a tick sooner */
	pass(1);
	sem_wait(&note->entered);
	await_sleep_number(3, PAWL_NEVER);
	EXPECT_EQ(wakes(), 1);
	expect_wakeups(fixture->service, 2, 0);
}

/* A touch, an arming or a cancel of the task for which the leader sleeps does not wake it, either. */
IN_EVERY_MODE_THAT_SLEEPS(an_earlier_arm_wakes_the_service_and_a_later_one_does_not)
{
	struct note *first = new_note_that_tells(fixture), *later = new_note_that_tells(fixture);
	struct note *earlier = new_note_that_tells(fixture);

	await_sleep(PAWL_NEVER);
	arm(first, 10 * MS);
	await_sleep_number(2, 10 * MS);
	EXPECT_EQ(wakes(), 1);
	arm(later, 20 * MS);
	arm(later, 30 * MS);
	arm(later, 10 * MS);
	touch(later, 20 * MS);
	EXPECT_EQ(wakes(), 1);
	arm(earlier, 5 * MS);
	EXPECT_EQ(wakes(), 2);
	await_sleep_number(3, 5 * MS);
	pass(5 * MS);
	sem_wait(&earlier->entered);
	await_sleep_number(4, 10 * MS);
	pass(5 * MS);
	sem_wait(&first->entered);
	await_sleep(20 * MS);
	EXPECT_EQ(wakes(), 2);
	pass(10 * MS);
	sem_wait(&later->entered);
}

/* No thread settles, and nothing else is pending. */
IN_EVERY_MODE_THAT_SLEEPS(a_run_that_ends_wakes_the_service_for_the_next_period)
{
	struct note *note = new_note_that_tells(fixture);

	await_sleep(PAWL_NEVER);
	arm_every(note, 5 * MS, 5 * MS, PAWL_SERVICE_SKIP);
	for (unsigned i = 1; i <= 10; i++) {
		await_sleep(i * 5 * MS);
		pass(5 * MS);
		sem_wait(&note->entered);
	}
	cancel_wait(note);
}

FIXTURE_TEST(a_run_that_ends_wakes_another_worker_that_is_the_leader,
             in_mode_that_sleeps((struct pawl_service_options){.workers = 2, .shards = 1},
                                 a_run_that_ends_wakes_another_worker_that_is_the_leader_))
{
	struct note *note = new_note(fixture);

	note->inside = stay;
	arm_every(note, 5 * MS, 5 * MS, PAWL_SERVICE_SKIP);
	await_sleep(5 * MS);
	pass(5 * MS);
	sem_wait(&note->entered);
	await_sleep(PAWL_NEVER);
	sem_post(&note->leave);
	await_sleep(10 * MS);
	EXPECT_EQ(cancel(note), PAWL_SERVICE_CANCELLED);
}

IN_EVERY_MODE_THAT_SLEEPS(a_wakeup_for_a_cancelled_task_is_counted_as_empty)
{
	struct note *note = new_note_that_tells(fixture);

	await_sleep(PAWL_NEVER);
	arm(note, 5 * MS);
	await_sleep_number(2, 5 * MS);
	cancel(note);
	EXPECT_EQ(wakes(), 1);
	pass(5 * MS);
	await_sleep_number(3, PAWL_NEVER);
	expect_wakeups(fixture->service, 2, 1);
}

/* wait(PAWL_NEVER) waits forever, also at the end of time. */
IN_EVERY_MODE_THAT_SLEEPS(at_the_end_of_time_an_idle_service_sleeps)
{
	await_sleep(PAWL_NEVER);
	pass(UINT64_MAX);
	pass(1);
	EXPECT_EQ(counting_now(&counter.clock), UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++)
		settle(fixture);
	await_sleep(PAWL_NEVER);
	expect_wakeups(fixture->service, 0, 0);
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

static int run_time(struct fixture *fixture, uint64_t ns)
{
	return pawl_clock_manual_run(&fixture->clock, fixture->service, ns);
}

static void arm_three_more(struct note *note)
{
	if (note->runs <= 3)
		arm(note, 250 * MS);
	arm(note->other, note->number);
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
	EXPECT_EQ(run_time(fixture, 20 * SECOND + 7), 0);
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

	EXPECT_EQ(run_time(fixture, 5), 0); /* nothing pending */
	EXPECT_EQ(fixture_now(fixture), 5);
	arm_at(note, HOUR);
	EXPECT_EQ(run_time(fixture, HOUR - 6), 0);
	EXPECT_EQ(note->runs, 0);
	EXPECT_EQ(fixture_now(fixture), HOUR - 1);
	EXPECT_EQ(run_time(fixture, 1), 0);
	EXPECT_EQ(note->runs, 1);
	arm(note, 0);
	EXPECT_EQ(run_time(fixture, 0), 0); /* what is due */
	EXPECT_EQ(note->runs, 2);
	arm_at(note, PAWL_NEVER);
	EXPECT_EQ(run_time(fixture, UINT64_MAX), 0);
	EXPECT_EQ(note->runs, 2);
	EXPECT_EQ(fixture_now(fixture), UINT64_MAX);
	end(fixture);
	EXPECT_EQ(run_time(fixture, 1), 0); /* stopped */
}

static void set_the_clock_back(struct note *note)
{
	set_wall(note->fixture, 100);
	note->inside = NULL;
}

/* The first task runs at 5 s and sets the wall clock to 100 s, so that 130 s by that clock are 35 s by the other. */
IN_EVERY_MODE(time_that_runs_stops_at_the_times_of_the_wall_clock)
{
	struct note *first = new_note(fixture), *second = new_note(fixture);

	first->inside = set_the_clock_back;
	set_wall(fixture, 1000);
	arm_wall(first, 1005);
	run_time(fixture, 6 * SECOND);
	arm_wall(second, 130);
	run_time(fixture, HOUR);
	EXPECT_EQ(first->runs, 1);
	EXPECT_EQ(first->at[0], 5 * SECOND);
	EXPECT_EQ(second->runs, 1);
	EXPECT_EQ(second->at[0], 35 * SECOND);
}

IN_MODE(time_does_not_run_for_a_service_with_another_clock, .workers = PAWL_SERVICE_MANUAL)
{
	struct note *note = new_note(fixture);
	struct pawl_clock_manual other;

	pawl_clock_manual_init(&other);
	arm(note, MS);
	EXPECT_EQ(pawl_clock_manual_run(&other, fixture->service, HOUR), -EINVAL);
	EXPECT_EQ(other.clock.now(&other.clock), 0);
	EXPECT_EQ(note->runs, 0);
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
