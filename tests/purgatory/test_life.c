/* SPDX-License-Identifier: MIT */
/* The life of one operation in a purgatory: its outcomes, its references, its deadline. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/purgatories.h"

/* The life of an operation */

static void expect_completed_in_try(struct request *request, unsigned tries)
{
	EXPECT_EQ(watch(request, "abc", HOUR), 1);
	EXPECT_STR(request->story, "cr");
	EXPECT_EQ(request->tries, tries);
	EXPECT_EQ(request->watched, 0);
	expect_counted(request->room, 0, 0);
	advance_and_settle(&request->room->fixture, 2 * HOUR);
	EXPECT_STR(request->story, "cr");
}

IN_EVERY_ROOM(an_operation_that_completes_at_once_is_never_watched)
{
	struct request request;

	request_init(&request, room);
	request.ready = 1;
	expect_completed_in_try(&request, 1);
}

IN_EVERY_ROOM(the_second_try_completes_and_nothing_stays_watched)
{
	struct request request;

	request_init(&request, room);
	request.ready_from = 2;
	expect_completed_in_try(&request, 2);
}

IN_EVERY_ROOM(a_waiting_operation_was_tried_twice_and_is_under_all_its_keys)
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

IN_EVERY_ROOM(the_winner_unlinks_it_and_removes_its_deadline_before_it_calls)
{
	struct request checked, completed, expired, cancelled, dropped;

	request_init(&checked, room);
	watch(&checked, "abcdef", HOUR);
	checked.ready = 1;
	EXPECT_EQ(check(room, "f"), 1);
	expect_gone(&checked, "cr");
	request_init(&completed, room);
	pawl_op_ref(&completed.op);
	watch(&completed, "abcdef", HOUR);
	EXPECT(pawl_op_complete(&completed.op));
	expect_gone(&completed, "c");
	pawl_op_unref(&completed.op);
	expect_gone(&completed, "cr");
	request_init(&expired, room);
	watch(&expired, "abcdef", HOUR);
	advance_and_settle(&room->fixture, HOUR);
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
		pawl_op_ref(&r[i].op);
		watch(&r[i], "ab", i == 2 ? MS : HOUR);
	}
	advance_and_settle(&room->fixture, MS);
	pawl_op_complete(&r[0].op);
	EXPECT_EQ(cancel_key(room, "a"), 2);
	for (unsigned i = 0; i < 4; i++) {
		r[i].ready = 1;
		EXPECT(!pawl_op_complete(&r[i].op));
	}
	EXPECT_EQ(check(room, "a") + check(room, "b") + cancel_key(room, "b"), 0);
	advance_and_settle(&room->fixture, 2 * HOUR);
	EXPECT_STR(r[0].story, "c");
	EXPECT_STR(r[1].story, "k");
	EXPECT_STR(r[2].story, "ce");
	EXPECT_STR(r[3].story, "k");
	for (unsigned i = 0; i < 4; i++)
		pawl_op_unref(&r[i].op);
	EXPECT_STR(r[0].story, "cr");
	EXPECT_STR(r[1].story, "kr");
	EXPECT_STR(r[2].story, "cer");
	EXPECT_STR(r[3].story, "kr");
}

/* References */

IN_EVERY_ROOM(the_last_unref_releases_before_it_returns)
{
	struct request request;

	request_init(&request, room);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_ref(&request.op);
	request.ready = 1;
	EXPECT_EQ(watch(&request, "a", HOUR), 1);
	pawl_op_ref(&request.op);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
	EXPECT(pthread_equal(request.thread, pthread_self()));
}

