/* SPDX-License-Identifier: MIT */
/*
 * The contract of pawl/service.h, sentence by sentence, on the manual clock, in every mode where the
 * sentence means something. Nothing here sleeps: who has to wait for a thread waits for what it does.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/random.h"
#include "../support/services.h"

#define LONGEST UINT64_MAX

/* How many tasks can run at the same time. */
static unsigned workers_of(const struct bench *bench)
{
	return bench->options.workers > 1024 ? 1 : bench->options.workers;
}

/* Every worker is busy with a gate until open_gates: what is due then stays pending. */
struct gates {
	struct note notes[4];
};

static void shut_gates(struct gates *gates, struct bench *bench)
{
	for (unsigned i = 0; i < workers_of(bench); i++) {
		note_init(&gates->notes[i], bench);
		gates->notes[i].inside = stay;
		EXPECT_EQ(pawl_service_arm(bench->service, &gates->notes[i].task, 0), 0);
	}
	begin_driving(bench);
	for (unsigned i = 0; i < workers_of(bench); i++)
		sem_wait(&gates->notes[i].entered);
}

static void open_gates(struct gates *gates, struct bench *bench)
{
	for (unsigned i = 0; i < workers_of(bench); i++)
		sem_post(&gates->notes[i].leave);
	end_driving(bench);
}

static void *on_thread_run(void *arg)
{
	struct note *note = arg;

	note->inside(note);
	return NULL;
}

/* Call inside on a thread of its own, and wait for it. */
static void on_another_thread(struct note *note, void (*inside)(struct note *))
{
	pthread_t thread;

	note->inside = inside;
	pthread_create(&thread, NULL, on_thread_run, note);
	pthread_join(thread, NULL);
	note->inside = NULL;
}

/* Arming */

IN_EVERY_MODE(a_task_runs_once_when_its_time_has_come)
{
	struct note note;

	note_init(&note, bench);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	pass(bench, 5 * MS - 1);
	EXPECT_EQ(note.runs, 0);
	pass(bench, 1);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(note.at[0], 5 * MS);
	EXPECT_EQ(pawl_service_pending(bench->service), 0);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 1, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE(a_deadline_is_rounded_up_to_the_tick)
{
	struct note after, at;

	note_init(&after, bench);
	note_init(&at, bench);
	pass(bench, 7);
	EXPECT_EQ(pawl_service_arm(bench->service, &after.task, MS), 0);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &at.task, MS), 0);
	pass(bench, MS - 8);
	EXPECT_EQ(at.runs, 0);
	pass(bench, 1);
	EXPECT_EQ(at.runs, 1);
	pass(bench, MS - 1);
	EXPECT_EQ(after.runs, 0);
	pass(bench, 1);
	EXPECT_EQ(after.runs, 1);
	end(bench);
}

IN_EVERY_MODE(no_task_is_early_and_none_is_more_than_a_tick_late)
{
	struct note *notes = malloc(200 * sizeof(*notes));
	struct random random = {1};
	uint64_t deadlines[200];

	pass(bench, 123456789);
	for (unsigned i = 0; i < 200; i++) {
		note_init(&notes[i], bench);
		deadlines[i] = bench_now(bench) + random_below(&random, 500 * MS);
		pawl_service_arm_at(bench->service, &notes[i].task, deadlines[i]);
	}
	for (unsigned i = 0; i < 2000; i++)
		pass(bench, MS / 4);
	for (unsigned i = 0; i < 200; i++) {
		EXPECT_EQ(notes[i].runs, 1);
		EXPECT(notes[i].at[0] >= deadlines[i]);
		EXPECT(notes[i].at[0] < deadlines[i] + MS + MS / 4);
	}
	free(notes);
	end(bench);
}

IN_EVERY_MODE(arming_a_pending_task_moves_it)
{
	struct note later, earlier;

	note_init(&later, bench);
	note_init(&earlier, bench);
	pawl_service_arm(bench->service, &later.task, 5 * MS);
	pawl_service_arm(bench->service, &earlier.task, HOUR);
	EXPECT_EQ(pawl_service_arm(bench->service, &later.task, HOUR), 0);
	EXPECT_EQ(pawl_service_arm(bench->service, &earlier.task, 3 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 2);
	pass(bench, 3 * MS);
	EXPECT_EQ(earlier.runs, 1);
	pass(bench, HOUR - 3 * MS - 1);
	EXPECT_EQ(later.runs, 0);
	pass(bench, 1);
	EXPECT_EQ(later.runs, 1);
	pass(bench, HOUR);
	EXPECT_EQ(earlier.runs, 1);
	EXPECT_EQ(later.runs, 1);
	expect_counts(bench->service, 2, 2, 0, 0);
	end(bench);
}

IN_EVERY_MODE(arm_at_takes_a_time_of_the_clock_and_the_past_is_now)
{
	struct note future, past;

	note_init(&future, bench);
	note_init(&past, bench);
	pass(bench, 10 * MS);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &future.task, 12 * MS), 0);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &past.task, 0), 0);
	settle(bench);
	EXPECT_EQ(past.runs, 1);
	EXPECT_EQ(future.runs, 0);
	pass(bench, 2 * MS);
	EXPECT_EQ(future.runs, 1);
	end(bench);
}

IN_EVERY_MODE(a_task_due_and_not_yet_run_can_be_moved_away)
{
	struct note armed, touched;
	struct gates gates;

	note_init(&armed, bench);
	note_init(&touched, bench);
	shut_gates(&gates, bench);
	pawl_service_arm(bench->service, &armed.task, 0);
	pawl_service_arm(bench->service, &touched.task, 0);
	EXPECT_EQ(pawl_service_arm(bench->service, &armed.task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_touch(bench->service, &touched.task, 6 * MS), 0);
	open_gates(&gates, bench);
	EXPECT_EQ(armed.runs + touched.runs, 0);
	pass(bench, 5 * MS);
	EXPECT_EQ(armed.runs, 1);
	pass(bench, MS);
	EXPECT_EQ(touched.runs, 1);
	end(bench);
}

static void arm_for_5_ms(struct note *note)
{
	note->answer = pawl_service_arm(note->bench->service, &note->task, 5 * MS);
}

static void arm_for_9_ms(struct note *note)
{
	note->answer = pawl_service_arm(note->bench->service, &note->task, 9 * MS);
}

static void touch_for_20_ms(struct note *note)
{
	note->answer = pawl_service_touch(note->bench->service, &note->task, 20 * MS);
}

static void cancel_it(struct note *note)
{
	note->answer = (int)pawl_service_cancel(note->bench->service, &note->task);
}

IN_EVERY_MODE(any_thread_arms_touches_and_cancels_any_task)
{
	struct note note;

	note_init(&note, bench);
	on_another_thread(&note, arm_for_5_ms);
	EXPECT_EQ(note.answer, 0);
	on_another_thread(&note, arm_for_9_ms);
	EXPECT_EQ(note.answer, 0);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 0);
	pass(bench, 4 * MS);
	EXPECT_EQ(note.runs, 1);
	pawl_service_arm(bench->service, &note.task, MS);
	on_another_thread(&note, touch_for_20_ms);
	pass(bench, 19 * MS);
	EXPECT_EQ(note.runs, 1);
	on_another_thread(&note, cancel_it);
	EXPECT_EQ(note.answer, PAWL_CANCELLED);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 2, 1, 1, 0);
	end(bench);
}

IN_EVERY_MODE_WITH_THREADS(delay_0_runs_soon_and_never_on_the_callers_thread)
{
	struct note note;

	note_init(&note, bench);
	note.inside = stay;
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 0), 0);
	sem_wait(&note.entered); /* without settle, and no time passes */
	sem_post(&note.leave);
	settle(bench);
	EXPECT_EQ(note.runs, 1);
	EXPECT(!pthread_equal(note.thread, pthread_self()));
	end(bench);
}

IN_EVERY_MODE_WITH_THREADS(settle_runs_nothing_on_the_callers_thread)
{
	struct note note;

	note_init(&note, bench);
	for (unsigned i = 0; i < 100; i++) {
		pawl_service_arm(bench->service, &note.task, MS);
		pass(bench, MS);
		EXPECT_EQ(note.runs, i + 1);
		EXPECT(!pthread_equal(note.thread, pthread_self()));
	}
	end(bench);
}

static void arm_again_at_once(struct note *note)
{
	int moves_time = note->number == 0;

	if (moves_time)
		pawl_clock_manual_advance(&note->bench->clock, MS);
	if (!__atomic_load_n(&note->other->answer, __ATOMIC_ACQUIRE) && note->runs < 1000000)
		pawl_service_arm(note->bench->service, &note->task, 0);
}

static void say_so(struct note *note)
{
	__atomic_store_n(&note->answer, 1, __ATOMIC_RELEASE);
}

IN_EVERY_MODE(a_task_that_arms_itself_with_delay_0_starves_nobody_who_is_due)
{
	struct note greedy, modest;

	note_init(&greedy, bench);
	note_init(&modest, bench);
	greedy.inside = arm_again_at_once;
	greedy.other = &modest;
	greedy.number = 1;
	modest.inside = say_so;
	pawl_service_arm(bench->service, &greedy.task, 0);
	pawl_service_arm(bench->service, &modest.task, 0);
	settle(bench);
	EXPECT_EQ(modest.runs, 1);
	EXPECT(greedy.runs < 1000000);
	end(bench);
}

IN_EVERY_MODE(a_task_that_arms_itself_with_delay_0_starves_nobody_who_will_be_due)
{
	struct note greedy, modest;

	note_init(&greedy, bench);
	note_init(&modest, bench);
	greedy.inside = arm_again_at_once;
	greedy.other = &modest;
	modest.inside = say_so;
	pawl_service_arm(bench->service, &modest.task, 400 * MS);
	pawl_service_arm(bench->service, &greedy.task, 0);
	settle(bench);
	EXPECT_EQ(modest.runs, 1);
	EXPECT(greedy.runs < 1000000);
	end(bench);
}

IN_EVERY_MODE(the_longest_delay_just_waits)
{
	struct note first, second, third;

	note_init(&first, bench);
	note_init(&second, bench);
	note_init(&third, bench);
	EXPECT_EQ(pawl_service_arm(bench->service, &first.task, LONGEST), 0);
	pass(bench, HOUR);
	EXPECT_EQ(pawl_service_arm(bench->service, &second.task, LONGEST), 0);
	EXPECT_EQ(pawl_service_touch(bench->service, &third.task, LONGEST), 0);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &third.task, LONGEST), 0);
	pass(bench, LONGEST - HOUR - 1);
	EXPECT_EQ(first.runs + second.runs + third.runs, 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 3);
	EXPECT_EQ(pawl_service_cancel(bench->service, &first.task), PAWL_CANCELLED);
	expect_counts(bench->service, 3, 0, 1, 0);
	end(bench);
}

IN_EVERY_MODE(a_task_without_a_function_is_refused)
{
	struct pawl_task task;

	pawl_task_init(&task, NULL);
	EXPECT_EQ(pawl_service_arm(bench->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &task, MS, PAWL_SKIP), -EINVAL);
	EXPECT_EQ(pawl_service_touch(bench->service, &task, 0), -EINVAL);
	EXPECT_EQ(pawl_service_cancel(bench->service, &task), PAWL_IDLE);
	expect_counts(bench->service, 0, 0, 0, 0);
	end(bench);
}

IN_EVERY_MODE(a_task_armed_while_it_runs_runs_again_when_its_time_has_come)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	EXPECT_EQ(pawl_service_pending(bench->service), 0);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 9 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	let_go(&note);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 5 * MS - 1);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 1);
	EXPECT_EQ(note.runs, 2);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 2);
	expect_counts(bench->service, 2, 2, 0, 0);
	end(bench);
}

IN_EVERY_MODE(a_task_armed_while_it_runs_and_due_meanwhile_runs_after_it_has_returned)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 5 * MS), 0);
	pawl_clock_manual_advance(&bench->clock, HOUR);
	sem_post(&note.leave); /* the first run, and the second one before it begins */
	let_go(&note);
	EXPECT_EQ(note.runs, 2);
	EXPECT_EQ(note.at[1], HOUR);
	expect_counts(bench->service, 2, 2, 0, 0);
	end(bench);
}

