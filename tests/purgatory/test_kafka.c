/* SPDX-License-Identifier: MIT */
/* The scenarios of Kafka's DelayedOperationTest, with the exact numbers that hold here. */
#define _GNU_SOURCE
#include <sched.h>

#include "../support/purgatories.h"

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

IN_EVERY_ROOM(what_is_not_completed_expires_at_its_timeout_and_no_earlier)
{
	struct request r1, r2;

	request_init(&r1, room);
	request_init(&r2, room);
	EXPECT_EQ(watch(&r1, "1", 20 * MS), 0);
	EXPECT_EQ(watch(&r2, "2", 200 * SECOND), 0);
	advance_and_settle(&room->fixture, 20 * MS - 1);
	EXPECT_STR(r1.story, "");
	advance_and_settle(&room->fixture, 1);
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

IN_EVERY_ROOM(watched_and_delayed_drop_at_once_when_completed_outside)
{
	struct request r[3];

	requests_init(r, 3, room);
	for (unsigned i = 0; i < 3; i++)
		pawl_op_ref(&r[i].op);
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
		pawl_op_unref(&r[i].op);
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
	advance_and_settle(&room->fixture, HOUR);
	EXPECT_STR(r[0].story, "kr");
	EXPECT_STR(r[2].story, "cer");
	leave_room(room);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_unknown_key_gives_0),
	        TEST(two_operations_on_two_keys_are_completed_by_their_own),
	        TEST(what_is_not_completed_expires_at_its_timeout_and_no_earlier),
	        TEST(nothing_expires_early_on_the_real_clock),
	        TEST(watched_and_delayed_drop_at_once_when_completed_outside),
	        TEST(a_cancel_by_key_returns_2_of_3_and_leaves_1),
	};

	return RUN_TESTS(tests);
}
