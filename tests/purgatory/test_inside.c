/* SPDX-License-Identifier: MIT */
/* Calls from inside the functions of an operation, and nested calls of on_complete. */
#define _GNU_SOURCE
#include <errno.h>

#include "../support/purgatories.h"

/* Everything that the table in the manual page allows, in each function */

struct others {
	struct request started, checked, completed, cancelled;
};

static void others_init(struct others *others, struct room *room)
{
	request_init(&others->started, room);
	request_init(&others->checked, room);
	request_init(&others->completed, room);
	request_init(&others->cancelled, room);
	pawl_op_ref(&others->completed.op);
	EXPECT_EQ(watch(&others->checked, "w", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&others->completed, "y", PAWL_NEVER), 0);
	EXPECT_EQ(watch(&others->cancelled, "z", PAWL_NEVER), 0);
	others->checked.ready = 1;
}

static void do_everything(struct request *request, char event)
{
	struct others *others = (struct others *)(void *)request->other;
	struct room *room = request->room;

	if (event != (char)request->number)
		return;
	EXPECT_EQ(watch(&others->started, "s", PAWL_NEVER), event == 'd' ? -ECANCELED : 0);
	check(room, "w");
	cancel_key(room, "z");
	pawl_op_complete(&others->completed.op);
	pawl_op_unref(&others->completed.op);
	if (event != 'r') {
		pawl_op_ref(&request->op);
		EXPECT(!pawl_op_complete(&request->op));
		EXPECT_EQ(pawl_op_completed(&request->op), event == 'c' || event == 'e');
		pawl_op_unref(&request->op);
	}
	if (event != 'd')
		expect_counted(room, 1, 1);
}

/* By a function of another operation, unless stop was first: then it is dropped. */
static void expect_ended(struct request *other, const char *story, char event)
{
	EXPECT_STR(other->story, event == 'd' && other->story[0] == 'd' ? "dr" : story);
}

/* The event in whose function everything is called, and what leads to it. */
static const struct function {
	char event;
	void (*end)(struct request *request);
} functions[] = {{'c', end_by_check},
                 {'e', end_by_deadline},
                 {'d', end_by_stop},
                 {'k', end_by_cancel},
                 {'r', end_by_check}};

static const struct function *function;

static void do_everything_in(struct room *room)
{
	char event = function->event;
	struct request request;
	struct others others;

	others_init(&others, room);
	request_init(&request, room);
	request.inside = do_everything;
	request.number = (uint64_t)event;
	request.other = &others.started;
	EXPECT_EQ(watch(&request, "abxcd", event == 'e' ? HOUR : PAWL_NEVER), 0);
	function->end(&request);
	expect_ended(&others.checked, "cr", event);
	expect_ended(&others.completed, "cr", event);
	expect_ended(&others.cancelled, "kr", event);
	EXPECT_STR(others.started.story, "");
	pawl_purgatory_stop(room->purgatory);
	EXPECT_STR(others.started.story, event == 'd' ? "" : "dr");
}

static void every_function_of_an_operation_may_call_everything(void)
{
	for (function = functions; function < functions + COUNTOF(functions); function++)
		in_every_room(do_everything_in);
}

/* Nested calls */

static struct {
	unsigned depth, deepest;
	/* try_or_watch: how often 0 and 1; complete and check: operations completed. */
	unsigned answers[3];
} nested;

static void act_on_next(struct request *request)
{
	struct request *next = request->other;

	if (request->number == 'w')
		nested.answers[watch(next, "x", PAWL_NEVER) == 1]++;
	else if (request->number == 'o')
		nested.answers[2] += pawl_op_complete(&next->op);
	else
		nested.answers[2] += (unsigned)pawl_purgatory_check(
		        request->room->purgatory,
		        pawl_purgatory_key(request->room->purgatory, &next, sizeof(next)));
}

static void go_on(struct request *request, char event)
{
	if (event != 'c')
		return;
	nested.depth++;
	if (nested.depth > nested.deepest)
		nested.deepest = nested.depth;
	if (request->other)
		act_on_next(request);
	nested.depth--;
}

/* Each completes the next: 'o' by complete, 'k' by a check, 'w' by try_or_watch. */
static void make_nested(struct request *requests, size_t count, struct room *room, char how)
{
	memset(&nested, 0, sizeof(nested));
	requests_init(requests, count, room);
	for (size_t i = 0; i < count; i++) {
		struct request *request = &requests[i];
		const struct pawl_key key =
		        pawl_purgatory_key(room->purgatory, &request, sizeof(request));

		request->inside = go_on;
		request->number = (uint64_t)how;
		request->other = i + 1 < count ? request + 1 : NULL;
		if (how == 'w')
			request->ready = 1;
		if (how == 'o')
			pawl_op_ref(&request->op);
		if (how != 'w')
			EXPECT_EQ(watch_keys(request, &key, 1), 0);
		if (how == 'k')
			request->ready = 1;
	}
}

static void expect_nested_over(struct request *requests, size_t count, char how)
{
	for (size_t i = 0; i < count; i++) {
		if (how == 'o') {
			EXPECT_STR(requests[i].story, "c");
			pawl_op_unref(&requests[i].op);
		}
		EXPECT_STR(requests[i].story, "cr");
	}
	EXPECT_EQ(nested.depth, 0);
	EXPECT_EQ(nested.deepest, count < 16 ? count : 16);
	expect_counted(requests->room, 0, 0);
}