/* Others of the four workers are free, and show it by running something else. */
static void a_task_never_runs_beside_itself(void)
{
	for (unsigned shards = 1; shards <= 4; shards += 3) {
		const struct pawl_service_options options = {.workers = 4, .shards = shards};
		struct note note, others[3];
		struct bench bench;

		bench_open(&bench, &options);
		note_init(&note, &bench);
		hold(&note);
		pawl_service_arm(bench.service, &note.task, 0);
		for (unsigned i = 0; i < 3; i++) {
			note_init(&others[i], &bench);
			others[i].inside = stay;
			pawl_service_arm(bench.service, &others[i].task, 0);
		}
		for (unsigned i = 0; i < 3; i++)
			sem_wait(&others[i].entered);
		EXPECT_EQ(note.runs, 1);
		for (unsigned i = 0; i < 3; i++)
			sem_post(&others[i].leave);
		sem_post(&note.leave);
		let_go(&note);
		EXPECT_EQ(note.runs, 2);
		pawl_service_close(bench.service, NULL);
	}
}

static void three_slow_workers_of_four_hold_up_neither_the_fourth_nor_the_clock(void)
{
	const struct pawl_service_options options = {.workers = 4, .shards = 1};
	struct note slow[3], quick;
	struct bench bench;

	bench_open(&bench, &options);
	for (unsigned i = 0; i < 3; i++) {
		note_init(&slow[i], &bench);
		slow[i].inside = stay;
		pawl_service_arm(bench.service, &slow[i].task, 0);
		sem_wait(&slow[i].entered);
	}
	note_init(&quick, &bench);
	quick.inside = stay;
	for (unsigned i = 0; i < 10; i++) {
		pawl_service_arm(bench.service, &quick.task, 5 * MS);
		pawl_clock_manual_advance(&bench.clock, 5 * MS);
		sem_wait(&quick.entered);
		sem_post(&quick.leave);
		while (pawl_service_cancel_wait(bench.service, &quick.task) != PAWL_IDLE)
			;
	}
	for (unsigned i = 0; i < 3; i++)
		sem_post(&slow[i].leave);
	settle(&bench);
	EXPECT_EQ(quick.runs, 10);
	pawl_service_close(bench.service, NULL);
}

static void four_tasks_due_at_once_are_run_by_four_workers(void)
{
	const struct pawl_service_options options = {.workers = 4, .shards = 1};
	struct note notes[4];
	struct bench bench;

	bench_open(&bench, &options);
	for (unsigned i = 0; i < 4; i++) {
		note_init(&notes[i], &bench);
		notes[i].inside = stay;
		pawl_service_arm(bench.service, &notes[i].task, 5 * MS);
	}
	pawl_clock_manual_advance(&bench.clock, 5 * MS);
	for (unsigned i = 0; i < 4; i++)
		sem_wait(&notes[i].entered); /* all four at the same time */
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(&bench);
	pawl_service_close(bench.service, NULL);
}

static void watch_is_handed_on(unsigned shards)
{
	const struct pawl_service_options options = {.workers = 4, .shards = shards};
	struct note notes[4];
	struct bench bench;

	bench_open(&bench, &options);
	for (unsigned i = 0; i < 4; i++) {
		note_init(&notes[i], &bench);
		notes[i].inside = stay;
		pawl_service_arm(bench.service, &notes[i].task, (i + 1) * 5 * MS);
	}
	for (unsigned i = 0; i < 4; i++) {
		pawl_clock_manual_advance(&bench.clock, 5 * MS);
		sem_wait(&notes[i].entered); /* although all before it are still running */
	}
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(&bench);
	pawl_service_close(bench.service, NULL);
}

static void while_a_worker_is_idle_one_keeps_the_time(void)
{
	for (unsigned round = 0; round < 50; round++) {
		watch_is_handed_on(1);
		watch_is_handed_on(4);
	}
}

static void what_falls_due_while_every_worker_is_busy_is_queued(void)
{
	const struct pawl_service_options options = {.workers = 1};
	struct pawl_stats *stats = malloc(sizeof(*stats));
	struct note slow, quick[3];
	struct bench bench;

	bench_open(&bench, &options);
	note_init(&slow, &bench);
	slow.inside = stay;
	pawl_service_arm(bench.service, &slow.task, 0);
	sem_wait(&slow.entered);
	for (unsigned i = 0; i < 3; i++) {
		note_init(&quick[i], &bench);
		pawl_service_arm(bench.service, &quick[i].task, 5 * MS);
	}
	pawl_service_stats(bench.service, stats);
	EXPECT_EQ(stats->queued, 0);
	pawl_clock_manual_advance(&bench.clock, 5 * MS);
	pawl_service_stats(bench.service, stats);
	EXPECT_EQ(stats->queued, 3);
	EXPECT_EQ(stats->pending, 3);
	sem_post(&slow.leave);
	settle(&bench);
	pawl_service_stats(bench.service, stats);
	EXPECT_EQ(stats->queued, 0);
	EXPECT_EQ(stats->ran, 4);
	pawl_service_close(bench.service, NULL);
	free(stats);
}

static void an_idle_task_may_go_to_another_service(void)
{
	static const unsigned workers[] = {64, 1, PAWL_MANUAL, 4, PAWL_INLINE, 1};
	struct note note;
	struct bench bench;

	note_init(&note, &bench);
	for (unsigned i = 0; i < 6; i++) {
		const struct pawl_service_options options = {.workers = workers[i], .shards = 4};

		bench_open(&bench, &options);
		EXPECT_EQ(pawl_service_cancel(bench.service, &note.task), PAWL_IDLE);
		for (unsigned j = 0; j < 10; j++) {
			EXPECT_EQ(pawl_service_arm(bench.service, &note.task, MS), 0);
			pass(&bench, MS);
		}
		EXPECT_EQ(note.runs, 10 * (i + 1));
		pawl_service_close(bench.service, NULL);
	}
}

/* Whatever worker ran it last, the next service may have fewer. */
static void a_task_that_many_workers_ran_goes_to_a_service_with_few(void)
{
	const struct pawl_service_options many = {.workers = 4, .shards = 1};
	const struct pawl_service_options one = {.workers = 1, .shards = 1};
	struct bench first, second;
	struct note notes[4];

	bench_open(&first, &many);
	bench_open(&second, &one);
	for (unsigned i = 0; i < 4; i++) {
		note_init(&notes[i], &first);
		notes[i].inside = stay;
		pawl_service_arm(first.service, &notes[i].task, 0);
		sem_wait(&notes[i].entered); /* each has a worker of its own */
	}
	for (unsigned i = 0; i < 4; i++)
		sem_post(&notes[i].leave);
	settle(&first);
	for (unsigned i = 0; i < 4; i++) {
		notes[i].inside = NULL;
		notes[i].bench = &second;
		EXPECT_EQ(pawl_service_arm(second.service, &notes[i].task, 0), 0);
		settle(&second);
		EXPECT_EQ(notes[i].runs, 2);
	}
	pawl_service_close(first.service, NULL);
	pawl_service_close(second.service, NULL);
}

/* Touch */

IN_EVERY_MODE(touch_pushes_the_next_run_back)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	for (unsigned i = 0; i < 50; i++) {
		pass(bench, 4 * MS);
		EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 5 * MS), 0);
	}
	EXPECT_EQ(note.runs, 0);
	pass(bench, 5 * MS - 1);
	EXPECT_EQ(note.runs, 0);
	pass(bench, 1);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(note.at[0], 205 * MS);
	expect_counts(bench->service, 1, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE(touch_also_brings_forward_and_arms_what_is_idle)
{
	struct note note;

	note_init(&note, bench);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, HOUR), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 0), 0);
	settle(bench);
	EXPECT_EQ(note.runs, 2);
	pass(bench, 2 * HOUR);
	EXPECT_EQ(note.runs, 2);
	end(bench);
}

IN_EVERY_MODE(touch_of_a_running_task_arms_it_again)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	let_go(&note);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 2);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 2);
	end(bench);
}

IN_EVERY_MODE(touch_moves_a_periodic_tasks_grid_along)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	pass(bench, 10 * MS);
	pass(bench, 4 * MS);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 9 * MS), 0);
	for (unsigned i = 0; i < 40; i++)
		pass(bench, MS);
	EXPECT_EQ(note.runs, 5);
	for (unsigned i = 1; i < 5; i++)
		EXPECT_EQ(note.at[i], (13 + 10 * i) * MS);
	end(bench);
}

static void touch_once_for_3_ms(struct note *note)
{
	if (note->runs == 1)
		note->answer = pawl_service_touch(note->bench->service, &note->task, 3 * MS);
}

IN_EVERY_MODE(touch_inside_a_periodic_task_moves_its_grid_along)
{
	struct note note;

	note_init(&note, bench);
	note.inside = touch_once_for_3_ms;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	for (unsigned i = 0; i < 33; i++)
		pass(bench, MS);
	EXPECT_EQ(note.answer, 0);
	EXPECT_EQ(note.runs, 4);
	EXPECT_EQ(note.at[1], 13 * MS);
	EXPECT_EQ(note.at[2], 23 * MS);
	EXPECT_EQ(note.at[3], 33 * MS);
	expect_counts(bench->service, 5, 4, 0, 0);
	end(bench);
}

IN_EVERY_MODE(touch_of_a_cancelled_periodic_task_arms_it_once)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_CANCELLED);
	pawl_service_touch(bench->service, &note.task, 10 * MS);
	pass(bench, 10 * MS);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 2, 1, 1, 0);
	end(bench);
}

static void cancel_then_touch_for_5_ms(struct note *note)
{
	pawl_service_cancel(note->bench->service, &note->task);
	note->answer = pawl_service_touch(note->bench->service, &note->task, 5 * MS);
	note->inside = NULL;
}

IN_EVERY_MODE(touch_of_a_periodic_task_cancelled_while_it_runs_arms_it_once)
{
	struct note note;

	note_init(&note, bench);
	note.inside = cancel_then_touch_for_5_ms;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	pass(bench, 10 * MS);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 2);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 2);
	end(bench);
}

/* Cancel */

IN_EVERY_MODE(cancel_of_an_idle_task_says_idle)
{
	struct note note;

	note_init(&note, bench);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel_wait(bench->service, &note.task), PAWL_IDLE);
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	pawl_service_arm(bench->service, &note.task, HOUR);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_CANCELLED);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel_wait(bench->service, &note.task), PAWL_IDLE);
	expect_counts(bench->service, 2, 1, 1, 0);
	end(bench);
}

IN_EVERY_MODE(a_cancelled_task_does_not_run_and_its_memory_is_free)
{
	struct note *note = malloc(sizeof(*note));
	struct note *waited = malloc(sizeof(*waited));

	note_init(note, bench);
	note_init(waited, bench);
	pawl_service_arm(bench->service, &note->task, 5 * MS);
	pawl_service_arm(bench->service, &waited->task, 5 * MS);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note->task), PAWL_CANCELLED);
	EXPECT_EQ(pawl_service_cancel_wait(bench->service, &waited->task), PAWL_CANCELLED);
	free(note);
	free(waited);
	pass(bench, HOUR);
	expect_counts(bench->service, 2, 0, 2, 0);
	end(bench);
}

IN_EVERY_MODE(a_task_due_and_not_yet_run_is_still_pending)
{
	struct note *note = malloc(sizeof(*note));
	struct gates gates;

	note_init(note, bench);
	shut_gates(&gates, bench);
	pawl_service_arm(bench->service, &note->task, 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note->task), PAWL_CANCELLED);
	free(note);
	open_gates(&gates, bench);
	expect_counts(bench->service, workers_of(bench) + 1, workers_of(bench), 1, 0);
	end(bench);
}

IN_EVERY_MODE(cancel_of_a_running_task_says_running_and_does_not_wait)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	expect_counts(bench->service, 1, 1, 0, 0);
	let_go(&note);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	expect_counts(bench->service, 1, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE(cancel_of_a_running_task_takes_away_an_arming_made_meanwhile)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	EXPECT_EQ(pawl_service_pending(bench->service), 0);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	expect_counts(bench->service, 2, 1, 1, 0);
	let_go(&note);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 2, 1, 1, 0);
	end(bench);
}

IN_EVERY_MODE(a_running_task_cancelled_and_armed_once_more_runs_again)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	pawl_service_arm(bench->service, &note.task, HOUR);
	pawl_service_cancel(bench->service, &note.task);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 5 * MS), 0);
	let_go(&note);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 2);
	expect_counts(bench->service, 3, 2, 1, 0);
	end(bench);
}

