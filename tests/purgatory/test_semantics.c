/* SPDX-License-Identifier: MIT */
/*
 * The contract of pawl/purgatory.h, sentence by sentence, on the manual clock, over services of every
 * mode; before that the scenarios of Kafka's own test. Nothing here sleeps: who has to wait for a thread
 * waits for what it does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/purgatories.h"
#include "../support/random.h"

/* A call on a thread of its own. */
struct call {
	struct room *room;
	struct request *request;
	const char *keys;
	uint64_t timeout;
	long answer;
	pthread_t thread;
};

static void *run_watch(void *arg)
{
	struct call *call = arg;

	call->answer = watch(call->request, call->keys, call->timeout);
	return NULL;
}

static void *run_check(void *arg)
{
	struct call *call = arg;

	call->answer = (long)check(call->room, call->keys);
	return NULL;
}

static void *run_stop(void *arg)
{
	struct call *call = arg;

	pawl_purgatory_stop(call->room->purgatory);
	call->answer = (long)call->request->number;
	return NULL;
}

static void begin(struct call *call, void *(*run)(void *))
{
	pthread_create(&call->thread, NULL, run, call);
}

static long answer_of(struct call *call)
{
	pthread_join(call->thread, NULL);
	return call->answer;
}

static void let_try(struct request *request, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		sem_post(&request->leave);
}

/* The request waits under "ab", and a check of "a" is inside its try_complete until let_try. */
static void begin_trying(struct call *call, struct request *request, struct room *room)
{
	request_init(request, room);
	pawl_op_hold(&request->op);
	EXPECT_EQ(watch(request, "ab", HOUR), 0);
	request->inside_try = stay_trying;
	*call = (struct call){.room = room, .keys = "a"};
	begin(call, run_check);
	sem_wait(&request->entered);
}

/* Stays in that try, and in no other. */
static void stay_in_try_of_number(struct request *request)
{
	if (request->tries == request->number)
		stay_trying(request);
}

/* A thread is in the first or second try that try_or_watch itself makes, until let_try. */
static void begin_watching(struct call *call, struct request *request, struct room *room,
                           unsigned try, uint64_t timeout)
{
	request_init(request, room);
	pawl_op_hold(&request->op);
	request->inside_try = stay_in_try_of_number;
	request->number = try;
	*call = (struct call){.room = room, .request = request, .keys = "ab", .timeout = timeout};
	begin(call, run_watch);
	sem_wait(&request->entered);
}

/* The scenarios of Kafka's DelayedOperationTest */

IN_EVERY_ROOM(an_unknown_key_gives_0)
{
	EXPECT_EQ(check(room, "unknown"), 0);
	EXPECT_EQ(cancel_key(room, "unknown"), 0);
	expect_counted(room, 0, 0);
}

IN_EVERY_ROOM(two_operations_on_two_keys_are_completed_by_their_own)
{
	struct request r1, r2;

	request_init(&r1, room);
	request_init(&r2, room);
	EXPECT_EQ(check(room, "1"), 0);
	EXPECT_EQ(watch(&r1, "1", PAWL_NEVER), 0);
	EXPECT_EQ(check(room, "1"), 0);
	EXPECT_EQ(watch(&r2, "2", PAWL_NEVER), 0);
	EXPECT_EQ(check(room, "2"), 0);
	r1.ready = 1;
	EXPECT_EQ(check(room, "2"), 0);
	EXPECT_EQ(check(room, "1"), 1);
	EXPECT_EQ(check(room, "1"), 0);
	EXPECT_STR(r1.story, "cr");
	r2.ready = 1;
	EXPECT_EQ(check(room, "2"), 1);
	EXPECT_EQ(check(room, "2"), 0);
	EXPECT_STR(r2.story, "cr");
	leave_room(room);
}

IN_EVERY_ROOM(what_is_not_completed_expires_at_its_time_out_and_no_earlier)
{
	struct request r1, r2;

	request_init(&r1, room);
	request_init(&r2, room);
	EXPECT_EQ(watch(&r1, "1", 20 * MS), 0);
	EXPECT_EQ(watch(&r2, "2", 200 * SECOND), 0);
	pass(&room->bench, 20 * MS - 1);
	EXPECT_STR(r1.story, "");
	pass(&room->bench, 1);
	EXPECT_STR(r1.story, "cer");
	EXPECT_STR(r2.story, "");
	expect_counted(room, 1, 1);
	leave_room(room);
}

static struct pawl_clock_system real;

static void note_real_time(struct request *request, char event)
{
	if (event == 'c')
		request->number = real.clock.now(&real.clock);
}

/* Kafka's clock is real in this one; the bound is on one side, so the machine may be slow. */
static void nothing_expires_early_on_the_real_clock(void)
{
	struct room room;
	struct request requests[20];
	uint64_t begun[20];

	pawl_clock_monotonic_init(&real);
	pawl_clock_manual_init(&room.bench.clock);
	room.bench.service = service_with(NULL);
	room.purgatory = purgatory_with(room.bench.service, 0);
	for (unsigned i = 0; i < 20; i++) {
		request_init(&requests[i], &room);
		requests[i].inside = note_real_time;
		begun[i] = real.clock.now(&real.clock);
		EXPECT_EQ(watch(&requests[i], "k", i * MS), 0);
	}
	while (pawl_purgatory_delayed(room.purgatory))
		sched_yield();
	pawl_purgatory_stop(room.purgatory);
	for (unsigned i = 0; i < 20; i++) {
		EXPECT_STR(requests[i].story, "cer");
		EXPECT(requests[i].number - begun[i] >= i * MS);
	}
	room_close(&room);
}

