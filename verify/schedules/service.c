/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the service. Each is a few calls on two to four threads, and what must hold whatever the schedule: a
 * task runs as often as it was armed and not cancelled, never on two threads at once; the result of cancel is true, so
 * that memory may be freed; no worker sleeps while a task is due.
 */
#define _GNU_SOURCE
#include "../../src/inspect/snapshot.h"
#include "scenario.h"

/* A task that counts its runs. It is allocated, so that the explorer sees an access after its end. */
struct probe {
	struct pawl_task task; /* first: a task is its probe */
	int inside;
	int *runs;
	void (*then)(struct probe *probe);
	struct probe *other;
	int rest; /* for `then` */
};

/* What a task does in its run. */
#define TASK(name, ...)                       \
	static void name(struct probe *probe) \
	{                                     \
		(void)probe;                  \
		__VA_ARGS__;                  \
	}

static int runs, drops;

static void run_probe(struct pawl_task *task)
{
	struct probe *probe = (struct probe *)task;

	EXPLORE_EXPECT_EQ(probe->inside++, 0);
	explore_point();
	if (probe->then)
		probe->then(probe);
	EXPLORE_EXPECT_EQ(--probe->inside, 0);
	add(probe->runs);
}

static void drop_probe(struct pawl_task *task)
{
	struct probe *probe = (struct probe *)task;

	EXPLORE_EXPECT_EQ(probe->inside++, 0);
	explore_point();
	probe->inside--;
	add(&drops);
}

static struct probe *new_probe(void)
{
	struct probe *probe = calloc(1, sizeof(*probe));

	pawl_task_init(&probe->task, run_probe);
	probe->runs = &runs;
	return probe;
}

static void arm(struct probe *probe, uint64_t delay)
{
	EXPLORE_EXPECT_EQ(pawl_service_arm(service, &probe->task, delay), 0);
}

static struct probe *one, *two; /* two: NULL in scenarios of one task */
static enum pawl_service_found found;

static void open_with_one(unsigned workers, unsigned shards)
{
	one = new_probe();
	open_service(workers, shards);
}

static void open_with_two(unsigned workers, unsigned shards)
{
	two = new_probe();
	open_with_one(workers, shards);
}

static void open_with_two_and(struct pawl_service_options options)
{
	one = new_probe();
	two = new_probe();
	open_service_with(options);
}

static void free_one(void)
{
	free(one);
	one = NULL;
}

static void free_tasks(void)
{
	free_one();
	free(two);
	two = NULL;
}

/* The tasks are idle, and no function of them is running. */
static void close_service(void)
{
	free_tasks();
	EXPLORE_EXPECT_EQ(pawl_service_pending(service), 0);
	pawl_service_close(service, NULL);
}

/* The first task is idle. */
static void close_after_one(void)
{
	EXPLORE_EXPECT_EQ(pawl_service_cancel_wait(service, &one->task), PAWL_SERVICE_IDLE);
	close_service();
}

/* The tasks have run, but a function may not have returned yet. */
static void end_tasks(void)
{
	if (one)
		pawl_service_cancel_wait(service, &one->task);
	if (two)
		pawl_service_cancel_wait(service, &two->task);
	close_service();
}

/* All that was due has returned. */
static void settle_after(int expected_runs)
{
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(get(&runs), expected_runs);
}

static int runs_unless_cancelled(void)
{
	return found == PAWL_SERVICE_CANCELLED ? 0 : 1;
}

THREAD(pass_a_tick, advance_clock(MS))
THREAD(cancel_one, found = pawl_service_cancel(service, &one->task))

/* After CANCELLED it never runs; otherwise it has run, or is running. */
static void cancel_against_expiry(unsigned workers, unsigned shards)
{
	open_with_one(workers, shards);
	arm(one, MS);
	start(cancel_one, NULL);
	advance_clock(MS);
	join_all();
	await(&runs, runs_unless_cancelled());
	settle_after(runs_unless_cancelled());
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &one->task), PAWL_SERVICE_IDLE);
	close_service();
}

SCENARIO_OF(cancel_against_expiry_1, cancel_against_expiry(1, 1))
SCENARIO_OF(cancel_against_expiry_2, cancel_against_expiry(2, 2))

static void *cancel_wait_and_free(void *unused)
{
	found = pawl_service_cancel_wait(service, &one->task);
	free_one();
	return unused;
}

/* Whatever cancel_wait says, the memory is the caller's then. */
static void cancel_wait_against_expiry(unsigned workers, void (*then)(struct probe *))
{
	open_with_one(workers, 1);
	one->then = then;
	arm(one, MS);
	start(cancel_wait_and_free, NULL);
	advance_clock(MS);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs), runs_unless_cancelled());
	close_service();
}

SCENARIO_OF(cancel_wait_against_expiry_1, cancel_wait_against_expiry(1, NULL))
SCENARIO_OF(cancel_wait_against_expiry_2, cancel_wait_against_expiry(2, NULL))

TASK(cancel_itself,
     EXPLORE_EXPECT_EQ(pawl_service_cancel_wait(service, &probe->task), PAWL_SERVICE_RUNNING))

/* Inside the task itself cancel_wait does not wait; outside it does. */
SCENARIO_OF(cancel_wait_inside, cancel_wait_against_expiry(1, cancel_itself))

static void run_and_free(struct pawl_task *task)
{
	EXPLORE_EXPECT(task == &one->task);
	free_one();
	add(&runs);
}

/* A task may free itself: no thread reads it afterwards, and it runs once. */
SCENARIO(a_task_frees_itself)
{
	open_with_one(2, 1);
	pawl_task_init(&one->task, run_and_free);
	arm(one, MS);
	advance_clock(MS);
	await(&runs, 1);
	settle_after(1);
	close_service();
}