IN_EVERY_MODE(cancel_of_a_running_periodic_task_ends_it_with_this_run)
{
	struct note note;

	note_init(&note, bench);
	note.inside = stay;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_BURST);
	pawl_clock_manual_advance(&bench->clock, 25 * MS);
	begin_driving(bench);
	sem_wait(&note.entered);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	let_go(&note);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 1, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE(a_periodic_task_cancelled_and_armed_again_while_it_runs_is_periodic_anew)
{
	struct note note;

	note_init(&note, bench);
	note.inside = stay;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	pawl_clock_manual_advance(&bench->clock, 10 * MS);
	begin_driving(bench);
	sem_wait(&note.entered);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, 7 * MS, PAWL_SKIP), 0);
	let_go(&note);
	for (unsigned i = 0; i < 14; i++)
		pass(bench, MS);
	EXPECT_EQ(note.runs, 3);
	EXPECT_EQ(note.at[1], 17 * MS);
	EXPECT_EQ(note.at[2], 24 * MS);
	end(bench);
}

static void *cancel_wait_run(void *arg)
{
	struct note *note = arg;
	enum pawl_cancel found = pawl_service_cancel_wait(note->bench->service, &note->task);

	EXPECT_EQ(note->number, 1); /* the run is over */
	note->answer = (int)found;
	return NULL;
}

static void stay_and_note_the_end(struct note *note)
{
	stay(note);
	note->number = 1;
}

/* That the waiting has begun shows in the arming that it takes away. */
static void let_go_when_cancelled(struct note *note, pthread_t waiter)
{
	while (pawl_service_pending(note->bench->service))
		sched_yield();
	sem_post(&note->leave);
	pthread_join(waiter, NULL);
	end_driving(note->bench);
}

IN_EVERY_MODE(cancel_wait_of_a_running_task_returns_after_the_run)
{
	for (unsigned i = 0; i < 20; i++) {
		struct note *note = malloc(sizeof(*note));
		pthread_t waiter;

		note_init(note, bench);
		note->inside = stay_and_note_the_end;
		pawl_service_arm(bench->service, &note->task, 0);
		begin_driving(bench);
		sem_wait(&note->entered);
		pawl_service_arm(bench->service, &note->task, 5 * MS);
		pthread_create(&waiter, NULL, cancel_wait_run, note);
		let_go_when_cancelled(note, waiter);
		EXPECT_EQ(note->answer, PAWL_RUNNING);
		EXPECT_EQ(note->runs, 1);
		free(note);
	}
	pass(bench, HOUR);
	expect_counts(bench->service, 40, 20, 20, 0);
	end(bench);
}

/* Inside */

static void cancel_wait_itself(struct note *note)
{
	note->answer = (int)pawl_service_cancel_wait(note->bench->service, &note->task);
}

IN_EVERY_MODE(cancel_wait_inside_the_task_itself_does_not_wait)
{
	struct note note;

	note_init(&note, bench);
	note.inside = cancel_wait_itself;
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(note.answer, PAWL_RUNNING);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	end(bench);
}

static void cancel_wait_the_other(struct note *note)
{
	note->answer = (int)pawl_service_cancel_wait(note->bench->service, &note->other->task);
}

IN_EVERY_MODE(a_task_may_cancel_wait_another_one)
{
	struct note note, pending;

	note_init(&note, bench);
	note_init(&pending, bench);
	note.inside = cancel_wait_the_other;
	note.other = &pending;
	pawl_service_arm(bench->service, &pending.task, 5 * MS);
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	EXPECT_EQ(note.answer, PAWL_CANCELLED);
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	EXPECT_EQ(note.answer, PAWL_IDLE);
	pass(bench, HOUR);
	EXPECT_EQ(pending.runs, 0);
	end(bench);
}

static void a_task_may_cancel_wait_another_one_that_runs(void)
{
	const struct pawl_service_options options = {.workers = 2, .shards = 1};
	struct note note, running;
	struct bench bench;

	bench_open(&bench, &options);
	note_init(&note, &bench);
	note_init(&running, &bench);
	note.inside = cancel_wait_the_other;
	note.other = &running;
	running.inside = stay_and_note_the_end;
	pawl_service_arm(bench.service, &running.task, 0);
	sem_wait(&running.entered);
	pawl_service_arm(bench.service, &running.task, HOUR);
	pawl_service_arm(bench.service, &note.task, 0);
	while (pawl_service_pending(bench.service))
		sched_yield();
	sem_post(&running.leave);
	settle(&bench);
	EXPECT_EQ(note.answer, PAWL_RUNNING);
	EXPECT_EQ(running.number, 1);
	expect_counts(bench.service, 3, 2, 1, 0);
	pawl_service_close(bench.service, NULL);
}

static void call_everything(struct note *note)
{
	struct pawl_service *service = note->bench->service;
	struct pawl_task *other = &note->other->task;

	EXPECT_EQ(pawl_service_pending(service), 0);
	EXPECT_EQ(pawl_service_arm(service, other, HOUR), 0);
	EXPECT_EQ(pawl_service_touch(service, other, 2 * HOUR), 0);
	EXPECT_EQ(pawl_service_arm_at(service, other, HOUR), 0);
	EXPECT_EQ(pawl_service_arm_every(service, other, HOUR, PAWL_BURST), 0);
	EXPECT_EQ(pawl_service_cancel(service, other), PAWL_CANCELLED);
	EXPECT_EQ(pawl_service_cancel_wait(service, other), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel(service, &note->task), PAWL_RUNNING);
	EXPECT_EQ(pawl_service_arm(service, &note->task, HOUR), 0);
	EXPECT_EQ(pawl_service_touch(service, &note->task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_pending(service), 1);
	EXPECT_EQ(pawl_service_arm(service, other, 2 * MS), 0);
	EXPECT_EQ(pawl_service_poll(service, 0), 0);
	EXPECT(pawl_service_next(service) <= 2 * MS);
	expect_counts(service, 4, 1, 1, 0);
	note->inside = NULL;
}

IN_EVERY_MODE(every_call_is_legal_inside_a_task)
{
	struct note note, other;

	note_init(&note, bench);
	note_init(&other, bench);
	note.inside = call_everything;
	note.other = &other;
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	pass(bench, 2 * MS);
	EXPECT_EQ(other.runs, 1);
	pass(bench, 3 * MS);
	EXPECT_EQ(note.runs, 2);
	expect_counts(bench->service, 4, 3, 1, 0);
	end(bench);
}

static void free_it(struct pawl_task *task)
{
	memset(task, 0xA5, sizeof(*task));
	free(task);
}

IN_EVERY_MODE(a_task_may_free_itself)
{
	for (unsigned i = 0; i < 100; i++) {
		struct pawl_task *task = malloc(sizeof(*task));

		pawl_task_init(task, free_it);
		pawl_service_arm(bench->service, task, i % 3 * MS);
	}
	pass(bench, 2 * MS);
	expect_counts(bench->service, 100, 100, 0, 0);
	end(bench);
}

static void cancel_and_free_it(struct pawl_task *task)
{
	struct note *note = note_from(task);

	EXPECT_EQ(pawl_service_cancel(note->bench->service, task), PAWL_RUNNING);
	memset(note, 0xA5, sizeof(*note));
	free(note);
}

IN_EVERY_MODE(a_periodic_task_may_cancel_and_free_itself)
{
	for (unsigned i = 0; i < 100; i++) {
		struct note *note = malloc(sizeof(*note));

		note_init(note, bench);
		pawl_task_init(&note->task, cancel_and_free_it);
		pawl_service_arm_every(bench->service, &note->task, MS, (enum pawl_missed)(i % 3));
	}
	pass(bench, MS);
	pass(bench, HOUR);
	expect_counts(bench->service, 100, 100, 0, 0);
	end(bench);
}

/* The memory is a new task before the old one's function has returned. */
static void become_another_task(struct note *note)
{
	pawl_task_init(&note->task, note_run);
	EXPECT_EQ(pawl_service_cancel(note->bench->service, &note->task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_arm(note->bench->service, &note->task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_cancel(note->bench->service, &note->task), PAWL_CANCELLED);
	EXPECT_EQ(pawl_service_arm(note->bench->service, &note->task, 7 * MS), 0);
	note->inside = NULL;
}

IN_EVERY_MODE(a_task_may_use_its_memory_for_another_one)
{
	struct note note;

	note_init(&note, bench);
	note.inside = become_another_task;
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 6 * MS);
	EXPECT_EQ(note.runs, 1);
	pass(bench, MS);
	EXPECT_EQ(note.runs, 2);
	expect_counts(bench->service, 3, 2, 1, 0);
	end(bench);
}

/* Periodic tasks */

IN_EVERY_MODE(a_periodic_task_runs_every_period_from_one_period_on)
{
	for (int missed = PAWL_SKIP; missed <= PAWL_DELAY; missed++) {
		uint64_t start = bench_now(bench);
		struct note note;

		note_init(&note, bench);
		EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, 10 * MS,
		                                 (enum pawl_missed)missed),
		          0);
		pass(bench, 10 * MS - 1);
		EXPECT_EQ(note.runs, 0);
		pass(bench, 1);
		for (unsigned i = 1; i < 20; i++)
			pass(bench, 10 * MS);
		EXPECT_EQ(note.runs, 20);
		for (unsigned i = 0; i < 20; i++)
			EXPECT_EQ(note.at[i], start + (i + 1) * 10 * MS);
		EXPECT_EQ(pawl_service_pending(bench->service), 1);
		EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_CANCELLED);
		pass(bench, HOUR);
		EXPECT_EQ(note.runs, 20);
	}
	expect_counts(bench->service, 63, 60, 3, 0);
	end(bench);
}

/* Rounding to ticks does not add up. */
IN_EVERY_MODE(a_period_that_is_no_multiple_of_the_tick_does_not_drift)
{
	struct note skip, burst;

	note_init(&skip, bench);
	note_init(&burst, bench);
	pass(bench, 300);
	pawl_service_arm_every(bench->service, &skip.task, 3 * MS + MS / 2, PAWL_SKIP);
	pawl_service_arm_every(bench->service, &burst.task, 3 * MS + MS / 2, PAWL_BURST);
	pass(bench, MS - 300);
	for (unsigned i = 1; i < 200; i++)
		pass(bench, MS);
	EXPECT_EQ(skip.runs, 57);
	EXPECT_EQ(burst.runs, 57);
	for (unsigned i = 0; i < 57; i++) {
		uint64_t deadline = 300 + (i + 1) * (3 * MS + MS / 2);

		EXPECT_EQ(skip.at[i], (deadline + MS - 1) / MS * MS);
		EXPECT_EQ(burst.at[i], (deadline + MS - 1) / MS * MS);
	}
	end(bench);
}

IN_EVERY_MODE(skip_leaves_missed_periods_out_and_stays_on_the_grid)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	pass(bench, 35 * MS);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 5 * MS - 1);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 1);
	EXPECT_EQ(note.runs, 2);
	pass(bench, 9 * MS);
	EXPECT_EQ(note.runs, 2);
	pass(bench, MS);
	EXPECT_EQ(note.runs, 3);
	pass(bench, HOUR + 5 * MS);
	EXPECT_EQ(note.runs, 4);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, 5);
	EXPECT_EQ(note.at[4], 50 * MS + HOUR + 10 * MS);
	expect_counts(bench->service, 6, 5, 0, 0);
	end(bench);
}

IN_EVERY_MODE(burst_makes_up_for_all_missed_periods)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_BURST);
	pass(bench, 35 * MS);
	EXPECT_EQ(note.runs, 3);
	pass(bench, 4 * MS);
	EXPECT_EQ(note.runs, 3);
	pass(bench, MS);
	EXPECT_EQ(note.runs, 4);
	pass(bench, SECOND);
	EXPECT_EQ(note.runs, 104);
	expect_counts(bench->service, 105, 104, 0, 0);
	end(bench);
}

IN_EVERY_MODE(delay_counts_a_period_from_the_end_of_each_run)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_DELAY);
	pass(bench, 35 * MS);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 10 * MS - 1);
	EXPECT_EQ(note.runs, 1);
	pass(bench, 1);
	EXPECT_EQ(note.runs, 2);
	EXPECT_EQ(note.at[1], 45 * MS);
	end(bench);
}

static void take_25_ms(struct note *note)
{
	if (note->runs == 1)
		pawl_clock_manual_advance(&note->bench->clock, 25 * MS);
}

