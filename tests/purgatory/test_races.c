/* SPDX-License-Identifier: MIT */
/*
 * One thread is in try_or_watch, stopped where the header draws it, and another comes: no trigger is lost, and no thread
 * waits for a try. (test_batches.c has threads that are in a check.) Nothing here sleeps: a test that waits for a thread
 * waits for something that the thread does.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "../support/purgatories.h"

static void *run_watch(void *arg)
{
	struct call *call = arg;

	call->answer = watch(call->request, call->keys, call->timeout);
	return NULL;
}

/* A thread is in the first or second try that try_or_watch itself makes, until `leave` is posted. */
static void begin_watching(struct call *call, struct request *request, struct room *room,
                           unsigned try, uint64_t timeout)
{
	request_init(request, room);
	pawl_op_ref(&request->op);
	request->inside_try = stay_in_try_of_number;
	request->number = try;
	*call = (struct call){.room = room, .request = request, .keys = "ax", .timeout = timeout};
	begin(call, run_watch);
	sem_wait(&request->entered);
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
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_EQ(request.tries, 2);
	EXPECT_STR(request.story, "c");
	expect_counted(room, 0, 0);
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

/* With a deadline to arm, and without one. */
static const uint64_t every_timeout[] = {MS, PAWL_NEVER};

IN_EVERY_ROOM(a_change_during_the_second_try_makes_it_retry)
{
	for (size_t i = 0; i < COUNTOF(every_timeout); i++) {
		struct request request;
		struct call call;

		begin_watching(&call, &request, room, 2, every_timeout[i]);
		__atomic_store_n(&request.ready, 1, __ATOMIC_SEQ_CST);
		EXPECT_EQ(check(room, "x"), 0);
		sem_post(&request.leave);
		EXPECT_EQ(answer_of(&call), 1);
		EXPECT_EQ(request.tries, 3);
		expect_gone(&request, "c");
		pawl_op_unref(&request.op);
		EXPECT_STR(request.story, "cr");
	}
}

/* But the deadline is armed after that try, so it cannot come during it. */
IN_EVERY_ROOM(the_timeout_counts_from_the_beginning_of_the_second_try)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, 5 * MS);
	advance_and_settle(&room->fixture, HOUR);
	EXPECT_STR(request.story, "");
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 0);
	advance_and_settle(&room->fixture, 0);
	EXPECT_STR(request.story, "ce");
	EXPECT_EQ(request.at, HOUR);
	pawl_op_unref(&request.op);
}

static void stay_from_the_second_try_on(struct request *request)
{
	if (request->tries >= 2)
		request_stay(request);
}

IN_EVERY_ROOM(the_deadline_comes_even_if_checks_keep_coming)
{
	struct call call = {.room = room, .keys = "ab", .timeout = 5 * MS};
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	request.inside_try = stay_from_the_second_try_on;
	call.request = &request;
	begin(&call, run_watch);
	sem_wait(&request.entered);
	EXPECT_EQ(check(room, "a"), 0);
	sem_post(&request.leave);
	sem_wait(&request.entered); /* the third try, for that check */
	advance_and_settle(&room->fixture, 5 * MS);
	EXPECT_STR(request.story, "ce");
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 0);
	expect_gone(&request, "ce");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cer");
}

/* No thread waits for a try */

/* It is released by try_or_watch, and no deadline comes. */
static void end_in_the_second_try(struct room *room, const struct ending *ending)
{
	static const uint64_t timeouts[] = {MS, 0, PAWL_NEVER};
	size_t count = ending->end == end_by_stop ? 1 : COUNTOF(timeouts);

	if (ending->end == end_by_check || ending->end == end_by_deadline)
		return; /* these wait for the try: see above */
	for (size_t i = 0; i < count; i++) {
		struct request request;
		struct call call;

		begin_watching(&call, &request, room, 2, timeouts[i]);
		ending->end(&request);
		pawl_op_unref(&request.op);
		EXPECT_STR(request.story, ending->story);
		sem_post(&request.leave);
		EXPECT_EQ(answer_of(&call), 0);
		expect_gone(&request, ending->released);
		advance_and_settle(&room->fixture, HOUR);
		EXPECT_STR(request.story, ending->released);
	}
}

IN_EVERY_ROOM(who_ends_it_in_the_second_try_wins)
{
	with_every_ending(room, end_in_the_second_try);
}

/* Another thread has checked it meanwhile, but its time is up: it is not tried for as long as others check. */
IN_EVERY_ROOM(a_timeout_of_0_wins_after_the_second_try_though_it_was_checked)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 2, 0);
	EXPECT_EQ(check(room, "x"), 0);
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_EQ(request.tries, 2);
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cer");
}

IN_EVERY_ROOM(stop_in_the_first_try_leaves_nothing_watched)
{
	struct request request;
	struct call call;
	long answer;

	begin_watching(&call, &request, room, 1, MS);
	pawl_purgatory_stop(room->purgatory);
	sem_post(&request.leave);
	answer = answer_of(&call);
	pawl_op_unref(&request.op);
	EXPECT(answer == -ECANCELED || answer == 0);
	EXPECT_STR(request.story, answer ? "" : "dr");
	expect_counted(room, 0, 0);
}

IN_EVERY_ROOM(complete_in_the_first_try_wins)
{
	struct request request;
	struct call call;

	begin_watching(&call, &request, room, 1, MS);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	__atomic_store_n(&request.ready, 1, __ATOMIC_SEQ_CST);
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 0);
	advance_and_settle(&room->fixture, HOUR);
	expect_gone(&request, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_change_before_it_is_watched_is_seen_by_the_second_try),
	        TEST(a_change_during_the_second_try_makes_it_retry),
	        TEST(the_timeout_counts_from_the_beginning_of_the_second_try),
	        TEST(the_deadline_comes_even_if_checks_keep_coming),
	        TEST(who_ends_it_in_the_second_try_wins),
	        TEST(a_timeout_of_0_wins_after_the_second_try_though_it_was_checked),
	        TEST(stop_in_the_first_try_leaves_nothing_watched),
	        TEST(complete_in_the_first_try_wins),
	};

	return RUN_TESTS(tests);
}