static int given_back;

static void run_and_give_back(struct pawl_task *task)
{
	(void)task;
	add(&given_back);
}

static void *make_new_task(void *unused)
{
	await(&given_back, 1);
	pawl_task_init(&one->task, run_probe);
	arm(one, MS);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &one->task), PAWL_SERVICE_CANCELLED);
	return unused;
}

/* Its memory may become a new task before the end of its run: the new task is not running. */
SCENARIO(a_task_in_the_memory_of_another)
{
	open_with_one(1, 1);
	pawl_task_init(&one->task, run_and_give_back);
	arm(one, MS);
	start(make_new_task, NULL);
	advance_clock(MS);
	join_all();
	settle_after(0);
	close_after_one();
}

THREAD(arm_one, arm(one, MS))

/* Two threads give a new task its home. */
SCENARIO(two_arm_the_same_1)
{
	open_with_one(1, 2);
	start(arm_one, NULL);
	start(arm_one, NULL);
	join_all();
	advance_clock(MS);
	await(&runs, 1);
	settle_after(1);
	close_after_one();
}

THREAD(touch_one, EXPLORE_EXPECT_EQ(pawl_service_touch(service, &one->task, 2 * MS), 0))

/* Armed or moved to a later time before it runs, or for another run: it runs after the call in either case. */
static void again_against_expiry(void *(*again)(void *), unsigned workers)
{
	open_with_one(workers, 1);
	arm(one, MS);
	start(again, NULL);
	advance_clock(MS);
	join_all();
	advance_clock(2 * MS);
	await(&runs, 1);
	pawl_service_settle(service);
	EXPLORE_EXPECT(get(&runs) == 1 || get(&runs) == 2);
	close_after_one();
}

SCENARIO_OF(arming_against_expiry_1, again_against_expiry(arm_one, 1))
SCENARIO_OF(arming_against_expiry_2, again_against_expiry(arm_one, 2))
SCENARIO_OF(touch_against_expiry, again_against_expiry(touch_one, 2))

static int armed, work;

static void *arm_one_unless_pending(void *unused)
{
	int answer = pawl_service_arm_unless_pending(service, &one->task, MS);

	EXPLORE_EXPECT(answer == 0 || answer == -EALREADY);
	if (answer == 0)
		add(&armed);
	return unused;
}

/* Time stands still, so the first arming is there when the second call comes, or the other way round. */
SCENARIO(one_of_two_arms_unless_pending)
{
	open_with_one(1, 2);
	start(arm_one_unless_pending, NULL);
	arm_one_unless_pending(NULL);
	join_all();
	EXPLORE_EXPECT_EQ(get(&armed), 1);
	advance_clock(MS);
	await(&runs, 1);
	settle_after(1);
	close_after_one();
}

TASK(take_all_work, __atomic_store_n(&work, 0, __ATOMIC_SEQ_CST); explore_point())

static void *add_work(void *unused)
{
	add(&work);
	pawl_service_arm_unless_pending(service, &one->task, 0);
	return unused;
}

/* The task may be idle, pending, or running before or after it took the work: a run after the call takes it. */
static void arm_unless_pending_leaves_no_work(unsigned workers)
{
	open_with_one(workers, 1);
	one->then = take_all_work;
	start(add_work, NULL);
	add_work(NULL);
	join_all();
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(get(&work), 0);
	close_after_one();
}

SCENARIO_OF(arm_unless_pending_leaves_no_work_1, arm_unless_pending_leaves_no_work(1))
SCENARIO_OF(arm_unless_pending_leaves_no_work_2, arm_unless_pending_leaves_no_work(2))

static void pass_it_on(struct probe *probe)
{
	if (probe->rest-- > 0)
		pawl_service_arm(service, &probe->other->task, 0);
}

static void open_with_two_that_arm_each_other(unsigned workers, unsigned shards)
{
	open_with_two(workers, shards);
	one->then = two->then = pass_it_on;
	one->other = two;
	two->other = one;
	one->rest = two->rest = 2;
}

static void *cancel_wait_both(void *unused)
{
	struct pawl_task *tasks[] = {&one->task, &two->task};

	pawl_service_cancel_wait_all(service, tasks, 2);
	EXPLORE_EXPECT_EQ(pawl_service_pending(service), 0);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &one->task), PAWL_SERVICE_IDLE);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &two->task), PAWL_SERVICE_IDLE);
	return unused;
}

static void cancel_wait_all_frees_both(unsigned workers, unsigned shards)
{
	open_with_two_that_arm_each_other(workers, shards);
	arm(one, 0);
	cancel_wait_both(NULL);
	close_service();
}

SCENARIO_OF(cancel_wait_all_frees_both_1, cancel_wait_all_frees_both(1, 1))
SCENARIO_OF(cancel_wait_all_frees_both_2, cancel_wait_all_frees_both(2, 2))

THREAD(cancel_wait_all_of_one,
       pawl_service_cancel_wait_all(service, (struct pawl_task *[]){&one->task}, 1))

/* The first to be ready does not let a task be armed for which the other one still refuses. */
SCENARIO(cancel_wait_all_during_another)
{
	open_with_two_that_arm_each_other(1, 1);
	arm(one, 0);
	start(cancel_wait_all_of_one, NULL);
	cancel_wait_both(NULL);
	join_all();
	close_service();
}

static void cancel_both_and_free_one(struct probe *probe)
{
	struct pawl_task *tasks[] = {&probe->task, &probe->other->task};

	pawl_service_cancel_wait_all(service, tasks, 2);
	free_one();
}

/* By a task that the other one has armed, and goes on arming. */
SCENARIO(cancel_wait_all_inside)
{
	open_with_two_that_arm_each_other(2, 1);
	two->then = cancel_both_and_free_one;
	arm(one, 0);
	await(&runs, 2);
	end_tasks();
}