IN_EVERY_ROOM(watched_and_delayed_drop_at_once_when_completed_outside)
{
	struct request r[3];

	requests_init(r, 3, room);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_hold(&r[i].op);
	EXPECT_EQ(watch(&r[0], "1", 100 * SECOND), 0);
	EXPECT_EQ(watch(&r[1], "12", 100 * SECOND), 0);
	EXPECT_EQ(watch(&r[2], "123", 100 * SECOND), 0);
	expect_counted(room, 6, 3);
	EXPECT(pawl_op_complete(&r[1].op));
	expect_counted(room, 4, 2);
	EXPECT(pawl_op_complete(&r[2].op));
	expect_counted(room, 1, 1);
	EXPECT(pawl_op_complete(&r[0].op));
	expect_counted(room, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_unhold(&r[i].op);
	leave_room(room);
}

IN_EVERY_ROOM(a_cancel_by_key_returns_2_of_3_and_leaves_1)
{
	struct request r[3];

	requests_init(r, 3, room);
	watch(&r[0], "1", 10 * SECOND);
	watch(&r[1], "1", 10 * SECOND);
	watch(&r[2], "2", 10 * SECOND);
	EXPECT_EQ(cancel_key(room, "1"), 2);
	EXPECT_STR(r[0].story, "kr");
	EXPECT_STR(r[1].story, "kr");
	EXPECT_STR(r[2].story, "");
	expect_counted(room, 1, 1);
	pass(&room->bench, HOUR);
	EXPECT_STR(r[0].story, "kr");
	EXPECT_STR(r[2].story, "cer");
	leave_room(room);
}

/* The life of an operation */

IN_EVERY_ROOM(what_can_complete_at_once_is_never_watched)
{
	struct request request;

	request_init(&request, room);
	request.ready = 1;
	EXPECT_EQ(watch(&request, "abc", HOUR), 1);
	EXPECT_STR(request.story, "cr");
	EXPECT_EQ(request.tries, 1);
	expect_counted(room, 0, 0);
	pass(&room->bench, 2 * HOUR);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(the_second_try_completes_and_nothing_stays_watched)
{
	struct request request;

	request_init(&request, room);
	request.ready_from = 2;
	EXPECT_EQ(watch(&request, "abc", HOUR), 1);
	EXPECT_STR(request.story, "cr");
	EXPECT_EQ(request.tries, 2);
	EXPECT_EQ(request.watched, 0);
	expect_counted(room, 0, 0);
	pass(&room->bench, 2 * HOUR);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(what_waits_was_tried_twice_and_is_watched_under_all_its_keys)
{
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch(&request, "abc", HOUR), 0);
	EXPECT_EQ(request.tries, 2);
	expect_counted(room, 3, 1);
	EXPECT_EQ(check(room, "a") + check(room, "b") + check(room, "c"), 0);
	EXPECT_EQ(request.tries, 5);
	EXPECT_EQ(check(room, "d"), 0);
	EXPECT_EQ(request.tries, 5);
	EXPECT_STR(request.story, "");
	leave_room(room);
}

/* Inside the functions nothing of the operation is left anywhere. */
static void expect_gone(struct request *request, const char *story)
{
	EXPECT_STR(request->story, story);
	EXPECT_EQ(request->watched, 0);
	EXPECT_EQ(request->delayed, 0);
	expect_counted(request->room, 0, 0);
	EXPECT_EQ(pawl_service_pending(request->room->bench.service), 0);
}

IN_EVERY_ROOM(whoever_wins_takes_it_off_every_key_and_its_deadline_before_it_calls)
{
	struct request checked, completed, expired, cancelled, dropped;

	request_init(&checked, room);
	watch(&checked, "abcdef", HOUR);
	checked.ready = 1;
	EXPECT_EQ(check(room, "f"), 1);
	expect_gone(&checked, "cr");
	request_init(&completed, room);
	pawl_op_hold(&completed.op);
	watch(&completed, "abcdef", HOUR);
	EXPECT(pawl_op_complete(&completed.op));
	expect_gone(&completed, "c");
	pawl_op_unhold(&completed.op);
	expect_gone(&completed, "cr");
	request_init(&expired, room);
	watch(&expired, "abcdef", HOUR);
	pass(&room->bench, HOUR);
	expect_gone(&expired, "cer");
	request_init(&cancelled, room);
	watch(&cancelled, "abcdef", HOUR);
	EXPECT_EQ(cancel_key(room, "c"), 1);
	expect_gone(&cancelled, "kr");
	request_init(&dropped, room);
	watch(&dropped, "abcdef", HOUR);
	pawl_purgatory_stop(room->purgatory);
	expect_gone(&dropped, "dr");
}

IN_EVERY_ROOM(nothing_happens_to_an_operation_that_is_over)
{
	struct request r[4];

	requests_init(r, 4, room);
	for (unsigned i = 0; i < 4; i++) {
		pawl_op_hold(&r[i].op);
		watch(&r[i], "ab", i == 2 ? MS : HOUR);
	}
	pass(&room->bench, MS);
	pawl_op_complete(&r[0].op);
	EXPECT_EQ(cancel_key(room, "a"), 2);
	for (unsigned i = 0; i < 4; i++) {
		r[i].ready = 1;
		EXPECT(!pawl_op_complete(&r[i].op));
	}
	EXPECT_EQ(check(room, "a") + check(room, "b") + cancel_key(room, "b"), 0);
	pass(&room->bench, 2 * HOUR);
	EXPECT_STR(r[0].story, "c");
	EXPECT_STR(r[1].story, "k");
	EXPECT_STR(r[2].story, "ce");
	EXPECT_STR(r[3].story, "k");
	for (unsigned i = 0; i < 4; i++)
		pawl_op_unhold(&r[i].op);
	EXPECT_STR(r[0].story, "cr");
	EXPECT_STR(r[1].story, "kr");
	EXPECT_STR(r[2].story, "cer");
	EXPECT_STR(r[3].story, "kr");
}

/* No trigger is lost */

IN_EVERY_ROOM(a_change_before_it_is_watched_is_seen_by_the_second_try)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 1, HOUR);
	expect_counted(room, 0, 0);
	__atomic_store_n(&request.ready, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_EQ(request.tries, 1);
	let_try(&request, 1);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_EQ(request.tries, 2);
	EXPECT_STR(request.story, "c");
	expect_counted(room, 0, 0);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(a_change_during_the_second_try_leaves_word)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, HOUR);
	__atomic_store_n(&request.ready, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(check(room, "b"), 0);
	let_try(&request, 1);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_EQ(request.tries, 3);
	expect_counted(room, 0, 0);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(the_time_out_counts_from_the_end_of_the_second_try)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, 5 * MS);
	pass(&room->bench, HOUR);
	let_try(&request, 1);
	EXPECT_EQ(answer_of(&call), 0);
	pass(&room->bench, 5 * MS - 1);
	EXPECT_STR(request.story, "");
	pass(&room->bench, 1);
	EXPECT_STR(request.story, "ce");
	EXPECT_EQ(request.at, HOUR + 5 * MS);
	pawl_op_unhold(&request.op);
}

/* Locks: nobody waits for a try */

IN_EVERY_ROOM(a_check_beside_a_try_leaves_word_and_goes_on)
{
	struct request request;
	struct call call;

	begin_trying(&call, &request, room);
	__atomic_store_n(&request.ready, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(check(room, "b"), 0);
	EXPECT_EQ(check(room, "a"), 0);
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_EQ(request.tries, 4);
	EXPECT_STR(request.story, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(complete_beside_a_try_wins_and_the_try_releases)
{
	struct request request;
	struct call call;

	begin_trying(&call, &request, room);
	EXPECT(pawl_op_complete(&request.op));
	expect_gone(&request, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "c");
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(request.story, "cr");
	EXPECT(pthread_equal(request.thread, call.thread));
}

IN_EVERY_ROOM(the_deadline_beside_a_try_wins_and_the_try_releases)
{
	struct request request;
	struct call call;

	begin_trying(&call, &request, room);
	pass(&room->bench, HOUR);
	expect_gone(&request, "ce");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "ce");
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(request.story, "cer");
}

IN_EVERY_ROOM(cancel_key_beside_a_try_wins_and_the_try_releases)
{
	struct request request;
	struct call call;

	begin_trying(&call, &request, room);
	EXPECT_EQ(cancel_key(room, "b"), 1);
	expect_gone(&request, "k");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "k");
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(request.story, "kr");
}

IN_EVERY_ROOM(stop_beside_a_try_wins_and_the_try_releases)
{
	struct request request;
	struct call call;

	begin_trying(&call, &request, room);
	pawl_purgatory_stop(room->purgatory);
	expect_gone(&request, "d");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "d");
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(request.story, "dr");
}

/* The yes of a try that comes too late counts for nothing. */
IN_EVERY_ROOM(a_try_that_says_yes_too_late_completes_nothing)
{
	struct request request;
	struct call call;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "ab", HOUR), 0);
	request.inside_try = stay_trying;
	request.ready = 1;
	call = (struct call){.room = room, .keys = "a"};
	begin(&call, run_check);
	sem_wait(&request.entered);
	EXPECT_EQ(cancel_key(room, "a"), 1);
	let_try(&request, 2);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(request.story, "k");
	EXPECT(!pawl_op_completed(&request.op));
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "kr");
}

IN_EVERY_ROOM(cancel_key_in_the_second_try_takes_it_out)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, MS);
	EXPECT_EQ(cancel_key(room, "b"), 1);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "k");
	let_try(&request, 1);
	EXPECT_EQ(answer_of(&call), 0);
	expect_gone(&request, "kr");
	pass(&room->bench, HOUR);
	EXPECT_STR(request.story, "kr");
}

IN_EVERY_ROOM(stop_in_the_second_try_drops_it)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, MS);
	pawl_purgatory_stop(room->purgatory);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "d");
	let_try(&request, 1);
	EXPECT_EQ(answer_of(&call), 0);
	expect_gone(&request, "dr");
	pass(&room->bench, HOUR);
	EXPECT_STR(request.story, "dr");
}

IN_EVERY_ROOM(stop_in_the_first_try_leaves_nothing_watched)
{
	struct request request;
	struct call call;
	long answer;

	begin_watching(&call, &request, room, 1, MS);
	pawl_purgatory_stop(room->purgatory);
	let_try(&request, 1);
	answer = answer_of(&call);
	pawl_op_unhold(&request.op);
	EXPECT(answer == -ESHUTDOWN || answer == 0);
	EXPECT_STR(request.story, answer ? "" : "dr");
	expect_counted(room, 0, 0);
}

/* Holds */

IN_EVERY_ROOM(the_last_unhold_releases_before_it_returns)
{
	struct request request;

	request_init(&request, room);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_hold(&request.op);
	request.ready = 1;
	EXPECT_EQ(watch(&request, "a", HOUR), 1);
	pawl_op_hold(&request.op);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
	EXPECT(pthread_equal(request.thread, pthread_self()));
}

IN_EVERY_ROOM(a_hold_given_back_while_it_waits_releases_nothing)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "");
	expect_counted(room, 1, 1);
	request.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(holds_of_what_was_not_taken_are_only_counted)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	pawl_op_unhold(&request.op);
	pawl_op_hold(&request.op);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "", HOUR), -EINVAL);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "");
	request.ready = 1;
	EXPECT_EQ(watch(&request, "a", HOUR), 1);
	EXPECT_STR(request.story, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

static void hold_inside(struct request *request, char event)
{
	if (event == (char)request->number)
		pawl_op_hold(&request->op);
}

IN_EVERY_ROOM(a_hold_taken_in_a_function_keeps_it)
{
	struct request r[4];

	requests_init(r, 4, room);
	for (unsigned i = 0; i < 4; i++) {
		r[i].inside = hold_inside;
		r[i].number = (uint64_t) "cekd"[i];
	}
	watch(&r[0], "a", HOUR);
	r[0].ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	watch(&r[1], "a", MS);
	pass(&room->bench, MS);
	watch(&r[2], "a", HOUR);
	EXPECT_EQ(cancel_key(room, "a"), 1);
	watch(&r[3], "a", HOUR);
	pawl_purgatory_stop(room->purgatory);
	EXPECT_STR(r[0].story, "c");
	EXPECT_STR(r[1].story, "ce");
	EXPECT_STR(r[2].story, "k");
	EXPECT_STR(r[3].story, "d");
	for (unsigned i = 0; i < 4; i++)
		pawl_op_unhold(&r[i].op);
	EXPECT_STR(r[0].story, "cr");
	EXPECT_STR(r[1].story, "cer");
	EXPECT_STR(r[2].story, "kr");
	EXPECT_STR(r[3].story, "dr");
}

static void free_in_release(struct request *request, char event)
{
	unsigned *released = (unsigned *)(void *)request->other;

	if (event != 'r')
		return;
	__atomic_fetch_add(released, 1, __ATOMIC_SEQ_CST);
	free(request);
}

IN_EVERY_ROOM(release_may_free_it_whoever_wins)
{
	unsigned released = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct request *request = malloc(sizeof(*request));

		request_init(request, room);
		request->inside = free_in_release;
		request->other = (struct request *)(void *)&released;
		request->ready_from = i == 0 ? 1 : i == 1 ? 3 : 0;
		EXPECT_EQ(watch(request, "abcdef", i == 2 ? MS : HOUR), i == 0);
		if (i == 1)
			EXPECT_EQ(check(room, "a"), 1);
		if (i == 2)
			pass(&room->bench, MS);
		if (i == 3)
			EXPECT_EQ(cancel_key(room, "a"), 1);
		if (i == 4)
			pawl_purgatory_stop(room->purgatory);
		EXPECT_EQ(__atomic_load_n(&released, __ATOMIC_SEQ_CST), i + 1);
	}
}

