/* SPDX-License-Identifier: MIT */
/* Settle looks at one shard after the other, while tasks run and arm others, in whichever shard. */
#define _GNU_SOURCE
#include "../support/services.h"

/*
 * Two tasks of two shards run in turn: each arms the other one at its end. Settle reads the clock before it looks at a
 * shard, and with each reading but the first one task ends and the other begins. So no shard that settle looks at has
 * anything to do, as long as the relay lasts.
 */
struct leg {
	struct pawl_task task; /* first: a task is its leg */
	struct leg *other;
};

static struct relay {
	struct pawl_clock clock;
	struct pawl_clock_manual manual;
	struct pawl_service *service;
	struct leg legs[2];
	sem_t entered, leave;
	int length, runs;
	bool settling;
	pthread_t settler;
	int readings;
} relay;

static void run_leg(struct pawl_task *task)
{
	struct leg *leg = (struct leg *)task;

	sem_post(&relay.entered);
	sem_wait(&relay.leave);
	if (++relay.runs < relay.length)
		pawl_service_arm(relay.service, &leg->other->task, 0);
}

static uint64_t relay_now(struct pawl_clock *clock)
{
	(void)clock;
	if (__atomic_load_n(&relay.settling, __ATOMIC_ACQUIRE) &&
	    pthread_equal(relay.settler, pthread_self())) {
		int ends = relay.readings++;

		if (ends >= 1 && ends <= relay.length)
			sem_post(&relay.leave);
		if (ends >= 1 && ends < relay.length)
			sem_wait(&relay.entered);
	}
	return relay.manual.clock.now(&relay.manual.clock);
}

static void relay_wait(struct pawl_clock *clock, uint64_t deadline)
{
	(void)clock;
	relay.manual.clock.wait(&relay.manual.clock, deadline);
}

static void relay_wake(struct pawl_clock *clock)
{
	(void)clock;
	relay.manual.clock.wake(&relay.manual.clock);
}

static void *give_home(void *task)
{
	EXPECT_EQ(pawl_service_arm(relay.service, task, MS), 0);
	EXPECT_EQ(pawl_service_cancel(relay.service, task), PAWL_SERVICE_CANCELLED);
	return NULL;
}

/* In the shard of some other thread. */
static void init_leg(struct leg *leg, struct leg *other)
{
	pthread_t thread;

	leg->other = other;
	pawl_task_init(&leg->task, run_leg);
	pthread_create(&thread, NULL, give_home, &leg->task);
	pthread_join(thread, NULL);
}

/* The first one to run is in the last shard. */
static struct leg *init_legs(void)
{
	struct leg *one = &relay.legs[0], *two = &relay.legs[1];

	init_leg(one, two);
	do
		init_leg(two, one);
	while (two->task.home == one->task.home);
	return (char *)one->task.home > (char *)two->task.home ? one : two;
}

static void settle_in_a_relay_of(int length)
{
	const struct pawl_service_options options = {.shards = 2, .clock = &relay.clock};
	struct leg *first;

	memset(&relay, 0, sizeof(relay));
	relay.clock.now = relay_now;
	relay.clock.wait = relay_wait;
	relay.clock.wake = relay_wake;
	relay.length = length;
	sem_init(&relay.entered, 0, 0);
	sem_init(&relay.leave, 0, 0);
	pawl_clock_manual_init(&relay.manual);
	relay.service = service_with(&options);
	first = init_legs();
	EXPECT_EQ(pawl_service_arm(relay.service, &first->task, 0), 0);
	sem_wait(&relay.entered);
	relay.settler = pthread_self();
	__atomic_store_n(&relay.settling, true, __ATOMIC_RELEASE);
	pawl_service_settle(relay.service);
	EXPECT_EQ(relay.runs, length);
	__atomic_store_n(&relay.settling, false, __ATOMIC_RELEASE);
	for (int i = relay.runs; i < length; i++)
		sem_post(&relay.leave);
	pawl_service_close(relay.service, NULL);
}

static void settle_waits_for_tasks_that_arm_each_other_in_other_shards(void)
{
	for (int length = 1; length <= 9; length++)
		settle_in_a_relay_of(length);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(settle_waits_for_tasks_that_arm_each_other_in_other_shards),
	};

	return RUN_TESTS(tests);
}
