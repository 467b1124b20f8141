/* SPDX-License-Identifier: MIT */
/* What pawl/store.h promises, call by call, on a disk in memory and with a clock that the test moves. */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

#define START UINT64_C(1700000000000000000)

static struct sim_disk disk;
static struct pawl_clock_manual manual;
static struct pawl_store *store;
static char problem[PAWL_STORE_PROBLEM];

static void set_wall(uint64_t ns)
{
	pawl_clock_manual_set_wall(&manual, (struct timespec){.tv_sec = (time_t)(ns / PAWL_SECOND),
	                                                      .tv_nsec = (long)(ns % PAWL_SECOND)});
}

static struct pawl_store_options usual(void)
{
	return (struct pawl_store_options){.clock = &manual.clock,
	                                   .manual = true,
	                                   .memory = 256 << 10,
	                                   .log_size = 256 << 10,
	                                   .problem = problem};
}

static void begin_with(struct pawl_store_options options)
{
	pawl_clock_manual_init(&manual);
	set_wall(START);
	sim_init(&disk);
	EXPECT_EQ(pawl__store_open_on(&store, &disk.disk, &options), 0);
}

static void begin(void)
{
	begin_with(usual());
}

static void end(void)
{
	pawl_store_close(store);
	sim_free(&disk);
}

/* Close it, and open it again. */
static void reopen(void)
{
	struct pawl_store_options options = usual();

	pawl_store_close(store);
	EXPECT_EQ(pawl__store_open_on(&store, &disk.disk, &options), 0);
}

static void pass(uint64_t ns)
{
	pawl_clock_manual_advance(&manual, ns);
	pawl_store_poll(store);
}

static uint64_t put(const char *text, uint64_t delay_ns)
{
	uint64_t id = 0;

	EXPECT_EQ(pawl_store_put(store, "q", delay_ns, text, strlen(text), &id), 0);
	return id;
}

/* Take one task; its payload is this text. */
static struct pawl_store_task take(const char *text)
{
	struct pawl_store_task task = {0};

	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_STR(task.payload, text);
	return task;
}

static void nothing_is_due(void)
{
	struct pawl_store_task task;

	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 0);
}

static struct pawl_store_stats stats(void)
{
	struct pawl_store_stats stats;

	pawl_store_get_stats(store, &stats, sizeof(stats));
	return stats;
}

static void a_task_is_due_at_its_time_and_not_before(void)
{
	struct pawl_store_task task;
	uint64_t id;

	begin();
	id = put("tea", 90 * PAWL_MS);
	nothing_is_due();
	pass(89 * PAWL_MS);
	nothing_is_due();
	pass(PAWL_MS);
	task = take("tea");
	EXPECT_EQ(task.id, id);
	EXPECT_EQ(task.due_ns, START + 90 * PAWL_MS);
	EXPECT_EQ(task.tries, 1);
	EXPECT_STR(task.queue, "q");
	EXPECT(task.reason == NULL);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	EXPECT(task.payload == NULL && task.fence == 0);
	nothing_is_due();
	EXPECT_EQ(stats().pending, 0);
	end();
}

static void tasks_of_a_queue_come_in_the_order_of_their_times(void)
{
	struct pawl_store_task tasks[3];

	begin();
	put("third", 30 * PAWL_MS);
	put("first", 10 * PAWL_MS);
	put("second", 20 * PAWL_MS);
	pass(PAWL_SECOND);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, tasks, 3), 3);
	EXPECT_STR(tasks[0].payload, "first");
	EXPECT_STR(tasks[1].payload, "second");
	EXPECT_STR(tasks[2].payload, "third");
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(pawl_store_ack(store, &tasks[i]), 0);
	end();
}

static void a_queue_gives_out_its_own_tasks_only(void)
{
	struct pawl_store_task task;

	begin();
	EXPECT_EQ(pawl_store_put(store, "other", 0, "x", 1, NULL), 0);
	nothing_is_due();
	EXPECT_EQ(pawl_store_take(store, "other", PAWL_MINUTE, 0, &task, 1), 1);
	pawl_store_ack(store, &task);
	end();
}