/* In its release it begins another life, as often as number says; each ends with its third try. */
static void live_again(struct request *request, char event)
{
	if (event != 'r' || request->number == 0)
		return;
	request->number--;
	request->tries = 0;
	pawl_op_init(&request->op, &request_type);
	EXPECT_EQ(watch(request, "ab", HOUR), 0);
}

IN_EVERY_ROOM(release_may_give_it_another_life)
{
	struct request request;

	request_init(&request, room);
	request.inside = live_again;
	request.number = 3;
	request.ready_from = 3;
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(request.story, "cr");
	expect_counted(room, 2, 1);
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT_STR(request.story, "crcr");
	EXPECT_EQ(cancel_key(room, "a"), 1);
	EXPECT_STR(request.story, "crcrkr");
	pass(&room->bench, HOUR);
	EXPECT_STR(request.story, "crcrkrcer");
	expect_counted(room, 0, 0);
}

/* Complete */

IN_EVERY_ROOM(complete_asks_nobody_and_says_who_was_first)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	EXPECT(!pawl_op_completed(&request.op));
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_EQ(request.tries, 2);
	EXPECT(pthread_equal(request.thread, pthread_self()));
	EXPECT(pawl_op_completed(&request.op));
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	pawl_op_unhold(&request.op);
}

IN_EVERY_ROOM(a_fresh_operation_completed_is_not_watched_but_released)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT(pawl_op_completed(&request.op));
	EXPECT_EQ(watch(&request, "ab", HOUR), 0);
	expect_gone(&request, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(a_fresh_operation_completed_and_not_given_is_not_released)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT(pawl_op_complete(&request.op));
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "c");
}

IN_EVERY_ROOM(complete_in_either_try_of_try_or_watch_wins)
{
	for (unsigned try = 1; try <= 2; try++) {
		struct request request;
		struct call call;

		begin_watching(&call, &request, room, try, MS);
		EXPECT(pawl_op_complete(&request.op));
		EXPECT_STR(request.story, "c");
		__atomic_store_n(&request.ready, try, __ATOMIC_SEQ_CST);
		let_try(&request, 1);
		EXPECT_EQ(answer_of(&call), 0);
		EXPECT_STR(request.story, "c");
		expect_counted(room, 0, 0);
		pass(&room->bench, HOUR);
		EXPECT_STR(request.story, "c");
		pawl_op_unhold(&request.op);
		EXPECT_STR(request.story, "cr");
	}
}

/* What completed says in the functions, the last of them release. */
IN_EVERY_ROOM(completed_is_true_of_what_was_completed_alone)
{
	struct request r[4];

	requests_init(r, 4, room);
	watch(&r[0], "a", HOUR);
	r[0].ready = 1;
	check(room, "a");
	EXPECT(r[0].completed);
	watch(&r[1], "a", MS);
	pass(&room->bench, MS);
	EXPECT(r[1].completed);
	watch(&r[2], "a", HOUR);
	cancel_key(room, "a");
	EXPECT(!r[2].completed);
	watch(&r[3], "a", HOUR);
	leave_room(room);
	EXPECT(!r[3].completed);
}

static void note_completed(struct request *request, char event)
{
	(void)event;
	request->number = request->number * 2 + request->completed;
}

IN_EVERY_ROOM(completed_says_the_same_in_each_of_its_functions)
{
	struct request expired, cancelled, dropped;

	request_init(&expired, room);
	request_init(&cancelled, room);
	request_init(&dropped, room);
	expired.inside = cancelled.inside = dropped.inside = note_completed;
	watch(&expired, "a", 0);
	settle(&room->bench);
	watch(&cancelled, "a", HOUR);
	cancel_key(room, "a");
	watch(&dropped, "a", HOUR);
	leave_room(room);
	EXPECT_STR(expired.story, "cer");
	EXPECT_EQ(expired.number, 7);
	EXPECT_EQ(cancelled.number, 0);
	EXPECT_EQ(dropped.number, 0);
}

/* What try_or_watch refuses */

/* As it was: fresh, and good for another call. */
static void expect_fresh(struct request *request)
{
	EXPECT_STR(request->story, "");
	expect_counted(request->room, 0, 0);
	EXPECT_EQ(pawl_service_pending(request->room->bench.service), 0);
	request->ready = 1;
	EXPECT_EQ(watch(request, "abcdef", HOUR), 1);
	EXPECT_STR(request->story, "cr");
	request_init(request, request->room);
}

static int watch_keys(struct request *request, const struct pawl_key *keys, size_t count)
{
	return pawl_purgatory_try_or_watch(request->room->purgatory, &request->op, keys, count,
	                                   HOUR);
}

IN_EVERY_ROOM(bad_keys_are_refused)
{
	const struct pawl_key good_then_bad[] = {{"a", 1}, {NULL, 1}};
	const struct pawl_key null_resolved = {NULL, PAWL_RESOLVED};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, good_then_bad, 0), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(watch_keys(&request, NULL, 0), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(watch_keys(&request, good_then_bad, 2), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(watch_keys(&request, &good_then_bad[1], 1), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(watch_keys(&request, &null_resolved, 1), -EINVAL);
	expect_fresh(&request);
}

/* The keys are not there at all: it must not look at them. */
IN_EVERY_ROOM(more_keys_than_can_be_counted_are_refused)
{
	const struct pawl_key one = {"a", 1};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, &one, UINT64_C(1) << 32), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(watch_keys(&request, &one, SIZE_MAX), -EINVAL);
	expect_fresh(&request);
}

IN_EVERY_ROOM(a_resolved_key_of_another_purgatory_is_refused)
{
	struct pawl_purgatory *other = purgatory_with(room->bench.service, 2);
	struct pawl_key resolved, again = {"untouched", 9};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(pawl_purgatory_resolve(other, key_of("a"), &resolved), 0);
	EXPECT_EQ(watch_keys(&request, &resolved, 1), -EINVAL);
	expect_fresh(&request);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, resolved, &again), -EINVAL);
	EXPECT_STR(again.data, "untouched");
	EXPECT_EQ(again.len, 9);
	pawl_purgatory_close(other);
}

IN_EVERY_ROOM(a_type_without_one_of_the_three_functions_is_refused)
{
	for (unsigned i = 0; i < 3; i++) {
		struct pawl_op_type type = request_type;
		struct request request;

		if (i == 0)
			type.try_complete = NULL;
		if (i == 1)
			type.on_complete = NULL;
		if (i == 2)
			type.release = NULL;
		request_init(&request, room);
		pawl_op_init(&request.op, &type);
		EXPECT_EQ(watch(&request, "a", HOUR), -EINVAL);
		EXPECT_STR(request.story, "");
		expect_counted(room, 0, 0);
	}
}

IN_EVERY_ROOM(on_expire_and_on_drop_may_be_missing)
{
	struct pawl_op_type type = request_type;
	struct request expired, dropped;

	type.on_expire = NULL;
	type.on_drop = NULL;
	request_init(&expired, room);
	request_init(&dropped, room);
	pawl_op_init(&expired.op, &type);
	pawl_op_init(&dropped.op, &type);
	EXPECT_EQ(watch(&expired, "a", MS), 0);
	EXPECT_EQ(watch(&dropped, "a", HOUR), 0);
	pass(&room->bench, MS);
	EXPECT_STR(expired.story, "cr");
	leave_room(room);
	EXPECT_STR(dropped.story, "r");
	EXPECT(!dropped.completed);
}