static int runs_at_cancel;

static void *end_period(void *unused)
{
	found = pawl_service_cancel_wait(service, &one->task);
	runs_at_cancel = get(&runs);
	free_one();
	return unused;
}

/* A cancelled period is over: no run after cancel_wait. */
static void periodic_against_cancel(unsigned workers)
{
	open_with_one(workers, 1);
	EXPLORE_EXPECT_EQ(pawl_service_arm_every(service, &one->task, MS, MS, PAWL_SERVICE_BURST),
	                  0);
	start(end_period, NULL);
	advance_clock(2 * MS);
	join_all();
	advance_clock(2 * MS);
	settle_after(runs_at_cancel);
	EXPLORE_EXPECT(found == PAWL_SERVICE_CANCELLED || found == PAWL_SERVICE_RUNNING);
	close_service();
}

SCENARIO_OF(periodic_against_cancel_1, periodic_against_cancel(1))
SCENARIO_OF(periodic_against_cancel_2, periodic_against_cancel(2))

static void arm_again(struct probe *probe)
{
	if (probe->rest-- > 0)
		arm(probe, 0);
}

static void *cancel_until_idle(void *unused)
{
	while (pawl_service_cancel_wait(service, &one->task) == PAWL_SERVICE_RUNNING)
		;
	runs_at_cancel = get(&runs);
	free_one();
	return unused;
}

/* A task that arms itself is never run twice at once, and ends with a cancel that does not meet it running. */
SCENARIO(arms_itself_against_cancel)
{
	open_with_one(2, 1);
	one->then = arm_again;
	one->rest = 2;
	arm(one, 0);
	start(cancel_until_idle, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs), runs_at_cancel);
	settle_after(runs_at_cancel);
	close_service();
}

static int armed_two;

THREAD(arm_two, armed_two = pawl_service_arm(service, &two->task, MS))

/* An armed task runs or is dropped; a refused one does neither. */
static void stop_against_arm(unsigned workers, unsigned shards)
{
	open_with_two(workers, shards);
	arm(one, MS);
	start(arm_two, NULL);
	start(pass_a_tick, NULL);
	pawl_service_stop(service, drop_probe);
	join_all();
	EXPLORE_EXPECT(armed_two == 0 || armed_two == -ECANCELED);
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1 + (armed_two == 0));
	close_service();
}

SCENARIO_OF(stop_against_arm_1, stop_against_arm(1, 1))
SCENARIO_OF(stop_against_arm_2, stop_against_arm(2, 2))

/* While `dropped` has a task in hand, cancel_wait waits for it. */
SCENARIO(stop_against_cancel_wait)
{
	open_with_one(1, 2);
	arm(one, MS);
	start(cancel_wait_and_free, NULL);
	pawl_service_stop(service, drop_probe);
	join_all();
	EXPLORE_EXPECT_EQ(get(&drops), runs_unless_cancelled());
	close_service();
}

static void *stop_service(void *unused)
{
	pawl_service_stop(service, drop_probe);
	EXPLORE_EXPECT_EQ(get(&drops) + get(&runs), 1);
	return unused;
}

/* Two threads stop: when either returns, it is over. */
SCENARIO(two_stop)
{
	open_with_one(1, 1);
	arm(one, MS);
	start(stop_service, NULL);
	start(stop_service, NULL);
	join_all();
	close_service();
}

/* The leader sleeps for a later task, and an earlier one is armed. */
static void earlier_while_asleep(unsigned workers, unsigned shards)
{
	open_with_two(workers, shards);
	arm(one, 100 * MS);
	start(arm_two, NULL);
	join_all();
	advance_clock(MS);
	await(&runs, 1);
	EXPLORE_EXPECT_EQ(pawl_service_cancel_wait(service, &one->task), PAWL_SERVICE_CANCELLED);
	end_tasks();
}

SCENARIO_OF(earlier_while_asleep_1, earlier_while_asleep(1, 1))
SCENARIO_OF(earlier_while_asleep_2, earlier_while_asleep(2, 2))

/* The one that is due at once, while the leader sleeps or is about to. */
static void due_at_once(unsigned workers, unsigned shards)
{
	open_with_one(workers, shards);
	arm(one, 0);
	await(&runs, 1);
	arm(one, 0);
	await(&runs, 2);
	end_tasks();
}

SCENARIO_OF(due_at_once_1, due_at_once(1, 1))
SCENARIO_OF(due_at_once_2, due_at_once(2, 2))

static int met;

TASK(meet, add(&met); await(&met, 2))

/* Two tasks that need each other: each worker must take one. */
static void two_tasks_meet(unsigned shards)
{
	open_with_two(2, shards);
	one->then = two->then = meet;
	arm(one, MS);
	start(arm_two, NULL);
	join_all();
	advance_clock(MS);
	await(&runs, 2);
	end_tasks();
}

SCENARIO_OF(two_tasks_meet_1, two_tasks_meet(1))
SCENARIO_OF(two_tasks_meet_2, two_tasks_meet(2))

THREAD(arm_two_at_once, arm(two, 0))

/* The same, due at once: two threads see one follower, and the one that does not get it wakes the leader. */
SCENARIO(two_due_tasks_meet)
{
	open_with_two(2, 2);
	one->then = two->then = meet;
	start(arm_two_at_once, NULL);
	arm(one, 0);
	join_all();
	await(&runs, 2);
	end_tasks();
}

static int started;

TASK(start_and_wait_for_two, add(&started); await(&met, 1))

TASK(say_met, add(&met))

