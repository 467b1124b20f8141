/* SPDX-License-Identifier: MIT */
/* Stop and close, also where they may not be called. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../support/last_words.h"
#include "../support/purgatories.h"

static void *run_stop(void *arg)
{
	struct call *call = arg;

	pawl_purgatory_stop(call->room->purgatory);
	call->answer = (long)call->request->number;
	return NULL;
}

/* Stop and close */

IN_EVERY_ROOM(stop_drops_and_releases_waiting_operations_and_refuses_new_ones)
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
	EXPECT_EQ(pawl_service_pending(room->fixture.service), 0);
	request_init(&late, room);
	EXPECT_EQ(watch(&late, "a", HOUR), -ECANCELED);
	late.ready = 1;
	EXPECT_EQ(watch(&late, "a", HOUR), -ECANCELED);
	EXPECT_STR(late.story, "");
	EXPECT_EQ(check(room, "a") + cancel_key(room, "a"), 0);
	pawl_purgatory_stop(room->purgatory);
	advance_and_settle(&room->fixture, 2 * HOUR);
	for (unsigned i = 0; i < 20; i++)
		EXPECT_STR(r[i].story, "dr");
}

/* All that may follow close: calls on operations with a reference. */
static void a_referenced_operation_outlives_the_purgatory(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct request dropped, completed;
		struct room room;

		room_open(&room, &every_mode[i], 3);
		request_init(&dropped, &room);
		request_init(&completed, &room);
		pawl_op_ref(&dropped.op);
		pawl_op_ref(&completed.op);
		EXPECT_EQ(watch(&dropped, "abcdef", HOUR), 0);
		EXPECT_EQ(watch(&completed, "abcdef", HOUR), 0);
		EXPECT(pawl_op_complete(&completed.op));
		pawl_purgatory_close(room.purgatory);
		EXPECT_STR(dropped.story, "d");
		EXPECT(!pawl_op_complete(&dropped.op));
		EXPECT(!pawl_op_complete(&completed.op));
		EXPECT(!pawl_op_completed(&dropped.op));
		EXPECT(pawl_op_completed(&completed.op));
		pawl_op_unref(&dropped.op);
		pawl_op_unref(&completed.op);
		EXPECT_STR(dropped.story, "dr");
		EXPECT_STR(completed.story, "cr");
		pawl_service_close(room.fixture.service, NULL);
	}
}

static void stay_then_count(struct request *request, char event)
{
	if (event != 'e' && event != 'd')
		return;
	request_stay(request);
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
	} while (error != -ECANCELED);
}