IN_EVERY_ROOM(a_reference_given_back_while_it_waits_releases_nothing)
{
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "");
	expect_counted(room, 1, 1);
	request.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(references_to_a_refused_operation_are_only_counted)
{
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	pawl_op_unref(&request.op);
	pawl_op_ref(&request.op);
	pawl_op_ref(&request.op);
	EXPECT_EQ(watch(&request, "", HOUR), -EINVAL);
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "");
	request.ready = 1;
	EXPECT_EQ(watch(&request, "a", HOUR), 1);
	EXPECT_STR(request.story, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

static void ref_inside(struct request *request, char event)
{
	if (event == (char)request->number)
		pawl_op_ref(&request->op);
}

IN_EVERY_ROOM(a_reference_taken_in_a_function_keeps_it)
{
	struct request r[4];

	requests_init(r, 4, room);
	for (unsigned i = 0; i < 4; i++) {
		r[i].inside = ref_inside;
		r[i].number = (uint64_t) "cekd"[i];
	}
	watch(&r[0], "a", HOUR);
	r[0].ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	watch(&r[1], "a", MS);
	advance_and_settle(&room->fixture, MS);
	watch(&r[2], "a", HOUR);
	EXPECT_EQ(cancel_key(room, "a"), 1);
	watch(&r[3], "a", HOUR);
	pawl_purgatory_stop(room->purgatory);
	EXPECT_STR(r[0].story, "c");
	EXPECT_STR(r[1].story, "ce");
	EXPECT_STR(r[2].story, "k");
	EXPECT_STR(r[3].story, "d");
	for (unsigned i = 0; i < 4; i++)
		pawl_op_unref(&r[i].op);
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

IN_EVERY_ROOM(release_may_free_it_after_every_outcome)
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
			advance_and_settle(&room->fixture, MS);
		if (i == 3)
			EXPECT_EQ(cancel_key(room, "a"), 1);
		if (i == 4)
			pawl_purgatory_stop(room->purgatory);
		EXPECT_EQ(__atomic_load_n(&released, __ATOMIC_SEQ_CST), i + 1);
	}
}

/* Release initialises and submits it again, `number` times; each life ends with the third try. */
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
	advance_and_settle(&room->fixture, HOUR);
	EXPECT_STR(request.story, "crcrkrcer");
	expect_counted(room, 0, 0);
}

/* Complete */

IN_EVERY_ROOM(complete_does_not_ask_and_says_whether_it_was_first)
{
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	EXPECT_EQ(watch(&request, "a", HOUR), 0);
	EXPECT(!pawl_op_completed(&request.op));
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_EQ(request.tries, 2);
	EXPECT(pthread_equal(request.thread, pthread_self()));
	EXPECT(pawl_op_completed(&request.op));
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	pawl_op_unref(&request.op);
}

IN_EVERY_ROOM(a_fresh_operation_completed_is_not_watched)
{
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT(pawl_op_completed(&request.op));
	EXPECT_EQ(watch(&request, "ab", HOUR), 0);
	expect_gone(&request, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(a_fresh_operation_completed_is_released)
{
	struct request request;

	request_init(&request, room);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "cr");
	request_init(&request, room);
	pawl_op_ref(&request.op);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

/* As a broker does whose request needs no answer from others: release frees it. */
IN_EVERY_ROOM(release_may_free_a_fresh_operation_that_was_completed)
{
	struct request *request = malloc(sizeof(*request));
	unsigned released = 0;

	request_init(request, room);
	request->inside = free_in_release;
	request->other = (struct request *)(void *)&released;
	EXPECT(pawl_op_complete(&request->op));
	EXPECT_EQ(released, 1);
}

IN_EVERY_ROOM(a_refused_operation_completed_is_released)
{
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch(&request, "", HOUR), -EINVAL);
	EXPECT_STR(request.story, "");
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "cr");
}

/* The answers of pawl_op_completed in the functions, the last of them release. */
IN_EVERY_ROOM(completed_is_true_only_of_completed_operations)
{
	struct request r[4];

	requests_init(r, 4, room);
	watch(&r[0], "a", HOUR);
	r[0].ready = 1;
	check(room, "a");
	EXPECT(r[0].completed);
	watch(&r[1], "a", MS);
	advance_and_settle(&room->fixture, MS);
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
	settle(&room->fixture);
	watch(&cancelled, "a", HOUR);
	cancel_key(room, "a");
	watch(&dropped, "a", HOUR);
	leave_room(room);
	EXPECT_STR(expired.story, "cer");
	EXPECT_EQ(expired.number, 7);
	EXPECT_EQ(cancelled.number, 0);
	EXPECT_EQ(dropped.number, 0);
}

/* Deadlines */