/* While one worker is busy, the other one must keep the time: a task armed now runs in time. */
SCENARIO(time_is_kept_during_a_long_task)
{
	open_with_two(2, 1);
	one->then = start_and_wait_for_two;
	two->then = say_met;
	arm(one, MS);
	arm(two, 3 * MS);
	advance_clock(MS);
	await(&started, 1);
	advance_clock(2 * MS);
	await(&runs, 2);
	end_tasks();
}

/* A second task becomes due while the first runs and waits for it: another worker runs it. */
SCENARIO(second_while_first_runs)
{
	open_with_two(2, 1);
	one->then = start_and_wait_for_two;
	two->then = say_met;
	arm(one, 0);
	await(&started, 1);
	arm(two, 0);
	await(&runs, 2);
	end_tasks();
}

static void arm_later_once(struct probe *probe)
{
	if (probe->rest-- > 0)
		arm(probe, MS);
}

/* Armed by its own run, while the leader sleeps without a deadline. */
SCENARIO(armed_by_its_run)
{
	open_with_one(2, 1);
	one->then = arm_later_once;
	one->rest = 1;
	arm(one, 0);
	await(&runs, 1);
	advance_clock(MS);
	await(&runs, 2);
	end_tasks();
}

/* All that is due has run and returned. */
static void settle_waits(unsigned workers, unsigned shards)
{
	open_with_two(workers, shards);
	arm(one, 0);
	start(arm_two, NULL);
	advance_clock(MS);
	pawl_service_settle(service);
	EXPLORE_EXPECT(get(&runs) >= 1);
	join_all();
	advance_clock(MS);
	settle_after(2);
	close_service();
}

SCENARIO_OF(settle_waits_1, settle_waits(1, 1))
SCENARIO_OF(settle_waits_2, settle_waits(2, 2))

static void *give_two_a_home(void *unused)
{
	arm(two, MS);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &two->task), PAWL_SERVICE_CANCELLED);
	return unused;
}

TASK(arm_the_other, arm(probe->other, 0))

/* A task arms another one, in a shard at which settle may have looked before that. */
SCENARIO(settle_waits_for_tasks_that_a_task_arms)
{
	open_with_two(1, 2);
	one->then = arm_the_other;
	one->other = two;
	arm(one, 2 * MS); /* at home in the shard that settle looks at last */
	start(give_two_a_home, NULL);
	join_all();
	advance_clock(2 * MS);
	settle_after(2);
	close_service();
}

/* A settle ends also if the due task is cancelled. */
SCENARIO(settle_against_cancel)
{
	open_with_one(1, 1);
	arm(one, MS);
	advance_clock(MS);
	start(cancel_one, NULL);
	pawl_service_settle(service);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs), runs_unless_cancelled());
	end_tasks();
}

/* Settle also returns if the service is stopped meanwhile. */
SCENARIO(settle_against_stop)
{
	open_with_one(1, 1);
	arm(one, MS);
	advance_clock(MS);
	start(stop_service, NULL);
	pawl_service_settle(service);
	join_all();
	close_service();
}

THREAD(arm_two_before_one, arm(two, 5 * MS))

/*
 * A task in a coarse slot is moved to a finer one by a worker that is about to sleep, while another thread arms an
 * earlier one into the same slot, or cancels it. Each runs in its tick, and no worker sleeps past it.
 */
static void moves_ahead_against(void *(*other)(void *), unsigned workers)
{
	open_with_two(workers, 1);
	two->runs = &drops; /* counted apart */
	arm(one, 6 * MS);
	start(other, NULL);
	join_all();
	advance_clock(5 * MS);
	if (other == arm_two_before_one)
		await(&drops, 1);
	EXPLORE_EXPECT_EQ(get(&runs), 0);
	advance_clock(MS);
	if (other == arm_two_before_one || found != PAWL_SERVICE_CANCELLED)
		await(&runs, 1);
	pawl_service_settle(service);
	close_service();
}

SCENARIO_OF(moves_ahead_against_arming_1, moves_ahead_against(arm_two_before_one, 1))
SCENARIO_OF(moves_ahead_against_arming_2, moves_ahead_against(arm_two_before_one, 2))
SCENARIO_OF(moves_ahead_against_cancel, moves_ahead_against(cancel_one, 1))

/* One worker, and at most one task pending. */
static void open_limited(unsigned shards)
{
	open_with_two_and(
	        (struct pawl_service_options){.workers = 1, .shards = shards, .max_pending = 1});
}

/* The tasks are idle, and the quota is back. */
static void close_limited(void)
{
	EXPLORE_EXPECT_EQ(pawl_service_arm(service, &one->task, MS), 0);
	EXPLORE_EXPECT_EQ(pawl_service_arm(service, &two->task, MS), -EAGAIN);
	EXPLORE_EXPECT_EQ(pawl_service_cancel_wait(service, &one->task), PAWL_SERVICE_CANCELLED);
	close_service();
}

static int accepted;

static bool try_to_arm(struct probe *probe)
{
	int error = pawl_service_arm(service, &probe->task, MS);

	EXPLORE_EXPECT(error == 0 || error == -EAGAIN);
	return error == 0;
}

static void *arm_limited(void *probe)
{
	if (try_to_arm(probe))
		add(&accepted);
	return NULL;
}

/* Never more pending than the limit, and the quota comes back. */
SCENARIO(limit_of_one)
{
	open_limited(2);
	start(arm_limited, one);
	start(arm_limited, two);
	join_all();
	EXPLORE_EXPECT_EQ(get(&accepted), 1);
	start(cancel_one, NULL);
	advance_clock(MS);
	join_all();
	pawl_service_cancel_wait(service, &one->task);
	pawl_service_cancel_wait(service, &two->task);
	close_limited();
}

TASK(arm_limited_again, try_to_arm(probe))

