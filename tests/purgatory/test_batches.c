/* SPDX-License-Identifier: MIT */
/*
 * A check has a batch of operations, and is inside try_complete of one of them when something else happens: another
 * check, another winner, another operation. It deals with all of them before it returns. Nothing here sleeps: a test
 * that waits for a thread waits for something that the thread does.
 */
#define _GNU_SOURCE
#include "../support/purgatories.h"

#define CROWD                 200 /* operations, and so several batches */
#define PATIENCE              100 /* rounds after which an operation has waited too long */
#define RETRIES               16  /* before on_complete of operations that are won */
#define TRIED_BY_TRY_OR_WATCH 2

int __wrap_pawl__system_random(void *bytes, size_t size);

/* The secret of the hash is always the same: so the keys here do not share a bucket, and a batch has an order. */
int __wrap_pawl__system_random(void *bytes, size_t size)
{
	memset(bytes, 1, size);
	return 0;
}

static void begin_check(struct call *call, struct room *room, const char *key)
{
	*call = (struct call){.room = room, .keys = key};
	begin(call, run_check);
}

/* A check on another thread, which returns while the calling thread is inside try_complete. */
static size_t check_meanwhile(struct room *room, const char *key)
{
	struct call call;

	begin_check(&call, room, key);
	return (size_t)answer_of(&call);
}

static void make_ready(struct request *request)
{
	__atomic_store_n(&request->ready, 1, __ATOMIC_SEQ_CST);
}

/* Only in the first try of a check. */
static void stay_once(struct request *request)
{
	if (request->tries == TRIED_BY_TRY_OR_WATCH + 1)
		request_stay(request);
}

/* A batch: operations that are tried before the thread stays in `inside`, and after. */
struct tried_batch {
	struct request before, inside, after, alone;
	struct call call;
};

