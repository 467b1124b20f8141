/* SPDX-License-Identifier: MIT */
/*
 * Purgatories on a manual clock, over services of every mode, and operations that note each event as a letter: c
 * completed, e expired, k cancelled, d dropped, r released. Keys are also letters: "abc" is the three keys "a", "b" and
 * "c".
 *
 *	IN_EVERY_ROOM(a_check_completes_what_is_ready)
 *	{
 *		struct request request;
 *
 *		request_init(&request, room);
 *		EXPECT_EQ(watch(&request, "ab", HOUR), 0);
 *		request.ready = 1;
 *		EXPECT_EQ(check(room, "b"), 1);
 *		EXPECT_STR(request.story, "cr");
 *		leave_room(room);
 *	}
 *
 * The notes of a request are not atomic, on purpose: a thread sanitizer then sees whether the library keeps its promise
 * on the order of these functions on different threads.
 */
#ifndef PAWL_TESTS_PURGATORIES_H
#define PAWL_TESTS_PURGATORIES_H

#include "pawl/purgatory.h"
#include "services.h"

#define STORY_MAX   16
#define LETTERS_MAX 16

/* A purgatory under test, with the service below it. */
struct room {
	struct fixture fixture;
	struct pawl_purgatory *purgatory;
};

struct request {
	struct pawl_op op; /* first: an operation is its request */
	struct room *room;
	unsigned ready;          /* what try_complete returns; atomic in tests with threads */
	unsigned ready_from;     /* from this try on it returns true; 0: never */
	unsigned tries;          /* calls of try_complete */
	char story[STORY_MAX];   /* its functions, in the order in which they were called */
	uint64_t at;             /* the time of the last of them */
	pthread_t thread;        /* and its thread */
	bool completed;          /* and what pawl_op_completed said in it */
	size_t watched, delayed; /* and what the purgatory said in it */
	void (*inside)(struct request *request, char event);
	void (*inside_try)(struct request *request);
	struct request *other; /* for inside */
	uint64_t number;       /* for inside */
	sem_t entered, leave;
};

static inline struct request *request_from(struct pawl_op *op)
{
	return (struct request *)(void *)op;
}

static inline bool request_try(struct pawl_op *op)
{
	struct request *request = request_from(op);
	unsigned tries = ++request->tries;
	bool ready = __atomic_load_n(&request->ready, __ATOMIC_SEQ_CST) != 0;

	if (request->inside_try)
		request->inside_try(request);
	return ready || (request->ready_from && tries >= request->ready_from);
}

static inline void request_event(struct pawl_op *op, char event)
{
	struct request *request = request_from(op);
	size_t length = strlen(request->story);

	if (length + 1 < STORY_MAX)
		request->story[length] = event;
	request->at = fixture_now(&request->room->fixture);
	request->thread = pthread_self();
	request->completed = pawl_op_completed(op);
	if (event != 'r') {
		request->watched = pawl_purgatory_watched(request->room->purgatory);
		request->delayed = pawl_purgatory_delayed(request->room->purgatory);
	}
	if (request->inside)
		request->inside(request, event);
}

static inline void request_complete(struct pawl_op *op)
{
	request_event(op, 'c');
}

static inline void request_expire(struct pawl_op *op)
{
	request_event(op, 'e');
}

static inline void request_drop(struct pawl_op *op)
{
	request_event(op, 'd');
}

static inline void request_release(struct pawl_op *op)
{
	request_event(op, 'r');
}

/* For pawl_purgatory_cancel_key. */
static inline void request_cancelled(struct pawl_op *op)
{
	request_event(op, 'k');
}

static const struct pawl_op_type request_type = {.try_complete = request_try,
                                                 .on_complete = request_complete,
                                                 .on_expire = request_expire,
                                                 .on_drop = request_drop,
                                                 .release = request_release};

static inline void request_init(struct request *request, struct room *room)
{
	memset(request, 0, sizeof(*request));
	request->room = room;
	sem_init(&request->entered, 0, 0);
	sem_init(&request->leave, 0, 0);
	pawl_op_init(&request->op, &request_type);
}