/* A running task arms itself again while another thread reserves the only quota, and a third cancels. */
SCENARIO(limit_of_one_while_running)
{
	open_limited(1);
	one->then = arm_limited_again;
	arm(one, 0);
	start(arm_limited, two);
	start(cancel_one, NULL);
	join_all();
	EXPLORE_EXPECT(pawl_service_pending(service) <= 1);
	while (pawl_service_cancel_wait(service, &one->task) == PAWL_SERVICE_RUNNING)
		;
	pawl_service_cancel_wait(service, &two->task);
	EXPLORE_EXPECT_EQ(pawl_service_pending(service), 0);
	one->then = NULL;
	close_limited();
}

THREAD(arm_beside_a_period, EXPLORE_EXPECT_EQ(pawl_service_arm(service, &two->task, MS), -EAGAIN))

/* A periodic task keeps its quota while it runs. */
SCENARIO(limit_of_one_and_a_period)
{
	open_limited(1);
	EXPLORE_EXPECT_EQ(pawl_service_arm_every(service, &one->task, MS, MS, PAWL_SERVICE_SKIP),
	                  0);
	start(arm_beside_a_period, NULL);
	advance_clock(MS);
	join_all();
	pawl_service_cancel_wait(service, &one->task);
	close_limited();
}

THREAD(poll, pawl_service_poll(service, 0))

static void loop_until(int wanted_runs)
{
	struct pawl_clock *clock = &clock_by_hand.clock;

	while (get(&runs) < wanted_runs) {
		clock->wait(clock, pawl_service_next(service));
		pawl_service_poll(service, 1);
	}
}

THREAD(loop_until_one_ran, loop_until(1))
THREAD(loop_until_both_ran, loop_until(2))

/*
 * A user's loop sleeps on the clock, and is woken when another thread arms for sooner. Otherwise it waits forever.
 */
static void loop_against_arm(unsigned shards, uint64_t delay)
{
	open_with_two(PAWL_SERVICE_MANUAL, shards);
	arm(one, 40 * MS);
	start(loop_until_one_ran, NULL);
	arm(two, delay);
	advance_clock(delay);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs), 1);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &one->task), PAWL_SERVICE_CANCELLED);
	close_service();
}

SCENARIO_OF(loop_against_sooner, loop_against_arm(1, MS))
SCENARIO_OF(loop_against_due, loop_against_arm(2, 0))

/* visit_by of the shard is still that of the cancelled task; the loop is told a later tick. */
SCENARIO(loop_after_a_cancel)
{
	open_with_one(PAWL_SERVICE_MANUAL, 1);
	arm(one, MS);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &one->task), PAWL_SERVICE_CANCELLED);
	start(loop_until_one_ran, NULL);
	arm(one, 2 * MS);
	advance_clock(2 * MS);
	join_all();
	close_service();
}

/* A pool: a queue of jobs, all of them the same, and threads that do them. */
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static int queued_jobs, pool_is_over, cancels;

static void queue_a_job(struct pawl_service *unused, void *end)
{
	(void)unused;
	pthread_mutex_lock(&queue_mutex);
	queued_jobs += end == NULL;
	pool_is_over |= end != NULL;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
}

static void *pool_thread(void *unused)
{
	bool more = true;

	while (more) {
		pthread_mutex_lock(&queue_mutex);
		while (!queued_jobs && !pool_is_over)
			pthread_cond_wait(&queue_changed, &queue_mutex);
		more = queued_jobs > 0;
		queued_jobs -= more;
		pthread_mutex_unlock(&queue_mutex);
		if (more)
			pawl_service_poll(service, 1);
	}
	return unused;
}

static void open_pool(unsigned threads, unsigned shards)
{
	open_with_two_and((struct pawl_service_options){
	        .workers = threads, .shards = shards, .dispatch = queue_a_job});
	for (unsigned i = 0; i < threads; i++)
		start(pool_thread, NULL);
}

static void end_pool(void)
{
	queue_a_job(NULL, &queued_jobs);
	join_all();
	EXPLORE_EXPECT_EQ(queued_jobs, 0);
}

/* The service first, since it waits for its calls to be answered. */
static void close_pool(void)
{
	pawl_service_close(service, drop_probe);
	end_pool();
	free_tasks();
}

THREAD(cancel_wait_and_count, cancel_wait_and_free(NULL); add(&cancels))

/* Even while it waits in the queue of a pool, cancel_wait tells the truth, and the memory is the caller's. */
SCENARIO(pool_against_cancel_wait)
{
	open_pool(1, 1);
	arm(one, MS);
	start(cancel_wait_and_count, NULL);
	advance_clock(MS);
	await(&cancels, 1);
	EXPLORE_EXPECT_EQ(get(&runs), runs_unless_cancelled());
	close_pool();
}

/* Each waits for the other: so two threads must have been called. */
static void pool_runs_two_at_once(unsigned shards, uint64_t delay)
{
	open_pool(2, shards);
	one->then = two->then = meet;
	arm(one, delay);
	arm(two, MS);
	advance_clock(MS);
	await(&runs, 2);
	close_pool();
}

SCENARIO_OF(two_meet_in_a_pool_1, pool_runs_two_at_once(1, MS))
SCENARIO_OF(two_meet_in_a_pool_2, pool_runs_two_at_once(2, 0))

/* One thread of the pool, and more than one task: it is called again. */
SCENARIO(pool_is_called_again)
{
	open_pool(1, 1);
	arm(one, MS);
	arm(two, 0);
	advance_clock(MS);
	await(&runs, 2);
	close_pool();
}

/* A call that the pool has not answered yet: the service is not freed before. */
SCENARIO(pool_against_close)
{
	open_pool(2, 1);
	arm(one, 0);
	close_pool();
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1);
}

