/* SPDX-License-Identifier: MIT */
/* The purgatory's counts, the outcome of an operation, and deadlines on several workers. */
#define _GNU_SOURCE
#include "../../src/purgatory/stats.h"
#include "../support/purgatories.h"

static struct pawl_purgatory_stats stats;
static struct pawl_histogram lateness; /* of the purgatory */

static const struct pawl_purgatory_stats *stats_of(struct room *room)
{
	pawl_purgatory_get_stats(room->purgatory, &stats, sizeof(stats));
	pawl_purgatory_get_lateness(room->purgatory, &lateness);
	return &stats;
}

static void expect_service_counts_nothing(struct room *room)
{
	struct pawl_service_stats service;

	pawl_service_get_stats(room->fixture.service, &service, sizeof(service));
	EXPECT_EQ(service.armed, 0);
	EXPECT_EQ(service.ran, 0);
	EXPECT_EQ(service.pending, 0);
}

IN_EVERY_ROOM(each_outcome_is_counted_once)
{
	struct request at_once, second_try, checked, completed, expired, cancelled, dropped;

	request_init(&at_once, room);
	request_init(&second_try, room);
	request_init(&checked, room);
	request_init(&completed, room);
	request_init(&expired, room);
	request_init(&cancelled, room);
	request_init(&dropped, room);
	at_once.ready = 1;
	second_try.ready_from = 2;
	pawl_op_ref(&completed.op);
	EXPECT_EQ(watch(&at_once, "a", HOUR), 1);
	EXPECT_EQ(watch(&second_try, "a", HOUR), 1);
	EXPECT_EQ(watch(&checked, "ab", HOUR), 0);
	EXPECT_EQ(watch(&completed, "abcdef", HOUR), 0);
	EXPECT_EQ(watch(&expired, "c", 5 * MS), 0);
	EXPECT_EQ(watch(&cancelled, "d", HOUR), 0);
	EXPECT_EQ(watch(&dropped, "e", HOUR), 0);
	EXPECT_EQ(stats_of(room)->watched, 11);
	EXPECT_EQ(stats.delayed, 5);
	EXPECT_EQ(stats.completed_by_try, 2);
	checked.ready = 1;
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT(pawl_op_complete(&completed.op));
	pawl_op_unref(&completed.op);
	advance_and_settle(&room->fixture, 5 * MS);
	EXPECT_EQ(cancel_key(room, "d"), 1);
	leave_room(room);
	EXPECT_EQ(stats_of(room)->watched, 0);
	EXPECT_EQ(stats.delayed, 0);
	EXPECT_EQ(stats.completed_by_try, 2);
	EXPECT_EQ(stats.completed_by_check, 1);
	EXPECT_EQ(stats.completed_by_call, 1);
	EXPECT_EQ(stats.expired, 1);
	EXPECT_EQ(stats.cancelled, 1);
	EXPECT_EQ(stats.dropped, 1);
	EXPECT_EQ(lateness.count, 1);
	EXPECT_STR(expired.story, "cer");
	EXPECT_STR(dropped.story, "dr");
	expect_service_counts_nothing(room);
}

IN_EVERY_ROOM(lateness_counts_from_the_deadline)
{
	struct request late;

	request_init(&late, room);
	EXPECT_EQ(watch(&late, "a", 5 * MS), 0);
	advance_and_settle(&room->fixture, 8 * MS);
	EXPECT_EQ(stats_of(room)->expired, 1);
	EXPECT_EQ(lateness.max, 3 * MS);
	leave_room(room);
}

static void note_expired(struct request *request, char event)
{
	if (event != 'r')
		request->number += pawl_op_expired(&request->op) ? 1 : 100;
}

IN_EVERY_ROOM(on_complete_can_tell_whether_it_was_the_deadline)
{
	struct request expired, checked, cancelled;

	request_init(&expired, room);
	request_init(&checked, room);
	request_init(&cancelled, room);
	expired.inside = checked.inside = cancelled.inside = note_expired;
	EXPECT_EQ(watch(&expired, "a", MS), 0);
	EXPECT_EQ(watch(&checked, "b", HOUR), 0);
	EXPECT_EQ(watch(&cancelled, "c", HOUR), 0);
	EXPECT(!pawl_op_expired(&expired.op));
	advance_and_settle(&room->fixture, MS);
	EXPECT_STR(expired.story, "cer");
	EXPECT_EQ(expired.number, 2); /* in on_complete and in on_expire */
	checked.ready = 1;
	EXPECT_EQ(check(room, "b"), 1);
	EXPECT_EQ(checked.number, 100);
	EXPECT_EQ(cancel_key(room, "c"), 1);
	EXPECT_EQ(cancelled.number, 100);
	EXPECT(pawl_op_completed(&expired.op) && pawl_op_expired(&expired.op));
	leave_room(room);
}

static const struct pawl_service_options two_workers = {.workers = 2, .shards = 1};

static void stay_in_on_complete(struct request *request, char event)
{
	if (event == 'c')
		request_stay(request);
}

