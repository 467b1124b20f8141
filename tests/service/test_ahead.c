/* SPDX-License-Identifier: MIT */
/* Moving ahead: tasks are in their finest slot before it opens, and no worker wakes up only for that. */
#define _GNU_SOURCE
#include "../support/services.h"
#include "../support/step_clock.h"

#define MANY 5000

static struct pawl_task tasks[MANY];
static unsigned ran;
static uint64_t last; /* number of the task that ran last, and one */
static bool in_order;

static void run(struct pawl_task *task)
{
	uint64_t number = (uint64_t)(task - tasks);

	in_order &= number >= last;
	last = number + 1;
	ran++;
}

/* Five in each tick, from `first` on, and in this order. */
static void arm_many(struct fixture *fixture, unsigned count, uint64_t first)
{
	ran = 0;
	last = 0;
	in_order = true;
	for (unsigned i = 0; i < count; i++) {
		pawl_task_init(&tasks[i], run);
		EXPECT_EQ(pawl_service_arm(fixture->service, &tasks[i], first + i / 5 * MS), 0);
	}
}

static struct pawl_service_stats *stats_of(struct fixture *fixture)
{
	static struct pawl_service_stats stats;

	pawl_service_get_stats(fixture->service, &stats, sizeof(stats));
	return &stats;
}

static struct step_clock sleeps;

static void on_step_clock(unsigned shards, void (*test)(struct fixture *))
{
	step_clock_init(&sleeps);
	in_mode(&(struct pawl_service_options){.shards = shards, .clock = &sleeps.clock}, test);
}

/* The test moves the clock from sleep to sleep of the one worker. */
#define FROM_SLEEP_TO_SLEEP(shards, name) FIXTURE_TEST(name, on_step_clock(shards, name##_))

/* A leader that sleeps has nothing left to move ahead. */
static void expect_all_moved_ahead(struct fixture *fixture)
{
	unsigned shards = fixture->options.shards;

	arm_many(fixture, MANY, 10 * SECOND);
	while (ran < MANY) {
		step_clock_step(&sleeps);
		settle(fixture);
	}
	EXPECT(stats_of(fixture)->moved_ahead >= MANY);
	EXPECT(stats_of(fixture)->moved_at_opening <=
	       MANY / 5 * shards); /* a slot as a whole is one */
	EXPECT(in_order || shards > 1);
}

FROM_SLEEP_TO_SLEEP(1, no_task_is_moved_when_its_slot_opens)
{
	expect_all_moved_ahead(fixture);
}

FROM_SLEEP_TO_SLEEP(4, no_task_is_moved_when_its_slot_opens_in_one_of_four_shards)
{
	expect_all_moved_ahead(fixture);
}

FROM_SLEEP_TO_SLEEP(1, a_few_tasks_are_no_reason_to_wake_up_early)
{
	arm_many(fixture, 5, 10 * SECOND);
	EXPECT_EQ(step_clock_step(&sleeps), 10 * SECOND);
	settle(fixture);
	EXPECT_EQ(ran, 5);
}

FROM_SLEEP_TO_SLEEP(1, many_tasks_are_moved_ahead_even_if_nothing_else_wakes_a_worker)
{
	arm_many(fixture, MANY, 10 * SECOND);
	EXPECT(step_clock_step(&sleeps) < 10 * SECOND);
	step_clock_step(&sleeps);
	EXPECT(stats_of(fixture)->moved_ahead > 0);
	EXPECT_EQ(stats_of(fixture)->empty_wakeups, 0); /* that is something to do */
	EXPECT_EQ(ran, 0);
}

/* Each poll makes 64 moves, and one for each task that it has run. */
IN_MODE(a_poll_moves_ahead, .workers = PAWL_SERVICE_MANUAL, .shards = 1)
{
	uint64_t before = 0;

	arm_many(fixture, MANY, 300 * MS);
	for (unsigned i = 0; i < 1300; i++) {
		size_t polled = pawl_service_poll(fixture->service, 0);
		uint64_t moved = stats_of(fixture)->moved_ahead;

		EXPECT(moved - before <= polled + 64);
		before = moved;
		pawl_clock_manual_advance(&fixture->clock, MS);
	}
	pawl_service_poll(fixture->service, 0);
	EXPECT_EQ(ran, MANY);
	EXPECT(in_order);
	EXPECT(stats_of(fixture)->moved_at_opening <= MANY / 5);
}

/* Polled only when next says so. */
IN_MODE(with_many_tasks_next_is_early_enough_to_move_ahead, .workers = PAWL_SERVICE_MANUAL,
        .shards = 1)
{
	arm_many(fixture, MANY, 10 * SECOND);
	while (ran < MANY) {
		uint64_t now = fixture_now(fixture), next = pawl_service_next(fixture->service);

		if (next > now)
			pawl_clock_manual_advance(&fixture->clock, next - now);
		pawl_service_poll(fixture->service, 0);
	}
	EXPECT(in_order);
	EXPECT(stats_of(fixture)->moved_at_opening <= MANY / 5);
}

/* A worker that always finds a due task makes as many moves as it runs tasks: here one, in addition to the poll's
 * 64. */
IN_MODE(a_busy_service_also_moves_ahead, .workers = PAWL_SERVICE_MANUAL, .shards = 1)
{
	struct note *busy = new_note(fixture);

	arm_many(fixture, MANY, 300 * MS);
	arm_every(busy, MS, MS, PAWL_SERVICE_SKIP);
	for (unsigned i = 0; i < 256; i++) { /* until the slot of the first tasks is the next one */
		pawl_clock_manual_advance(&fixture->clock, MS);
		EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
	}
	for (unsigned i = 0; i < 10; i++) {
		uint64_t before = stats_of(fixture)->moved_ahead;

		pawl_clock_manual_advance(&fixture->clock, MS);
		EXPECT_EQ(pawl_service_poll(fixture->service, 0), 1);
		EXPECT_EQ(stats_of(fixture)->moved_ahead - before, 65);
	}
}

int main(void)
{
	static const struct test tests_of_ahead[] = {
	        TEST(no_task_is_moved_when_its_slot_opens),
	        TEST(no_task_is_moved_when_its_slot_opens_in_one_of_four_shards),
	        TEST(a_few_tasks_are_no_reason_to_wake_up_early),
	        TEST(many_tasks_are_moved_ahead_even_if_nothing_else_wakes_a_worker),
	        TEST(a_poll_moves_ahead),
	        TEST(with_many_tasks_next_is_early_enough_to_move_ahead),
	        TEST(a_busy_service_also_moves_ahead),
	};

	return RUN_TESTS(tests_of_ahead);
}