/* A run of 25 ms from 10 on, every 10. */
static void expect_after_a_long_run(struct bench *bench, enum pawl_missed missed,
                                    unsigned runs_at_35, unsigned runs_at_40, unsigned runs_at_45)
{
	uint64_t start = bench_now(bench);
	struct note note;

	note_init(&note, bench);
	note.inside = take_25_ms;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, missed);
	pass(bench, 10 * MS);
	EXPECT_EQ(bench_now(bench), start + 35 * MS);
	EXPECT_EQ(note.runs, runs_at_35);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, runs_at_40);
	pass(bench, 5 * MS);
	EXPECT_EQ(note.runs, runs_at_45);
	pawl_service_cancel(bench->service, &note.task);
}

IN_EVERY_MODE(a_run_longer_than_its_period_misses_periods_too)
{
	expect_after_a_long_run(bench, PAWL_SKIP, 1, 2, 2);
	expect_after_a_long_run(bench, PAWL_BURST, 3, 4, 4);
	expect_after_a_long_run(bench, PAWL_DELAY, 1, 1, 2);
	end(bench);
}

IN_EVERY_MODE(a_period_of_0_or_an_unknown_policy_is_refused)
{
	struct note note;

	note_init(&note, bench);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, 0, PAWL_SKIP), -EINVAL);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, MS, (enum pawl_missed)3),
	          -EINVAL);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, 0, PAWL_SKIP), -EINVAL);
	pass(bench, 5 * MS);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	expect_counts(bench->service, 1, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE(arm_makes_a_periodic_task_a_one_shot_one_and_back)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_BURST);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	pass(bench, 5 * MS);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 1);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_BURST);
	pass(bench, 30 * MS);
	EXPECT_EQ(note.runs, 4);
	pawl_service_arm_at(bench->service, &note.task, bench_now(bench) + MS);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 5);
	end(bench);
}

static void arm_once_for_5_ms(struct note *note)
{
	pawl_service_arm(note->bench->service, &note->task, 5 * MS);
	note->inside = NULL;
}

IN_EVERY_MODE(arm_inside_a_periodic_task_makes_it_a_one_shot_one)
{
	struct note note;

	note_init(&note, bench);
	note.inside = arm_once_for_5_ms;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_BURST);
	pass(bench, 10 * MS);
	pass(bench, 5 * MS);
	pass(bench, HOUR);
	EXPECT_EQ(note.runs, 2);
	EXPECT_EQ(note.at[1], 15 * MS);
	expect_counts(bench->service, 2, 2, 0, 0);
	end(bench);
}

static void arm_every_7_ms(struct note *note)
{
	pawl_service_arm_every(note->bench->service, &note->task, 7 * MS, PAWL_SKIP);
	note->inside = NULL;
}

IN_EVERY_MODE(arm_every_inside_a_task_makes_it_periodic)
{
	struct note note;

	note_init(&note, bench);
	note.inside = arm_every_7_ms;
	pawl_service_arm(bench->service, &note.task, MS);
	pass(bench, MS);
	pass(bench, 7 * MS);
	pass(bench, 7 * MS);
	EXPECT_EQ(note.runs, 3);
	expect_counts(bench->service, 4, 3, 0, 0);
	end(bench);
}

static void cancel_at_the_third_run(struct note *note)
{
	if (note->runs == 3)
		note->answer = (int)pawl_service_cancel(note->bench->service, &note->task);
}

IN_EVERY_MODE(a_periodic_task_ends_with_a_cancel_from_inside)
{
	for (int missed = PAWL_SKIP; missed <= PAWL_DELAY; missed++) {
		struct note note;

		note_init(&note, bench);
		note.inside = cancel_at_the_third_run;
		pawl_service_arm_every(bench->service, &note.task, 10 * MS,
		                       (enum pawl_missed)missed);
		for (unsigned i = 0; i < 10; i++)
			pass(bench, 10 * MS);
		EXPECT_EQ(note.runs, 3);
		EXPECT_EQ(note.answer, PAWL_RUNNING);
		EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	}
	expect_counts(bench->service, 9, 9, 0, 0);
	end(bench);
}

IN_EVERY_MODE(the_longest_period_just_waits)
{
	struct note note;

	note_init(&note, bench);
	pass(bench, 5 * MS);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, LONGEST, PAWL_BURST), 0);
	pass(bench, LONGEST - HOUR);
	EXPECT_EQ(note.runs, 0);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, MS), 0);
	pass(bench, 2 * MS); /* it is between two ticks */
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(pawl_service_pending(bench->service), 1);
	end(bench);
}

/* max_pending */

IN_EVERY_MODE_LIMITED(2, a_new_arming_beyond_max_pending_is_refused_and_changes_nothing)
{
	struct note notes[3];

	for (unsigned i = 0; i < 3; i++)
		note_init(&notes[i], bench);
	EXPECT_EQ(pawl_service_arm(bench->service, &notes[0].task, 5 * MS), 0);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &notes[1].task, HOUR, PAWL_SKIP), 0);
	EXPECT_EQ(pawl_service_arm(bench->service, &notes[2].task, 0), -EAGAIN);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &notes[2].task, 0), -EAGAIN);
	EXPECT_EQ(pawl_service_touch(bench->service, &notes[2].task, 0), -EAGAIN);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &notes[2].task, MS, PAWL_SKIP), -EAGAIN);
	EXPECT_EQ(pawl_service_cancel(bench->service, &notes[2].task), PAWL_IDLE);
	expect_counts(bench->service, 2, 0, 0, 0);
	pass(bench, 4 * MS);
	EXPECT_EQ(notes[2].runs, 0);
	end(bench);
}

IN_EVERY_MODE_LIMITED(2, a_task_that_is_pending_may_always_be_moved)
{
	struct note notes[2];

	for (unsigned i = 0; i < 2; i++) {
		note_init(&notes[i], bench);
		EXPECT_EQ(pawl_service_arm(bench->service, &notes[i].task, 5 * MS), 0);
	}
	EXPECT_EQ(pawl_service_arm(bench->service, &notes[0].task, 7 * MS), 0);
	EXPECT_EQ(pawl_service_touch(bench->service, &notes[1].task, 8 * MS), 0);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &notes[0].task, 9 * MS, PAWL_SKIP), 0);
	pass(bench, 8 * MS);
	EXPECT_EQ(notes[1].runs, 1);
	pass(bench, MS);
	EXPECT_EQ(notes[0].runs, 1);
	end(bench);
}

IN_EVERY_MODE_LIMITED(1, a_place_is_free_after_a_run_and_after_a_cancel)
{
	struct note note;

	note_init(&note, bench);
	for (unsigned i = 0; i < 20; i++) {
		EXPECT_EQ(pawl_service_arm(bench->service, &note.task, MS), 0);
		pass(bench, MS);
		EXPECT_EQ(pawl_service_arm(bench->service, &note.task, MS), 0);
		EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_CANCELLED);
		EXPECT_EQ(pawl_service_touch(bench->service, &note.task, MS), 0);
		pass(bench, MS);
	}
	EXPECT_EQ(note.runs, 40);
	end(bench);
}

/* A free place is one, and not more: the next but one arming is refused. */
static void expect_free_places(struct bench *bench, unsigned places)
{
	struct note notes[3];

	for (unsigned i = 0; i <= places; i++) {
		note_init(&notes[i], bench);
		EXPECT_EQ(pawl_service_arm(bench->service, &notes[i].task, HOUR),
		          i < places ? 0 : -EAGAIN);
	}
	for (unsigned i = 0; i < places; i++)
		EXPECT_EQ(pawl_service_cancel(bench->service, &notes[i].task), PAWL_CANCELLED);
}

IN_EVERY_MODE_LIMITED(2, a_one_shot_task_has_no_place_while_it_runs_unless_armed_again)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	expect_free_places(bench, 2);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, MS), 0);
	expect_free_places(bench, 1);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 2 * MS), 0);
	expect_free_places(bench, 1);
	let_go(&note);
	expect_free_places(bench, 1);
	pass(bench, 2 * MS);
	expect_free_places(bench, 2);
	EXPECT_EQ(note.runs, 2);
	end(bench);
}

IN_EVERY_MODE_LIMITED(1, a_running_task_is_refused_like_any_other)
{
	struct note note, other;

	note_init(&note, bench);
	note_init(&other, bench);
	hold(&note);
	EXPECT_EQ(pawl_service_arm(bench->service, &other.task, HOUR), 0);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 0), -EAGAIN);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 0), -EAGAIN);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &note.task, MS, PAWL_SKIP), -EAGAIN);
	let_go(&note);
	pass(bench, 10 * MS);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	expect_counts(bench->service, 2, 1, 0, 0);
	end(bench);
}

IN_EVERY_MODE_LIMITED(2, a_cancel_of_a_running_task_gives_its_place_back_at_once)
{
	struct note note;

	note_init(&note, bench);
	hold(&note);
	pawl_service_arm(bench->service, &note.task, MS);
	pawl_service_cancel(bench->service, &note.task);
	expect_free_places(bench, 2);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, MS), 0);
	expect_free_places(bench, 1);
	let_go(&note);
	expect_free_places(bench, 1);
	pass(bench, MS);
	expect_free_places(bench, 2);
	end(bench);
}

IN_EVERY_MODE_LIMITED(2, a_periodic_task_keeps_its_place_while_it_runs)
{
	struct note note;

	note_init(&note, bench);
	note.inside = stay;
	pawl_service_arm_every(bench->service, &note.task, 10 * MS, PAWL_SKIP);
	pawl_clock_manual_advance(&bench->clock, 10 * MS);
	begin_driving(bench);
	sem_wait(&note.entered);
	expect_free_places(bench, 1);
	EXPECT_EQ(pawl_service_touch(bench->service, &note.task, 10 * MS), 0);
	expect_free_places(bench, 1);
	let_go(&note);
	expect_free_places(bench, 1);
	for (unsigned i = 0; i < 5; i++)
		pass(bench, 10 * MS);
	EXPECT_EQ(note.runs, 6);
	expect_free_places(bench, 1);
	pawl_service_cancel(bench->service, &note.task);
	expect_free_places(bench, 2);
	end(bench);
}

IN_EVERY_MODE_LIMITED(2, a_periodic_task_that_has_ended_has_no_place)
{
	struct note inside, outside;

	note_init(&inside, bench);
	inside.inside = cancel_it;
	pawl_service_arm_every(bench->service, &inside.task, 10 * MS, PAWL_SKIP);
	pass(bench, 10 * MS);
	expect_free_places(bench, 2);

	note_init(&outside, bench);
	outside.inside = stay;
	pawl_service_arm_every(bench->service, &outside.task, 10 * MS, PAWL_SKIP);
	pawl_clock_manual_advance(&bench->clock, 10 * MS);
	begin_driving(bench);
	sem_wait(&outside.entered);
	EXPECT_EQ(pawl_service_cancel(bench->service, &outside.task), PAWL_RUNNING);
	expect_free_places(bench, 2);
	EXPECT_EQ(pawl_service_cancel(bench->service, &outside.task), PAWL_RUNNING);
	let_go(&outside);
	expect_free_places(bench, 2);
	end(bench);
}

/* Stop */

IN_EVERY_MODE(stop_hands_each_pending_task_to_dropped_exactly_once)
{
	static const uint64_t delays[] = {0, MS, 5 * MS, 300 * MS, HOUR, 20000 * HOUR, LONGEST};
	struct note notes[COUNTOF(delays)], periodic, gone, never;
	struct gates gates;
	unsigned others = workers_of(bench);

	shut_gates(&gates, bench);
	for (unsigned i = 0; i < COUNTOF(delays); i++) {
		note_init(&notes[i], bench);
		pawl_service_arm(bench->service, &notes[i].task, delays[i]);
	}
	note_init(&never, bench);
	note_init(&gone, bench);
	note_init(&periodic, bench);
	pawl_service_arm(bench->service, &gone.task, MS);
	pawl_service_arm_every(bench->service, &periodic.task, MS, PAWL_BURST);
	EXPECT_EQ(pawl_service_cancel(bench->service, &gone.task), PAWL_CANCELLED);
	EXPECT_EQ(pawl_service_cancel(bench->service, &notes[0].task), PAWL_CANCELLED);
	open_gates(&gates, bench);
	pawl_service_stop(bench->service, note_drop);
	EXPECT_EQ(notes[0].drops + never.drops + gone.drops, 0);
	for (unsigned i = 1; i < COUNTOF(delays); i++)
		EXPECT_EQ(notes[i].drops, 1);
	EXPECT_EQ(periodic.drops, 1);
	expect_counts(bench->service, others + 9, others, 2, 7);
	end(bench);
}