/* Release is called on the thread that gives back the last reference. */
static void note_thread(struct request *request, char event)
{
	if (event == 'c')
		request->number = (uint64_t)request->thread;
	else if (event == 'e')
		EXPECT_EQ(request->number, (uint64_t)request->thread);
}

IN_EVERY_ROOM(a_timeout_of_0_never_waits)
{
	static struct pawl_histogram lateness;
	struct pawl_purgatory_stats stats;
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	EXPECT_EQ(watch(&request, "abcdef", 0), 1);
	expect_gone(&request, "ce");
	EXPECT_EQ(request.tries, 2);
	EXPECT(pthread_equal(request.thread, pthread_self()));
	EXPECT(pawl_op_expired(&request.op));
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cer");
	pawl_purgatory_get_stats(room->purgatory, &stats, sizeof(stats));
	EXPECT_EQ(stats.expired, 1);
	EXPECT_EQ(stats.completed_by_try, 0);
	pawl_purgatory_get_lateness(room->purgatory, &lateness);
	EXPECT_EQ(lateness.count, 1);
	EXPECT_EQ(lateness.max, 0);
}

IN_EVERY_ROOM(either_try_comes_before_a_timeout_of_0)
{
	struct request r[2];

	requests_init(r, 2, room);
	for (unsigned i = 0; i < 2; i++) {
		r[i].ready_from = i + 1;
		EXPECT_EQ(watch(&r[i], "a", 0), 1);
		EXPECT_STR(r[i].story, "cr");
	}
}

IN_EVERY_ROOM(a_timeout_of_0_needs_no_service_but_the_purgatory)
{
	struct request request, refused;

	request_init(&request, room);
	request_init(&refused, room);
	pawl_service_stop(room->fixture.service, NULL);
	EXPECT_EQ(watch(&request, "a", 0), 1);
	EXPECT_STR(request.story, "cer");
	EXPECT_EQ(watch(&refused, "a", 1), -ECANCELED);
	pawl_purgatory_stop(room->purgatory);
	EXPECT_EQ(watch(&refused, "a", 0), -ECANCELED);
	EXPECT_STR(refused.story, "");
}

IN_EVERY_ROOM(on_expire_follows_on_complete_on_the_same_thread)
{
	struct request r[8];

	requests_init(r, COUNTOF(r), room);
	for (unsigned i = 0; i < COUNTOF(r); i++) {
		r[i].inside = note_thread;
		EXPECT_EQ(watch(&r[i], "a", i % 3 * MS), i % 3 == 0);
	}
	advance_and_settle(&room->fixture, 2 * MS);
	for (unsigned i = 0; i < COUNTOF(r); i++)
		EXPECT_STR(r[i].story, "cer");
}

IN_EVERY_ROOM(without_a_deadline_it_never_expires)
{
	struct request never, almost;

	request_init(&never, room);
	request_init(&almost, room);
	EXPECT_EQ(watch(&never, "a", PAWL_NEVER), 0);
	advance_and_settle(&room->fixture, 7);
	EXPECT_EQ(watch(&almost, "a", INT64_MAX), 0);
	advance_and_settle(&room->fixture, UINT64_C(1) << 62);
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

	advance_and_settle(&room->fixture, 123456789);
	requests_init(requests, 200, room);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t timeout = random_below(&random, 100 * MS);

		deadlines[i] = fixture_now(&room->fixture) + timeout;
		EXPECT_EQ(watch(&requests[i], "abc", timeout), 0);
	}
	for (unsigned i = 0; i < 404; i++)
		advance_and_settle(&room->fixture, MS / 4);
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
	note_init(&first, &room.fixture);
	note_init(&second, &room.fixture);
	EXPECT_EQ(pawl_service_arm(room.fixture.service, &first.task, MS), 0);
	EXPECT_EQ(pawl_service_arm(room.fixture.service, &second.task, MS), -EAGAIN);
	for (unsigned i = 5; i < 10; i++)
		EXPECT_EQ(watch(&requests[i], "a", HOUR), 0);
	advance_and_settle(&room.fixture, MS);
	EXPECT_EQ(first.runs, 1);
	advance_and_settle(&room.fixture, HOUR);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_STR(requests[i].story, "cer");
	EXPECT_EQ(pawl_service_arm(room.fixture.service, &second.task, MS), 0);
	advance_and_settle(&room.fixture, MS);
	EXPECT_EQ(second.runs, 1);
	room_close(&room);
}

