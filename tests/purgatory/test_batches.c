/* SPDX-License-Identifier: MIT */
/*
 * A check has a batch of operations in hand, and is inside try_complete of one of them when something comes by:
 * another check, another winner, another operation. It answers all of them before it returns. Nothing here
 * sleeps: a test that waits for a thread waits for something that the thread does.
 */
#define _GNU_SOURCE
#include "../support/purgatories.h"

#define MANY                  1000 /* keys */
#define CROWD                 200  /* operations, and so several batches */
#define PATIENCE              100  /* rounds after which something has been put off for too long */
#define RETRIES               16   /* before on_complete of what is won already */
#define TRIED_BY_TRY_OR_WATCH 2

int __wrap_pawl__system_random(void *bytes, size_t size);

/* The secret of the hash is always the same: so the keys here do not share a bucket, and a batch has an order. */
int __wrap_pawl__system_random(void *bytes, size_t size)
{
	memset(bytes, 1, size);
	return 0;
}

static void *run_check(void *arg)
{
	struct call *call = arg;

	call->answer = (long)check(call->room, call->keys);
	return NULL;
}

static void begin_check(struct call *call, struct room *room, const char *key)
{
	*call = (struct call){.room = room, .keys = key};
	begin(call, run_check);
}

/* From another thread, and it returns while the thread that calls is inside try_complete. */
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
		stay_trying(request);
}

/* Only in that try. */
static void stay_in_try_of_number(struct request *request)
{
	if (request->tries == request->number)
		stay_trying(request);
}

/* What is in hand: it is tried before, at the same time as, and after the thread stays in `inside`. */
struct hand {
	struct request before, inside, after, alone;
	struct call call;
};