static void free_dropped(struct pawl_task *task)
{
	struct note *note = note_from(task);
	struct pawl_service *service = note->bench->service;

	EXPECT_EQ(pawl_service_arm(service, task, 0), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_cancel(service, task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel_wait(service, task), PAWL_IDLE);
	EXPECT(pthread_equal(note->thread, pthread_self()));
	EXPECT_EQ(pawl_service_cancel(service, &note->other->task),
	          note->other->number ? PAWL_IDLE : PAWL_CANCELLED);
	note->other->number = 1;
	memset(note, 0xA5, sizeof(*note));
	free(note);
}

IN_EVERY_MODE(dropped_is_called_on_the_stopping_thread_and_may_free_and_cancel)
{
	struct note other;

	note_init(&other, bench);
	for (unsigned i = 0; i < 20; i++) {
		struct note *note = malloc(sizeof(*note));

		note_init(note, bench);
		note->thread = pthread_self();
		note->other = &other;
		pawl_service_arm(bench->service, &note->task, (i + 1) * MS);
	}
	pawl_service_arm(bench->service, &other.task, LONGEST);
	pawl_service_stop(bench->service, free_dropped);
	EXPECT_EQ(other.drops, 0);
	expect_counts(bench->service, 21, 0, 1, 20);
	end(bench);
}

static void *stop_run(void *arg)
{
	struct note *note = arg;

	pawl_service_stop(note->bench->service, note_drop);
	EXPECT_EQ(note->number, 1); /* the run is over */
	return NULL;
}

/* Until it refuses. The task is running: so this arming is never carried out. */
static void await_refusal(struct note *note)
{
	while (pawl_service_touch(note->bench->service, &note->task, HOUR) != -ESHUTDOWN)
		sched_yield();
}

IN_EVERY_MODE(stop_waits_for_what_runs_and_refuses_meanwhile)
{
	struct note note, pending, fresh;
	pthread_t stopper;

	note_init(&note, bench);
	note_init(&pending, bench);
	note_init(&fresh, bench);
	note.inside = stay_and_note_the_end;
	pawl_service_arm(bench->service, &note.task, 0);
	pawl_service_arm(bench->service, &pending.task, HOUR);
	begin_driving(bench);
	sem_wait(&note.entered);
	pthread_create(&stopper, NULL, stop_run, &note);
	await_refusal(&note);
	while (pawl_service_arm(bench->service, &fresh.task, HOUR) != -ESHUTDOWN)
		sched_yield();
	EXPECT_EQ(pawl_service_arm_every(bench->service, &fresh.task, MS, PAWL_SKIP), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &fresh.task, MS), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_RUNNING);
	while (pawl_service_arm(bench->service, &pending.task, MS) != -ESHUTDOWN)
		sched_yield();
	EXPECT_EQ(pawl_service_cancel(bench->service, &pending.task), PAWL_CANCELLED);
	sem_post(&note.leave);
	pthread_join(stopper, NULL);
	end_driving(bench);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(note.drops + pending.drops, 0);
	EXPECT_EQ(pawl_service_pending(bench->service), 0);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	end(bench);
}

IN_EVERY_MODE(a_running_task_armed_again_is_dropped_by_stop)
{
	struct note note;
	pthread_t stopper;

	note_init(&note, bench);
	note.inside = stay_and_note_the_end;
	pawl_service_arm(bench->service, &note.task, 0);
	begin_driving(bench);
	sem_wait(&note.entered);
	EXPECT_EQ(pawl_service_arm(bench->service, &note.task, 0), 0);
	pthread_create(&stopper, NULL, stop_run, &note);
	await_refusal(&note);
	sem_post(&note.leave);
	pthread_join(stopper, NULL);
	end_driving(bench);
	EXPECT_EQ(note.runs, 1);
	EXPECT_EQ(note.drops, 1);
	expect_counts(bench->service, 2, 1, 0, 1);
	end(bench);
}

IN_EVERY_MODE(what_is_due_when_stop_begins_is_dropped_and_not_run)
{
	struct note due[3];
	struct gates gates;
	pthread_t stopper;

	shut_gates(&gates, bench);
	for (unsigned i = 0; i < 3; i++) {
		note_init(&due[i], bench);
		pawl_service_arm(bench->service, &due[i].task, 0);
	}
	due[0].number = 1;
	pthread_create(&stopper, NULL, stop_run, &due[0]);
	for (unsigned i = 0; i < 3; i++)
		await_refusal(&due[i]);
	for (unsigned i = 0; i < workers_of(bench); i++)
		await_refusal(&gates.notes[i]);
	open_gates(&gates, bench);
	pthread_join(stopper, NULL);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(due[i].runs, 0);
		EXPECT_EQ(due[i].drops, 1);
	}
	end(bench);
}

IN_EVERY_MODE(after_stop_the_service_refuses_and_tells_the_truth)
{
	struct note ran, dropped, fresh;

	note_init(&ran, bench);
	note_init(&dropped, bench);
	note_init(&fresh, bench);
	pawl_service_arm(bench->service, &ran.task, 0);
	pawl_service_arm(bench->service, &dropped.task, MS);
	settle(bench);
	pawl_service_stop(bench->service, note_drop);
	EXPECT_EQ(pawl_service_arm(bench->service, &ran.task, 0), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_arm(bench->service, &fresh.task, 0), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_touch(bench->service, &fresh.task, 0), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_arm_at(bench->service, &dropped.task, 0), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_arm_every(bench->service, &fresh.task, 1, PAWL_SKIP), -ESHUTDOWN);
	EXPECT_EQ(pawl_service_cancel(bench->service, &ran.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel(bench->service, &dropped.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_cancel_wait(bench->service, &fresh.task), PAWL_IDLE);
	EXPECT_EQ(pawl_service_poll(bench->service, 0), 0);
	EXPECT_EQ(pawl_service_next(bench->service), PAWL_NEVER);
	pass(bench, HOUR);
	EXPECT_EQ(ran.runs, 1);
	EXPECT_EQ(dropped.runs + fresh.runs, 0);
	expect_counts(bench->service, 2, 1, 0, 1);
	end(bench);
}

IN_EVERY_MODE(a_second_stop_does_nothing)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm(bench->service, &note.task, MS);
	pawl_service_stop(bench->service, note_drop);
	pawl_service_stop(bench->service, note_drop);
	pawl_service_stop(bench->service, NULL);
	EXPECT_EQ(note.drops, 1);
	expect_counts(bench->service, 1, 0, 0, 1);
	end(bench);
}

IN_EVERY_MODE(dropped_may_be_null)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm(bench->service, &note.task, MS);
	pawl_service_stop(bench->service, NULL);
	EXPECT_EQ(note.runs + note.drops, 0);
	EXPECT_EQ(pawl_service_cancel(bench->service, &note.task), PAWL_IDLE);
	expect_counts(bench->service, 1, 0, 0, 1);
	end(bench);
}

static void close_stops_too(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct note note;
		struct bench bench;

		bench_open(&bench, &every_mode[i]);
		note_init(&note, &bench);
		pawl_service_arm(bench.service, &note.task, MS);
		pawl_service_close(bench.service, note_drop);
		EXPECT_EQ(note.drops, 1);
	}
	pawl_service_close(NULL, NULL);
	pawl_service_close(NULL, note_drop);
}

static void stop_it(struct note *note)
{
	pawl_service_stop(note->bench->service, NULL);
}

static void close_it(struct note *note)
{
	pawl_service_close(note->bench->service, NULL);
}

/* What a child writes to stderr; it ends by a signal, or something is wrong. */
static size_t child_says(void (*child)(const void *), const void *arg, char *text, size_t size)
{
	int fds[2], status = 0;
	size_t length = 0;
	ssize_t got;
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		dup2(fds[1], 2);
		child(arg);
		_exit(0);
	}
	close(fds[1]);
	while ((got = read(fds[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	return length;
}

struct mistake {
	const struct pawl_service_options *options;
	void (*inside)(struct note *note);
};

static void make_mistake(const void *arg)
{
	const struct mistake *mistake = arg;
	struct note note;
	struct bench bench;

	bench_open(&bench, mistake->options);
	note_init(&note, &bench);
	note.inside = mistake->inside;
	pawl_service_arm(bench.service, &note.task, 0);
	settle(&bench);
}

static void stop_inside_a_task_ends_the_program_with_a_message(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		const struct mistake stopping = {&every_mode[i], stop_it};
		const struct mistake closing = {&every_mode[i], close_it};
		char text[1024];

		child_says(make_mistake, &stopping, text, sizeof(text));
		EXPECT(strstr(text, "pawl_service_stop") != NULL);
		child_says(make_mistake, &closing, text, sizeof(text));
		EXPECT(strstr(text, "pawl_service_close") != NULL);
	}
}

static void stop_the_others_service(struct note *note)
{
	pawl_service_stop(note->other->bench->service, note_drop);
}

static void a_task_may_stop_another_service(void)
{
	const struct pawl_service_options options = {.workers = 1};
	struct note note, other;
	struct bench mine, its;

	bench_open(&mine, &options);
	bench_open(&its, &options);
	note_init(&note, &mine);
	note_init(&other, &its);
	note.inside = stop_the_others_service;
	note.other = &other;
	pawl_service_arm(its.service, &other.task, MS);
	pawl_service_arm(mine.service, &note.task, 0);
	settle(&mine);
	EXPECT_EQ(other.drops, 1);
	pawl_service_close(its.service, NULL);
	pawl_service_close(mine.service, NULL);
}

/* Order */

#define ORDERED 600

static struct {
	unsigned numbers[ORDERED];
	size_t count;
} order;

static void note_order(struct note *note)
{
	if (order.count < ORDERED)
		order.numbers[order.count] = (unsigned)note->number;
	order.count++;
}

static uint64_t tick_of(uint64_t ns)
{
	return (ns + MS - 1) / MS;
}

/* By tick, and within a tick as armed: each comes after the one before it. */
static void expect_order(const uint64_t *deadlines, const unsigned *armed)
{
	EXPECT_EQ(order.count, ORDERED);
	for (size_t i = 1; i < order.count && i < ORDERED; i++) {
		unsigned before = order.numbers[i - 1], after = order.numbers[i];
		uint64_t tick = tick_of(deadlines[before]), next = tick_of(deadlines[after]);

		EXPECT(tick < next || (tick == next && armed[before] < armed[after]));
	}
}

/* In one step of the clock or in many, and some are armed twice: then the second time counts. */
static void expect_order_with(unsigned workers, uint32_t wheel_size, uint64_t step)
{
	const struct pawl_service_options options = {
	        .workers = workers, .shards = 1, .wheel_size = wheel_size};
	struct note *notes = malloc(ORDERED * sizeof(*notes));
	struct random random = {wheel_size + step};
	uint64_t deadlines[ORDERED];
	unsigned armed[ORDERED], sequence = 0;
	struct bench bench;

	bench_open(&bench, &options);
	order.count = 0;
	for (unsigned i = 0; i < 2 * ORDERED; i++) {
		unsigned n = i < ORDERED ? i : (unsigned)random_below(&random, ORDERED);

		if (i < ORDERED) {
			note_init(&notes[n], &bench);
			notes[n].inside = note_order;
			notes[n].number = n;
		}
		deadlines[n] = 1 + random_below(&random, 100 * MS);
		armed[n] = sequence++;
		pawl_service_arm_at(bench.service, &notes[n].task, deadlines[n]);
	}
	while (bench_now(&bench) < 100 * MS)
		pass(&bench, step);
	expect_order(deadlines, armed);
	pawl_service_close(bench.service, NULL);
	free(notes);
}

static void one_shard_and_one_worker_run_by_tick_and_within_a_tick_as_armed(void)
{
	static const unsigned workers[] = {1, PAWL_INLINE, PAWL_MANUAL};
	static const uint32_t sizes[] = {0, 2, 16};
	static const uint64_t steps[] = {100 * MS, 7 * MS, MS};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++)
			for (unsigned k = 0; k < 3; k++)
				expect_order_with(workers[i], sizes[j], steps[k]);
}

/* Statistics */

IN_EVERY_MODE(a_new_service_has_counted_nothing)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));

	memset(stats, 0xA5, sizeof(*stats));
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->armed | stats->ran | stats->cancelled | stats->dropped, 0);
	EXPECT_EQ(stats->pending | stats->queued | stats->slowest_ns, 0);
	EXPECT_EQ(stats->wakeups | stats->empty_wakeups, 0);
	EXPECT(stats->slowest == NULL);
	EXPECT_EQ(stats->lateness.count | stats->lateness.max, 0);
	EXPECT_EQ(stats->run_time.count | stats->run_time.max, 0);
	EXPECT_EQ(pawl_histogram_percentile(&stats->lateness, 50), 0);
	EXPECT_EQ(pawl_histogram_percentile(&stats->lateness, 100), 0);
	free(stats);
	end(bench);
}

