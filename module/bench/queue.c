/* SPDX-License-Identifier: MIT */
/*
 * The longest calls of the queue of the Redis and Valkey module, without a server.
 *
 *	pawl-bench-queue [TASKS]                                two million if not given
 *
 * Each scenario puts that many tasks. Then comes the worst case: there is no command for hours, all tasks are due at
 * once, or the clock is set. Then every kind of command is called many times, and each call is measured by the CPU time
 * of the thread, so that other work on the machine does not count. The output has, for each kind, the longest call in
 * microseconds, and the most tasks that one call moved from a cell to finer ones. Four kinds take longer than the others
 * and are called in one round of fifty: `from` is PAWL.LEN of a minute, `range` PAWL.RANGE of a hundred tasks of any
 * state, `mput` PAWL.MPUT of a hundred tasks, and `sweep` PAWL.SWEEP of a minute's tasks in a hundred buckets. The last
 * line says whether the longest call of all is within the goal for a command, 2 ms.
 *
 * `make -C module bench` runs it with jemalloc, the servers' allocator, if that is installed. The C library's malloc
 * sometimes sorts thousands of freed tasks in one call, which takes milliseconds.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../bench/support/machine.h"
#include "../../src/base/random.h"
#include "../queue/memory.h"
#include "../queue/queue.h"

enum { ROUNDS = 100000, FIRST = 1000, KINDS = 12, SELDOM = 8, MANY = 100, GOAL_US = 2000 };
#define HOUR   UINT64_C(3600000)
#define MINUTE UINT64_C(60000)
#define START  UINT64_C(1800000000000)

static const char *const kinds[KINDS] = {"put",  "take", "lease", "ack",   "cancel", "move",
                                         "next", "len",  "from",  "range", "mput",   "sweep"};

static struct queue *queue;
static uint64_t now, made;
static struct random rng = {1};
static struct {
	double longest[KINDS];
	size_t moves;
} result;

/* Tasks have the numbers 0 to made - 1, some of which are gone. */
static struct task_id id_of(uint64_t number)
{
	struct task_id_parts parts = {number / 1000, (uint32_t)number, 7};
	struct task_id id;

	task_id_from_parts(&id, &parts);
	return id;
}

static struct task *any_task(void)
{
	struct task_id id = id_of(random_next(&rng) % made);

	return queue_find(queue, &id);
}

static struct task *new_task(void)
{
	static const char payload[64];
	struct task_id id = id_of(made++);

	return task_new(&id, payload, sizeof(payload));
}

static void put(uint64_t delay)
{
	queue_add(queue, new_task(), now + delay);
}

static uint64_t spread(uint64_t ms)
{
	return random_next(&rng) % ms;
}

static void take(uint64_t lease)
{
	struct task *task = queue_first_due(queue, now);

	if (!task)
		return;
	queue_count_delivery(queue, task, now);
	if (lease)
		queue_lease(queue, task, now + lease, 1);
	else
		queue_delete(queue, task);
}

static void ack_or_cancel(bool leased)
{
	struct task *task = any_task();

	if (task && (task_state(task, now) == STATE_LEASED) == leased)
		queue_delete(queue, task);
}

static void move(void)
{
	struct task *task = any_task();

	if (task)
		queue_schedule(queue, task, now + spread(HOUR));
}

static void mput(void)
{
	struct task *tasks[MANY];
	uint64_t at[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		tasks[i] = new_task();
		at[i] = now + spread(10 * MINUTE);
		queue_prefetch(queue, tasks[i], at[i]);
	}
	for (unsigned i = 0; i < MANY; i++)
		queue_add(queue, tasks[i], at[i]);
}

/* A sweep finds all tasks of a bucket that it deletes before it deletes the first. */
static struct {
	struct task *tasks[MANY];
	unsigned count;
	uint64_t from;
} swept;

static void sweep_task(struct task *task, void *arg)
{
	(void)arg;
	if (task->at >= swept.from && task->at < swept.from + MINUTE && swept.count < MANY)
		swept.tasks[swept.count++] = task;
}

static void sweep(uint64_t from)
{
	uint64_t cursor = random_next(&rng);

	swept.from = from;
	for (unsigned i = 0; i < MANY; i++) {
		ids_scan(&queue->ids, cursor, sweep_task, NULL);
		cursor = ids_scan_next(&queue->ids, cursor);
		while (swept.count > 0)
			queue_delete(queue, swept.tasks[--swept.count]);
	}
}