static void a_task_whose_lease_ends_is_due_again(void)
{
	struct pawl_store_task first, second;

	begin();
	put("tea", 0);
	first = take("tea");
	pass(59 * PAWL_SECOND);
	nothing_is_due();
	pass(PAWL_SECOND);
	second = take("tea");
	EXPECT_EQ(second.tries, 2);
	EXPECT(second.fence > first.fence);
	EXPECT_EQ(pawl_store_ack(store, &first), -ETIMEDOUT);
	EXPECT(first.payload == NULL);
	EXPECT_EQ(pawl_store_ack(store, &second), 0);
	EXPECT_EQ(stats().lapsed, 1);
	EXPECT_EQ(stats().acked, 1);
	end();
}

static void each_call_that_ends_a_lease_refuses_a_stale_one(void)
{
	struct pawl_store_task old[4], task;

	begin();
	put("tea", 0);
	for (int i = 0; i < 4; i++) {
		old[i] = take("tea");
		pass(PAWL_MINUTE);
	}
	task = take("tea");
	EXPECT_EQ(pawl_store_extend(store, &old[0], PAWL_HOUR), -ETIMEDOUT);
	EXPECT_EQ(pawl_store_ack(store, &old[0]), -ETIMEDOUT);
	EXPECT_EQ(pawl_store_retry(store, &old[1], 0), -ETIMEDOUT);
	EXPECT_EQ(pawl_store_bury(store, &old[2], "no"), -ETIMEDOUT);
	EXPECT_EQ(pawl_store_release(store, &old[3]), -ETIMEDOUT);
	EXPECT_EQ(stats().leased, 1);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	EXPECT_EQ(pawl_store_ack(store, &task), -EINVAL);
	end();
}

static void an_extended_lease_ends_later(void)
{
	struct pawl_store_task task;

	begin();
	put("tea", 0);
	task = take("tea");
	pass(50 * PAWL_SECOND);
	EXPECT_EQ(pawl_store_extend(store, &task, PAWL_MINUTE), 0);
	pass(59 * PAWL_SECOND);
	nothing_is_due();
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void a_retried_task_keeps_its_id_and_its_tries(void)
{
	struct pawl_store_task task;
	uint64_t id;

	begin();
	id = put("tea", 0);
	task = take("tea");
	EXPECT_EQ(pawl_store_retry(store, &task, 40 * 24 * PAWL_HOUR), 0); /* far: in a slot */
	nothing_is_due();
	reopen();
	pass(40 * 24 * PAWL_HOUR);
	task = take("tea");
	EXPECT_EQ(task.id, id);
	EXPECT_EQ(task.tries, 2);
	EXPECT_EQ(pawl_store_retry(store, &task, PAWL_SECOND), 0); /* near: in memory */
	pass(PAWL_SECOND);
	task = take("tea");
	EXPECT_EQ(task.id, id);
	EXPECT_EQ(task.tries, 3);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void a_released_task_is_due_at_once(void)
{
	struct pawl_store_task task;

	begin();
	put("tea", 0);
	task = take("tea");
	EXPECT_EQ(pawl_store_release(store, &task), 0);
	task = take("tea");
	EXPECT_EQ(task.tries, 2);
	pawl_store_ack(store, &task);
	end();
}

static void a_cancel_says_what_it_found(void)
{
	struct pawl_store_task task;
	uint64_t near, far, due;

	begin();
	near = put("near", PAWL_MINUTE);
	far = put("far", 100 * PAWL_HOUR);
	EXPECT_EQ(pawl_store_cancel(store, near), 0);
	EXPECT_EQ(pawl_store_cancel(store, near), -ENOENT);
	EXPECT_EQ(pawl_store_cancel(store, far), 0);
	EXPECT_EQ(pawl_store_cancel(store, far), -ENOENT);
	EXPECT_EQ(pawl_store_cancel(store, 0), -ENOENT);
	EXPECT_EQ(pawl_store_cancel(store, UINT64_MAX), -ENOENT);
	due = put("due", 0);
	task = take("due");
	EXPECT_EQ(pawl_store_cancel(store, due), -EBUSY);
	EXPECT_EQ(pawl_store_bury(store, &task, "no"), 0);
	EXPECT_EQ(pawl_store_cancel(store, due), -ENOENT);
	pass(200 * PAWL_HOUR);
	nothing_is_due();
	EXPECT_EQ(stats().cancelled, 2);
	end();
}

static void a_dead_task_is_kept_with_its_reason(void)
{
	struct pawl_store_task task, dead;
	uint64_t id;

	begin();
	id = put("tea", 0);
	task = take("tea");
	EXPECT_EQ(pawl_store_bury(store, &task, "no such address"), 0);
	nothing_is_due();
	reopen();
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_DEAD, "q", 0, 0, &dead, 1), 1);
	EXPECT_EQ(dead.id, id);
	EXPECT_STR(dead.reason, "no such address");
	EXPECT_STR(dead.payload, "tea");
	EXPECT_EQ(dead.tries, 1);
	EXPECT_EQ(pawl_store_release(store, &dead), 0);
	EXPECT_EQ(stats().dead, 1);
	EXPECT_EQ(stats().pending, 0);
	EXPECT_EQ(pawl_store_requeue(store, id, 3 * PAWL_HOUR), 0);
	EXPECT_EQ(pawl_store_requeue(store, id, 0), -ENOENT);
	pass(3 * PAWL_HOUR);
	task = take("tea");
	EXPECT_EQ(task.id, id);
	EXPECT_EQ(task.tries, 1);
	EXPECT_EQ(pawl_store_bury(store, &task, ""), 0);
	EXPECT_EQ(pawl_store_drop(store, id), 0);
	EXPECT_EQ(pawl_store_drop(store, id), -ENOENT);
	EXPECT_EQ(stats().dead, 0);
	end();
}

