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
	        TEST(a_slow_on_complete_holds_up_no_other_deadline),
	        TEST(one_poll_expires_all_that_is_due),
	};

	return RUN_TESTS(tests);
}