static inline void requests_init(struct request *requests, size_t count, struct room *room)
{
	for (size_t i = 0; i < count; i++)
		request_init(&requests[i], room);
}

/* For inside and inside_try: posts `entered`, and waits for `leave`. */
static inline void request_stay(struct request *request)
{
	sem_post(&request->entered);
	sem_wait(&request->leave);
}

/* The same, only in the try of that number. */
static inline void stay_in_try_of_number(struct request *request)
{
	if (request->tries == request->number)
		request_stay(request);
}

static inline struct pawl_key key_of(const struct room *room, const char *text)
{
	return pawl_purgatory_key(room->purgatory, text, strlen(text));
}

static inline int watch(struct request *request, const char *letters, uint64_t timeout)
{
	struct pawl_key keys[LETTERS_MAX];
	size_t count = strlen(letters);

	for (size_t i = 0; i < count; i++)
		keys[i] = pawl_purgatory_key(request->room->purgatory, &letters[i], 1);
	return pawl_purgatory_try_or_watch(request->room->purgatory, &request->op, keys, count,
	                                   timeout);
}

static inline int watch_keys(struct request *request, const struct pawl_key *keys, size_t count)
{
	return pawl_purgatory_try_or_watch(request->room->purgatory, &request->op, keys, count,
	                                   HOUR);
}

static inline size_t check(struct room *room, const char *key)
{
	return pawl_purgatory_check(room->purgatory, key_of(room, key));
}

static inline size_t cancel_key(struct room *room, const char *key)
{
	return pawl_purgatory_cancel_key(room->purgatory, key_of(room, key), request_cancelled);
}

static inline void expect_counted(struct room *room, size_t watched, size_t delayed)
{
	EXPECT_EQ(pawl_purgatory_watched(room->purgatory), watched);
	EXPECT_EQ(pawl_purgatory_delayed(room->purgatory), delayed);
}

/* When its functions were called, the operation had left every list and its deadline. */
static inline void expect_gone(struct request *request, const char *story)
{
	EXPECT_STR(request->story, story);
	EXPECT_EQ(request->watched, 0);
	EXPECT_EQ(request->delayed, 0);
	expect_counted(request->room, 0, 0);
	EXPECT_EQ(pawl_service_pending(request->room->fixture.service), 0);
}

static inline struct pawl_purgatory *purgatory_with(struct pawl_service *service, unsigned shards)
{
	const struct pawl_purgatory_options options = {.shards = shards};
	struct pawl_purgatory *purgatory = NULL;
	int error = pawl_purgatory_open(&purgatory, service, &options);

	if (error) {
		fprintf(stderr, "no purgatory: %s\n", strerror(-error));
		abort();
	}
	return purgatory;
}

static inline void room_open(struct room *room, const struct pawl_service_options *options,
                             unsigned shards)
{
	fixture_open(&room->fixture, options);
	room->purgatory = purgatory_with(room->fixture.service, shards);
}

/* The service has dropped no operation: all ended before it. */
static inline void expect_nothing_dropped(struct pawl_service *service)
{
	struct pawl_service_stats stats;

	pawl_service_stop(service, NULL);
	pawl_service_get_stats(service, &stats, sizeof(stats));
	EXPECT_EQ(stats.dropped, 0);
	EXPECT_EQ(stats.pending, 0);
	EXPECT_EQ(stats.armed, stats.ran + stats.cancelled);
}

static inline void room_close(struct room *room)
{
	pawl_purgatory_close(room->purgatory);
	expect_nothing_dropped(room->fixture.service);
	pawl_service_close(room->fixture.service, NULL);
}

/* The last call of a test: its requests are about to go out of scope, waiting or not. */
static inline void leave_room(struct room *room)
{
	pawl_purgatory_stop(room->purgatory);
}