/* The next time is not late for a task that a worker makes due meanwhile. */
SCENARIO(next_against_expiry)
{
	uint64_t next;

	open_with_one(1, 1);
	arm(one, MS);
	start(pass_a_tick, NULL);
	next = pawl_service_next(service);
	EXPLORE_EXPECT(next <= MS || pawl_service_pending(service) == 0);
	join_all();
	await(&runs, 1);
	pawl_service_settle(service);
	close_service();
}

static void *next_and_poll(void *unused)
{
	pawl_service_next(service);
	pawl_service_poll(service, 0);
	pawl_service_next(service);
	return unused;
}

/* The tasks of a poll have returned when stop does. */
SCENARIO(poll_against_stop)
{
	open_with_one(PAWL_SERVICE_MANUAL, 1);
	arm(one, MS);
	advance_clock(MS);
	start(next_and_poll, NULL);
	pawl_service_stop(service, drop_probe);
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1);
	free_one();
	join_all();
	close_service();
}

/* Nothing is left behind by an open that fails half-way. */
SCENARIO(open_fails)
{
	const struct pawl_service_options options = {
	        .workers = 2, .shards = 2, .wheel_size = 2, .clock = &clock_by_hand.clock};
	int error;

	pawl_clock_manual_init(&clock_by_hand);
	explore_failures(1);
	error = pawl_service_open(&service, &options);
	if (error) {
		EXPLORE_EXPECT(error == -ENOMEM || error == -EAGAIN);
		EXPLORE_EXPECT_EQ(explore_blocks(), 0);
		EXPLORE_EXPECT(!clock_by_hand.clock.service);
	} else {
		pawl_service_close(service, NULL);
	}
}

/* The clock of the system, in the explorer's time: the leader wakes by the deadline alone. */
static void the_system_clock(unsigned workers)
{
	const struct pawl_service_options options = {
	        .workers = workers, .shards = 1, .wheel_size = 4};

	one = new_probe();
	two = new_probe();
	EXPLORE_EXPECT_EQ(pawl_service_open(&service, &options), 0);
	arm(one, 5 * MS);
	start(arm_two, NULL);
	start(cancel_one, NULL);
	join_all();
	await(&runs, 1 + runs_unless_cancelled());
	end_tasks();
}

SCENARIO_OF(the_system_clock_1, the_system_clock(1))
SCENARIO_OF(the_system_clock_2, the_system_clock(2))

static uint64_t ran_at;

TASK(note_time_and_arm_the_other, ran_at = pawl_service_now(service); arm(probe->other, 2 * MS))

/* Time stops at the deadline of the first, whatever another thread arms meanwhile, and at the one that this arms. */
static void time_runs_against_arm(unsigned workers)
{
	struct probe *third = new_probe();

	open_with_two(workers, 1);
	one->then = note_time_and_arm_the_other;
	one->other = third;
	arm(one, 3 * MS);
	start(arm_two, NULL);
	pawl_clock_manual_run(&clock_by_hand, service, 5 * MS);
	EXPLORE_EXPECT_EQ(ran_at, 3 * MS);
	EXPLORE_EXPECT(get(&runs) >= 2);
	join_all();
	pawl_clock_manual_run(&clock_by_hand, service, MS);
	EXPLORE_EXPECT_EQ(get(&runs), 3);
	free(third);
	close_service();
}

SCENARIO_OF(time_runs_against_arm_1, time_runs_against_arm(1))
SCENARIO_OF(time_runs_against_arm_2, time_runs_against_arm(2))
SCENARIO_OF(time_runs_against_arm_manual, time_runs_against_arm(PAWL_SERVICE_MANUAL))

static int stops, touches;

THREAD(stop_and_count, pawl_service_stop(service, drop_probe); add(&stops))
THREAD(touch_and_count, pawl_service_touch(service, &one->task, 0); add(&touches))

/* A pool is stopped while a cancel_wait waits for its task. */
SCENARIO(pool_against_stop_and_cancel_wait, FEWER)
{
	open_pool(1, 1);
	arm(one, MS);
	start(cancel_wait_and_count, NULL);
	start(stop_and_count, NULL);
	advance_clock(MS);
	await(&cancels, 1);
	await(&stops, 1);
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), runs_unless_cancelled());
	close_pool();
}

/* A periodic task in a pool of two is touched, and withdrawn after that. */
SCENARIO(pool_against_touch_of_a_period, FEWER)
{
	open_pool(2, 1);
	EXPLORE_EXPECT_EQ(pawl_service_arm_every(service, &one->task, MS, MS, PAWL_SERVICE_SKIP),
	                  0);
	arm(two, MS);
	start(touch_and_count, NULL);
	advance_clock(MS);
	await(&touches, 1);
	pawl_service_cancel_wait(service, &one->task);
	pawl_service_cancel_wait(service, &two->task);
	free_tasks();
	EXPLORE_EXPECT_EQ(pawl_service_pending(service), 0);
	close_pool();
	EXPLORE_EXPECT_EQ(drops, 0);
}

TASK(poll_inside, pawl_service_poll(service, 0))

/* Tasks of a pool poll once more inside. The pool ends before the service is closed. */
SCENARIO(pool_nests_polls, FEWER)
{
	open_pool(2, 1);
	one->then = two->then = poll_inside;
	arm(one, 0);
	arm(two, MS);
	advance_clock(MS);
	await(&runs, 2);
	pawl_service_stop(service, NULL);
	end_pool();
	close_service();
}

static void poll_in_dispatch(struct pawl_service *called, void *unused)
{
	(void)unused;
	pawl_service_poll(called, 1);
}

