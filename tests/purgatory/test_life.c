/* SPDX-License-Identifier: MIT */
/* The life of one operation in a purgatory: its outcomes, its references, its deadline. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../../src/base/random.h"
#include "../support/purgatories.h"

/* The life of an operation */

/* By the first try of try_or_watch, or the second. Either comes before a timeout of 0. */
IN_EVERY_ROOM(an_operation_that_completes_at_once_does_not_stay_watched)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned tries = 1 + i % 2;
		struct request request;

		request_init(&request, room);
		pawl_op_ref(&request.op);
		request.ready_from = tries;
		EXPECT_EQ(watch(&request, "abc", i / 2 ? HOUR : 0), 1);
		EXPECT_EQ(request.tries, tries);
		expect_gone(&request, "c");
		EXPECT_EQ(watch(&request, "abc", HOUR), -EBUSY);
		advance_and_settle(&room->fixture, 2 * HOUR);
		EXPECT_STR(request.story, "c");
		pawl_op_unref(&request.op);
		EXPECT_STR(request.story, "cr");
	}
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

static const struct ending *expected;

static void expect_outcome(struct request *request, char event)
{
	(void)event;
	EXPECT_EQ(request->completed, expected->story[0] == 'c');
	EXPECT_EQ(pawl_op_expired(&request->op), expected->story[1] == 'e');
}

/* All its functions are told the same. Once it is over, nothing happens to it but its release. */
static void end_once(struct room *room, const struct ending *ending)
{
	struct request request;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	request.inside = expect_outcome;
	expected = ending;
	EXPECT_EQ(watch(&request, "abxcde", HOUR), 0);
	EXPECT_EQ(watch(&request, "f", MS), -EBUSY);
	/* Not -EINVAL, which would mean that it is the caller's to free. */
	EXPECT_EQ(watch_keys(&request, NULL, 0), -EBUSY);
	advance_and_settle(&room->fixture, MS);
	expect_counted(room, 6, 1);
	EXPECT(!pawl_op_completed(&request.op));
	EXPECT(!pawl_op_expired(&request.op));
	ending->end(&request);
	expect_gone(&request, ending->story);
	EXPECT_EQ(request.tries, ending->end == end_by_check ? 3 : 2);
	if (ending->end != end_by_deadline)
		EXPECT(pthread_equal(request.thread, pthread_self()));
	request.ready = 1;
	EXPECT(!pawl_op_complete(&request.op));
	EXPECT_EQ(check(room, "a") + check(room, "x") + cancel_key(room, "e"), 0);
	EXPECT_EQ(watch(&request, "a", HOUR), -EBUSY);
	advance_and_settle(&room->fixture, 2 * HOUR);
	expect_gone(&request, ending->story);
	expect_outcome(&request, 'c');
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, ending->released);
}

IN_EVERY_ROOM(the_winner_unlinks_it_and_removes_its_deadline_before_it_calls)
{
	with_every_ending(room, end_once);
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

static void take_a_reference_inside(struct room *room, const struct ending *ending)
{
	struct request request;

	request_init(&request, room);
	request.inside = ref_inside;
	request.number = (uint64_t)ending->story[strlen(ending->story) - 1];
	EXPECT_EQ(watch(&request, "ax", HOUR), 0);
	ending->end(&request);
	EXPECT_STR(request.story, ending->story);
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, ending->released);
}

IN_EVERY_ROOM(a_reference_taken_in_a_function_keeps_it)
{
	with_every_ending(room, take_a_reference_inside);
}

static void free_in_release(struct request *request, char event)
{
	unsigned *released = (unsigned *)(void *)request->other;

	if (event != 'r')
		return;
	__atomic_fetch_add(released, 1, __ATOMIC_SEQ_CST);
	free(request);
}

static struct request *new_request(struct room *room, unsigned *released)
{
	struct request *request = malloc(sizeof(*request));

	request_init(request, room);
	request->inside = free_in_release;
	request->other = (struct request *)(void *)released;
	return request;
}

static void free_at_the_end(struct room *room, const struct ending *ending)
{
	unsigned released = 0;
	struct request *request = new_request(room, &released);

	EXPECT_EQ(watch(request, "abcdex", HOUR), 0);
	ending->end(request);
	EXPECT_EQ(__atomic_load_n(&released, __ATOMIC_SEQ_CST), 1);
}

IN_EVERY_ROOM(release_may_free_it_after_every_outcome)
{
	unsigned released = 0;
	struct request *at_once = new_request(room, &released);

	at_once->ready = 1;
	EXPECT_EQ(watch(at_once, "abcdex", HOUR), 1);
	EXPECT_EQ(released, 1);
	/* As a broker does whose request needs no answer from others. */
	EXPECT(pawl_op_complete(&new_request(room, &released)->op));
	EXPECT_EQ(released, 2);
	with_every_ending(room, free_at_the_end);
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

/* Completing a fresh operation */

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
	EXPECT_EQ(watch(&request, "ab", HOUR), -EBUSY);
	expect_gone(&request, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
}

IN_EVERY_ROOM(a_fresh_operation_completed_is_released)
{
	struct request request;

	for (unsigned refused = 0; refused < 2; refused++) {
		request_init(&request, room);
		if (refused)
			EXPECT_EQ(watch(&request, "", HOUR), -EINVAL);
		EXPECT_STR(request.story, "");
		EXPECT(pawl_op_complete(&request.op));
		EXPECT_STR(request.story, "cr");
	}
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
	EXPECT_EQ(pawl_purgatory_check(other, key), 0);
	pawl_purgatory_close(other);
	EXPECT_STR(there.story, "dr");
	expect_counted(room, 1, 1);
	EXPECT_EQ(here.tries, 2);
	here.ready = 1;
	EXPECT_EQ(check(room, "a"), 1);
	expect_gone(&here, "cr");
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
	        TEST(an_operation_that_completes_at_once_does_not_stay_watched),
	        TEST(a_waiting_operation_was_tried_twice_and_is_under_all_its_keys),
	        TEST(the_winner_unlinks_it_and_removes_its_deadline_before_it_calls),
	        TEST(the_last_unref_releases_before_it_returns),
	        TEST(a_reference_given_back_while_it_waits_releases_nothing),
	        TEST(references_to_a_refused_operation_are_only_counted),
	        TEST(a_reference_taken_in_a_function_keeps_it),
	        TEST(release_may_free_it_after_every_outcome),
	        TEST(release_may_give_it_another_life),
	        TEST(a_fresh_operation_completed_is_not_watched),
	        TEST(a_fresh_operation_completed_is_released),
	        TEST(a_timeout_of_0_never_waits),
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