IN_EVERY_MODE(queued_is_what_is_due_and_waits_for_a_worker)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));
	struct note notes[5];
	struct gates gates;

	shut_gates(&gates, bench);
	for (unsigned i = 0; i < 5; i++) {
		note_init(&notes[i], bench);
		pawl_service_arm(bench->service, &notes[i].task, i < 3 ? 0 : HOUR);
	}
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->queued, 3);
	EXPECT_EQ(stats->pending, 5);
	pawl_service_cancel(bench->service, &notes[0].task);
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->queued, 2);
	EXPECT_EQ(stats->pending, 4);
	open_gates(&gates, bench);
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->queued, 0);
	EXPECT_EQ(stats->pending, 2);
	free(stats);
	end(bench);
}

/* At least the value, and less than 1/64 more. */
static void expect_percentile(const struct pawl_histogram *histogram, double percent,
                              uint64_t value)
{
	uint64_t found = pawl_histogram_percentile(histogram, percent);

	EXPECT(found >= value);
	EXPECT(found - value <= value / 64);
	if (found < value || found - value > value / 64)
		fprintf(stderr, "the %g %% percentile is %" PRIu64 ", expected %" PRIu64 "\n",
		        percent, found, value);
}

IN_EVERY_MODE(lateness_is_the_time_from_the_deadline_to_the_call)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));
	struct note notes[100];

	for (unsigned i = 0; i < 100; i++) {
		note_init(&notes[i], bench);
		pawl_service_arm(bench->service, &notes[i].task, (i + 1) * MS);
	}
	pass(bench, 100 * MS);
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->lateness.count, 100);
	EXPECT_EQ(stats->lateness.max, 99 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&stats->lateness, 100), 99 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&stats->lateness, 1), 0);
	expect_percentile(&stats->lateness, 2, MS);
	expect_percentile(&stats->lateness, 50, 49 * MS);
	expect_percentile(&stats->lateness, 90, 89 * MS);
	expect_percentile(&stats->lateness, 99, 98 * MS);
	expect_percentile(&stats->lateness, 98.5, 98 * MS);
	EXPECT_EQ(stats->run_time.count, 100);
	EXPECT_EQ(stats->run_time.max, 0);
	EXPECT_EQ(pawl_histogram_percentile(&stats->run_time, 100), 0);
	free(stats);
	end(bench);
}

/* Of a deadline between two ticks, not of the tick. */
IN_EVERY_MODE(lateness_counts_from_the_deadline_as_it_was_given)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));
	struct note note;

	note_init(&note, bench);
	pawl_service_arm(bench->service, &note.task, 5 * MS - 300);
	pass(bench, 5 * MS);
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->lateness.max, 300);
	pawl_service_arm(bench->service, &note.task, 5 * MS);
	pawl_service_touch(bench->service, &note.task, 7 * MS - 1000);
	pass(bench, 7 * MS);
	pawl_service_stats(bench->service, stats);
	EXPECT_EQ(stats->lateness.max, 1000);
	EXPECT_EQ(stats->lateness.count, 2);
	expect_percentile(&stats->lateness, 50, 300);
	free(stats);
	end(bench);
}

/* A value from the smallest to hours comes back with two digits. */
static void expect_two_digits(struct bench *bench, uint64_t value)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));
	struct note note, late;

	note_init(&note, bench);
	note_init(&late, bench);
	pass(bench, value * 3);
	pawl_service_arm_at(bench->service, &note.task, bench_now(bench) - value);
	pawl_service_arm_at(bench->service, &late.task, 0);
	settle(bench);
	pawl_service_stats(bench->service, stats);
	expect_percentile(&stats->lateness, 50, value);
	EXPECT_EQ(pawl_histogram_percentile(&stats->lateness, 100), 3 * value);
	EXPECT_EQ(stats->lateness.max, 3 * value);
	free(stats);
}

static void histograms_are_good_to_two_digits(void)
{
	static const struct pawl_service_options options = {
	        .workers = PAWL_MANUAL, .shards = 1, .tick_ns = 1};

	for (unsigned shift = 1; shift < 45; shift++) {
		for (int offset = -1; offset <= 1; offset++) {
			uint64_t value = (UINT64_C(1) << shift) + (uint64_t)(int64_t)offset;
			struct bench bench;

			bench_open(&bench, &options);
			expect_two_digits(&bench, value);
			pawl_service_close(bench.service, NULL);
		}
	}
}

static void take_some_time(struct pawl_task *task)
{
	struct note *note = note_from(task);

	pawl_clock_manual_advance(&note->bench->clock, note->number);
}

static void take_more_time(struct pawl_task *task)
{
	take_some_time(task);
}

static void run_for(struct bench *bench, pawl_task_fn *run, uint64_t ns)
{
	struct note note;

	note_init(&note, bench);
	pawl_task_init(&note.task, run);
	note.number = ns;
	pawl_service_arm(bench->service, &note.task, 0);
	settle(bench);
}

IN_EVERY_MODE(run_time_is_measured_and_the_slowest_function_is_known)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));

	run_for(bench, take_some_time, 0);
	pawl_service_stats(bench->service, stats);
	EXPECT(stats->slowest == take_some_time);
	EXPECT_EQ(stats->slowest_ns, 0);
	for (unsigned i = 0; i < 8; i++)
		run_for(bench, take_some_time, 3 * MS);
	run_for(bench, take_more_time, 5 * MS);
	run_for(bench, take_some_time, 4 * MS);
	pawl_service_stats(bench->service, stats);
	EXPECT(stats->slowest == take_more_time);
	EXPECT_EQ(stats->slowest_ns, 5 * MS);
	EXPECT_EQ(stats->run_time.count, 11);
	EXPECT_EQ(stats->run_time.max, 5 * MS);
	expect_percentile(&stats->run_time, 50, 3 * MS);
	expect_percentile(&stats->run_time, 90, 4 * MS);
	EXPECT_EQ(pawl_histogram_percentile(&stats->run_time, 100), 5 * MS);
	free(stats);
	end(bench);
}

/* Sleeping and waking */

/* A manual clock that counts. The worker on watch sleeps on it; a test waits until it does. */
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

/* Until the worker on watch sleeps, and until this very time. */
static void await_sleep(struct counting_clock *clock, uint64_t deadline)
{
	pthread_mutex_lock(&clock->mutex);
	while (!clock->waiting || clock->deadline != deadline)
		pthread_cond_wait(&clock->changed, &clock->mutex);
	pthread_mutex_unlock(&clock->mutex);
}

/* Until the worker on watch has slept so often, and sleeps. */
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

static void expect_wakeups(struct pawl_service *service, uint64_t wakeups, uint64_t empty)
{
	struct pawl_stats *stats = malloc(sizeof(*stats));

	pawl_service_stats(service, stats);
	EXPECT_EQ(stats->wakeups, wakeups);
	EXPECT_EQ(stats->empty_wakeups, empty);
	free(stats);
}

static void post_entered(struct pawl_task *task)
{
	sem_post(&note_from(task)->entered);
}

static void note_init_posting(struct note *note)
{
	note_init(note, NULL);
	pawl_task_init(&note->task, post_entered);
}

static void in_every_mode_that_sleeps(void (*test)(struct pawl_service *, struct counting_clock *))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];
		struct counting_clock clock;
		struct pawl_service *service;

		if (options.workers == PAWL_MANUAL)
			continue;
		counting_init(&clock);
		options.clock = &clock.clock;
		service = service_with(&options);
		await_sleep(&clock, PAWL_NEVER);
		test(service, &clock);
		pawl_service_close(service, NULL);
	}
}

static void sleep_for_ever(struct pawl_service *service, struct counting_clock *clock)
{
	for (unsigned i = 0; i < 100; i++) {
		pawl_clock_manual_advance(&clock->manual, HOUR);
		pawl_service_settle(service);
	}
	await_sleep_number(clock, 1, PAWL_NEVER);
	EXPECT_EQ(wakes_of(clock), 0);
	expect_wakeups(service, 0, 0);
}

static void an_idle_service_never_wakes(void)
{
	in_every_mode_that_sleeps(sleep_for_ever);
}

static void sleep_on_after_work(struct pawl_service *service, struct counting_clock *clock)
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

static void a_service_sleeps_until_the_next_task_and_then_for_ever(void)
{
	in_every_mode_that_sleeps(sleep_on_after_work);
}

/* Touch, arm and cancel of what the worker on watch sleeps for is not worth waking it either. */
static void wake_for_what_is_earlier(struct pawl_service *service, struct counting_clock *clock)
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

static void an_earlier_arm_wakes_the_service_and_a_later_one_does_not(void)
{
	in_every_mode_that_sleeps(wake_for_what_is_earlier);
}

static void forget_nothing_earlier(struct pawl_service *service, struct counting_clock *clock)
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

static void a_later_arm_does_not_hold_up_an_earlier_one(void)
{
	in_every_mode_that_sleeps(forget_nothing_earlier);
}

/* Nobody settles, and nothing else is pending. */
static void go_on_by_itself(struct pawl_service *service, struct counting_clock *clock)
{
	struct note note;

	note_init_posting(&note);
	pawl_service_arm_every(service, &note.task, 5 * MS, PAWL_SKIP);
	for (unsigned i = 1; i <= 10; i++) {
		await_sleep(clock, i * 5 * MS);
		pawl_clock_manual_advance(&clock->manual, 5 * MS);
		sem_wait(&note.entered);
	}
	pawl_service_cancel_wait(service, &note.task);
}

static void a_run_that_ends_wakes_the_service_for_the_next_period(void)
{
	in_every_mode_that_sleeps(go_on_by_itself);
}

static void find_nothing_to_do(struct pawl_service *service, struct counting_clock *clock)
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

static void a_wakeup_for_a_cancelled_task_is_counted_as_empty(void)
{
	in_every_mode_that_sleeps(find_nothing_to_do);
}

/* wait(PAWL_NEVER) waits for ever, also at the end of time. */
static void come_to_the_end_of_time(struct pawl_service *service, struct counting_clock *clock)
{
	pawl_clock_manual_advance(&clock->manual, UINT64_MAX);
	pawl_clock_manual_advance(&clock->manual, 1);
	EXPECT_EQ(counting_now(&clock->clock), UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++)
		pawl_service_settle(service);
	await_sleep(clock, PAWL_NEVER);
	expect_wakeups(service, 0, 0);
}

static void at_the_end_of_time_an_idle_service_sleeps(void)
{
	in_every_mode_that_sleeps(come_to_the_end_of_time);
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
	EXPECT_EQ(pawl_clock_manual_step(&manual), 5); /* nobody waits */
	pawl_clock_manual_advance(&manual, UINT64_MAX - 6);
	EXPECT_EQ(manual.clock.now(&manual.clock), UINT64_MAX - 1);
	pawl_clock_manual_advance(&manual, UINT64_MAX);
	EXPECT_EQ(manual.clock.now(&manual.clock), UINT64_MAX);
}