static void expect_nested(struct room *room, size_t count, char how)
{
	struct request *requests = malloc(count * sizeof(*requests));
	struct pawl_key key = pawl_purgatory_key(room->purgatory, &requests, sizeof(requests));

	make_nested(requests, count, room, how);
	if (how == 'w')
		EXPECT_EQ(watch(requests, "x", PAWL_NEVER), 1);
	else if (how == 'o')
		EXPECT(pawl_op_complete(&requests->op));
	else
		EXPECT_EQ(pawl_purgatory_check(room->purgatory, key), 1);
	expect_nested_over(requests, count, how);
	if (how == 'w') {
		EXPECT_EQ(nested.answers[1], count < 16 ? count - 1 : 15);
		EXPECT_EQ(nested.answers[0], count < 16 ? 0 : count - 16);
	} else {
		EXPECT_EQ(nested.answers[2], count - 1);
	}
	free(requests);
}

/* By complete, by a check, and by try_or_watch. */
IN_EVERY_ROOM(nested_calls_are_16_deep_at_most_and_all_are_made)
{
	static const size_t counts[] = {5, 16, 17, 100};

	for (size_t i = 0; i < COUNTOF(counts); i++) {
		expect_nested(room, counts[i], 'o');
		expect_nested(room, counts[i], 'k');
		expect_nested(room, counts[i], 'w');
	}
}

static void *run_many_nested(void *room)
{
	expect_nested(room, 100000, 'o');
	expect_nested(room, 100000, 'k');
	expect_nested(room, 100000, 'w');
	return NULL;
}

/* Without a bound the calls would need more than ten times the stack of this thread. */
static void with_100000_nested_calls_the_stack_has_a_bound(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	struct room room;

	room_open(&room, &every_mode[0], 2);
	pthread_attr_init(&attributes);
	EXPECT_EQ(pthread_attr_setstacksize(&attributes, 512 * 1024), 0);
	EXPECT_EQ(pthread_create(&thread, &attributes, run_many_nested, &room), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	room_close(&room);
}

/* Also on a thread of the service. */
IN_EVERY_ROOM(nested_calls_that_a_deadline_begins_are_over_when_it_has_settled)
{
	enum { COUNT = 50 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	struct request first;

	make_nested(requests, COUNT, room, 'k');
	request_init(&first, room);
	first.inside = go_on;
	first.other = requests;
	EXPECT_EQ(watch(&first, "f", MS), 0);
	advance_and_settle(&room->fixture, MS);
	EXPECT_STR(first.story, "cer");
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_STR(requests[i].story, "cr");
	EXPECT_EQ(nested.deepest, 16);
	EXPECT_EQ(nested.answers[2], COUNT);
	free(requests);
}

/* At the greatest depth */

static void (*at_the_bottom)(struct room *room);

static void go_deeper(struct request *request, char event)
{
	if (event != 'c')
		return;
	if (request->other)
		EXPECT(pawl_op_complete(&request->other->op));
	else
		at_the_bottom(request->room);
}

/* Calls it in 16 nested calls of on_complete. */
static void call_16_deep(struct room *room, void (*bottom)(struct room *room))
{
	struct request deep[16];

	at_the_bottom = bottom;
	requests_init(deep, 16, room);
	for (unsigned i = 0; i < 16; i++) {
		deep[i].inside = go_deeper;
		deep[i].other = i < 15 ? &deep[i + 1] : NULL;
	}
	EXPECT(pawl_op_complete(&deep[0].op));
	for (unsigned i = 0; i < 16; i++)
		EXPECT_STR(deep[i].story, "cr");
}

static void complete_fifty(struct room *room)
{
	EXPECT_EQ(check(room, "a"), 50);
}

IN_EVERY_ROOM(a_check_16_deep_counts_its_completions_and_all_are_called)
{
	struct request requests[50];

	requests_init(requests, 50, room);
	for (unsigned i = 0; i < 50; i++) {
		EXPECT_EQ(watch(&requests[i], "a", HOUR), 0);
		requests[i].ready = 1;
	}
	call_16_deep(room, complete_fifty);
	for (unsigned i = 0; i < 50; i++)
		EXPECT_STR(requests[i].story, "cr");
}

static struct request last;

static void submit_for_0(struct room *room)
{
	request_init(&last, room);
	EXPECT_EQ(watch(&last, "a", 0), 0);
	EXPECT_STR(last.story, "");
}

IN_EVERY_ROOM(a_timeout_of_0_submitted_16_deep_is_put_off)
{
	call_16_deep(room, submit_for_0);
	EXPECT_STR(last.story, "cer");
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_function_of_an_operation_may_call_everything),
	        TEST(nested_calls_are_16_deep_at_most_and_all_are_made),
	        TEST(with_100000_nested_calls_the_stack_has_a_bound),
	        TEST(nested_calls_that_a_deadline_begins_are_over_when_it_has_settled),
	        TEST(a_check_16_deep_counts_its_completions_and_all_are_called),
	        TEST(a_timeout_of_0_submitted_16_deep_is_put_off),
	};

	return RUN_TESTS(tests);
}