static void deadlines_do_not_count_against_max_pending(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		deadlines_do_not_count_against_max_pending_in(&every_mode[i]);
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
	for (size_t i = 0; i < 4; i++) {
		struct pawl_purgatory_options options = {.shards = 1};

		options.reserved[i] = UINT64_C(1) << 16 * i;
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
	struct pawl_purgatory *other = purgatory_with(room->fixture.service, 2);
	const struct pawl_key key = pawl_purgatory_key(other, "a", 1);
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

static struct pawl_op defined = PAWL_OP_INIT(&request_type);

static void an_initialiser_equals_init(void)
{
	struct pawl_op made;

	memset(&made, 0,
	       sizeof(made)); /* init does not write fields that are written before they are read */
	pawl_op_init(&made, &request_type);
	EXPECT(memcmp(&defined, &made, sizeof(made)) == 0);
}

IN_EVERY_ROOM(an_initialised_operation_lives)
{
	struct request request;

	request_init(&request, room);
	request.op = (struct pawl_op)PAWL_OP_INIT(&request_type);
	EXPECT_EQ(watch(&request, "ab", HOUR), 0);
	request.ready = 1;
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT_STR(request.story, "cr");
}

static struct pawl_clock_system real;

static void note_real_time(struct request *request, char event)
{
	if (event == 'c')
		request->number = real.clock.now(&real.clock);
}

/* The bound is on one side, so the machine may be slow. */
static void nothing_expires_early_on_the_real_clock(void)
{
	struct room room;
	struct request requests[20];
	uint64_t begun[20];

	pawl_clock_monotonic_init(&real);
	pawl_clock_manual_init(&room.fixture.clock);
	room.fixture.service = service_with(NULL);
	room.purgatory = purgatory_with(room.fixture.service, 0);
	for (unsigned i = 0; i < 20; i++) {
		request_init(&requests[i], &room);
		requests[i].inside = note_real_time;
		begun[i] = real.clock.now(&real.clock);
		EXPECT_EQ(watch(&requests[i], "k", i * MS), i == 0);
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

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_initialiser_equals_init),
	        TEST(an_initialised_operation_lives),
	        TEST(an_operation_that_completes_at_once_is_never_watched),
	        TEST(the_second_try_completes_and_nothing_stays_watched),
	        TEST(a_waiting_operation_was_tried_twice_and_is_under_all_its_keys),
	        TEST(the_winner_unlinks_it_and_removes_its_deadline_before_it_calls),
	        TEST(nothing_happens_to_an_operation_that_is_over),
	        TEST(the_last_unref_releases_before_it_returns),
	        TEST(a_reference_given_back_while_it_waits_releases_nothing),
	        TEST(references_to_a_refused_operation_are_only_counted),
	        TEST(a_reference_taken_in_a_function_keeps_it),
	        TEST(release_may_free_it_after_every_outcome),
	        TEST(release_may_give_it_another_life),
	        TEST(complete_does_not_ask_and_says_whether_it_was_first),
	        TEST(a_fresh_operation_completed_is_not_watched),
	        TEST(a_fresh_operation_completed_is_released),
	        TEST(release_may_free_a_fresh_operation_that_was_completed),
	        TEST(a_refused_operation_completed_is_released),
	        TEST(completed_is_true_only_of_completed_operations),
	        TEST(completed_says_the_same_in_each_of_its_functions),
	        TEST(a_timeout_of_0_never_waits),
	        TEST(either_try_comes_before_a_timeout_of_0),
	        TEST(a_timeout_of_0_needs_no_service_but_the_purgatory),
	        TEST(on_expire_follows_on_complete_on_the_same_thread),
	        TEST(without_a_deadline_it_never_expires),
	        TEST(no_deadline_is_early_and_none_more_than_a_tick_late),
	        TEST(nothing_expires_early_on_the_real_clock),
	        TEST(deadlines_do_not_count_against_max_pending),
	        TEST(options_out_of_range_are_refused_and_change_nothing),
	        TEST(two_purgatories_on_one_service_do_not_meet),
	};

	return RUN_TESTS(tests);
}