IN_EVERY_ROOM(an_operation_is_given_once)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "ab", HOUR), 0);
	EXPECT_EQ(watch(&request, "c", MS), -EBUSY);
	expect_counted(room, 2, 1);
	pass(&room->bench, MS);
	EXPECT_STR(request.story, "");
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_EQ(watch(&request, "c", MS), -EBUSY);
	expect_gone(&request, "c");
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(what_was_cancelled_dropped_or_completed_at_once_is_not_fresh)
{
	struct request cancelled, at_once, dropped;

	request_init(&cancelled, room);
	request_init(&at_once, room);
	request_init(&dropped, room);
	pawl_op_hold(&cancelled.op);
	pawl_op_hold(&at_once.op);
	pawl_op_hold(&dropped.op);
	watch(&cancelled, "a", HOUR);
	cancel_key(room, "a");
	EXPECT_EQ(watch(&cancelled, "a", HOUR), -EBUSY);
	at_once.ready = 1;
	EXPECT_EQ(watch(&at_once, "a", HOUR), 1);
	EXPECT_EQ(watch(&at_once, "a", HOUR), -EBUSY);
	watch(&dropped, "a", HOUR);
	pawl_purgatory_stop(room->purgatory);
	EXPECT(watch(&dropped, "a", HOUR) < 0); /* -EBUSY, and stopped as well */
	pawl_op_unhold(&cancelled.op);
	pawl_op_unhold(&at_once.op);
	pawl_op_unhold(&dropped.op);
	EXPECT_STR(cancelled.story, "kr");
	EXPECT_STR(at_once.story, "cr");
	EXPECT_STR(dropped.story, "dr");
}

IN_EVERY_ROOM(a_stopped_service_is_refused_and_what_waits_can_still_be_completed)
{
	struct pawl_purgatory *purgatory = room->purgatory;
	struct request waiting, armed, late;

	request_init(&waiting, room);
	request_init(&armed, room);
	request_init(&late, room);
	EXPECT_EQ(watch(&waiting, "a", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&armed, "b", PAWL_NEVER), 0);
	pawl_service_stop(room->bench.service, NULL);
	EXPECT_EQ(watch(&late, "a", HOUR), -ESHUTDOWN);
	EXPECT_STR(late.story, "");
	expect_counted(room, 2, 2);
	waiting.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(waiting.story, "cr");
	pawl_purgatory_stop(purgatory);
	EXPECT_STR(armed.story, "dr");
}

/* Keys */

IN_EVERY_ROOM(equal_keys_count_once)
{
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch(&request, "abababaabb", HOUR), 0);
	expect_counted(room, 2, 1);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_EQ(request.tries, 3);
	request.ready = 1;
	EXPECT_EQ(check(room, "b"), 1);
	expect_gone(&request, "cr");
}

/* Keys that differ in length alone, in a byte of zero, or in the last of a million bytes. */
IN_EVERY_ROOM(keys_are_bytes_of_any_value_and_length)
{
	enum { MIB = 1 << 20, COUNT = 10 };
	char *long_key = calloc(2, MIB);
	const struct pawl_key keys[COUNT] = {{NULL, 0},           {"\0", 1},
	                                     {"\0\0", 2},         {"a", 1},
	                                     {"a\0", 2},          {"a\0b", 3},
	                                     {"\xff\xfe", 2},     {long_key, MIB},
	                                     {long_key, MIB - 1}, {long_key + MIB, MIB}};
	struct request requests[COUNT];

	long_key[2 * MIB - 1] = 1;
	requests_init(requests, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(watch_keys(&requests[i], &keys[i], 1), 0);
	expect_counted(room, COUNT, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 0);
		for (unsigned j = 0; j < COUNT; j++)
			EXPECT_EQ(requests[j].tries, 2 + (j <= i));
	}
	for (unsigned i = 0; i < COUNT; i++) {
		requests[i].ready = 1;
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 1);
		EXPECT_STR(requests[i].story, "cr");
	}
	free(long_key);
}

IN_EVERY_ROOM(an_empty_key_is_the_same_with_and_without_an_address)
{
	const struct pawl_key both[] = {{NULL, 0}, {"xyz", 0}};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, both, 2), 0);
	expect_counted(room, 1, 1);
	request.ready = 1;
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, both[1]), 1);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(the_bytes_of_a_key_may_go_when_the_call_returns)
{
	char *bytes = strdup("partition");
	const struct pawl_key key = {bytes, 9};
	struct pawl_key resolved;
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_keys(&request, &key, 1), 0);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key, &resolved), 0);
	memset(bytes, 'x', 9);
	free(bytes);
	EXPECT_EQ(check(room, "partition"), 0);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, resolved), 0);
	EXPECT_EQ(request.tries, 4);
	EXPECT_EQ(check(room, "xxxxxxxxx"), 0);
	EXPECT_EQ(request.tries, 4);
	pawl_purgatory_unresolve(room->purgatory, resolved);
	leave_room(room);
}

IN_EVERY_ROOM(a_thousand_keys_on_one_operation)
{
	enum { COUNT = 1000 };
	static uint32_t numbers[COUNT];
	static struct pawl_key keys[2 * COUNT];
	struct request request;

	for (uint32_t i = 0; i < COUNT; i++) {
		numbers[i] = i;
		keys[i] = keys[COUNT + i] = (struct pawl_key){&numbers[i], sizeof(numbers[i])};
	}
	for (unsigned round = 0; round < 2; round++) {
		request_init(&request, room);
		EXPECT_EQ(watch_keys(&request, keys, round ? 2 * COUNT : COUNT), 0);
		expect_counted(room, COUNT, 1);
		for (uint32_t i = 0; i < COUNT; i++)
			EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[i]), 0);
		EXPECT_EQ(request.tries, COUNT + 2);
		request.ready = 1;
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[COUNT - 1]), 1);
		expect_gone(&request, "cr");
	}
}

/* A key's life begins and ends again and again, with other keys beside it. */
IN_EVERY_ROOM(keys_come_and_go)
{
	enum { COUNT = 300 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	char name[8];

	for (unsigned round = 0; round < 3; round++) {
		requests_init(requests, COUNT, room);
		for (unsigned i = 0; i < COUNT; i++) {
			snprintf(name, sizeof(name), "%u", i);
			EXPECT_EQ(
			        watch_keys(&requests[i], &(struct pawl_key){name, strlen(name)}, 1),
			        0);
		}
		expect_counted(room, COUNT, COUNT);
		for (unsigned i = 0; i < COUNT; i++) {
			snprintf(name, sizeof(name), "%u", (i * 7 + round) % COUNT);
			requests[(i * 7 + round) % COUNT].ready = 1;
			EXPECT_EQ(check(room, name), 1);
			EXPECT_EQ(check(room, name), 0);
			expect_counted(room, COUNT - 1 - i, COUNT - 1 - i);
		}
	}
	free(requests);
}

/* Resolved keys */

IN_EVERY_ROOM(a_resolved_key_stands_for_the_key_in_every_call)
{
	struct pawl_key resolved, again;
	struct request r[4];

	requests_init(r, 4, room);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("a"), &resolved), 0);
	EXPECT_EQ(resolved.len, PAWL_RESOLVED);
	EXPECT_EQ(watch_keys(&r[0], &resolved, 1), 0);
	EXPECT_EQ(watch(&r[1], "a", HOUR), 0);
	r[0].ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(r[0].story, "cr");
	r[1].ready = 1;
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, resolved), 1);
	EXPECT_STR(r[1].story, "cr");
	EXPECT_EQ(watch_keys(&r[2], &resolved, 1), 0);
	EXPECT_EQ(watch(&r[3], "a", HOUR), 0);
	EXPECT_EQ(pawl_purgatory_cancel_key(room->purgatory, resolved, request_cancelled), 2);
	EXPECT_STR(r[2].story, "kr");
	EXPECT_STR(r[3].story, "kr");
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, resolved, &again), 0);
	expect_counted(room, 0, 0);
}

IN_EVERY_ROOM(a_resolved_key_and_its_bytes_are_equal)
{
	struct pawl_key keys[4] = {{"a", 1}, {"b", 1}};
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, keys[0], &keys[2]), 0);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, keys[2], &keys[3]), 0);
	EXPECT_EQ(watch_keys(&request, keys, 4), 0);
	expect_counted(room, 2, 1);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[2]), 0);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[3]), 0);
	EXPECT_EQ(request.tries, 4);
	leave_room(room);
}

IN_EVERY_ROOM(a_key_is_resolved_until_as_many_calls_of_unresolve)
{
	struct pawl_key first, second, third;
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("a"), &first), 0);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("a"), &second), 0);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, first, &third), 0);
	pawl_purgatory_unresolve(room->purgatory, first);
	pawl_purgatory_unresolve(room->purgatory, second);
	EXPECT_EQ(watch_keys(&request, &third, 1), 0);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, third), 0);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_EQ(request.tries, 4);
	pawl_purgatory_unresolve(room->purgatory, third);
	leave_room(room);
}