IN_EVERY_ROOM(stop_waits_for_the_functions_of_a_deadline)
{
	struct request request;
	struct call call = {.room = room, .request = &request};

	request_init(&request, room);
	request.inside = stay_then_count;
	EXPECT_EQ(watch(&request, "a", MS), 0);
	pawl_clock_manual_advance(&room->fixture.clock, MS);
	begin_driving(&room->fixture);
	sem_wait(&request.entered);
	begin(&call, run_stop);
	wait_until_refused(room);
	sem_post(&request.leave);
	EXPECT_EQ(answer_of(&call), 1);
	EXPECT_STR(request.story, "cer");
	end_driving(&room->fixture);
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

/* In the function of this event. Another operation is dropped by that. */
static void stop_in(struct room *room, char event, const struct ending *ending)
{
	struct request request, other;

	request_init(&request, room);
	request_init(&other, room);
	request.inside = stop_inside;
	request.number = (unsigned char)event;
	EXPECT_EQ(watch(&request, "ax", HOUR), 0);
	EXPECT_EQ(watch(&other, "a", HOUR), 0);
	ending->end(&request);
	EXPECT_STR(request.story, ending->released);
	EXPECT_STR(other.story, "dr");
	expect_counted(room, 0, 0);
}

IN_EVERY_ROOM(on_complete_of_a_check_may_stop)
{
	stop_in(room, 'c', &every_ending[BY_CHECK]);
}

IN_EVERY_ROOM(release_by_the_last_unref_may_stop)
{
	stop_in(room, 'r', &every_ending[BY_CALL]);
}

IN_EVERY_ROOM(cancelled_may_stop)
{
	stop_in(room, 'k', &every_ending[BY_CANCEL]);
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

static void make_mistake(const void *arg)
{
	const struct mistake *mistake = arg;
	struct request request, other;
	struct room room;

	alarm(60); /* it waits for itself: SIGALRM is not SIGABRT */
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
		advance_and_settle(&room.fixture, MS);
}

static void stop_from_a_deadline_or_from_stop_ends_the_program_with_a_message(void)
{
	static const char events[] = {'c', 'e', 'r', 'd', 'E'};

	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		for (size_t j = 0; j < COUNTOF(events); j++)
			EXPECT(strstr(last_words(make_mistake,
			                         &(struct mistake){&every_mode[i], events[j]}),
			              "pawl_purgatory_stop"));
}

static void close_service_first(const void *stops)
{
	struct pawl_purgatory *purgatory;
	struct pawl_service *service = service_with(&every_mode[0]);

	alarm(60);
	if (pawl_purgatory_open(&purgatory, service, NULL) != 0)
		return;
	if (*(const bool *)stops)
		pawl_purgatory_stop(purgatory);
	pawl_service_stop(service, NULL); /* this is allowed */
	pawl_service_close(service, NULL);
}

/* A stopped purgatory still has the service. */
static void a_service_closed_before_its_purgatory_ends_the_program_with_a_message(void)
{
	static const bool stops[] = {false, true};

	for (size_t i = 0; i < COUNTOF(stops); i++) {
		const char *words = last_words(close_service_first, &stops[i]);

		EXPECT(strstr(words, "pawl_service_close"));
		EXPECT(strstr(words, "purgatory"));
	}
}

static void a_service_is_closed_after_its_last_purgatory(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service *service = service_with(&every_mode[i]);
		struct pawl_purgatory *purgatories[3];

		for (size_t j = 0; j < COUNTOF(purgatories); j++)
			EXPECT_EQ(pawl_purgatory_open(&purgatories[j], service, NULL), 0);
		pawl_purgatory_stop(purgatories[1]);
		pawl_purgatory_close(purgatories[0]);
		pawl_service_stop(service, NULL);
		pawl_purgatory_close(purgatories[2]);
		pawl_purgatory_close(purgatories[1]);
		pawl_service_close(service, NULL);
	}
}

/* The service first, then the purgatory: not as asked, but nothing may be lost or hang. */
static unsigned strangers; /* tasks that `dropped` got */

static void count_stranger(struct pawl_task *task)
{
	(void)task;
	strangers++;
}

static void without_its_service_an_operation_waits_on(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct request checked, completed, dropped;
		struct room room;

		room_open(&room, &every_mode[i], 2);
		request_init(&checked, &room);
		request_init(&completed, &room);
		request_init(&dropped, &room);
		pawl_op_ref(&completed.op);
		EXPECT_EQ(watch(&checked, "a", HOUR), 0);
		EXPECT_EQ(watch(&completed, "bcdef", HOUR), 0);
		EXPECT_EQ(watch(&dropped, "b", HOUR), 0);
		strangers = 0;
		pawl_service_stop(room.fixture.service, count_stranger);
		EXPECT_EQ(strangers, 0);
		expect_counted(&room, 7, 3);
		checked.ready = 1;
		EXPECT_EQ(check(&room, "a"), 1);
		EXPECT(pawl_op_complete(&completed.op));
		pawl_op_unref(&completed.op);
		pawl_purgatory_close(room.purgatory);
		EXPECT_STR(checked.story, "cr");
		EXPECT_STR(completed.story, "cr");
		EXPECT_STR(dropped.story, "dr");
		pawl_service_close(room.fixture.service, NULL);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(stop_from_a_deadline_or_from_stop_ends_the_program_with_a_message),
	        TEST(a_service_closed_before_its_purgatory_ends_the_program_with_a_message),
	        TEST(a_service_is_closed_after_its_last_purgatory),
	        TEST(stop_drops_and_releases_waiting_operations_and_refuses_new_ones),
	        TEST(a_referenced_operation_outlives_the_purgatory),
	        TEST(stop_waits_for_the_functions_of_a_deadline),
	        TEST(a_second_stop_waits_for_the_first),
	        TEST(on_complete_of_a_check_may_stop),
	        TEST(release_by_the_last_unref_may_stop),
	        TEST(cancelled_may_stop),
	        TEST(without_its_service_an_operation_waits_on),
	};

	return RUN_TESTS(tests);
}