IN_EVERY_MODE_WITH_THREADS(step_goes_to_the_next_deadline)
{
	struct note notes[20];
	uint64_t now = 0;

	EXPECT_EQ(pawl_clock_manual_step(&bench->clock), 0);
	for (unsigned i = 0; i < 20; i++) {
		note_init(&notes[i], bench);
		pawl_service_arm(bench->service, &notes[i].task, (i + 1) * 37 * MS);
	}
	for (unsigned i = 0; i < 20; i++) {
		/* some slots open only to move their tasks down */
		for (unsigned steps = 0; notes[i].runs == 0 && steps < 10; steps++) {
			settle(bench);
			now = pawl_clock_manual_step(&bench->clock);
			EXPECT_EQ(now, bench_now(bench));
			settle(bench);
		}
		EXPECT_EQ(now, (i + 1) * 37 * MS);
		EXPECT_EQ(notes[i].runs, 1);
	}
	EXPECT_EQ(pawl_clock_manual_step(&bench->clock), now);
	pawl_service_arm(bench->service, &notes[0].task, HOUR);
	settle(bench);
	EXPECT(pawl_clock_manual_step(&bench->clock) > now);
	EXPECT(bench_now(bench) <= now + HOUR);
	end(bench);
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

static void expect_runs_on(struct pawl_clock *clock, unsigned workers)
{
	const struct pawl_service_options options = {.clock = clock, .workers = workers};
	struct pawl_service *service = service_with(&options);
	struct note soon, later;

	note_init_posting(&soon);
	note_init_posting(&later);
	EXPECT_EQ(pawl_service_arm(service, &later.task, 2 * MS), 0);
	EXPECT_EQ(pawl_service_arm(service, &soon.task, 0), 0);
	sem_wait(&soon.entered);
	sem_wait(&later.entered);
	pawl_service_close(service, NULL);
}

static void a_service_works_on_the_systems_clocks(void)
{
	struct pawl_clock_system boottime, monotonic;

	pawl_clock_boottime_init(&boottime);
	pawl_clock_monotonic_init(&monotonic);
	for (unsigned i = 0; i < 5; i++) {
		expect_runs_on(&boottime.clock, i % 2 ? PAWL_INLINE : 2);
		expect_runs_on(&monotonic.clock, i % 2 ? PAWL_INLINE : 2);
		expect_runs_on(NULL, i % 2 ? PAWL_INLINE : 2);
	}
}

/* Open */

static void null_options_mean_the_defaults(void)
{
	struct pawl_service *service = service_with(NULL);
	struct note note;

	note_init_posting(&note);
	EXPECT_EQ(pawl_service_arm(service, &note.task, 0), 0);
	sem_wait(&note.entered);
	pawl_service_settle(service);
	expect_counts(service, 1, 1, 0, 0);
	pawl_service_close(service, NULL);
}

static void options_out_of_range_are_refused(void)
{
	static const struct pawl_service_options invalid[] = {
	        {.wheel_size = 1},
	        {.wheel_size = 4097},
	        {.wheel_size = UINT32_MAX},
	        {.workers = 1025},
	        {.workers = ~0u - 2},
	        {.shards = 1025},
	        {.shards = ~0u},
	        {.workers = PAWL_INLINE, .shards = 1025},
	        {.workers = PAWL_MANUAL, .wheel_size = 1},
	};

	for (size_t i = 0; i < COUNTOF(invalid); i++) {
		struct pawl_service_options options = invalid[i];
		struct pawl_service *service = (struct pawl_service *)&options;
		struct pawl_clock_manual clock;

		pawl_clock_manual_init(&clock);
		options.clock = &clock.clock;
		EXPECT_EQ(pawl_service_open(&service, &options), -EINVAL);
		EXPECT(service == (struct pawl_service *)&options);
		EXPECT(clock.clock.service == NULL);
	}
}

static void options_at_the_ends_of_their_ranges_are_taken(void)
{
	static const struct pawl_service_options valid[] = {
	        {.wheel_size = 2, .shards = 1},
	        {.wheel_size = 4096, .shards = 1},
	        {.shards = 1024, .wheel_size = 2},
	        {.shards = 1024, .wheel_size = 2, .workers = PAWL_MANUAL},
	        {.tick_ns = 1},
	        {.tick_ns = 2},
	        {.tick_ns = 3},
	        {.tick_ns = UINT64_MAX},
	        {.workers = 32, .shards = 3},
	        {.max_pending = SIZE_MAX},
	};

	for (size_t i = 0; i < COUNTOF(valid); i++) {
		struct note note;
		struct bench bench;

		bench_open(&bench, &valid[i]);
		note_init(&note, &bench);
		pawl_service_arm(bench.service, &note.task, 0);
		settle(&bench);
		EXPECT_EQ(note.runs, 1);
		pawl_service_arm(bench.service, &note.task, 12345);
		pass(&bench, 12344);
		EXPECT_EQ(note.runs, 1);
		pawl_service_close(bench.service, NULL);
	}
}

/* Ticks of every kind: the run is at the first multiple that is not early. */
static void deadlines_are_rounded_up_whatever_the_tick(void)
{
	static const uint64_t ticks[] = {1, 2, 3, 7, 1000, 4096, 999983, 50000, 1 << 20};

	for (size_t i = 0; i < COUNTOF(ticks); i++) {
		const struct pawl_service_options options = {
		        .tick_ns = ticks[i], .workers = PAWL_MANUAL, .shards = 1};
		struct random random = {ticks[i]};
		struct bench bench;

		bench_open(&bench, &options);
		for (unsigned j = 0; j < 200; j++) {
			uint64_t deadline = bench_now(&bench) + random_below(&random, 9 * ticks[i]);
			uint64_t due = (deadline + ticks[i] - 1) / ticks[i] * ticks[i];
			struct note note;

			note_init(&note, &bench);
			pawl_service_arm_at(bench.service, &note.task, deadline);
			if (due > bench_now(&bench)) {
				pass(&bench, due - bench_now(&bench) - 1);
				EXPECT_EQ(note.runs, 0);
				pass(&bench, 1);
			}
			/* now may be between two ticks: then what is due now waits for the next */
			pass(&bench, note.runs ? 0 : ticks[i]);
			EXPECT_EQ(note.runs, 1);
			EXPECT(note.at[0] >= deadline);
			EXPECT(note.at[0] < deadline + 2 * ticks[i]);
			pass(&bench, random_below(&random, ticks[i]));
		}
		pawl_service_close(bench.service, NULL);
	}
}

static void a_clock_has_one_service_at_a_time(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service *service = NULL, *second = NULL;
		struct pawl_service_options options = every_mode[i];
		struct pawl_clock_manual clock;

		pawl_clock_manual_init(&clock);
		options.clock = &clock.clock;
		EXPECT_EQ(pawl_service_open(&service, &options), 0);
		EXPECT_EQ(pawl_service_open(&second, &options), -EBUSY);
		EXPECT(second == NULL);
		pawl_service_stop(service, NULL);
		EXPECT_EQ(pawl_service_open(&second, &options), -EBUSY);
		pawl_service_close(service, NULL);
		EXPECT_EQ(pawl_service_open(&second, &options), 0);
		pawl_service_close(second, NULL);
	}
}

/* Threads, as the kernel sees them */

static bool read_line(const char *task, const char *file, const char *start, char *line, int size)
{
	char path[320];
	bool found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	stream = fopen(path, "r");
	while (stream && !found && fgets(line, size, stream))
		found = strncmp(line, start, strlen(start)) == 0;
	if (stream)
		fclose(stream);
	line[found ? strcspn(line, "\n") : 0] = '\0';
	return found;
}

/* How many threads have the name. Each of them blocks all signals that can be blocked. */
static unsigned threads_named(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)) != NULL) {
		char comm[64], blocked[64];

		if (!read_line(entry->d_name, "comm", "", comm, sizeof(comm)) || strcmp(comm, name))
			continue;
		count++;
		EXPECT(read_line(entry->d_name, "status", "SigBlk:", blocked, sizeof(blocked)));
		EXPECT_EQ(strtoull(blocked + 7, NULL, 16) | 0x380040100u | UINT64_C(0x80000000),
		          UINT64_MAX);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

static unsigned threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)) != NULL)
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return count;
}

static void expect_threads(unsigned workers, unsigned threads)
{
	char name[] = "a-name-longer-than-15";
	struct pawl_service_options options = {.workers = workers, .name = name};
	struct pawl_service *service = service_with(&options);

	memset(name, 'x', sizeof(name) - 1);
	EXPECT_EQ(threads_named("a-name-longer-t"), threads);
	pawl_service_stop(service, NULL);
	while (threads_named(
	        "a-name-longer-t")) /* joined, but the kernel may be about to forget them */
		sched_yield();
	pawl_service_close(service, NULL);
}

static void threads_have_the_services_name_and_block_all_signals(void)
{
	struct pawl_service *service;

	while (threads_named("pawl")) /* of earlier tests */
		sched_yield();
	service = service_with(NULL);
	EXPECT_EQ(threads_named("pawl"), 1);
	pawl_service_close(service, NULL);
	expect_threads(0, 1);
	expect_threads(1, 1);
	expect_threads(4, 4);
	expect_threads(PAWL_INLINE, 1);
	expect_threads(PAWL_MANUAL, 0);
}

static void manual_mode_starts_no_thread(void)
{
	const struct pawl_service_options options = {.workers = PAWL_MANUAL};
	unsigned before = threads_now();
	struct pawl_service *service = service_with(&options);

	EXPECT(threads_now() <= before); /* one of an earlier test may be about to end */
	pawl_service_close(service, NULL);
}

static void the_callers_signals_stay_as_they_are(void)
{
	sigset_t some, before, after;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &some, &before);
	pawl_service_close(service_with(NULL), NULL);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	EXPECT(sigismember(&after, SIGUSR2) == 1);
	EXPECT(sigismember(&after, SIGUSR1) == 0);
	EXPECT(sigismember(&after, SIGTERM) == 0);
}

/* The manual mode */

static void open_manual(struct bench *bench)
{
	const struct pawl_service_options options = {.workers = PAWL_MANUAL, .shards = 4};

	bench_open(bench, &options);
}

static void poll_runs_what_is_due_on_this_thread(void)
{
	struct note notes[5];
	struct bench bench;

	open_manual(&bench);
	for (unsigned i = 0; i < 5; i++) {
		note_init(&notes[i], &bench);
		pawl_service_arm(bench.service, &notes[i].task, i * MS);
	}
	EXPECT_EQ(notes[0].runs, 0);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 1);
	EXPECT_EQ(notes[0].runs, 1);
	EXPECT(pthread_equal(notes[0].thread, pthread_self()));
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 0);
	pawl_clock_manual_advance(&bench.clock, 4 * MS);
	EXPECT_EQ(notes[1].runs, 0); /* nothing happens by itself */
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 4);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 0);
	pawl_service_close(bench.service, NULL);
}

static void poll_runs_at_most_so_many(void)
{
	struct note notes[10];
	unsigned ran = 0;
	struct bench bench;

	open_manual(&bench);
	for (unsigned i = 0; i < 10; i++) {
		note_init(&notes[i], &bench);
		pawl_service_arm(bench.service, &notes[i].task, 0);
	}
	EXPECT_EQ(pawl_service_poll(bench.service, 1), 1);
	EXPECT_EQ(pawl_service_poll(bench.service, 3), 3);
	EXPECT_EQ(pawl_service_pending(bench.service), 6);
	EXPECT_EQ(pawl_service_poll(bench.service, 100), 6);
	for (unsigned i = 0; i < 10; i++)
		ran += notes[i].runs;
	EXPECT_EQ(ran, 10);
	pawl_service_close(bench.service, NULL);
}

/* More than any batch. */
static void poll_without_a_bound_runs_ten_thousand(void)
{
	struct bench bench;

	open_manual(&bench);
	for (unsigned i = 0; i < 10000; i++) {
		struct pawl_task *task = malloc(sizeof(*task));

		pawl_task_init(task, free_it);
		pawl_service_arm(bench.service, task, i % 700 * MS);
	}
	pawl_clock_manual_advance(&bench.clock, 700 * MS);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 10000);
	pawl_service_close(bench.service, NULL);
}

static void arm_a_thousand_times(struct note *note)
{
	if (note->runs < 1000)
		pawl_service_arm(note->bench->service, &note->task, 0);
}

static void a_task_that_arms_itself_with_delay_0_does_not_keep_poll_from_returning(void)
{
	struct note note;
	struct bench bench;

	open_manual(&bench);
	note_init(&note, &bench);
	note.inside = arm_a_thousand_times;
	pawl_service_arm(bench.service, &note.task, 0);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 1);
	EXPECT_EQ(pawl_service_poll(bench.service, 100), 1);
	EXPECT_EQ(note.runs, 2);
	pawl_service_close(bench.service, NULL);
}

static void poll_inside(struct note *note)
{
	note->answer = (int)pawl_service_poll(note->bench->service, 0);
}