IN_EVERY_ROOM(operations_outlast_their_resolved_key)
{
	struct pawl_key resolved;
	struct request first, second;

	request_init(&first, room);
	request_init(&second, room);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("a"), &resolved), 0);
	EXPECT_EQ(watch_keys(&first, &resolved, 1), 0);
	pawl_purgatory_unresolve(room->purgatory, resolved);
	expect_counted(room, 1, 1);
	EXPECT_EQ(watch(&second, "a", HOUR), 0);
	first.ready = second.ready = 1;
	EXPECT_EQ(check(room, "a"), 2);
	EXPECT_STR(first.story, "cr");
	EXPECT_STR(second.story, "cr");
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("a"), &resolved), 0);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, resolved), 0);
	pawl_purgatory_unresolve(room->purgatory, resolved);
}

IN_EVERY_ROOM(what_cannot_be_resolved_is_refused)
{
	struct pawl_key untouched = {"x", 1};

	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, (struct pawl_key){NULL, 1}, &untouched),
	          -EINVAL);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, (struct pawl_key){NULL, PAWL_RESOLVED},
	                                 &untouched),
	          -EINVAL);
	EXPECT_STR(untouched.data, "x");
	EXPECT_EQ(untouched.len, 1);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, (struct pawl_key){NULL, 0}, &untouched),
	          0);
}

/* Deadlines */

/* Release is another matter: it comes on the thread that lets go last. */
static void note_thread(struct request *request, char event)
{
	if (event == 'c')
		request->number = (uint64_t)request->thread;
	else if (event == 'e')
		EXPECT_EQ(request->number, (uint64_t)request->thread);
}

IN_EVERY_ROOM(a_time_out_of_0_is_due_at_once_on_a_thread_of_the_service)
{
	bool manual = room->bench.options.workers == PAWL_MANUAL;
	struct request request;

	request_init(&request, room);
	request.inside = note_thread;
	EXPECT_EQ(watch(&request, "a", 0), 0);
	if (manual)
		EXPECT_STR(request.story, "");
	settle(&room->bench);
	EXPECT_STR(request.story, "cer");
	EXPECT_EQ(request.at, 0);
	EXPECT_EQ(request.number == (uint64_t)pthread_self(), manual);
}

IN_EVERY_ROOM(on_expire_follows_on_complete_on_the_same_thread)
{
	struct request r[8];

	requests_init(r, COUNTOF(r), room);
	for (unsigned i = 0; i < COUNTOF(r); i++) {
		r[i].inside = note_thread;
		EXPECT_EQ(watch(&r[i], "a", i % 3 * MS), 0);
	}
	pass(&room->bench, 2 * MS);
	for (unsigned i = 0; i < COUNTOF(r); i++)
		EXPECT_STR(r[i].story, "cer");
}

IN_EVERY_ROOM(without_a_deadline_it_waits_for_ever)
{
	struct request never, almost;

	request_init(&never, room);
	request_init(&almost, room);
	EXPECT_EQ(watch(&never, "a", PAWL_NEVER), 0);
	pass(&room->bench, 7);
	EXPECT_EQ(watch(&almost, "a", PAWL_NEVER - 1), 0);
	pass(&room->bench, UINT64_C(1) << 62);
	EXPECT_STR(never.story, "");
	EXPECT_STR(almost.story, "");
	expect_counted(room, 2, 2);
	never.ready = almost.ready = 1;
	EXPECT_EQ(check(room, "a"), 2);
	EXPECT_STR(never.story, "cr");
	EXPECT_STR(almost.story, "cr");
}

IN_EVERY_ROOM(no_deadline_is_early_and_none_more_than_a_tick_late)
{
	struct request *requests = malloc(200 * sizeof(*requests));
	struct random random = {1};
	uint64_t deadlines[200];

	pass(&room->bench, 123456789);
	requests_init(requests, 200, room);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t timeout = random_below(&random, 100 * MS);

		deadlines[i] = bench_now(&room->bench) + timeout;
		EXPECT_EQ(watch(&requests[i], "abc", timeout), 0);
	}
	for (unsigned i = 0; i < 404; i++)
		pass(&room->bench, MS / 4);
	for (unsigned i = 0; i < 200; i++) {
		EXPECT_STR(requests[i].story, "cer");
		EXPECT(requests[i].at >= deadlines[i]);
		EXPECT(requests[i].at < deadlines[i] + MS + MS / 4);
	}
	free(requests);
}

static void deadlines_do_not_count_against_max_pending_in(const struct pawl_service_options *mode)
{
	struct pawl_service_options options = *mode;
	struct request requests[10];
	struct note first, second;
	struct room room;

	options.max_pending = 1;
	room_open(&room, &options, 2);
	requests_init(requests, 10, &room);
	for (unsigned i = 0; i < 5; i++)
		EXPECT_EQ(watch(&requests[i], "a", HOUR), 0);
	note_init(&first, &room.bench);
	note_init(&second, &room.bench);
	EXPECT_EQ(pawl_service_arm(room.bench.service, &first.task, MS), 0);
	EXPECT_EQ(pawl_service_arm(room.bench.service, &second.task, MS), -EAGAIN);
	for (unsigned i = 5; i < 10; i++)
		EXPECT_EQ(watch(&requests[i], "a", HOUR), 0);
	pass(&room.bench, MS);
	EXPECT_EQ(first.runs, 1);
	pass(&room.bench, HOUR);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_STR(requests[i].story, "cer");
	EXPECT_EQ(pawl_service_arm(room.bench.service, &second.task, MS), 0);
	pass(&room.bench, MS);
	EXPECT_EQ(second.runs, 1);
	room_close(&room);
}

static void deadlines_do_not_count_against_max_pending(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		deadlines_do_not_count_against_max_pending_in(&every_mode[i]);
}

/* Check and cancel_key */

IN_EVERY_ROOM(a_check_tries_each_operation_of_its_key_once)
{
	struct request r[10];

	requests_init(r, 10, room);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(watch(&r[i], i % 3 ? "ax" : "b", HOUR), 0);
	for (unsigned i = 0; i < 10; i++)
		r[i].ready = i % 2;
	EXPECT_EQ(check(room, "a"), 3); /* 1, 5 and 7 */
	for (unsigned i = 0; i < 10; i++) {
		EXPECT_EQ(r[i].tries, i % 3 ? 3 : 2);
		EXPECT_STR(r[i].story, i % 3 && i % 2 ? "cr" : "");
	}
	expect_counted(room, 3 * 2 + 4, 7);
	EXPECT(pthread_equal(r[1].thread, pthread_self()));
	leave_room(room);
}

IN_EVERY_ROOM(check_cancel_and_stop_go_through_as_many_as_there_are)
{
	enum { COUNT = 3000 };
	struct request *r = malloc(COUNT * sizeof(*r));

	requests_init(r, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(watch(&r[i], i % 3 ? "ab" : "a", HOUR), 0);
	for (unsigned i = 0; i < COUNT; i++)
		r[i].ready = i % 2;
	EXPECT_EQ(check(room, "a"), COUNT / 2);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(r[i].tries, 3);
	EXPECT_EQ(cancel_key(room, "b"), COUNT / 3);
	expect_counted(room, COUNT / 6, COUNT / 6);
	leave_room(room);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_STR(r[i].story, i % 2 ? "cr" : i % 3 ? "kr" : "dr");
	free(r);
}

/* While a check goes through them, each that it completes takes the next two away under its feet. */
static void take_two_away(struct request *request, char event)
{
	if (event != 'c' || !request->other)
		return;
	pawl_op_complete(&request->other[0].op);
	pawl_op_complete(&request->other[1].op);
	check(request->room, "b");
}

IN_EVERY_ROOM(a_check_goes_on_though_what_it_goes_through_changes)
{
	enum { COUNT = 999 };
	struct request *r = malloc(COUNT * sizeof(*r));
	size_t completed;

	requests_init(r, COUNT, room);
	for (unsigned i = 0; i < COUNT; i++) {
		pawl_op_hold(&r[i].op);
		EXPECT_EQ(watch(&r[i], "ab", HOUR), 0);
		r[i].ready = i % 3 == 0;
		r[i].inside = take_two_away;
		r[i].other = i % 3 == 0 ? &r[i + 1] : NULL;
	}
	completed = check(room, "a");
	EXPECT(completed >= 1 && completed <= COUNT);
	expect_counted(room, 0, 0);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_STR(r[i].story, "c");
		pawl_op_unhold(&r[i].op);
		EXPECT_STR(r[i].story, "cr");
	}
	free(r);
}

IN_EVERY_ROOM(cancel_key_without_a_callback_just_releases)
{
	struct request r[3];

	requests_init(r, 3, room);
	for (unsigned i = 0; i < 3; i++)
		watch(&r[i], i ? "ab" : "b", HOUR);
	EXPECT_EQ(pawl_purgatory_cancel_key(room->purgatory, key_of("a"), NULL), 2);
	EXPECT_STR(r[0].story, "");
	EXPECT_STR(r[1].story, "r");
	EXPECT_STR(r[2].story, "r");
	expect_counted(room, 1, 1);
	leave_room(room);
}

/* When it is completed the next one is started, and becomes ready as soon as it is watched. */
static void start_next(struct request *request, char event)
{
	if (event != 'c' || !request->other)
		return;
	EXPECT_EQ(watch(request->other, "a", HOUR), 0);
	request->other->ready = 1;
}