/* A pool that refuses the job: dispatch polls itself. */
SCENARIO(dispatch_polls, FEWER)
{
	open_with_two_and((struct pawl_service_options){
	        .workers = 2, .shards = 2, .dispatch = poll_in_dispatch});
	arm(one, 0);
	start(touch_and_count, NULL);
	arm(two, MS);
	advance_clock(MS);
	join_all();
	await(&runs, 2);
	pawl_service_settle(service);
	end_tasks();
}

THREAD(arm_one_at_once, arm(one, 0))

/* The descriptor of a manual service. On a manual clock its timer is set to a time in the past, or is off. */
static bool readable(void)
{
	return explore_timer() != 0;
}

static void open_with_descriptor(unsigned shards)
{
	open_with_two(PAWL_SERVICE_MANUAL, shards);
	EXPLORE_EXPECT(pawl_service_fd(service) >= 0);
	EXPLORE_EXPECT(!readable());
}

/* All threads but this one have ended: the descriptor is readable as long as a task is due. */
static void poll_while_readable(int wanted)
{
	while (get(&runs) < wanted) {
		EXPLORE_EXPECT(readable());
		pawl_service_poll(service, 0);
	}
	EXPLORE_EXPECT(!readable());
	close_service();
}

/* Another thread arms until the poll ends: the descriptor does not lose the task. */
SCENARIO(descriptor_against_poll_and_arm, FEWER)
{
	open_with_descriptor(2);
	arm(one, MS);
	start(arm_two_at_once, NULL);
	advance_clock(MS);
	pawl_service_poll(service, 1);
	join_all();
	poll_while_readable(2);
}

/* The same while the loop asks when to poll next. */
SCENARIO(descriptor_against_next_and_arm, FEWER)
{
	open_with_descriptor(1);
	arm(one, 5 * MS);
	start(arm_two, NULL);
	start(pass_a_tick, NULL);
	next_and_poll(NULL);
	join_all();
	advance_clock(5 * MS);
	poll_while_readable(2);
}

/* Time passes while one thread arms for sooner, and another one polls. */
SCENARIO(descriptor_against_a_sooner_task, FEWER)
{
	open_with_descriptor(1);
	arm(one, 5 * MS);
	start(pass_a_tick, NULL);
	start(arm_two, NULL);
	start(poll, NULL);
	join_all();
	advance_clock(5 * MS);
	poll_while_readable(2);
}

/* The descriptor is made while other threads arm. */
SCENARIO(descriptor_made_against_arm, FEWER)
{
	open_with_two(PAWL_SERVICE_MANUAL, 1);
	start(arm_two, NULL);
	start(arm_one_at_once, NULL);
	pawl_service_next(service);
	EXPLORE_EXPECT(pawl_service_fd(service) >= 0);
	pawl_service_poll(service, 0);
	join_all();
	advance_clock(3 * MS);
	poll_while_readable(2);
}

/* After a stop the descriptor is never readable. */
SCENARIO(descriptor_against_stop, FEWER)
{
	open_with_descriptor(1);
	arm(one, MS);
	start(pass_a_tick, NULL);
	start(poll, NULL);
	start(stop_and_count, NULL);
	join_all();
	EXPLORE_EXPECT(!readable());
	advance_clock(MS);
	EXPLORE_EXPECT(!readable());
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1);
	close_service();
}

static void *arm_cancel_and_arm_two(void *unused)
{
	arm(two, 0);
	if (pawl_service_cancel(service, &two->task) == PAWL_SERVICE_CANCELLED)
		arm(two, 0);
	return unused;
}

/* Two threads arm, one of them twice, while a loop waits for the next time. */
SCENARIO(loop_against_two_that_arm, FEWER)
{
	open_with_two(PAWL_SERVICE_MANUAL, 2);
	start(loop_until_both_ran, NULL);
	start(arm_one_at_once, NULL);
	start(arm_cancel_and_arm_two, NULL);
	join_all();
	close_service();
}

/* The live view, without its socket: one snapshot, while the workers record their runs. */
static void *view(void *unused)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct json json = {0};

	for (unsigned i = 0; i < service->worker_count; i++)
		__atomic_store_n(&service->workers[i].journal, &service->journals[i],
		                 __ATOMIC_RELEASE);
	pawl__snapshot_gather(snapshot, service);
	EXPLORE_EXPECT_EQ(snapshot->stats.armed, snapshot->stats.ran + snapshot->stats.cancelled +
	                                                 snapshot->stats.dropped +
	                                                 snapshot->stats.pending);
	for (unsigned i = 0; i < snapshot->latest_count; i++)
		EXPLORE_EXPECT(snapshot->latest[i].note.run == run_probe);
	pawl__snapshot_write(snapshot, &json);
	for (unsigned i = 0; i < service->worker_count; i++)
		__atomic_store_n(&service->workers[i].journal, NULL, __ATOMIC_RELEASE);
	free(json.text);
	free(snapshot);
	return unused;
}

static void open_viewed(unsigned workers, unsigned shards)
{
	open_with_two(workers, shards);
	service->journals = calloc(service->worker_count, sizeof(*service->journals));
	EXPLORE_EXPECT(pawl__samples_open(service));
}

/* A task is shown while it runs, is withdrawn and is freed. */
SCENARIO(viewer_against_cancel_wait, FEWER)
{
	open_viewed(2, 1);
	arm(one, MS);
	arm(two, MS);
	start(view, NULL);
	start(cancel_wait_and_free, NULL);
	advance_clock(MS);
	join_all();
	end_tasks();
}

/* A task is shown while it is dropped. */
SCENARIO(viewer_against_stop, FEWER)
{
	open_viewed(1, 2);
	arm(one, MS);
	start(view, NULL);
	start(stop_and_count, NULL);
	advance_clock(MS);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1);
	close_service();
}