static void of_too_many_dead_tasks_the_oldest_go(void)
{
	struct pawl_store_options options = usual();
	struct pawl_store_task task, dead[4];

	options.max_dead = 3;
	begin_with(options);
	for (int i = 0; i < 5; i++) {
		const char text[2] = {(char)('a' + i), 0};

		put(text, 0);
		task = take(text);
		EXPECT_EQ(pawl_store_bury(store, &task, "x"), 0);
		pass(PAWL_MS);
	}
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_DEAD, NULL, 0, 0, dead, 4), 3);
	EXPECT_STR(dead[0].payload, "c");
	for (int i = 0; i < 3; i++)
		pawl_store_release(store, &dead[i]);
	end();
}

/* The bury drops the oldest dead task; but that one is named by a later change. */
static void a_bury_drops_no_task_that_its_commit_names(void)
{
	struct pawl_store_options options = usual();
	struct pawl_store_task task;
	uint64_t oldest;

	options.max_dead = 1;
	begin_with(options);
	oldest = put("old", 0);
	task = take("old");
	EXPECT_EQ(pawl_store_bury(store, &task, "x"), 0);
	put("new", 0);
	task = take("new");
	{
		struct pawl_store_change changes[] = {
		        {.verb = PAWL_STORE_BURY, .task = &task, .reason = "y"},
		        {.verb = PAWL_STORE_REQUEUE, .id = oldest, .at_ns = START},
		};

		EXPECT_EQ(pawl_store_commit(store, changes, 2), 0);
	}
	EXPECT_EQ(stats().dead, 1);
	reopen();
	task = take("old");
	EXPECT_EQ(task.id, oldest);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void a_take_of_very_many_takes_what_there_is(void)
{
	static struct pawl_store_task tasks[5000];

	begin();
	put("a", 0);
	put("b", 0);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, tasks, 5000), 2);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, tasks + 2, 4998), 0);
	pawl_store_ack(store, &tasks[0]);
	pawl_store_ack(store, &tasks[1]);
	end();
}