IN_EVERY_ROOM(a_check_ends_though_each_completion_starts_another)
{
	enum { COUNT = 2000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));

	requests_init(requests, COUNT, room);
	for (unsigned i = 0; i + 1 < COUNT; i++) {
		requests[i].inside = start_next;
		requests[i].other = &requests[i + 1];
	}
	EXPECT_EQ(watch(&requests[0], "a", HOUR), 0);
	requests[0].ready = 1;
	EXPECT(check(room, "a") >= 1);
	EXPECT_STR(requests[COUNT - 1].story, "");
	expect_counted(room, 1, 1);
	leave_room(room);
	free(requests);
}

/* From inside: everything that the table allows, in each function */

struct others {
	struct request started, checked, completed, cancelled;
};

static void others_init(struct others *others, struct room *room)
{
	request_init(&others->started, room);
	request_init(&others->checked, room);
	request_init(&others->completed, room);
	request_init(&others->cancelled, room);
	pawl_op_hold(&others->completed.op);
	EXPECT_EQ(watch(&others->checked, "x", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&others->completed, "y", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&others->cancelled, "z", PAWL_NEVER), 0);
	others->checked.ready = 1;
}

static void do_everything(struct request *request, char event)
{
	struct others *others = (struct others *)(void *)request->other;
	struct room *room = request->room;
	struct pawl_key resolved;

	if (event != (char)request->number)
		return;
	EXPECT_EQ(watch(&others->started, "s", PAWL_NEVER), event == 'd' ? -ESHUTDOWN : 0);
	EXPECT_EQ(pawl_purgatory_resolve(room->purgatory, key_of("x"), &resolved), 0);
	pawl_purgatory_check(room->purgatory, resolved);
	pawl_purgatory_unresolve(room->purgatory, resolved);
	cancel_key(room, "z");
	pawl_op_complete(&others->completed.op);
	pawl_op_unhold(&others->completed.op);
	if (event != 'r') {
		pawl_op_hold(&request->op);
		EXPECT(!pawl_op_complete(&request->op));
		EXPECT_EQ(pawl_op_completed(&request->op), event == 'c' || event == 'e');
		pawl_op_unhold(&request->op);
	}
	if (event != 'd')
		expect_counted(room, 1, 1);
}

static void expect_everything_done(struct others *others, char event)
{
	bool any = event == 'd'; /* then stop may have been first */

	if (!any || others->checked.story[0] == 'c')
		EXPECT_STR(others->checked.story, "cr");
	else
		EXPECT_STR(others->checked.story, "dr");
	if (!any || others->completed.story[0] == 'c')
		EXPECT_STR(others->completed.story, "cr");
	else
		EXPECT_STR(others->completed.story, "dr");
	if (!any || others->cancelled.story[0] == 'k')
		EXPECT_STR(others->cancelled.story, "kr");
	else
		EXPECT_STR(others->cancelled.story, "dr");
	EXPECT_STR(others->started.story, "");
}

static void do_everything_in(struct room *room, char event)
{
	struct request request;
	struct others others;

	others_init(&others, room);
	request_init(&request, room);
	request.inside = do_everything;
	request.number = (uint64_t)event;
	request.other = &others.started;
	EXPECT_EQ(watch(&request, "abcde", event == 'e' ? MS : PAWL_NEVER), 0);
	request.ready = 1;
	if (event == 'e')
		pass(&room->bench, MS);
	else if (event == 'k')
		EXPECT_EQ(cancel_key(room, "a"), 1);
	else if (event == 'd')
		pawl_purgatory_stop(room->purgatory);
	else
		EXPECT_EQ(check(room, "a"), 1);
	expect_everything_done(&others, event);
	pawl_purgatory_stop(room->purgatory);
	EXPECT_STR(others.started.story, event == 'd' ? "" : "dr");
}

IN_EVERY_ROOM(on_complete_may_call_everything)
{
	do_everything_in(room, 'c');
}

IN_EVERY_ROOM(on_expire_may_call_everything)
{
	do_everything_in(room, 'e');
}

IN_EVERY_ROOM(on_drop_may_call_everything)
{
	do_everything_in(room, 'd');
}

IN_EVERY_ROOM(cancelled_may_call_everything)
{
	do_everything_in(room, 'k');
}

IN_EVERY_ROOM(release_may_call_everything)
{
	do_everything_in(room, 'r');
}

/* Chains */

static struct {
	unsigned depth, deepest;
	unsigned answers
	        [3]; /* of try_or_watch: 0 and 1; of complete and check: those that said yes */
} chain;

static void act_on_next(struct request *request)
{
	struct request *next = request->other;

	if (request->number == 'w')
		chain.answers[watch(next, "x", PAWL_NEVER) == 1]++;
	else if (request->number == 'o')
		chain.answers[2] += pawl_op_complete(&next->op);
	else
		chain.answers[2] += (unsigned)pawl_purgatory_check(
		        request->room->purgatory, (struct pawl_key){&next, sizeof(next)});
}

static void go_on(struct request *request, char event)
{
	if (event != 'c')
		return;
	chain.depth++;
	if (chain.depth > chain.deepest)
		chain.deepest = chain.depth;
	if (request->other)
		act_on_next(request);
	chain.depth--;
}

/* Each completes the next: 'o' by complete, 'k' by a check, 'w' by try_or_watch. */
static void make_chain(struct request *requests, size_t count, struct room *room, char how)
{
	memset(&chain, 0, sizeof(chain));
	requests_init(requests, count, room);
	for (size_t i = 0; i < count; i++) {
		struct request *request = &requests[i];
		const struct pawl_key key = {&request, sizeof(request)};

		request->inside = go_on;
		request->number = (uint64_t)how;
		request->other = i + 1 < count ? request + 1 : NULL;
		if (how == 'w')
			request->ready = 1;
		if (how == 'o')
			pawl_op_hold(&request->op);
		if (how != 'w')
			EXPECT_EQ(watch_keys(request, &key, 1), 0);
		if (how == 'k')
			request->ready = 1;
	}
}

static void expect_chain_over(struct request *requests, size_t count, char how)
{
	for (size_t i = 0; i < count; i++) {
		if (how == 'o') {
			EXPECT_STR(requests[i].story, "c");
			pawl_op_unhold(&requests[i].op);
		}
		EXPECT_STR(requests[i].story, "cr");
	}
	EXPECT_EQ(chain.depth, 0);
	EXPECT_EQ(chain.deepest, count < 16 ? count : 16);
	expect_counted(requests->room, 0, 0);
}

static void expect_chain(struct room *room, size_t count, char how)
{
	struct request *requests = malloc(count * sizeof(*requests));
	struct pawl_key key = {&requests, sizeof(requests)};

	make_chain(requests, count, room, how);
	if (how == 'w')
		EXPECT_EQ(watch(requests, "x", PAWL_NEVER), 1);
	else if (how == 'o')
		EXPECT(pawl_op_complete(&requests->op));
	else
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, key), 1);
	expect_chain_over(requests, count, how);
	if (how == 'w') {
		EXPECT_EQ(chain.answers[1], count < 16 ? count - 1 : 15);
		EXPECT_EQ(chain.answers[0], count < 16 ? 0 : count - 16);
	} else {
		EXPECT_EQ(chain.answers[2], count - 1);
	}
	free(requests);
}

IN_EVERY_ROOM(chains_of_complete_are_16_deep_at_most_and_complete)
{
	expect_chain(room, 5, 'o');
	expect_chain(room, 16, 'o');
	expect_chain(room, 17, 'o');
	expect_chain(room, 100, 'o');
}

IN_EVERY_ROOM(chains_of_check_are_16_deep_at_most_and_complete)
{
	expect_chain(room, 5, 'k');
	expect_chain(room, 16, 'k');
	expect_chain(room, 17, 'k');
	expect_chain(room, 100, 'k');
}

IN_EVERY_ROOM(chains_of_try_or_watch_are_16_deep_at_most_and_complete)
{
	expect_chain(room, 5, 'w');
	expect_chain(room, 16, 'w');
	expect_chain(room, 17, 'w');
	expect_chain(room, 100, 'w');
}

struct long_chain {
	struct room *room;
	char how;
};

static void *run_long_chain(void *arg)
{
	const struct long_chain *job = arg;

	expect_chain(job->room, 100000, job->how);
	return NULL;
}