/* A call on a thread of its own. */
struct call {
	struct room *room;
	struct request *request;
	const char *keys;
	uint64_t timeout;
	long answer;
	pthread_t thread;
};

static inline void begin(struct call *call, void *(*run)(void *))
{
	pthread_create(&call->thread, NULL, run, call);
}

/* For begin. */
static inline void *run_check(void *arg)
{
	struct call *call = arg;

	call->answer = (long)check(call->room, call->keys);
	return NULL;
}

static inline long answer_of(struct call *call)
{
	pthread_join(call->thread, NULL);
	return call->answer;
}

static const unsigned every_shards[] = {1, 3};

/* A failure prints the room. */
static inline void in_room(const struct pawl_service_options *options, unsigned shards,
                           void (*test)(struct room *room))
{
	unsigned before = test_failures;
	struct room room;

	room_open(&room, options, shards);
	test(&room);
	room_close(&room);
	if (test_failures != before)
		fprintf(stderr, "    ^ with %u shards, and workers %d, shards %u of the service\n",
		        shards, (int)options->workers, options->shards);
}

static inline void in_every_room(void (*test)(struct room *room))
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++)
		for (size_t j = 0; j < COUNTOF(every_shards); j++)
			in_room(&every_mode[i], every_shards[j], test);
}

/* A test of one room, once for each mode of the service and number of shards. */
#define IN_EVERY_ROOM(name)                     \
	static void name##_(struct room *room); \
	static void name(void)                  \
	{                                       \
		in_every_room(name##_);         \
	}                                       \
	static void name##_(struct room *room)

/* The key that is this number. */
static inline struct pawl_key key_numbered(const struct room *room, uint32_t number)
{
	return pawl_purgatory_key(room->purgatory, &number, sizeof(number));
}

static inline int watch_numbered(struct request *request, uint32_t number)
{
	const struct pawl_key key = key_numbered(request->room, number);

	return watch_keys(request, &key, 1);
}

static inline size_t check_numbered(const struct room *room, uint32_t number)
{
	return pawl_purgatory_check(room->purgatory, key_numbered(room, number));
}

/* The ways in which an operation ends that waits under the key "x". */

static inline void end_by_check(struct request *request)
{
	__atomic_store_n(&request->ready, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(check(request->room, "x"), 1);
}

static inline void end_by_call(struct request *request)
{
	pawl_op_ref(&request->op);
	EXPECT(pawl_op_complete(&request->op));
	pawl_op_unref(&request->op);
}

static inline void end_by_deadline(struct request *request)
{
	advance_and_settle(&request->room->fixture, HOUR);
}

static inline void end_by_cancel(struct request *request)
{
	EXPECT_EQ(cancel_key(request->room, "x"), 1);
}

static inline void end_by_stop(struct request *request)
{
	pawl_purgatory_stop(request->room->purgatory);
}

struct ending {
	const char *name;
	void (*end)(struct request *request);
	const char *story, *released; /* before its release, and after it */
};

enum { BY_CHECK, BY_CALL, BY_DEADLINE, BY_CANCEL, BY_STOP };

/* Stop comes last: afterwards the purgatory takes no operation. */
static const struct ending every_ending[] = {
        [BY_CHECK] = {"check", end_by_check, "c", "cr"},
        [BY_CALL] = {"complete", end_by_call, "c", "cr"},
        [BY_DEADLINE] = {"the deadline", end_by_deadline, "ce", "cer"},
        [BY_CANCEL] = {"cancel_key", end_by_cancel, "k", "kr"},
        [BY_STOP] = {"stop", end_by_stop, "d", "dr"},
};

/* A failure prints the ending. */
static inline void with_every_ending(struct room *room,
                                     void (*test)(struct room *room, const struct ending *ending))
{
	for (size_t i = 0; i < COUNTOF(every_ending); i++) {
		unsigned before = test_failures;

		test(room, &every_ending[i]);
		if (test_failures != before)
			fprintf(stderr, "    ^ ended by %s\n", every_ending[i].name);
	}
}

#endif