static void act(unsigned kind)
{
	uint64_t from = now - HOUR + spread(2 * HOUR);
	struct queue_range range;
	size_t counts[STATES];

	switch (kind) {
	case 0:
		put(spread(10 * MINUTE));
		break;
	case 1:
	case 2:
		take(kind == 2 ? spread(MINUTE) + 1 : 0);
		break;
	case 3:
	case 4:
		ack_or_cancel(kind == 3);
		break;
	case 5:
		move();
		break;
	case 6:
		queue_next(queue);
		break;
	case 7:
		queue_counts(queue, now, counts);
		break;
	case 8:
		queue_count_in(queue, &(struct queue_span){from, from + MINUTE, STATES, now});
		break;
	case 9:
		range = queue_range(queue,
		                    &(struct queue_span){from, UINT64_MAX,
		                                         (enum task_state)spread(STATES + 1), now},
		                    MANY);
		memory_free(range.items);
		break;
	case 10:
		mput();
		break;
	default:
		sweep(from);
	}
}

static double microseconds(void)
{
	return (double)read_clock(CLOCK_THREAD_CPUTIME_ID) / 1e3;
}

static void measure(unsigned kind)
{
	size_t moves = queue->alive.moves;
	double start = microseconds(), took;

	act(kind);
	took = microseconds() - start;
	moves = queue->alive.moves - moves;
	if (took > result.longest[kind])
		result.longest[kind] = took;
	if (moves > result.moves)
		result.moves = moves;
}

struct scenario {
	const char *name;
	uint64_t delay, spread; /* the tasks are due after this delay, over so many ms */
	uint64_t pass;          /* the clock then goes on by this, */
	uint64_t back;          /* and back by this */
	unsigned rounds_a_ms;   /* of commands, before the clock goes on by 1 ms */
};

static const struct scenario scenarios[] = {
        {"over 10 minutes, used all the time", 0, 10 * MINUTE, 0, 0, 10},
        {"over 5 hours, no take for 2", 0, 5 * HOUR, 2 * HOUR, 0, 10},
        {"in one second, no take for hours", HOUR, 1000, 3 * HOUR, 0, 10},
        {"in one second, which is now", HOUR, 1000, HOUR - 100, 0, 100},
        {"in one millisecond, no take", HOUR, 1, 3 * HOUR, 0, 10},
        {"nothing due for hours", 5 * HOUR, 1000, 0, 0, 10},
        {"nothing due for months", 2000 * HOUR, 2000 * HOUR, 0, 0, 10},
        {"clock set back by 2 hours", 0, 5 * HOUR, 3 * HOUR, 2 * HOUR, 10},
};

/* Returns the longest call. */
static double run(const struct scenario *scenario, size_t tasks)
{
	double longest = 0;

	memset(&result, 0, sizeof(result));
	now = START;
	made = 0;
	queue = queue_new();
	for (size_t i = 0; i < tasks; i++)
		put(scenario->delay + spread(scenario->spread));
	now += scenario->pass;
	/* As if there had been commands before the clock was set. */
	for (unsigned i = 0; i < FIRST; i++)
		act(i % KINDS);
	now -= scenario->back;
	for (unsigned i = 0; i < ROUNDS; i++) {
		now += i % scenario->rounds_a_ms == 0;
		for (unsigned kind = KINDS; kind-- > 0;)
			if (kind < SELDOM || i % 50 == 0)
				measure(kind);
	}
	printf("%-38s", scenario->name);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		printf(" %7.1f", result.longest[kind]);
		if (result.longest[kind] > longest)
			longest = result.longest[kind];
	}
	printf(" %7zu\n", result.moves);
	queue_free(queue);
	return longest;
}

int main(int argc, char **argv)
{
	char *end = "";
	unsigned long tasks = argc > 1 ? strtoul(argv[1], &end, 10) : 2000000;
	double longest = 0, its;

	if (argc > 2 || *end || tasks < 1 || tasks > 100000000) {
		fprintf(stderr,
		        "pawl-bench-queue: '%s'; allowed: a number of tasks from 1 to 100000000\n",
		        argv[argc - 1]);
		return 2;
	}
	printf("%-38s", "longest call in us");
	for (unsigned kind = 0; kind < KINDS; kind++)
		printf(" %7s", kinds[kind]);
	printf(" %7s\n", "moves");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if ((its = run(&scenarios[i], tasks)) > longest)
			longest = its;
	printf("longest call of all %.2f ms, at most 2 ms: %s\n", longest / 1000,
	       longest <= GOAL_US ? "reached" : "MISSED");
	return 0;
}