/* All wait under "ab", one under "a" alone; a check of "a" is inside one of them until let_go_on. */
static void begin_hand(struct hand *hand, struct room *room)
{
	request_init(&hand->before, room);
	request_init(&hand->inside, room);
	request_init(&hand->after, room);
	request_init(&hand->alone, room);
	hand->inside.inside_try = stay_once;
	EXPECT_EQ(watch(&hand->before, "ab", HOUR), 0);
	EXPECT_EQ(watch(&hand->inside, "ab", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&hand->after, "ab", HOUR), 0);
	EXPECT_EQ(watch(&hand->alone, "a", HOUR), 0);
	begin_check(&hand->call, room, "a");
	sem_wait(&hand->inside.entered);
	EXPECT_EQ(hand->before.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(hand->after.tries, TRIED_BY_TRY_OR_WATCH);
}

static long let_go_on(struct hand *hand)
{
	sem_post(&hand->inside.leave);
	return answer_of(&hand->call);
}

/* Another check comes by */

IN_EVERY_ROOM(a_check_of_the_same_key_is_made_by_the_one_under_way)
{
	struct request since;
	struct hand hand;

	begin_hand(&hand, room);
	request_init(&since, room);
	EXPECT_EQ(watch(&since, "a", HOUR), 0);
	make_ready(&hand.before);
	make_ready(&since);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_STR(hand.before.story, "");
	EXPECT_STR(since.story, "");
	EXPECT_EQ(let_go_on(&hand), 2);
	EXPECT_STR(hand.before.story, "cr");
	EXPECT_STR(since.story, "cr");
	EXPECT(pthread_equal(since.thread, hand.call.thread));
	EXPECT_EQ(hand.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(hand.after.tries, TRIED_BY_TRY_OR_WATCH + 2);
	expect_counted(room, 5, 3);
	leave_room(room);
}

IN_EVERY_ROOM(a_check_of_another_key_has_what_is_in_hand_tried_once_more)
{
	struct request since;
	struct hand hand;

	begin_hand(&hand, room);
	request_init(&since, room);
	EXPECT_EQ(watch(&since, "b", HOUR), 0);
	make_ready(&hand.before);
	make_ready(&since);
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT_STR(since.story, "cr");
	EXPECT_STR(hand.before.story, "");
	EXPECT_EQ(let_go_on(&hand), 1);
	EXPECT_STR(hand.before.story, "cr");
	EXPECT_EQ(hand.alone.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(hand.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(hand.after.tries, TRIED_BY_TRY_OR_WATCH + 2);
	expect_counted(room, 5, 3);
	leave_room(room);
}

/* What is in hand goes without it as before, once it is no longer in hand. */
IN_EVERY_ROOM(a_check_in_vain_leaves_its_operations_to_the_next_one)
{
	struct hand hand;

	begin_hand(&hand, room);
	EXPECT_EQ(let_go_on(&hand), 0);
	make_ready(&hand.before);
	make_ready(&hand.after);
	EXPECT_EQ(check(room, "b"), 2);
	EXPECT_EQ(hand.inside.tries, TRIED_BY_TRY_OR_WATCH + 2);
	EXPECT_EQ(check(room, "a"), 0);
	EXPECT_STR(hand.before.story, "cr");
	EXPECT_STR(hand.after.story, "cr");
	leave_room(room);
}

/* Another winner comes by: what is in hand is completed once, and released by whoever has it in hand. */

static void complete_one(struct request *request)
{
	EXPECT(pawl_op_complete(&request->op));
	pawl_op_unhold(&request->op);
}

static void let_expire(struct request *request)
{
	pawl_op_unhold(&request->op);
	pass(&request->room->bench, HOUR);
}

static void take_it_out(struct request *request)
{
	pawl_op_unhold(&request->op);
	EXPECT_EQ(cancel_key(request->room, "x"), 1);
}

static void stop_all(struct request *request)
{
	pawl_op_unhold(&request->op);
	pawl_purgatory_stop(request->room->purgatory);
}

static const struct {
	void (*win)(struct request *request);
	const char *story, *released;
} winners[] = {
        {complete_one, "c", "cr"},
        {let_expire, "ce", "cer"},
        {take_it_out, "k", "kr"},
        {stop_all, "d", "dr"},
};

/* `inside` is tried in vain, or with success, and `in_hand` beside it, before or after the other wins. */
static void win_beside(struct room *room, size_t winner, bool before, bool ready)
{
	struct request inside, in_hand;
	struct call call;

	request_init(&inside, room);
	request_init(&in_hand, room);
	pawl_op_hold(&in_hand.op);
	inside.inside_try = stay_once;
	if (before)
		EXPECT_EQ(watch(&in_hand, "axbcdef", HOUR), 0);
	EXPECT_EQ(watch(&inside, "a", PAWL_NEVER), 0);
	if (!before)
		EXPECT_EQ(watch(&in_hand, "axbcdef", HOUR), 0);
	__atomic_store_n(&in_hand.ready, ready, __ATOMIC_SEQ_CST);
	begin_check(&call, room, "a");
	sem_wait(&inside.entered);
	winners[winner].win(&in_hand);
	EXPECT_STR(in_hand.story, winners[winner].story);
	sem_post(&inside.leave);
	EXPECT_EQ(answer_of(&call), 0);
	EXPECT_STR(in_hand.story, winners[winner].released);
	EXPECT(pthread_equal(in_hand.thread, call.thread));
	EXPECT_EQ(in_hand.tries, TRIED_BY_TRY_OR_WATCH + 1);
	leave_room(room);
}

static void what_is_won_while_it_is_in_hand_is_completed_once_and_released_last(void)
{
	for (size_t i = 0; i < 4 * COUNTOF(winners); i++)
		for (size_t j = 0; j < COUNTOF(every_mode); j++) {
			struct room room;

			room_open(&room, &every_mode[j], 1);
			win_beside(&room, i / 4, i % 4 / 2, i % 2);
			room_close(&room);
		}
}

/* Two at once: word has been left for what is withdrawn then. */
IN_EVERY_ROOM(what_was_to_be_tried_again_and_is_withdrawn_is_not_tried)
{
	struct hand hand;

	begin_hand(&hand, room);
	EXPECT_EQ(check(room, "b"), 0);
	make_ready(&hand.before);
	EXPECT_EQ(cancel_key(room, "b"), 3);
	EXPECT_EQ(let_go_on(&hand), 0);
	EXPECT_EQ(hand.before.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(hand.inside.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_STR(hand.before.story, "kr");
	EXPECT_STR(hand.inside.story, "kr");
	EXPECT_STR(hand.after.story, "kr");
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
	EXPECT_STR(request->other->story, "cr"); /* it has not been left to the check outside */
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

/* Both are won at once: the first one's on_complete finds the second completed, and not to be had. */
static void take_the_other(struct request *request, char event)
{
	if (event != 'c')
		return;
	pawl_op_hold(&request->other->op);
	EXPECT(!pawl_op_complete(&request->other->op));
	EXPECT(pawl_op_completed(&request->other->op));
	pawl_op_unhold(&request->other->op);
	EXPECT_EQ(check(request->room, "a"), 0);
	EXPECT_EQ(cancel_key(request->room, "a"), 0);
}

IN_EVERY_ROOM(what_one_check_has_won_on_complete_cannot_win_again)
{
	struct request first, second;

	request_init(&first, room);
	request_init(&second, room);
	EXPECT_EQ(watch(&first, "ab", HOUR), 0);
	EXPECT_EQ(watch(&second, "ab", HOUR), 0);
	first.ready = second.ready = 1;
	first.inside = take_the_other; /* it is the first to be called */
	first.other = &second;
	EXPECT_EQ(check(room, "b"), 2);
	EXPECT_STR(first.story, "cr");
	EXPECT_STR(second.story, "cr");
}

/* More than one batch. The newest is in the first one, the oldest in the last. */

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

/* That other check is inside a try when the first one goes on to its second batch. */
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

/* What is between two batches of a check has cursors in its lists. */
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

/* As many as a table of 64 buckets has to grow for, each under a key of its own. */
static struct request newcomers[1000];

static void watch_many_meanwhile(struct request *request, char event)
{
	if (event != 'c')
		return;
	for (uint32_t i = 0; i < COUNTOF(newcomers); i++) {
		const struct pawl_key key = {&i, sizeof(i)};

		request_init(&newcomers[i], request->room);
		EXPECT_EQ(pawl_purgatory_try_or_watch(request->room->purgatory, &newcomers[i].op,
		                                      &key, 1, PAWL_NEVER),
		          0);
	}
}

IN_EVERY_ROOM(a_table_that_has_to_grow_between_two_batches_loses_no_operation)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	for (size_t i = 0; i < CROWD; i++)
		make_ready(&crowd.requests[i]);
	crowd.newest->inside = watch_many_meanwhile;
	EXPECT_EQ(check(room, "a"), CROWD);
	expect_all_completed(&crowd);
	expect_counted(room, COUNTOF(newcomers), COUNTOF(newcomers));
	pawl_purgatory_stop(room->purgatory);
}

static void cancel_all_meanwhile(struct request *request, char event)
{
	if (event == 'c')
		request->number = cancel_key(request->room, "a");
}

/* Its cursors go with it though nothing comes after them any more; else the next check would meet them. */
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

/* Somebody comes by in every first batch: the last one has its turn all the same. */
static void check_meanwhile_in_every_try(struct request *request)
{
	if (request->tries <= TRIED_BY_TRY_OR_WATCH || request->number == PATIENCE)
		return;
	if (request->other->story[0] == '\0') {
		request->number++;
		EXPECT_EQ(check_meanwhile(request->room, "a"), 0);
	}
}

IN_EVERY_ROOM(checks_that_come_by_in_the_first_batch_do_not_keep_it_from_the_last)
{
	struct crowd crowd;

	begin_crowd(&crowd, room);
	crowd.newest->inside_try = check_meanwhile_in_every_try;
	crowd.newest->other = crowd.oldest;
	make_ready(crowd.oldest);
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(crowd.oldest->story, "cr");
	EXPECT_EQ(crowd.newest->number, 1);
	leave_room(room);
}

/* Somebody comes by in every try of one operation: another one, which is won, is completed all the same. */
static void check_other_key_in_every_try(struct request *request)
{
	if (request->tries <= TRIED_BY_TRY_OR_WATCH || request->number == PATIENCE)
		return;
	if (request->other->story[0] == '\0') {
		request->number++;
		EXPECT_EQ(check_meanwhile(request->room, "b"), 0);
	}
}

IN_EVERY_ROOM(checks_that_come_by_for_one_do_not_put_off_what_is_won)
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
	EXPECT_EQ(wanted.number,
	          RETRIES + 1); /* so often before it calls on_complete, and then after */
	EXPECT_EQ(wanted.tries, TRIED_BY_TRY_OR_WATCH + RETRIES + 2);
	leave_room(room);
}

/* Somebody comes by in the first three tries of a check, and in the third it can complete from then on. */
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

/* A slow on_complete must not let another operation expire that somebody has checked before. */
IN_EVERY_ROOM(what_others_came_by_for_does_not_wait_for_on_complete)
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

/* More keys than an operation has room for, or a word has bits */

struct many_keys {
	struct pawl_key keys[MANY];
	uint16_t bytes[MANY];
};

static const struct pawl_key *many_keys(struct many_keys *many)
{
	for (uint16_t i = 0; i < MANY; i++) {
		many->bytes[i] = i;
		many->keys[i] = (struct pawl_key){&many->bytes[i], sizeof(many->bytes[i])};
	}
	return many->keys;
}

struct check_of {
	struct room *room;
	struct pawl_key key;
	size_t answer;
	pthread_t thread;
};

static void *run_check_of(void *arg)
{
	struct check_of *call = arg;

	call->answer = pawl_purgatory_check(call->room->purgatory, call->key);
	return NULL;
}

/* Another operation under the key, and a check that is inside it. */
static void begin_check_of(struct check_of *call, struct request *inside, struct room *room,
                           struct pawl_key key)
{
	request_init(inside, room);
	inside->inside_try = stay_once;
	EXPECT_EQ(watch_keys(inside, &key, 1), 0);
	*call = (struct check_of){.room = room, .key = key};
	pthread_create(&call->thread, NULL, run_check_of, call);
	sem_wait(&inside->entered);
}

static size_t end_check_of(struct check_of *call, struct request *inside)
{
	sem_post(&inside->leave);
	pthread_join(call->thread, NULL);
	return call->answer;
}

/* The first of two checks has it in hand, and the second one was in its way. Ended in either order. */
static void in_two_ways(struct room *room, bool first_first)
{
	struct request wide, inside[2];
	struct check_of call[2];
	struct many_keys many;
	const struct pawl_key *keys = many_keys(&many);

	request_init(&wide, room);
	EXPECT_EQ(watch_keys(&wide, keys, MANY), 0);
	begin_check_of(&call[0], &inside[0], room, keys[5]);
	begin_check_of(&call[1], &inside[1], room, keys[MANY - 5]);
	EXPECT(wide.tries <=
	       TRIED_BY_TRY_OR_WATCH + 1); /* before the first check stays inside, or after */
	make_ready(&wide);
	EXPECT_EQ(pawl_purgatory_check(room->purgatory, keys[MANY / 2]), 0);
	if (!first_first)
		EXPECT_EQ(end_check_of(&call[1], &inside[1]), 0);
	EXPECT_STR(wide.story, "");
	EXPECT_EQ(end_check_of(&call[0], &inside[0]), 1);
	EXPECT_STR(wide.story, "cr");
	expect_counted(room, 2, 2);
	if (first_first)
		EXPECT_EQ(end_check_of(&call[1], &inside[1]), 0);
	EXPECT(wide.tries <= TRIED_BY_TRY_OR_WATCH + 2);
	leave_room(room);
}

IN_EVERY_ROOM(with_a_thousand_keys_it_is_in_one_hand_only)
{
	in_two_ways(room, true);
}

IN_EVERY_ROOM(and_whichever_check_ends_first)
{
	in_two_ways(room, false);
}

/* Keys that come and go leave nothing behind where what is in hand is looked for. */
IN_EVERY_ROOM(a_key_that_goes_after_a_check_in_vain_is_forgotten)
{
	struct request goes, stays;
	struct hand hand;

	for (unsigned i = 0; i < 3; i++) {
		request_init(&goes, room);
		request_init(&stays, room);
		EXPECT_EQ(watch(&goes, "g", HOUR), 0);
		EXPECT_EQ(watch(&stays, "s", HOUR), 0);
		EXPECT_EQ(check(room, "g"), 0);
		EXPECT_EQ(check(room, "s"), 0);
		EXPECT_EQ(cancel_key(room, "g"), 1);
		EXPECT_EQ(check(room, "s"), 0);
		EXPECT_EQ(cancel_key(room, "s"), 1);
	}
	begin_hand(&hand, room);
	EXPECT_EQ(let_go_on(&hand), 0);
	leave_room(room);
}

/* Two purgatories on one service have the same locks, and know of each other's checks there. */
IN_EVERY_ROOM(what_another_purgatory_has_in_hand_is_its_own_affair)
{
	struct pawl_purgatory *other = purgatory_with(room->bench.service, 1);
	struct request checked, cancelled;
	struct many_keys many;
	const struct pawl_key *keys = many_keys(&many);
	struct hand hand;

	begin_hand(&hand, room);
	request_init(&checked, room);
	request_init(&cancelled, room);
	EXPECT_EQ(pawl_purgatory_try_or_watch(other, &checked.op, keys, MANY, HOUR), 0);
	EXPECT_EQ(pawl_purgatory_try_or_watch(other, &cancelled.op, keys, MANY, HOUR), 0);
	EXPECT_EQ(pawl_purgatory_check(other, keys[5]), 0);
	EXPECT_EQ(checked.tries, TRIED_BY_TRY_OR_WATCH + 1);
	make_ready(&checked);
	EXPECT_EQ(pawl_purgatory_check(other, keys[6]), 1);
	EXPECT_EQ(pawl_purgatory_cancel_key(other, keys[7], request_cancelled), 1);
	EXPECT_STR(checked.story, "cr");
	EXPECT_STR(cancelled.story, "kr");
	pawl_purgatory_close(other);
	EXPECT_EQ(let_go_on(&hand), 0);
	EXPECT_EQ(hand.before.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(hand.inside.tries, TRIED_BY_TRY_OR_WATCH + 1);
	EXPECT_EQ(hand.after.tries, TRIED_BY_TRY_OR_WATCH + 1);
	expect_counted(room, 7, 4);
	leave_room(room);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_check_of_the_same_key_is_made_by_the_one_under_way),
	        TEST(a_check_of_another_key_has_what_is_in_hand_tried_once_more),
	        TEST(a_check_in_vain_leaves_its_operations_to_the_next_one),
	        TEST(what_is_won_while_it_is_in_hand_is_completed_once_and_released_last),
	        TEST(what_was_to_be_tried_again_and_is_withdrawn_is_not_tried),
	        TEST(on_complete_may_check_the_key_whose_check_has_called_it),
	        TEST(what_one_check_has_won_on_complete_cannot_win_again),
	        TEST(a_check_between_two_batches_of_another_one_does_it_all),
	        TEST(a_check_overtaken_between_two_batches_leaves_the_rest_to_the_other),
	        TEST(a_stop_between_two_batches_of_a_check_drops_all_the_rest),
	        TEST(a_check_whose_rest_is_withdrawn_between_two_batches_leaves_nothing_behind),
	        TEST(a_table_that_has_to_grow_between_two_batches_loses_no_operation),
	        TEST(checks_that_come_by_in_the_first_batch_do_not_keep_it_from_the_last),
	        TEST(checks_that_come_by_for_one_do_not_put_off_what_is_won),
	        TEST(what_others_came_by_for_does_not_wait_for_on_complete),
	        TEST(with_a_thousand_keys_it_is_in_one_hand_only),
	        TEST(and_whichever_check_ends_first),
	        TEST(a_key_that_goes_after_a_check_in_vain_is_forgotten),
	        TEST(what_another_purgatory_has_in_hand_is_its_own_affair),
	};

	return RUN_TESTS(tests);
}