/* Without a bound it would take more than ten times the stack that this thread has. */
static void expect_chain_on_small_stack(struct room *room, char how)
{
	struct long_chain job = {room, how};
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	EXPECT_EQ(pthread_attr_setstacksize(&attributes, 512 * 1024), 0);
	EXPECT_EQ(pthread_create(&thread, &attributes, run_long_chain, &job), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static void in_a_chain_of_100000_the_stack_has_a_bound_(struct room *room)
{
	expect_chain_on_small_stack(room, 'o');
	expect_chain_on_small_stack(room, 'k');
	expect_chain_on_small_stack(room, 'w');
}

static void in_a_chain_of_100000_the_stack_has_a_bound(void)
{
	in_room(&every_mode[0], 2, in_a_chain_of_100000_the_stack_has_a_bound_);
}

/* On a thread of the service, too. */
IN_EVERY_ROOM(a_chain_that_a_deadline_begins_is_over_when_it_has_settled)
{
	enum { COUNT = 50 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	struct request first;

	make_chain(requests, COUNT, room, 'k');
	request_init(&first, room);
	first.inside = go_on;
	first.other = requests;
	EXPECT_EQ(watch(&first, "f", MS), 0);
	pass(&room->bench, MS);
	EXPECT_STR(first.story, "cer");
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_STR(requests[i].story, "cr");
	EXPECT_EQ(chain.deepest, 16);
	EXPECT_EQ(chain.answers[2], COUNT);
	free(requests);
}

/* Many at once at the greatest depth: one check there completes fifty. */
static void complete_fifty_at_the_bottom(struct request *request, char event)
{
	if (event != 'c')
		return;
	if (request->number)
		EXPECT(pawl_op_complete(&request->other->op));
	else
		EXPECT_EQ(check(request->room, "bottom"), 50);
}

IN_EVERY_ROOM(a_check_16_deep_counts_what_it_has_completed_and_all_are_called)
{
	struct request deep[16], bottom[50];
	const struct pawl_key key = key_of("bottom");

	requests_init(deep, 16, room);
	requests_init(bottom, 50, room);
	for (unsigned i = 0; i < 50; i++) {
		EXPECT_EQ(watch_keys(&bottom[i], &key, 1), 0);
		bottom[i].ready = 1;
	}
	for (unsigned i = 0; i < 16; i++) {
		deep[i].inside = complete_fifty_at_the_bottom;
		deep[i].number = i < 15;
		deep[i].other = &deep[i + 1 < 16 ? i + 1 : 0];
		pawl_op_hold(&deep[i].op);
		EXPECT_EQ(watch(&deep[i], "d", PAWL_NEVER), 0);
	}
	EXPECT(pawl_op_complete(&deep[0].op));
	for (unsigned i = 0; i < 50; i++)
		EXPECT_STR(bottom[i].story, "cr");
	for (unsigned i = 0; i < 16; i++) {
		EXPECT_STR(deep[i].story, "c");
		pawl_op_unhold(&deep[i].op);
	}
}

/* Opening */

static void options_out_of_range_are_refused_and_change_nothing(void)
{
	static const unsigned bad[] = {1025, 1u << 31, UINT32_MAX}, good[] = {0, 1, 2, 7, 1024};
	struct pawl_service *service = service_with(NULL);
	struct pawl_purgatory *const untouched = (struct pawl_purgatory *)(void *)&service;
	struct pawl_purgatory *purgatory = untouched;

	for (size_t i = 0; i < COUNTOF(bad); i++) {
		const struct pawl_purgatory_options options = {.shards = bad[i]};

		EXPECT_EQ(pawl_purgatory_open(&purgatory, service, &options), -EINVAL);
		EXPECT(purgatory == untouched);
	}
	for (size_t i = 0; i < COUNTOF(good); i++)
		pawl_purgatory_close(purgatory_with(service, good[i]));
	EXPECT_EQ(pawl_purgatory_open(&purgatory, service, NULL), 0);
	pawl_purgatory_close(purgatory);
	pawl_purgatory_close(NULL);
	pawl_service_close(service, NULL);
}

IN_EVERY_ROOM(two_purgatories_on_one_service_do_not_meet)
{
	struct pawl_purgatory *other = purgatory_with(room->bench.service, 2);
	const struct pawl_key key = key_of("a");
	struct request here, there;

	request_init(&here, room);
	request_init(&there, room);
	EXPECT_EQ(watch(&here, "a", HOUR), 0);
	EXPECT_EQ(pawl_purgatory_try_or_watch(other, &there.op, &key, 1, HOUR), 0);
	here.ready = there.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(here.story, "cr");
	EXPECT_STR(there.story, "");
	pawl_purgatory_close(other);
	EXPECT_STR(there.story, "dr");
}

/* Stop and close */

IN_EVERY_ROOM(stop_drops_and_releases_what_waits_and_refuses_the_rest)
{
	struct request r[20], late;

	requests_init(r, 20, room);
	for (unsigned i = 0; i < 20; i++)
		EXPECT_EQ(watch(&r[i], i % 2 ? "abcdef" : "a", i % 3 ? HOUR : PAWL_NEVER), 0);
	pawl_purgatory_stop(room->purgatory);
	for (unsigned i = 0; i < 20; i++) {
		EXPECT_STR(r[i].story, "dr");
		EXPECT(pthread_equal(r[i].thread, pthread_self()));
	}
	expect_counted(room, 0, 0);
	EXPECT_EQ(pawl_service_pending(room->bench.service), 0);
	request_init(&late, room);
	EXPECT_EQ(watch(&late, "a", HOUR), -ESHUTDOWN);
	late.ready = 1;
	EXPECT_EQ(watch(&late, "a", HOUR), -ESHUTDOWN);
	EXPECT_STR(late.story, "");
	EXPECT_EQ(check(room, "a") + cancel_key(room, "a"), 0);
	pawl_purgatory_stop(room->purgatory);
	pass(&room->bench, 2 * HOUR);
	for (unsigned i = 0; i < 20; i++)
		EXPECT_STR(r[i].story, "dr");
}

IN_EVERY_ROOM(what_is_held_at_stop_is_released_by_unhold)
{
	struct request request;

	request_init(&request, room);
	pawl_op_hold(&request.op);
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	pawl_purgatory_stop(room->purgatory);
	EXPECT_STR(request.story, "d");
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT(!pawl_op_completed(&request.op));
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "dr");
}

/* All that may follow close: calls on what is still held. */
static void what_is_held_outlives_the_purgatory(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct request dropped, completed;
		struct room room;

		room_open(&room, &every_mode[i], 3);
		request_init(&dropped, &room);
		request_init(&completed, &room);
		pawl_op_hold(&dropped.op);
		pawl_op_hold(&completed.op);
		EXPECT_EQ(watch(&dropped, "abcdef", HOUR), 0);
		EXPECT_EQ(watch(&completed, "abcdef", HOUR), 0);
		EXPECT(pawl_op_complete(&completed.op));
		pawl_purgatory_close(room.purgatory);
		EXPECT_STR(dropped.story, "d");
		EXPECT(!pawl_op_complete(&dropped.op));
		EXPECT(!pawl_op_complete(&completed.op));
		EXPECT(!pawl_op_completed(&dropped.op));
		EXPECT(pawl_op_completed(&completed.op));
		pawl_op_unhold(&dropped.op);
		pawl_op_unhold(&completed.op);
		EXPECT_STR(dropped.story, "dr");
		EXPECT_STR(completed.story, "cr");
		pawl_service_close(room.bench.service, NULL);
	}
}

static void close_frees_what_was_resolved(void)
{
	for (unsigned shards = 1; shards <= 3; shards++) {
		struct pawl_key resolved;
		struct room room;

		room_open(&room, &every_mode[0], shards);
		for (unsigned i = 0; i < 100; i++)
			EXPECT_EQ(pawl_purgatory_resolve(room.purgatory,
			                                 (struct pawl_key){&i, sizeof(i)},
			                                 &resolved),
			          0);
		room_close(&room);
	}
}

static void stay_then_count(struct request *request, char event)
{
	if (event != 'e' && event != 'd')
		return;
	stay_trying(request);
	for (unsigned i = 0; i < 20; i++)
		sched_yield();
	request->number++;
}

static void wait_until_refused(struct room *room)
{
	struct request request;
	int error;

	do {
		request_init(&request, room);
		request.ready = 1;
		error = watch(&request, "q", PAWL_NEVER);
	} while (error != -ESHUTDOWN);
}

IN_EVERY_ROOM(stop_waits_for_the_functions_of_a_deadline)
{
	struct request request;
	struct call call = {.room = room, .request = &request};

	request_init(&request, room);
	request.inside = stay_then_count;
	EXPECT_EQ(watch(&request, "a", 0), 0);
	begin_driving(&room->bench);
	sem_wait(&request.entered);
	begin(&call, run_stop);
	wait_until_refused(room);
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_STR(request.story, "cer");
	end_driving(&room->bench);
}

IN_EVERY_ROOM(a_second_stop_waits_for_the_first)
{
	struct request request;
	struct call first = {.room = room, .request = &request}, second = first;

	request_init(&request, room);
	request.inside = stay_then_count;
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	begin(&first, run_stop);
	sem_wait(&request.entered);
	begin(&second, run_stop);
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&second), 1);
	EXPECT_EQ(answer_of(&first), 1);
	EXPECT_STR(request.story, "dr");
}

static void stop_inside(struct request *request, char event)
{
	if (event == (char)request->number)
		pawl_purgatory_stop(request->room->purgatory);
}