static void a_lease_that_ends_after_the_clock_was_set_back_keeps_the_time_of_its_task(void)
{
	struct pawl_store_task task;

	begin();
	put("tea", PAWL_HOUR);
	pass(PAWL_HOUR);
	task = take("tea");
	set_wall(START);
	pass(PAWL_MINUTE);
	nothing_is_due();
	EXPECT_EQ(pawl_store_ack(store, &task), -ETIMEDOUT);
	pass(PAWL_HOUR);
	task = take("tea");
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void a_commit_makes_all_its_changes_or_none(void)
{
	struct pawl_store_task task;
	uint64_t far;

	begin();
	far = put("far", 100 * PAWL_HOUR);
	put("tea", 0);
	task = take("tea");
	{
		struct pawl_store_change changes[] = {
		        {.verb = PAWL_STORE_PUT, .queue = "q", .payload = "new", .size = 3},
		        {.verb = PAWL_STORE_CANCEL, .id = far},
		        {.verb = PAWL_STORE_CANCEL, .id = 12345},
		};

		EXPECT_EQ(pawl_store_commit(store, changes, 3), -ENOENT);
		EXPECT_EQ(changes[0].error, 0);
		EXPECT_EQ(changes[2].error, -ENOENT);
		EXPECT_EQ(stats().pending, 2);
		EXPECT_EQ(pawl_store_commit(store, changes, 2), 0);
		EXPECT_EQ(stats().pending, 2);
	}
	{
		struct pawl_store_change changes[] = {
		        {.verb = PAWL_STORE_ACK, .task = &task},
		        {.verb = PAWL_STORE_PUT,
		         .queue = "q",
		         .at_ns = 5,
		         .payload = "b",
		         .size = 1},
		};

		EXPECT_EQ(pawl_store_commit(store, changes, 2), 0);
		EXPECT(task.payload == NULL);
		EXPECT_EQ(stats().pending, 2);
	}
	EXPECT_EQ(pawl_store_commit(store, NULL, 0), 0);
	end();
}

static void a_task_named_twice_in_a_commit_is_refused(void)
{
	struct pawl_store_task task, copy;

	begin();
	put("tea", 0);
	task = take("tea");
	copy = task;
	copy.payload = malloc(1);
	{
		struct pawl_store_change changes[] = {{.verb = PAWL_STORE_ACK, .task = &task},
		                                      {.verb = PAWL_STORE_ACK, .task = &copy}};

		EXPECT_EQ(pawl_store_commit(store, changes, 2), -ETIMEDOUT);
		EXPECT_EQ(stats().pending, 1);
	}
	end();
}

static void a_far_task_that_is_cancelled_twice_in_a_commit_counts_once(void)
{
	uint64_t id;

	begin();
	EXPECT_EQ(pawl_store_put(store, "q", 100 * PAWL_HOUR, "x", 1, &id), 0);
	{
		struct pawl_store_change changes[] = {{.verb = PAWL_STORE_CANCEL, .id = id},
		                                      {.verb = PAWL_STORE_CANCEL, .id = id}};

		EXPECT_EQ(pawl_store_commit(store, changes, 2), 0);
	}
	EXPECT_EQ(stats().cancelled, 1);
	EXPECT_EQ(stats().pending, 0);
	end();
}

static void a_commit_that_is_too_large_ends_the_hold_on_its_tasks(void)
{
	static char big[20000];
	struct pawl_store_task task;

	begin();
	put("tea", 0);
	task = take("tea");
	{
		struct pawl_store_change changes[] = {
		        {.verb = PAWL_STORE_PUT, .queue = "q", .payload = big, .size = sizeof(big)},
		        {.verb = PAWL_STORE_ACK, .task = &task},
		};

		EXPECT_EQ(pawl_store_commit(store, changes, 2), -EMSGSIZE);
		EXPECT(task.payload == NULL);
		changes[1].task = NULL;
		EXPECT_EQ(pawl_store_commit(store, changes, 2), -EINVAL);
		EXPECT_EQ(stats().leased, 1);
	}
	end();
}

static void bad_arguments_change_nothing(void)
{
	static char name[300], big[20000];
	struct pawl_store_task task;
	uint64_t id = 7;

	memset(name, 'n', 256);
	begin();
	EXPECT_EQ(pawl_store_put(store, "", 0, "x", 1, &id), -EINVAL);
	EXPECT_EQ(pawl_store_put(store, NULL, 0, "x", 1, &id), -EINVAL);
	EXPECT_EQ(pawl_store_put(store, name, 0, "x", 1, &id), -EINVAL);
	EXPECT_EQ(pawl_store_put(store, "q", 0, NULL, 1, &id), -EINVAL);
	EXPECT_EQ(pawl_store_put(store, "q", 0, big, 16385, &id), -EMSGSIZE);
	EXPECT_EQ(id, 7);
	EXPECT_EQ(pawl_store_put(store, "q", 0, big, 16384, &id), 0);
	EXPECT_EQ(pawl_store_put(store, name + 1, 0, NULL, 0, &id), 0);
	EXPECT_EQ(pawl_store_take(store, "", PAWL_MINUTE, 0, &task, 1), -EINVAL);
	EXPECT_EQ(pawl_store_take(store, NULL, PAWL_MINUTE, 0, &task, 1), -EINVAL);
	EXPECT_EQ(pawl_store_take(store, "q", 0, 0, &task, 1), -EINVAL);
	EXPECT_EQ(pawl_store_take(store, "q", 1, 0, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_EQ(pawl_store_bury(store, &task, NULL), -EINVAL);
	EXPECT_EQ(pawl_store_bury(store, &task, name), -EINVAL);
	EXPECT(task.payload != NULL);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_DEAD, NULL, 0, 0, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_store_list(store, (enum pawl_store_state)9, NULL, 0, 0, &task, 1), -EINVAL);
	{
		struct pawl_store_change change = {.verb = 99};

		EXPECT_EQ(pawl_store_commit(store, &change, 1), -EINVAL);
		change = (struct pawl_store_change){.verb = PAWL_STORE_CANCEL, .reserved = {1, 0}};
		EXPECT_EQ(pawl_store_commit(store, &change, 1), -EINVAL);
	}
	EXPECT_EQ(stats().pending, 1);
	end();
}

static void options_out_of_range_are_named(void)
{
	const struct {
		struct pawl_store_options options;
		const char *text;
	} bad[] = {
	        {{.width_ns = 1},
	         "options.width_ns is 1, allowed are 1000000000 to 86400000000000"},
	        {{.memory = 1000}, "options.memory is 1000, allowed are 262144 to 68719476736"},
	        {{.log_size = SIZE_MAX},
	         "options.log_size is 18446744073709551615, allowed are 262144 to 1073741824"},
	        {{.max_payload = 2 << 20},
	         "options.max_payload is 2097152, allowed are 1 to 1048576"},
	        {{.max_dead = 2000000}, "options.max_dead is 2000000, allowed are 1 to 1000000"},
	        {{.reserved = {0, 1}}, "options.reserved is not 0"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pawl_store_options options = bad[i].options;
		struct pawl_store *opened = NULL;

		sim_init(&disk);
		options.problem = problem;
		EXPECT_EQ(pawl__store_open_on(&opened, &disk.disk, &options), -EINVAL);
		EXPECT_STR(problem, bad[i].text);
		EXPECT(opened == NULL);
		EXPECT_EQ(disk.step_count, 0);
		sim_free(&disk);
	}
}

static void a_clock_has_one_store(void)
{
	struct pawl_store_options options = usual();
	struct pawl_store *second;
	struct sim_disk other;

	begin();
	sim_init(&other);
	EXPECT_EQ(pawl__store_open_on(&second, &other.disk, &options), -EBUSY);
	EXPECT_STR(problem, "another service or store has options.clock");
	sim_free(&other);
	put("still here", 0);
	end();
}

static void no_task_is_early_when_the_clock_is_set_back(void)
{
	struct pawl_store_task task;

	begin();
	put("a", PAWL_HOUR);
	set_wall(START + 2 * PAWL_HOUR);
	pawl_store_poll(store);
	set_wall(START - 365 * 24 * PAWL_HOUR);
	nothing_is_due();
	pawl_store_poll(store);
	nothing_is_due();
	put("b", PAWL_MINUTE);
	nothing_is_due();
	pass(PAWL_MINUTE);
	task = take("b");
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	set_wall(START + PAWL_HOUR - 1);
	nothing_is_due();
	set_wall(START + PAWL_HOUR);
	task = take("a");
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void a_clock_set_forward_makes_far_tasks_due(void)
{
	struct pawl_store_task task;

	begin();
	put("a", 500 * 24 * PAWL_HOUR);
	set_wall(START + 500 * 24 * PAWL_HOUR);
	pawl_store_poll(store);
	task = take("a");
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	end();
}

static void the_end_of_time_is_a_time(void)
{
	struct pawl_store_task task;
	uint64_t id;

	begin();
	EXPECT_EQ(pawl_store_put_at(store, "q", PAWL_NEVER, "x", 1, &id), 0);
	EXPECT_EQ(pawl_store_put(store, "q", PAWL_NEVER, "x", 1, NULL), 0);
	EXPECT_EQ(pawl_store_put_at(store, "q", 0, "past", 4, NULL), 0);
	reopen();
	task = take("past");
	pawl_store_release(store, &task);
	EXPECT_EQ(stats().pending, 3);
	EXPECT_EQ(pawl_store_cancel(store, id), 0);
	end();
}

static void near_tasks_are_in_memory_and_far_ones_are_not(void)
{
	begin();
	put("near", PAWL_MINUTE);
	put("near", 9 * PAWL_MINUTE);
	EXPECT_EQ(stats().in_memory, 2);
	put("far", 21 * PAWL_MINUTE);
	EXPECT_EQ(stats().in_memory, 2);
	end();
}

/* A slot of which most tasks are cancelled is written anew, and the rest of them are still there. */
static void a_compacted_slot_keeps_its_tasks(void)
{
	static uint64_t ids[6000];
	struct pawl_store_task task;
	size_t left = 0;

	begin();
	for (size_t i = 0; i < 6000; i++)
		ids[i] = put("x", 100 * PAWL_HOUR);
	for (size_t i = 0; i < 6000; i++)
		if (i % 4)
			EXPECT_EQ(pawl_store_cancel(store, ids[i]), 0);
	pass(PAWL_SECOND);
	EXPECT_EQ(stats().moved, 1500);
	reopen();
	EXPECT_EQ(stats().pending, 1500);
	for (int i = 0; i < 10; i++)
		pass(10 * PAWL_HOUR);
	while (pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1) == 1) {
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
		left++;
		if (left % 100 == 0)
			pass(0);
	}
	EXPECT_EQ(left, 1500);
	end();
}

/* Tasks of one instant, more than memory takes: their slot is opened a part at a time, also over restarts. */
static void a_slot_that_is_opened_in_part_keeps_the_rest(void)
{
	static char payload[200];
	struct pawl_store_task task;
	size_t taken = 0;
	int got;

	begin();
	for (int i = 0; i < 2000; i++)
		EXPECT_EQ(pawl_store_put_at(store, "q", START + 100 * PAWL_HOUR, payload,
		                            sizeof(payload), NULL),
		          0);
	pass(100 * PAWL_HOUR);
	EXPECT(stats().in_memory > 0 && stats().in_memory < 2000);
	reopen();
	reopen();
	do {
		got = pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1);
		if (got == 1) {
			EXPECT_EQ(task.tries, 1);
			EXPECT_EQ(pawl_store_ack(store, &task), 0);
			taken++;
		}
		pass(0);
	} while (got == 1);
	EXPECT_EQ(taken, 2000);
	EXPECT_EQ(stats().pending, 0);
	reopen();
	EXPECT_EQ(stats().acked, 2000);
	EXPECT_EQ(stats().put, 2000);
	end();
}

static void fences_grow_over_restarts(void)
{
	struct pawl_store_task task;
	uint64_t fence = 0;

	begin();
	put("tea", 0);
	for (int i = 0; i < 5; i++) {
		task = take("tea");
		EXPECT_EQ(task.tries, i + 1);
		EXPECT(task.fence > fence);
		fence = task.fence;
		pawl_store_release(store, &task);
		reopen();
	}
	end();
}

static void ids_are_not_given_out_again(void)
{
	uint64_t ids[40];

	begin();
	for (int i = 0; i < 40; i++) {
		ids[i] = put("x", i % 2 ? 0 : 100 * PAWL_HOUR);
		EXPECT_EQ(pawl_store_cancel(store, ids[i]), 0);
		if (i % 7 == 6)
			reopen();
		for (int k = 0; k < i; k++)
			EXPECT(ids[k] != ids[i]);
	}
	end();
}

static void next_says_when_something_is_due(void)
{
	struct pawl_store_task task;

	begin();
	EXPECT_EQ(pawl_store_now(store), START);
	EXPECT_EQ(pawl_store_next(store), PAWL_NEVER);
	put("far", 100 * PAWL_HOUR);
	EXPECT(pawl_store_next(store) <= START + 100 * PAWL_HOUR);
	EXPECT(pawl_store_next(store) >= START + 99 * PAWL_HOUR);
	put("near", PAWL_MINUTE);
	EXPECT(pawl_store_next(store) <= START + PAWL_MINUTE);
	EXPECT(pawl_store_next(store) > START);
	pass(PAWL_MINUTE);
	EXPECT_EQ(pawl_store_next(store), START + PAWL_MINUTE);
	task = take("near");
	EXPECT(pawl_store_next(store) <= START + 2 * PAWL_MINUTE); /* its lease */
	pawl_store_ack(store, &task);
	end();
}

/* A loop that sleeps until next and then polls loses no task, and none is late. */
static void a_program_that_polls_when_next_says_so_is_in_time(void)
{
	struct pawl_store_task task;
	unsigned polls = 0;

	begin();
	put("a", PAWL_SECOND);
	put("b", 3 * PAWL_HOUR);
	put("c", 400 * PAWL_HOUR);
	for (uint64_t left = 3; left > 0 && polls < 1000; polls++) {
		uint64_t next = pawl_store_next(store), now = pawl_store_now(store);

		EXPECT(next != PAWL_NEVER);
		pass(next > now ? next - now : 0);
		if (pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1) == 1) {
			EXPECT(pawl_store_now(store) - task.due_ns <= PAWL_MS);
			EXPECT_EQ(pawl_store_ack(store, &task), 0);
			left--;
		}
	}
	EXPECT(polls < 100);
	end();
}

static void a_stopped_store_refuses(void)
{
	struct pawl_store_task task;

	begin();
	put("tea", 0);
	task = take("tea");
	pawl_store_stop(store);
	EXPECT_EQ(pawl_store_extend(store, &task, PAWL_HOUR), -ECANCELED);
	EXPECT_EQ(pawl_store_release(store, &task), 0);
	EXPECT_EQ(pawl_store_put(store, "q", 0, "x", 1, NULL), -ECANCELED);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), -ECANCELED);
	EXPECT_EQ(pawl_store_cancel(store, 1), -ECANCELED);
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_PENDING, NULL, 0, 0, &task, 1), -ECANCELED);
	end();
	pawl_store_close(NULL);
}