/* The on_complete of one deadline is slow: the next deadline, of the same shard, runs on the other worker. */
static void a_slow_on_complete_holds_up_no_other_deadline(void)
{
	struct request slow, same_time, later;
	struct room room;

	room_open(&room, &two_workers, 1);
	request_init(&slow, &room);
	request_init(&same_time, &room);
	request_init(&later, &room);
	slow.inside = stay_in_on_complete;
	later.inside = same_time.inside = stay_in_on_complete;
	EXPECT_EQ(watch(&slow, "a", MS), 0);
	EXPECT_EQ(watch(&same_time, "a", MS), 0);
	EXPECT_EQ(watch(&later, "a", 5 * MS), 0);
	pawl_clock_manual_advance(&room.fixture.clock, MS);
	sem_wait(&slow.entered);
	sem_wait(&same_time.entered); /* side by side */
	sem_post(&same_time.leave);
	pawl_clock_manual_advance(&room.fixture.clock, 4 * MS);
	sem_wait(&later.entered); /* while the first is still inside */
	sem_post(&later.leave);
	sem_post(&slow.leave);
	settle(&room.fixture);
	EXPECT_STR(slow.story, "cer");
	EXPECT_STR(same_time.story, "cer");
	EXPECT_STR(later.story, "cer");
	room_close(&room);
}

/* Also if the wheel has to move them first. None of it is in the service's counts. */
static void one_poll_expires_all_that_is_due(void)
{
	enum { COUNT = 1000 };
	static struct request requests[COUNT];
	static struct pawl_histogram histogram; /* of the service */
	const struct pawl_service_options manual = {.workers = PAWL_SERVICE_MANUAL, .shards = 1};
	struct pawl_service_stats service;
	struct room room;

	room_open(&room, &manual, 1);
	requests_init(requests, COUNT, &room);
	for (size_t i = 0; i < COUNT; i++)
		EXPECT_EQ(watch(&requests[i], "a", HOUR), 0);
	pawl_clock_manual_advance(&room.fixture.clock, HOUR);
	EXPECT(pawl_service_poll(room.fixture.service, 0) > 0);
	EXPECT_EQ(stats_of(&room)->expired, COUNT);
	EXPECT_EQ(pawl_service_next(room.fixture.service),
	          PAWL_NEVER); /* there is nothing to poll for */
	EXPECT_EQ(pawl_service_poll(room.fixture.service, 0), 0);
	pawl_service_get_stats(room.fixture.service, &service, sizeof(service));
	EXPECT_EQ(service.ran, 0);
	EXPECT_EQ(service.queued, 0);
	pawl_service_get_lateness(room.fixture.service, &histogram);
	EXPECT_EQ(histogram.count, 0);
	pawl_service_get_run_time(room.fixture.service, &histogram);
	EXPECT_EQ(histogram.count, 0);
	EXPECT(!service.slowest);
	room_close(&room);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 20000
#else
#define MANY 1000000
#endif

static bool quiet_try(struct pawl_op *op)
{
	(void)op;
	return false;
}

static void quiet(struct pawl_op *op)
{
	(void)op;
}

static const struct pawl_op_type quiet_type = {
        .try_complete = quiet_try, .on_complete = quiet, .release = quiet};

static bool checkers_end;

static void *check_keys(void *arg)
{
	struct room *room = arg;

	for (uint32_t i = 0; !__atomic_load_n(&checkers_end, __ATOMIC_RELAXED); i++)
		pawl_purgatory_check(room->purgatory,
		                     pawl_purgatory_key(room->purgatory, &i, sizeof(i)));
	return NULL;
}

/* A million keys come and go while others check them, and the purgatory is as empty as before. */
static void keys_that_come_and_go_during_checks_leave_nothing(void)
{
	pthread_t checker;
	struct pawl_op op;
	struct room room;

	room_open(&room, &two_workers, 2);
	checkers_end = false;
	pthread_create(&checker, NULL, check_keys, &room);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct pawl_key keys[2] = {pawl_purgatory_key(room.purgatory, &i, sizeof(i)),
		                                 pawl_purgatory_key(room.purgatory, &i, 2)};

		pawl_op_init(&op, &quiet_type);
		pawl_op_ref(&op);
		EXPECT_EQ(pawl_purgatory_try_or_watch(room.purgatory, &op, keys, 2, HOUR), 0);
		EXPECT(pawl_op_complete(&op));
		pawl_op_unref(&op);
	}
	__atomic_store_n(&checkers_end, true, __ATOMIC_RELAXED);
	pthread_join(checker, NULL);
	expect_counted(&room, 0, 0);
	EXPECT_EQ(stats_of(&room)->completed_by_call, MANY);
	room_close(&room);
}

static void every_field_of_the_struct_has_a_row_in_the_table(void)
{
	bool listed[sizeof(struct pawl_purgatory_stats)] = {false};
	size_t missing = 0;

	for (const struct statistic *row = pawl__purgatory_statistics; row->name; row++)
		if (row->kind != HISTOGRAM)
			memset(&listed[row->offset], true, sizeof(uint64_t));
	while (missing < sizeof(listed) && listed[missing])
		missing++;
	EXPECT_EQ(missing, sizeof(listed)); /* the offset of a field without a row; or the end */
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(each_outcome_is_counted_once),
	        TEST(every_field_of_the_struct_has_a_row_in_the_table),
	        TEST(lateness_counts_from_the_deadline),
	        TEST(on_complete_can_tell_whether_it_was_the_deadline),
	        TEST(a_slow_on_complete_holds_up_no_other_deadline),
	        TEST(one_poll_expires_all_that_is_due),
	        TEST(keys_that_come_and_go_during_checks_leave_nothing),
	};

	return RUN_TESTS(tests);
}