static int try_to_arm_by_wall(struct probe *probe)
{
	return pawl_service_arm_at_time(service, &probe->task, (struct timespec){.tv_sec = 100});
}

static void arm_by_wall(struct probe *probe)
{
	EXPLORE_EXPECT_EQ(try_to_arm_by_wall(probe), 0);
}

THREAD(arm_one_by_wall, arm_by_wall(one))
THREAD(arm_two_by_wall, armed_two = try_to_arm_by_wall(two))

/* The time comes because the clock is set. The clocks are compared within a second. */
static void *set_wall(void *unused)
{
	pawl_clock_manual_set_wall(&clock_by_hand, (struct timespec){.tv_sec = 100});
	advance_clock(PAWL_SECOND);
	return unused;
}

/* Set before, during or after the arming: the task runs within a second and a tick. */
static void wall_clock_against_arm(unsigned workers, unsigned shards)
{
	open_with_one(workers, shards);
	start(arm_one_by_wall, NULL);
	set_wall(NULL);
	join_all();
	advance_clock(PAWL_SECOND);
	await(&runs, 1);
	settle_after(1);
	close_after_one();
}

SCENARIO_OF(wall_clock_against_arm_1, wall_clock_against_arm(1, 1))
SCENARIO_OF(wall_clock_against_arm_2, wall_clock_against_arm(2, 2))

static void arm_by_wall_once(struct probe *probe)
{
	if (!probe->rest++)
		arm_by_wall(probe);
}

/* It is armed again while it runs, and the clocks are compared before it is on the wheel. */
SCENARIO(wall_clock_against_arm_inside)
{
	open_with_one(2, 1);
	one->then = arm_by_wall_once;
	arm(one, MS);
	start(pass_a_tick, NULL);
	set_wall(NULL);
	join_all();
	await(&runs, 1);
	advance_clock(PAWL_SECOND);
	await(&runs, 2);
	pawl_service_settle(service);
	close_after_one();
}

/* A task that is cancelled is not armed again when the clock was set: its memory is freed. */
SCENARIO(wall_clock_against_cancel_wait)
{
	open_with_two(1, 1);
	arm_by_wall(one);
	arm_by_wall(two);
	start(cancel_wait_and_free, NULL);
	set_wall(NULL);
	join_all();
	await(&runs, 1 + runs_unless_cancelled());
	settle_after(1 + runs_unless_cancelled());
	close_service();
}

SCENARIO(wall_clock_against_stop)
{
	open_with_two(1, 1);
	arm_by_wall(one);
	start(set_wall, NULL);
	start(arm_two_by_wall, NULL);
	pawl_service_stop(service, drop_probe);
	join_all();
	EXPLORE_EXPECT_EQ(get(&runs) + get(&drops), 1 + (armed_two == 0));
	close_service();
}

/* It is armed while a comparison finds that there was none. */
SCENARIO(wall_task_after_the_last)
{
	open_with_two(1, 1);
	arm_by_wall(two);
	EXPLORE_EXPECT_EQ(pawl_service_cancel(service, &two->task), PAWL_SERVICE_CANCELLED);
	start(arm_one_by_wall, NULL);
	advance_clock(PAWL_SECOND);
	join_all();
	set_wall(NULL);
	advance_clock(PAWL_SECOND);
	await(&runs, 1);
	pawl_service_settle(service);
	close_service();
}

/* A schedule that counts its runs, for every second of the wall clock. */
static struct pawl_schedule *every_second;
static struct pawl_zone utc;

static void run_every_second(struct pawl_task *task)
{
	EXPLORE_EXPECT(task == &every_second->task);
	explore_point();
	add(&runs);
}

static void drop_every_second(struct pawl_task *task)
{
	EXPLORE_EXPECT(task == &every_second->task);
	add(&drops);
}

static void arm_every_second(void)
{
	struct pawl_calendar_rule rule;

	every_second = calloc(1, sizeof(*every_second));
	pawl_zone_utc(&utc);
	EXPLORE_EXPECT_EQ(pawl_calendar_parse(&rule, "* * * * * *", NULL), 0);
	pawl_schedule_init(every_second, run_every_second);
	EXPLORE_EXPECT_EQ(
	        pawl_schedule_arm_every(service, every_second, &rule, &utc, PAWL_SERVICE_BURST), 0);
}

static void *end_every_second(void *unused)
{
	found = pawl_service_cancel_wait(service, &every_second->task);
	free(every_second);
	return unused;
}

/* The cancel comes before a run, during it, or when it gets its next time: afterwards the memory is the caller's. */
static void schedule_against_cancel_wait(unsigned workers)
{
	int before;

	open_service(workers, 1);
	arm_every_second();
	start(end_every_second, NULL);
	advance_clock(2 * PAWL_SECOND);
	join_all();
	before = get(&runs);
	EXPLORE_EXPECT(found != PAWL_SERVICE_IDLE && before <= 2);
	advance_clock(PAWL_SECOND);
	settle_after(before);
	close_service();
}

SCENARIO_OF(schedule_against_cancel_wait_1, schedule_against_cancel_wait(1))
SCENARIO_OF(schedule_against_cancel_wait_2, schedule_against_cancel_wait(2))

THREAD(pass_a_second, advance_clock(PAWL_SECOND))

/* Stop finds it pending, or it runs and has its next time. */
SCENARIO(schedule_against_stop)
{
	open_service(1, 1);
	arm_every_second();
	start(pass_a_second, NULL);
	pawl_service_stop(service, drop_every_second);
	join_all();
	EXPLORE_EXPECT_EQ(get(&drops), 1);
	free(every_second);
	close_service();
}

int main(int argc, char **argv)
{
	return explore_main(argc, argv, scenarios, scenario_count);
}