static void statistics_add_up(void)
{
	struct pawl_store_task task;
	struct pawl_store_stats now;

	begin();
	for (int i = 0; i < 5; i++)
		put("x", 0);
	task = take("x");
	pawl_store_ack(store, &task);
	task = take("x");
	pawl_store_bury(store, &task, "r");
	pawl_store_requeue(store, 0, 0);
	task = take("x");
	pawl_store_retry(store, &task, PAWL_HOUR);
	reopen();
	now = stats();
	EXPECT_EQ(now.put, 5);
	EXPECT_EQ(now.acked, 1);
	EXPECT_EQ(now.buried, 1);
	EXPECT_EQ(now.pending, 3);
	EXPECT_EQ(now.put + now.requeued, now.acked + now.cancelled + now.buried + now.pending);
	EXPECT_EQ(now.due, 2);
	EXPECT_EQ(now.dead, 1);
	end();
}

static void a_listed_page_goes_on_after_the_one_before(void)
{
	struct pawl_store_task page[4];
	uint64_t from = 0, after = 0, seen = 0;
	int got;

	begin();
	for (uint64_t i = 0; i < 30; i++)
		put("x", i % 3 == 0 ? 0 : i % 3 == 1 ? PAWL_HOUR * i : 400 * PAWL_HOUR);
	EXPECT_EQ(pawl_store_put(store, "other", 0, "y", 1, NULL), 0);
	while ((got = pawl_store_list(store, PAWL_STORE_PENDING, "q", from, after, page, 4)) > 0)
		for (int i = 0; i < got; i++) {
			EXPECT(page[i].due_ns > from ||
			       (page[i].due_ns == from && page[i].id > after));
			from = page[i].due_ns;
			after = page[i].id;
			pawl_store_release(store, &page[i]);
			seen++;
		}
	EXPECT_EQ(seen, 30);
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_PENDING, "nobody", 0, 0, page, 4), 0);
	end();
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_is_due_at_its_time_and_not_before),
	        TEST(tasks_of_a_queue_come_in_the_order_of_their_times),
	        TEST(a_queue_gives_out_its_own_tasks_only),
	        TEST(a_task_whose_lease_ends_is_due_again),
	        TEST(each_call_that_ends_a_lease_refuses_a_stale_one),
	        TEST(an_extended_lease_ends_later),
	        TEST(a_retried_task_keeps_its_id_and_its_tries),
	        TEST(a_released_task_is_due_at_once),
	        TEST(a_cancel_says_what_it_found),
	        TEST(a_dead_task_is_kept_with_its_reason),
	        TEST(of_too_many_dead_tasks_the_oldest_go),
	        TEST(a_bury_drops_no_task_that_its_commit_names),
	        TEST(a_take_of_very_many_takes_what_there_is),
	        TEST(a_lease_that_ends_after_the_clock_was_set_back_keeps_the_time_of_its_task),
	        TEST(a_commit_makes_all_its_changes_or_none),
	        TEST(a_task_named_twice_in_a_commit_is_refused),
	        TEST(a_far_task_that_is_cancelled_twice_in_a_commit_counts_once),
	        TEST(a_commit_that_is_too_large_ends_the_hold_on_its_tasks),
	        TEST(bad_arguments_change_nothing),
	        TEST(options_out_of_range_are_named),
	        TEST(a_clock_has_one_store),
	        TEST(no_task_is_early_when_the_clock_is_set_back),
	        TEST(a_clock_set_forward_makes_far_tasks_due),
	        TEST(the_end_of_time_is_a_time),
	        TEST(near_tasks_are_in_memory_and_far_ones_are_not),
	        TEST(a_compacted_slot_keeps_its_tasks),
	        TEST(a_slot_that_is_opened_in_part_keeps_the_rest),
	        TEST(fences_grow_over_restarts),
	        TEST(ids_are_not_given_out_again),
	        TEST(next_says_when_something_is_due),
	        TEST(a_program_that_polls_when_next_says_so_is_in_time),
	        TEST(a_stopped_store_refuses),
	        TEST(statistics_add_up),
	        TEST(a_listed_page_goes_on_after_the_one_before),
	};

	return RUN_TESTS(tests);
}