static void a_poll_inside_a_task_or_beside_another_one_returns_0(void)
{
	struct note inside, other, held;
	struct bench bench;

	open_manual(&bench);
	note_init(&inside, &bench);
	note_init(&other, &bench);
	note_init(&held, &bench);
	inside.inside = poll_inside;
	inside.answer = -1;
	pawl_service_arm(bench.service, &inside.task, 0);
	pawl_service_arm(bench.service, &other.task, 0);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 2);
	EXPECT_EQ(inside.answer, 0);
	hold(&held);
	pawl_service_arm(bench.service, &other.task, 0);
	EXPECT_EQ(pawl_service_poll(bench.service, 0), 0);
	let_go(&held);
	EXPECT_EQ(other.runs, 2);
	pawl_service_close(bench.service, NULL);
}

IN_EVERY_MODE_WITH_THREADS(poll_does_nothing_where_there_are_threads)
{
	struct note note;

	note_init(&note, bench);
	pawl_service_arm(bench->service, &note.task, 0);
	EXPECT_EQ(pawl_service_poll(bench->service, 0), 0);
	settle(bench);
	EXPECT_EQ(note.runs, 1);
	end(bench);
}

IN_EVERY_MODE(next_is_never_after_the_first_deadline)
{
	struct note notes[3];

	EXPECT_EQ(pawl_service_next(bench->service), PAWL_NEVER);
	for (unsigned i = 0; i < 3; i++)
		note_init(&notes[i], bench);
	pawl_service_arm(bench->service, &notes[0].task, 10000 * HOUR);
	EXPECT(pawl_service_next(bench->service) <= 10000 * HOUR);
	pawl_service_arm(bench->service, &notes[1].task, 700 * MS + 1);
	EXPECT(pawl_service_next(bench->service) <= 701 * MS);
	pawl_service_arm(bench->service, &notes[2].task, 5 * MS - 1);
	EXPECT_EQ(pawl_service_next(bench->service), 5 * MS);
	pawl_service_cancel(bench->service, &notes[0].task);
	pawl_service_cancel(bench->service, &notes[1].task);
	pawl_service_cancel(bench->service, &notes[2].task);
	EXPECT_EQ(pawl_service_next(bench->service), PAWL_NEVER);
	end(bench);
}

static void tell_the_semaphore(struct note *note)
{
	sem_post(&note->entered);
}

/*
 * It came late: settle opened a slot for itself, and with it the watch's promise moved from the first
 * task's deadline to its slot's opening; but the worker on watch slept on until that deadline.
 */
static void what_is_armed_after_a_settle_is_not_late(void)
{
	for (int i = 0; i < 20; i++) {
		const struct pawl_service_options options = {.shards = 1};
		struct bench bench;
		struct note far, near;

		bench_open(&bench, &options);
		note_init(&far, &bench);
		note_init(&near, &bench);
		near.inside = tell_the_semaphore;
		EXPECT_EQ(pawl_service_arm(bench.service, &far.task, 1000 * MS), 0);
		for (int j = 0; j < 1000; j++)
			sched_yield(); /* most likely the worker on watch sleeps by then, until 1000 ms */
		pawl_service_settle(bench.service);
		EXPECT_EQ(pawl_service_arm(bench.service, &near.task, 900 * MS), 0);
		pawl_clock_manual_advance(&bench.clock, 900 * MS);
		sem_wait(&near.entered); /* for ever, if it waits for the other one's time */
		EXPECT_EQ(far.runs, 0);
		pawl_service_close(bench.service, NULL);
	}
}

/* The loop that the manual mode is for. */
static void a_loop_of_next_and_poll_runs_everything_on_time(void)
{
	struct note *notes = malloc(300 * sizeof(*notes));
	struct random random = {3};
	unsigned polls = 0;
	struct bench bench;

	open_manual(&bench);
	for (unsigned i = 0; i < 300; i++) {
		note_init(&notes[i], &bench);
		notes[i].number = 1 + random_below(&random, HOUR);
		pawl_service_arm(bench.service, &notes[i].task, notes[i].number);
	}
	for (uint64_t next; (next = pawl_service_next(bench.service)) != PAWL_NEVER; polls++) {
		EXPECT(next > bench_now(&bench) || polls == 0);
		pawl_clock_manual_advance(&bench.clock, next - bench_now(&bench));
		pawl_service_poll(bench.service, 0);
	}
	for (unsigned i = 0; i < 300; i++)
		EXPECT_EQ(notes[i].at[0], (notes[i].number + MS - 1) / MS * MS);
	EXPECT(polls < 5 * 300);
	pawl_service_close(bench.service, NULL);
	free(notes);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_task_runs_once_when_its_time_has_come),
	        TEST(a_deadline_is_rounded_up_to_the_tick),
	        TEST(no_task_is_early_and_none_is_more_than_a_tick_late),
	        TEST(arming_a_pending_task_moves_it),
	        TEST(arm_at_takes_a_time_of_the_clock_and_the_past_is_now),
	        TEST(a_task_due_and_not_yet_run_can_be_moved_away),
	        TEST(any_thread_arms_touches_and_cancels_any_task),
	        TEST(delay_0_runs_soon_and_never_on_the_callers_thread),
	        TEST(settle_runs_nothing_on_the_callers_thread),
	        TEST(a_task_that_arms_itself_with_delay_0_starves_nobody_who_is_due),
	        TEST(a_task_that_arms_itself_with_delay_0_starves_nobody_who_will_be_due),
	        TEST(the_longest_delay_just_waits),
	        TEST(a_task_without_a_function_is_refused),
	        TEST(a_task_armed_while_it_runs_runs_again_when_its_time_has_come),
	        TEST(a_task_armed_while_it_runs_and_due_meanwhile_runs_after_it_has_returned),
	        TEST(a_task_never_runs_beside_itself),
	        TEST(three_slow_workers_of_four_hold_up_neither_the_fourth_nor_the_clock),
	        TEST(four_tasks_due_at_once_are_run_by_four_workers),
	        TEST(while_a_worker_is_idle_one_keeps_the_time),
	        TEST(what_falls_due_while_every_worker_is_busy_is_queued),
	        TEST(an_idle_task_may_go_to_another_service),
	        TEST(a_task_that_many_workers_ran_goes_to_a_service_with_few),
	        TEST(touch_pushes_the_next_run_back),
	        TEST(touch_also_brings_forward_and_arms_what_is_idle),
	        TEST(touch_of_a_running_task_arms_it_again),
	        TEST(touch_moves_a_periodic_tasks_grid_along),
	        TEST(touch_inside_a_periodic_task_moves_its_grid_along),
	        TEST(touch_of_a_cancelled_periodic_task_arms_it_once),
	        TEST(touch_of_a_periodic_task_cancelled_while_it_runs_arms_it_once),
	        TEST(cancel_of_an_idle_task_says_idle),
	        TEST(a_cancelled_task_does_not_run_and_its_memory_is_free),
	        TEST(a_task_due_and_not_yet_run_is_still_pending),
	        TEST(cancel_of_a_running_task_says_running_and_does_not_wait),
	        TEST(cancel_of_a_running_task_takes_away_an_arming_made_meanwhile),
	        TEST(a_running_task_cancelled_and_armed_once_more_runs_again),
	        TEST(cancel_of_a_running_periodic_task_ends_it_with_this_run),
	        TEST(a_periodic_task_cancelled_and_armed_again_while_it_runs_is_periodic_anew),
	        TEST(cancel_wait_of_a_running_task_returns_after_the_run),
	        TEST(cancel_wait_inside_the_task_itself_does_not_wait),
	        TEST(a_task_may_cancel_wait_another_one),
	        TEST(a_task_may_cancel_wait_another_one_that_runs),
	        TEST(every_call_is_legal_inside_a_task),
	        TEST(a_task_may_free_itself),
	        TEST(a_periodic_task_may_cancel_and_free_itself),
	        TEST(a_task_may_use_its_memory_for_another_one),
	        TEST(a_periodic_task_runs_every_period_from_one_period_on),
	        TEST(a_period_that_is_no_multiple_of_the_tick_does_not_drift),
	        TEST(skip_leaves_missed_periods_out_and_stays_on_the_grid),
	        TEST(burst_makes_up_for_all_missed_periods),
	        TEST(delay_counts_a_period_from_the_end_of_each_run),
	        TEST(a_run_longer_than_its_period_misses_periods_too),
	        TEST(a_period_of_0_or_an_unknown_policy_is_refused),
	        TEST(arm_makes_a_periodic_task_a_one_shot_one_and_back),
	        TEST(arm_inside_a_periodic_task_makes_it_a_one_shot_one),
	        TEST(arm_every_inside_a_task_makes_it_periodic),
	        TEST(a_periodic_task_ends_with_a_cancel_from_inside),
	        TEST(the_longest_period_just_waits),
	        TEST(a_new_arming_beyond_max_pending_is_refused_and_changes_nothing),
	        TEST(a_task_that_is_pending_may_always_be_moved),
	        TEST(a_place_is_free_after_a_run_and_after_a_cancel),
	        TEST(a_one_shot_task_has_no_place_while_it_runs_unless_armed_again),
	        TEST(a_running_task_is_refused_like_any_other),
	        TEST(a_cancel_of_a_running_task_gives_its_place_back_at_once),
	        TEST(a_periodic_task_keeps_its_place_while_it_runs),
	        TEST(a_periodic_task_that_has_ended_has_no_place),
	        TEST(stop_hands_each_pending_task_to_dropped_exactly_once),
	        TEST(dropped_is_called_on_the_stopping_thread_and_may_free_and_cancel),
	        TEST(stop_waits_for_what_runs_and_refuses_meanwhile),
	        TEST(a_running_task_armed_again_is_dropped_by_stop),
	        TEST(what_is_due_when_stop_begins_is_dropped_and_not_run),
	        TEST(after_stop_the_service_refuses_and_tells_the_truth),
	        TEST(a_second_stop_does_nothing),
	        TEST(dropped_may_be_null),
	        TEST(close_stops_too),
	        TEST(stop_inside_a_task_ends_the_program_with_a_message),
	        TEST(a_task_may_stop_another_service),
	        TEST(one_shard_and_one_worker_run_by_tick_and_within_a_tick_as_armed),
	        TEST(a_new_service_has_counted_nothing),
	        TEST(queued_is_what_is_due_and_waits_for_a_worker),
	        TEST(lateness_is_the_time_from_the_deadline_to_the_call),
	        TEST(lateness_counts_from_the_deadline_as_it_was_given),
	        TEST(histograms_are_good_to_two_digits),
	        TEST(run_time_is_measured_and_the_slowest_function_is_known),
	        TEST(an_idle_service_never_wakes),
	        TEST(a_service_sleeps_until_the_next_task_and_then_for_ever),
	        TEST(an_earlier_arm_wakes_the_service_and_a_later_one_does_not),
	        TEST(a_later_arm_does_not_hold_up_an_earlier_one),
	        TEST(a_run_that_ends_wakes_the_service_for_the_next_period),
	        TEST(a_wakeup_for_a_cancelled_task_is_counted_as_empty),
	        TEST(at_the_end_of_time_an_idle_service_sleeps),
	        TEST(the_manual_clock_begins_at_0_and_is_moved_by_hand),
	        TEST(step_goes_to_the_next_deadline),
	        TEST(every_clock_keeps_a_wake_until_the_next_wait),
	        TEST(the_systems_clocks_are_those_that_they_say),
	        TEST(a_service_works_on_the_systems_clocks),
	        TEST(null_options_mean_the_defaults),
	        TEST(options_out_of_range_are_refused),
	        TEST(options_at_the_ends_of_their_ranges_are_taken),
	        TEST(deadlines_are_rounded_up_whatever_the_tick),
	        TEST(a_clock_has_one_service_at_a_time),
	        TEST(threads_have_the_services_name_and_block_all_signals),
	        TEST(manual_mode_starts_no_thread),
	        TEST(the_callers_signals_stay_as_they_are),
	        TEST(poll_runs_what_is_due_on_this_thread),
	        TEST(poll_runs_at_most_so_many),
	        TEST(poll_without_a_bound_runs_ten_thousand),
	        TEST(a_task_that_arms_itself_with_delay_0_does_not_keep_poll_from_returning),
	        TEST(a_poll_inside_a_task_or_beside_another_one_returns_0),
	        TEST(poll_does_nothing_where_there_are_threads),
	        TEST(next_is_never_after_the_first_deadline),
	        TEST(what_is_armed_after_a_settle_is_not_late),
	        TEST(a_loop_of_next_and_poll_runs_everything_on_time),
	};

	return RUN_TESTS(tests);
}