/* All wait under "ab", one under "a" alone; a check of "a" is inside one of them until let_go_on. */
static void begin_batch(struct tried_batch *batch, struct room *room)
{
	request_init(&batch->before, room);
	request_init(&batch->inside, room);
	request_init(&batch->after, room);
	request_init(&batch->alone, room);
	batch->inside.inside_try = stay_once;
	EXPECT_EQ(watch(&batch->before, "ab", HOUR), 0);
	EXPECT_EQ(watch(&batch->inside, "ab", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&batch->after, "ab", HOUR), 0);
	EXPECT_EQ(watch(&batch->alone, "a", HOUR), 0);
	begin_check(&batch->call, room, "a");
	sem_wait(&batch->inside.entered);
	EXPECT_EQ(batch->before.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(batch->after.tries, TRIED_BY_TRY_OR_WATCH);
}

static long let_go_on(struct tried_batch *batch)
{
	sem_post(&batch->inside.leave);
	return answer_of(&batch->call);
}

/* Another operation that waits, and becomes ready together with `before`. */
static void watch_since(struct request *since, const char *key, struct tried_batch *batch,
                        struct room *room)
{
	request_init(since, room);
	EXPECT_EQ(watch(since, key, HOUR), 0);
	make_ready(&batch->before);
	make_ready(since);
}

/* Another check */

IN_EVERY_ROOM(a_check_of_the_same_key_is_made_by_the_one_under_way)
{
	struct request since;
	struct tried_batch batch;

	begin_batch(&batch, room);
	watch_since(&since, "a", &batch, room);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_STR(batch.before.story, "");
	EXPECT_STR(since.story, "");
	EXPECT_EQ(let_go_on(&batch), 2);
	EXPECT_STR(batch.before.story, "cr");
	EXPECT_STR(since.story, "cr");
	EXPECT(pthread_equal(since.thread, batch.call.thread));
	EXPECT_EQ(batch.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(batch.after.tries, TRIED_BY_TRY_OR_WATCH + 2);
	expect_counted(room, 5, 3);
	leave_room(room);
}

IN_EVERY_ROOM(a_check_of_another_key_has_its_batch_tried_once_more)
{
	struct request since;
	struct tried_batch batch;

	begin_batch(&batch, room);
	watch_since(&since, "b", &batch, room);
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT_STR(since.story, "cr");
	EXPECT_STR(batch.before.story, "");
	EXPECT_EQ(let_go_on(&batch), 1);
	EXPECT_STR(batch.before.story, "cr");
	EXPECT_EQ(batch.alone.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(batch.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(batch.after.tries, TRIED_BY_TRY_OR_WATCH + 2);
	expect_counted(room, 5, 3);
	leave_room(room);
}

/* After the batch has ended, other checks try its operations as usual. */
IN_EVERY_ROOM(a_check_that_fails_leaves_its_operations_to_the_next_one)
{
	struct tried_batch batch;

	begin_batch(&batch, room);
	EXPECT_EQ(let_go_on(&batch), 0);
	make_ready(&batch.before);
	make_ready(&batch.after);
	EXPECT_EQ(check(room, "b"), 2);
	EXPECT_EQ(batch.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_STR(batch.before.story, "cr");
	EXPECT_STR(batch.after.story, "cr");
	leave_room(room);
}

/* Another winner: the operation is completed once, and released by the thread whose batch has it. */

/* Three are in a batch, and the second is tried. One of them ends: its try says yes too late, or says no. */
static void end_in_a_batch(struct room *room, const struct ending *ending, unsigned which,
                           bool ready)
{
	struct request requests[3], *ended = &requests[which];
	struct call call;

	requests_init(requests, 3, room);
	requests[1].inside_try = stay_once;
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(i == which ? watch(&requests[i], "axbcdef", HOUR)
		                     : watch(&requests[i], "a", PAWL_NEVER),
		          0);
	__atomic_store_n(&ended->ready, ready, __ATOMIC_SEQ_CST);
	begin_check(&call, room, "a");
	sem_wait(&requests[1].entered);
	ending->end(ended);
	EXPECT_STR(ended->story, ending->story);
	sem_post(&requests[1].leave);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(ended->story, ending->released);
	EXPECT(pthread_equal(ended->thread, call.thread));
	EXPECT_EQ(ended->tries, TRIED_BY_TRY_OR_WATCH + 1);
	pawl_purgatory_cancel_key(room->purgatory, key_of(room, "a"), NULL);
}

static void end_each_of_a_batch(struct room *room, const struct ending *ending)
{
	unsigned ways = ending->end == end_by_check ? 0 : ending->end == end_by_stop ? 1 : 6;

	for (unsigned i = 0; i < ways; i++)
		end_in_a_batch(room, ending, (i + 1) % 3, i < 3);
}

IN_EVERY_ROOM(an_operation_won_while_its_batch_is_tried_completes_once_and_is_released_last)
{
	with_every_ending(room, end_each_of_a_batch);
}

/* Both at once: the operation that is withdrawn has its retry bit set. */
IN_EVERY_ROOM(an_operation_withdrawn_before_its_retry_is_not_tried)
{
	struct tried_batch batch;

	begin_batch(&batch, room);
	EXPECT_EQ(check(room, "b"), 0);
	make_ready(&batch.before);
	EXPECT_EQ(cancel_key(room, "b"), 3);
	EXPECT_EQ(let_go_on(&batch), 0);
	EXPECT_EQ(batch.before.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(batch.inside.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_STR(batch.before.story, "kr");
	EXPECT_STR(batch.inside.story, "kr");
	EXPECT_STR(batch.after.story, "kr");
	expect_counted(room, 1, 1);
	leave_room(room);
}

/* From inside on_complete */

static void check_same_key(struct request *request, char event)
{
	if (event != 'c' || !request->other)
		return;
	make_ready(request->other);
	request->number = check(request->room, "a");
	EXPECT_STR(request->other->story, "cr"); /* not left to the outer check */
}

IN_EVERY_ROOM(on_complete_may_check_the_key_whose_check_has_called_it)
{
	struct request first, second, third;

	request_init(&first, room);
	request_init(&second, room);
	request_init(&third, room);
	EXPECT_EQ(watch(&first, "a", HOUR), 0);
	EXPECT_EQ(watch(&second, "a", HOUR), 0);
	EXPECT_EQ(watch(&third, "a", HOUR), 0);
	first.inside = check_same_key;
	first.other = &second;
	second.inside = check_same_key;
	second.other = &third;
	first.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_EQ(first.number, 1);
	EXPECT_EQ(second.number, 1);
	EXPECT_STR(first.story, "cr");
	expect_counted(room, 0, 0);
}

/* Both are won at once: on_complete of the first finds the second completed, and cannot win it. */
static void win_the_other(struct request *request, char event)
{
	if (event != 'c')
		return;
	pawl_op_ref(&request->other->op);
	EXPECT(!pawl_op_complete(&request->other->op));
	EXPECT(pawl_op_completed(&request->other->op));
	pawl_op_unref(&request->other->op);
	EXPECT_EQ(check(request->room, "a"), 0);
	EXPECT_EQ(cancel_key(request->room, "a"), 0);
}

IN_EVERY_ROOM(on_complete_cannot_win_what_its_check_has_won)
{
	struct request first, second;

	request_init(&first, room);
	request_init(&second, room);
	EXPECT_EQ(watch(&first, "ab", HOUR), 0);
	EXPECT_EQ(watch(&second, "ab", HOUR), 0);
	first.ready = second.ready = 1;
	first.inside = win_the_other; /* it is the first to be called */
	first.other = &second;
	EXPECT_EQ(check(room, "b"), 2);
	EXPECT_STR(first.story, "cr");
	EXPECT_STR(second.story, "cr");
}

/* More than one batch. The newest operation is in the first batch, the oldest in the last. */

struct crowd {
	struct request requests[CROWD];
	struct request *newest, *oldest;
};

static void begin_crowd(struct crowd *crowd, struct room *room)
{
	requests_init(crowd->requests, CROWD, room);
	for (size_t i = 0; i < CROWD; i++)
		EXPECT_EQ(watch(&crowd->requests[i], "a", HOUR), 0);
	crowd->oldest = &crowd->requests[0];
	crowd->newest = &crowd->requests[CROWD - 1];
}

static void make_all_ready(struct request *request)
{
	struct crowd *crowd = (struct crowd *)(void *)request->other;

	for (size_t i = 0; i < CROWD; i++)
		if (&crowd->requests[i] != request)
			make_ready(&crowd->requests[i]);
}

static void expect_all_completed(const struct crowd *crowd)
{
	for (size_t i = 0; i < CROWD; i++)
		EXPECT_STR(crowd->requests[i].story, "cr");
}

static void check_all_meanwhile(struct request *request, char event)
{
	if (event != 'c')
		return;
	make_all_ready(request);
	request->number = check_meanwhile(request->room, "a");
}

IN_EVERY_ROOM(a_check_between_two_batches_of_another_one_does_it_all)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	make_ready(crowd.newest);
	crowd.newest->inside = check_all_meanwhile;
	crowd.newest->other = crowd.requests;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_EQ(crowd.newest->number, CROWD - 1);
	expect_all_completed(&crowd);
	expect_counted(room, 0, 0);
}

/* The other check is inside a try when the first one goes on to its second batch. */
static struct call beside;

static void be_overtaken(struct request *request, char event)
{
	if (event != 'c')
		return;
	begin_check(&beside, request->room, "a");
	sem_wait(&request->other[CROWD - 2].entered);
	make_all_ready(request);
}

IN_EVERY_ROOM(a_check_overtaken_between_two_batches_leaves_the_rest_to_the_other)
{
	struct crowd crowd;
	struct request *slow = &crowd.requests[CROWD - 2];

	begin_crowd(&crowd, room);
	make_ready(crowd.newest);
	crowd.newest->inside = be_overtaken;
	crowd.newest->other = crowd.requests;
	slow->ready_from = TRIED_BY_TRY_OR_WATCH + 3;
	slow->number = TRIED_BY_TRY_OR_WATCH + 2;
	slow->inside_try = stay_in_try_of_number;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(crowd.oldest->story, "");
	sem_post(&slow->leave);
	EXPECT_EQ(answer_of(&beside), CROWD - 1);
	expect_all_completed(&crowd);
	expect_counted(room, 0, 0);
}

/* Between two batches a check has cursors in the lists. */
static void stop_meanwhile(struct request *request, char event)
{
	if (event == 'c')
		pawl_purgatory_stop(request->room->purgatory);
}

IN_EVERY_ROOM(a_stop_between_two_batches_of_a_check_drops_all_the_rest)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	make_ready(crowd.newest);
	crowd.newest->inside = stop_meanwhile;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(crowd.newest->story, "cr");
	for (size_t i = 0; i < CROWD - 1; i++)
		EXPECT_STR(crowd.requests[i].story, "dr");
	expect_counted(room, 0, 0);
}

/* Enough operations to let a table of 64 buckets grow several times, each under its own key. */
static struct request newcomers[1000];

static void watch_many_meanwhile(struct request *request, char event)
{
	if (event != 'c')
		return;
	for (uint32_t i = 0; i < request->number; i++) {
		request_init(&newcomers[i], request->room);
		EXPECT_EQ(watch_numbered(&newcomers[i], i), 0);
	}
}

static void complete_all_while_these_come(struct room *room, unsigned count)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	for (size_t i = 0; i < CROWD; i++)
		make_ready(&crowd.requests[i]);
	crowd.newest->inside = watch_many_meanwhile;
	crowd.newest->number = count;
	EXPECT_EQ(check(room, "a"), CROWD);
	expect_all_completed(&crowd);
	expect_counted(room, count, count);
	pawl_purgatory_stop(room->purgatory);
}

IN_EVERY_ROOM(a_table_that_grows_once_between_two_batches_loses_no_operation)
{
	complete_all_while_these_come(room, 60);
}

IN_EVERY_ROOM(a_table_that_grows_several_times_between_two_batches_loses_no_operation)
{
	complete_all_while_these_come(room, COUNTOF(newcomers));
}

static void cancel_all_meanwhile(struct request *request, char event)
{
	if (event == 'c')
		request->number = cancel_key(request->room, "a");
}

/* Its cursors are removed although nothing comes after them; otherwise the next check would find them. */
IN_EVERY_ROOM(a_check_whose_rest_is_withdrawn_between_two_batches_leaves_nothing_behind)
{
	struct crowd crowd;

	for (unsigned i = 0; i < 3; i++) {
		begin_crowd(&crowd, room);
		make_ready(crowd.newest);
		crowd.newest->inside = cancel_all_meanwhile;
		EXPECT_EQ(check(room, "a"), 1);
		EXPECT_EQ(crowd.newest->number, CROWD - 1);
		expect_counted(room, 0, 0);
		begin_crowd(&crowd, room);
		for (size_t j = 0; j < CROWD; j++)
			make_ready(&crowd.requests[j]);
		EXPECT_EQ(check(room, "a"), CROWD);
		expect_all_completed(&crowd);
	}
}

/* Another check comes in every try of a check, until the other operation is over. */
static void check_in_every_try(struct request *request, const char *key)
{
	if (request->tries <= TRIED_BY_TRY_OR_WATCH || request->number == PATIENCE)
		return;
	if (request->other->story[0] == '\0') {
		request->number++;
		EXPECT_EQ(check_meanwhile(request->room, key), 0);
	}
}

/* Another check comes in every first batch: the last operation is tried all the same. */
static void check_same_key_in_every_try(struct request *request)
{
	check_in_every_try(request, "a");
}

IN_EVERY_ROOM(checks_during_the_first_batch_do_not_keep_it_from_the_last)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	crowd.newest->inside_try = check_same_key_in_every_try;
	crowd.newest->other = crowd.oldest;
	make_ready(crowd.oldest);
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(crowd.oldest->story, "cr");
	EXPECT_EQ(crowd.newest->number, 1);
	leave_room(room);
}

/* Another check comes in every try of one operation: another one, which is won, is completed all the same. */
static void check_other_key_in_every_try(struct request *request)
{
	check_in_every_try(request, "b");
}

IN_EVERY_ROOM(checks_of_one_operation_do_not_put_off_another_that_is_won)
{
	struct request wanted, won;

	request_init(&wanted, room);
	request_init(&won, room);
	EXPECT_EQ(watch(&wanted, "ab", HOUR), 0);
	EXPECT_EQ(watch(&won, "a", HOUR), 0);
	wanted.inside_try = check_other_key_in_every_try;
	wanted.other = &won;
	make_ready(&won);
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(won.story, "cr");
	EXPECT_EQ(wanted.number, RETRIES + 1); /* before it calls on_complete, and one after */
	EXPECT_EQ(wanted.tries, TRIED_BY_TRY_OR_WATCH + RETRIES + 2);
	leave_room(room);
}

/* Another check comes in the first three tries of a check, and from the third try on it can complete. */
static void can_complete_from_the_third(struct request *request)
{
	if (request->tries <= TRIED_BY_TRY_OR_WATCH || request->tries > TRIED_BY_TRY_OR_WATCH + 3)
		return;
	if (request->tries == TRIED_BY_TRY_OR_WATCH + 3)
		make_ready(request);
	EXPECT_EQ(check_meanwhile(request->room, "b"), 0);
}

static void expect_other_completed(struct request *request, char event)
{
	if (event == 'c')
		EXPECT(pawl_op_completed(&request->other->op));
}

/* A slow on_complete must not let another operation expire that has been checked before. */
IN_EVERY_ROOM(a_retry_does_not_wait_for_on_complete)
{
	struct request wanted, won;

	request_init(&wanted, room);
	request_init(&won, room);
	EXPECT_EQ(watch(&wanted, "ab", HOUR), 0);
	EXPECT_EQ(watch(&won, "a", HOUR), 0);
	wanted.inside_try = can_complete_from_the_third;
	won.inside = expect_other_completed;
	won.other = &wanted;
	make_ready(&won);
	EXPECT_EQ(check(room, "a"), 2);
	EXPECT_STR(won.story, "cr");
	EXPECT_STR(wanted.story, "cr");
	expect_counted(room, 0, 0);
	leave_room(room);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_check_of_the_same_key_is_made_by_the_one_under_way),
	        TEST(a_check_of_another_key_has_its_batch_tried_once_more),
	        TEST(a_check_that_fails_leaves_its_operations_to_the_next_one),
	        TEST(an_operation_won_while_its_batch_is_tried_completes_once_and_is_released_last),
	        TEST(an_operation_withdrawn_before_its_retry_is_not_tried),
	        TEST(on_complete_may_check_the_key_whose_check_has_called_it),
	        TEST(on_complete_cannot_win_what_its_check_has_won),
	        TEST(a_check_between_two_batches_of_another_one_does_it_all),
	        TEST(a_check_overtaken_between_two_batches_leaves_the_rest_to_the_other),
	        TEST(a_stop_between_two_batches_of_a_check_drops_all_the_rest),
	        TEST(a_check_whose_rest_is_withdrawn_between_two_batches_leaves_nothing_behind),
	        TEST(a_table_that_grows_once_between_two_batches_loses_no_operation),
	        TEST(a_table_that_grows_several_times_between_two_batches_loses_no_operation),
	        TEST(checks_during_the_first_batch_do_not_keep_it_from_the_last),
	        TEST(checks_of_one_operation_do_not_put_off_another_that_is_won),
	        TEST(a_retry_does_not_wait_for_on_complete),
	};

	return RUN_TESTS(tests);
}