IN_EVERY_ROOM(on_complete_of_a_check_may_stop)
{
	struct request request, other;

	request_init(&request, room);
	request_init(&other, room);
	request.inside = stop_inside;
	request.number = 'c';
	watch(&request, "a", HOUR);
	watch(&other, "a", HOUR);
	request.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(request.story, "cr");
	EXPECT_STR(other.story, "dr");
	expect_counted(room, 0, 0);
}

IN_EVERY_ROOM(cancelled_may_stop)
{
	struct request request, other;

	request_init(&request, room);
	request_init(&other, room);
	request.inside = stop_inside;
	request.number = 'k';
	watch(&request, "a", HOUR);
	watch(&other, "b", HOUR);
	EXPECT_EQ(cancel_key(room, "a"), 1);
	EXPECT_STR(request.story, "kr");
	EXPECT_STR(other.story, "dr");
}

IN_EVERY_ROOM(release_of_an_unhold_may_stop)
{
	struct request request, other;

	request_init(&request, room);
	request_init(&other, room);
	request.inside = stop_inside;
	request.number = 'r';
	pawl_op_hold(&request.op);
	watch(&request, "a", HOUR);
	watch(&other, "a", HOUR);
	pawl_op_complete(&request.op);
	pawl_op_unhold(&request.op);
	EXPECT_STR(request.story, "cr");
	EXPECT_STR(other.story, "dr");
}

/* Stop where it would wait for itself */

struct mistake {
	const struct pawl_service_options *options;
	char event; /* in which it stops; 'E': in on_complete of a check in on_expire */
};

static void check_inside(struct request *request, char event)
{
	if (event == 'e')
		check(request->room, "b");
}

static void make_mistake(const struct mistake *mistake)
{
	struct request request, other;
	struct room room;

	room_open(&room, mistake->options, 2);
	request_init(&request, &room);
	request_init(&other, &room);
	request.number = (uint64_t)mistake->event;
	request.inside = mistake->event == 'E' ? check_inside : stop_inside;
	other.inside = stop_inside;
	other.number = 'c';
	watch(&other, "b", HOUR);
	other.ready = 1;
	watch(&request, "a", mistake->event == 'd' ? HOUR : MS);
	if (mistake->event == 'd')
		pawl_purgatory_stop(room.purgatory);
	else
		pass(&room.bench, MS);
}

/* What the child writes to stderr; it ends by abort, or something is wrong. */
static void expect_abort_with_message(const struct mistake *mistake)
{
	char text[4096];
	size_t length = 0;
	int fds[2], status = 0;
	ssize_t got;
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		dup2(fds[1], 2);
		alarm(60); /* it waits for itself: SIGALRM is not SIGABRT */
		make_mistake(mistake);
		_exit(0);
	}
	close(fds[1]);
	while ((got = read(fds[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	EXPECT(strstr(text, "pawl_purgatory_stop") != NULL);
}

static void stop_from_a_deadline_or_from_stop_ends_the_program_with_a_message(void)
{
	static const char events[] = {'c', 'e', 'r', 'd', 'E'};

	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		for (size_t j = 0; j < COUNTOF(events); j++)
			expect_abort_with_message(&(struct mistake){&every_mode[i], events[j]});
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(stop_from_a_deadline_or_from_stop_ends_the_program_with_a_message),
	        TEST(an_unknown_key_gives_0),
	        TEST(two_operations_on_two_keys_are_completed_by_their_own),
	        TEST(what_is_not_completed_expires_at_its_time_out_and_no_earlier),
	        TEST(nothing_expires_early_on_the_real_clock),
	        TEST(watched_and_delayed_drop_at_once_when_completed_outside),
	        TEST(a_cancel_by_key_returns_2_of_3_and_leaves_1),
	        TEST(what_can_complete_at_once_is_never_watched),
	        TEST(the_second_try_completes_and_nothing_stays_watched),
	        TEST(what_waits_was_tried_twice_and_is_watched_under_all_its_keys),
	        TEST(whoever_wins_takes_it_off_every_key_and_its_deadline_before_it_calls),
	        TEST(nothing_happens_to_an_operation_that_is_over),
	        TEST(a_change_before_it_is_watched_is_seen_by_the_second_try),
	        TEST(a_change_during_the_second_try_leaves_word),
	        TEST(the_time_out_counts_from_the_end_of_the_second_try),
	        TEST(a_check_beside_a_try_leaves_word_and_goes_on),
	        TEST(complete_beside_a_try_wins_and_the_try_releases),
	        TEST(the_deadline_beside_a_try_wins_and_the_try_releases),
	        TEST(cancel_key_beside_a_try_wins_and_the_try_releases),
	        TEST(stop_beside_a_try_wins_and_the_try_releases),
	        TEST(a_try_that_says_yes_too_late_completes_nothing),
	        TEST(cancel_key_in_the_second_try_takes_it_out),
	        TEST(stop_in_the_second_try_drops_it),
	        TEST(stop_in_the_first_try_leaves_nothing_watched),
	        TEST(the_last_unhold_releases_before_it_returns),
	        TEST(a_hold_given_back_while_it_waits_releases_nothing),
	        TEST(holds_of_what_was_not_taken_are_only_counted),
	        TEST(a_hold_taken_in_a_function_keeps_it),
	        TEST(release_may_free_it_whoever_wins),
	        TEST(release_may_give_it_another_life),
	        TEST(complete_asks_nobody_and_says_who_was_first),
	        TEST(a_fresh_operation_completed_is_not_watched_but_released),
	        TEST(a_fresh_operation_completed_and_not_given_is_not_released),
	        TEST(complete_in_either_try_of_try_or_watch_wins),
	        TEST(completed_is_true_of_what_was_completed_alone),
	        TEST(completed_says_the_same_in_each_of_its_functions),
	        TEST(bad_keys_are_refused),
	        TEST(more_keys_than_can_be_counted_are_refused),
	        TEST(a_resolved_key_of_another_purgatory_is_refused),
	        TEST(a_type_without_one_of_the_three_functions_is_refused),
	        TEST(on_expire_and_on_drop_may_be_missing),
	        TEST(an_operation_is_given_once),
	        TEST(what_was_cancelled_dropped_or_completed_at_once_is_not_fresh),
	        TEST(a_stopped_service_is_refused_and_what_waits_can_still_be_completed),
	        TEST(equal_keys_count_once),
	        TEST(keys_are_bytes_of_any_value_and_length),
	        TEST(an_empty_key_is_the_same_with_and_without_an_address),
	        TEST(the_bytes_of_a_key_may_go_when_the_call_returns),
	        TEST(a_thousand_keys_on_one_operation),
	        TEST(keys_come_and_go),
	        TEST(a_resolved_key_stands_for_the_key_in_every_call),
	        TEST(a_resolved_key_and_its_bytes_are_equal),
	        TEST(a_key_is_resolved_until_as_many_calls_of_unresolve),
	        TEST(operations_outlast_their_resolved_key),
	        TEST(what_cannot_be_resolved_is_refused),
	        TEST(a_time_out_of_0_is_due_at_once_on_a_thread_of_the_service),
	        TEST(on_expire_follows_on_complete_on_the_same_thread),
	        TEST(without_a_deadline_it_waits_for_ever),
	        TEST(no_deadline_is_early_and_none_more_than_a_tick_late),
	        TEST(deadlines_do_not_count_against_max_pending),
	        TEST(a_check_tries_each_operation_of_its_key_once),
	        TEST(check_cancel_and_stop_go_through_as_many_as_there_are),
	        TEST(a_check_goes_on_though_what_it_goes_through_changes),
	        TEST(cancel_key_without_a_callback_just_releases),
	        TEST(a_check_ends_though_each_completion_starts_another),
	        TEST(on_complete_may_call_everything),
	        TEST(on_expire_may_call_everything),
	        TEST(on_drop_may_call_everything),
	        TEST(cancelled_may_call_everything),
	        TEST(release_may_call_everything),
	        TEST(chains_of_complete_are_16_deep_at_most_and_complete),
	        TEST(chains_of_check_are_16_deep_at_most_and_complete),
	        TEST(chains_of_try_or_watch_are_16_deep_at_most_and_complete),
	        TEST(in_a_chain_of_100000_the_stack_has_a_bound),
	        TEST(a_chain_that_a_deadline_begins_is_over_when_it_has_settled),
	        TEST(a_check_16_deep_counts_what_it_has_completed_and_all_are_called),
	        TEST(options_out_of_range_are_refused_and_change_nothing),
	        TEST(two_purgatories_on_one_service_do_not_meet),
	        TEST(stop_drops_and_releases_what_waits_and_refuses_the_rest),
	        TEST(what_is_held_at_stop_is_released_by_unhold),
	        TEST(what_is_held_outlives_the_purgatory),
	        TEST(close_frees_what_was_resolved),
	        TEST(stop_waits_for_the_functions_of_a_deadline),
	        TEST(a_second_stop_waits_for_the_first),
	        TEST(on_complete_of_a_check_may_stop),
	        TEST(cancelled_may_stop),
	        TEST(release_of_an_unhold_may_stop),
	};

	return RUN_TESTS(tests);
}
