/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the purgatory. Each is a few calls on two to four threads, with what must hold in every schedule: an
 * operation has exactly one outcome, and is released exactly once, after it; no trigger is lost; nothing is left of
 * unused keys; no thread waits forever.
 */
#include "../../src/base/json.h"
#include "../../src/service/internal.h"
#include "scenario.h"

#include <string.h>

enum outcome { COMPLETED, EXPIRED, DROPPED, CANCELLED, OUTCOMES };

/* The outcome of an operation. It outlives the operation, which is freed in release. */
struct fate {
	int outcomes[OUTCOMES];
	int released;
	int needs;                 /* how many changes it waits for */
	void (*on_complete)(void); /* and if it is cancelled */
};

struct request {
	struct pawl_op op; /* first: an operation is its request */
	struct fate *fate;
	int trying, completing;
};

static struct pawl_purgatory *purgatory, *other;
static struct fate fates[24];
static int changes;
static size_t blocks; /* of memory, before the first operation */

static struct pawl_key keys[6]; /* of `purgatory` */

/* Only the library's own fences order the changes. */
static bool try_complete(struct pawl_op *op)
{
	struct request *request = (struct request *)op;
	bool can;

	EXPLORE_EXPECT_EQ(request->trying++, 0);
	explore_point();
	can = __atomic_load_n(&changes, __ATOMIC_RELAXED) >= request->fate->needs;
	EXPLORE_EXPECT_EQ(--request->trying, 0);
	return can;
}

static void note(struct pawl_op *op, enum outcome outcome)
{
	struct request *request = (struct request *)op;

	EXPLORE_EXPECT_EQ(request->fate->released, 0);
	request->fate->outcomes[outcome]++;
}

static void on_complete(struct pawl_op *op)
{
	struct fate *fate = ((struct request *)op)->fate;

	EXPLORE_EXPECT(pawl_op_completed(op));
	note(op, COMPLETED);
	if (fate->on_complete)
		fate->on_complete();
}

static void on_expire(struct pawl_op *op)
{
	EXPLORE_EXPECT_EQ(((struct request *)op)->fate->outcomes[COMPLETED], 1);
	note(op, EXPIRED);
}

static void on_drop(struct pawl_op *op)
{
	EXPLORE_EXPECT(!pawl_op_completed(op));
	note(op, DROPPED);
}

static void cancelled(struct pawl_op *op)
{
	struct fate *fate = ((struct request *)op)->fate;

	EXPLORE_EXPECT(!pawl_op_completed(op));
	note(op, CANCELLED);
	if (fate->on_complete)
		fate->on_complete();
}

static void release(struct pawl_op *op)
{
	struct fate *fate = ((struct request *)op)->fate;

	EXPLORE_EXPECT_EQ(
	        fate->outcomes[COMPLETED] + fate->outcomes[DROPPED] + fate->outcomes[CANCELLED], 1);
	add(&fate->released);
	free(op);
}

static const struct pawl_op_type type = {.try_complete = try_complete,
                                         .on_complete = on_complete,
                                         .on_expire = on_expire,
                                         .on_drop = on_drop,
                                         .release = release};

static struct pawl_key key_in(const struct pawl_purgatory *of, unsigned number)
{
	static const char *const names[] = {"one", "two", "three", "four", "five", "six"};

	return pawl_purgatory_key(of, names[number], strlen(names[number]));
}

static void open_purgatory_with(unsigned workers, struct pawl_purgatory_options options)
{
	open_service(workers, options.shards);
	EXPLORE_EXPECT_EQ(pawl_purgatory_open(&purgatory, service, &options), 0);
	for (unsigned i = 0; i < 6; i++)
		keys[i] = key_in(purgatory, i);
	blocks = explore_blocks();
}

static void open_purgatory(unsigned workers, unsigned shards)
{
	open_purgatory_with(workers, (struct pawl_purgatory_options){.shards = shards});
}

static struct request *new_request(unsigned number, int needs)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	pawl_op_init(&request->op, &type);
	request->fate = &fates[number];
	fates[number].needs = needs;
	return request;
}

static int watch(struct request *request, const struct pawl_key *under, size_t count,
                 uint64_t timeout)
{
	return pawl_purgatory_try_or_watch(purgatory, &request->op, under, count, timeout);
}

/* A new operation waits. */
static void submit(unsigned number, int needs, const struct pawl_key *under, size_t count,
                   uint64_t timeout)
{
	EXPLORE_EXPECT_EQ(watch(new_request(number, needs), under, count, timeout), 0);
}

/* One that is refused stays the caller's. There may be no memory for it. */
static int watch_or_free(struct request *request, const struct pawl_key *under, size_t count,
                         uint64_t timeout, int refusal)
{
	int answer = request ? watch(request, under, count, timeout) : -ENOMEM;

	if (answer < 0) {
		EXPLORE_EXPECT_EQ(answer, refusal);
		free(request);
	}
	return answer;
}

static struct request *given;

/* An operation, and references to it beyond the first. */
static void give(int needs, unsigned references)
{
	given = new_request(0, needs);
	while (references-- > 0)
		pawl_op_ref(&given->op);
}

/* Change something, and check its key. */
static void change(struct pawl_key key)
{
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
	pawl_purgatory_check(purgatory, key);
}

static void *change_key(void *key)
{
	change(*(const struct pawl_key *)key);
	return NULL;
}

static void *check_key(void *key)
{
	pawl_purgatory_check(purgatory, *(const struct pawl_key *)key);
	return NULL;
}

static void *arg(const struct pawl_key *key)
{
	return (void *)(uintptr_t)key;
}

static void expect_completed(unsigned number)
{
	EXPLORE_EXPECT_EQ(fates[number].outcomes[COMPLETED], 1);
	EXPLORE_EXPECT_EQ(fates[number].outcomes[EXPIRED], 0);
	EXPLORE_EXPECT_EQ(fates[number].released, 1);
}

/* Every operation has ended, and nothing is left of any key. */
static void expect_empty(void)
{
	EXPLORE_EXPECT_EQ(pawl_purgatory_watched(purgatory), 0);
	EXPLORE_EXPECT_EQ(pawl_purgatory_delayed(purgatory), 0);
	EXPLORE_EXPECT_EQ(pawl_service_pending(service), 0);
	EXPLORE_EXPECT_EQ(explore_blocks(), blocks);
}

static void close_purgatory(void)
{
	expect_empty();
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
}

/* All threads end, and the first operations are completed. */
static void join_completed(unsigned count)
{
	join_all();
	for (unsigned i = 0; i < count; i++)
		expect_completed(i);
}

/* The first operations are released, whatever became of them. */
static void expect_released(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		EXPLORE_EXPECT_EQ(fates[i].released, 1);
}

static void join_released(unsigned count)
{
	join_all();
	expect_released(count);
}

static void *watch_first(void *under)
{
	int answer = watch(new_request(0, 1), under, 1, PAWL_NEVER);

	EXPLORE_EXPECT(answer == 0 || answer == 1);
	return NULL;
}

/* The change comes before the operation is watched, after that, or in between: it is never missed. */
static void no_trigger_is_lost(unsigned shards)
{
	open_purgatory(PAWL_SERVICE_MANUAL, shards);
	start(watch_first, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	join_completed(1);
	close_purgatory();
}

SCENARIO_OF(no_trigger_is_lost_1, no_trigger_is_lost(1))
SCENARIO_OF(no_trigger_is_lost_2, no_trigger_is_lost(2))

THREAD(watch_two_keys, watch(new_request(0, 2), keys, 2, PAWL_NEVER))

/* It needs two changes, of two keys, by two threads. */
SCENARIO(two_keys_two_changes)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	start(watch_two_keys, NULL);
	start(change_key, arg(&keys[0]));
	start(change_key, arg(&keys[1]));
	join_completed(1);
	close_purgatory();
}

/* The same, but the operation waits already: each check may find it in the batch of the other. */
static void two_checks_of_one(size_t count, unsigned first, unsigned second)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 2, keys, count, PAWL_NEVER);
	start(change_key, arg(&keys[first]));
	start(change_key, arg(&keys[second]));
	join_completed(1);
	close_purgatory();
}

SCENARIO_OF(two_checks_of_one_that_waits, two_checks_of_one(2, 0, 1))
/* The same under more keys than an operation has room for. */
SCENARIO_OF(two_checks_of_one_under_many_keys, two_checks_of_one(5, 4, 0))

/* Two checks of the same key: the second may leave its work to the first. */
SCENARIO(two_checks_of_one_key)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 1, keys, 1, PAWL_NEVER);
	submit(1, 2, keys, 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	join_completed(2);
	close_purgatory();
}

/* The same while the walk of the first is paused: it must try the operations before its pause again. */
SCENARIO(two_checks_of_one_long_list)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	for (unsigned i = 0; i < 5; i++)
		submit(i, 2, keys, 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	join_completed(5);
	close_purgatory();
}

/* The first two keys differ only in bits of their hashes that a check does not compare. */
static void make_similar_keys(void)
{
	keys[1] = keys[0];
	keys[1].high ^= 1;
}

/* A check of a key also tries the operations of a key with a similar hash: no other check tries them meanwhile. */
SCENARIO(two_checks_of_similar_keys)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	make_similar_keys();
	submit(0, 1, keys, 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(check_key, arg(&keys[1]));
	join_completed(1);
	close_purgatory();
}

/* Operations that share keys, so that a check of one key finds operations that the other is trying. */
SCENARIO(shared_keys)
{
	struct pawl_key backwards[2];

	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	backwards[0] = keys[1];
	backwards[1] = keys[0];
	submit(0, 1, keys, 2, PAWL_NEVER);
	submit(1, 2, backwards, 2, PAWL_NEVER);
	submit(2, 2, &keys[1], 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(change_key, arg(&keys[1]));
	start(check_key, arg(&keys[1]));
	join_all();
	check_key(&keys[1]); /* the third waits for a change of another's key */
	join_completed(3);
	close_purgatory();
}

/* All threads end, a tick passes, and the first operation is completed, by its deadline or before. */
static void join_in_time(void)
{
	join_all();
	advance_clock(MS);
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[COMPLETED], 1);
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
}

/* Only the service looks at the time: so it must be told of the deadline. */
SCENARIO(deadline_wakes_the_service)
{
	open_purgatory(1, 1);
	submit(0, 9, keys, 1, MS);
	advance_clock(MS);
	await(&fates[0].released, 1);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[EXPIRED], 1);
	pawl_service_settle(service);
	close_purgatory();
}

static void *watch_for(void *ticks)
{
	unsigned number = (unsigned)(uintptr_t)ticks;

	submit(number, 9, keys, 1, number * MS);
	return NULL;
}

/* Two threads arm deadlines of one shard at the same time: the alarm is armed for the earlier one. */
SCENARIO(two_deadlines)
{
	open_purgatory(1, 1);
	start(watch_for, (void *)3);
	start(watch_for, (void *)1);
	join_all();
	advance_clock(MS);
	await(&fates[1].released, 1);
	advance_clock(2 * MS);
	await(&fates[3].released, 1);
	pawl_service_settle(service);
	close_purgatory();
}

/* The alarm comes for a deadline that was removed: it still has to be armed for the next one. */
SCENARIO(alarm_in_vain)
{
	open_purgatory(1, 1);
	submit(1, 1, keys, 1, MS);
	submit(3, 9, &keys[1], 1, 3 * MS);
	start(change_key, arg(&keys[0]));
	join_all();
	advance_clock(MS);
	pawl_service_settle(service);
	advance_clock(2 * MS);
	await(&fates[3].released, 1);
	pawl_service_settle(service);
	close_purgatory();
}

static void await_third(void)
{
	await(&fates[3].released, 1);
}

/* The on_complete of one deadline waits for the next one, which the other worker must run. */
SCENARIO(slow_deadline)
{
	open_purgatory(2, 1);
	fates[1].on_complete = await_third;
	submit(1, 9, keys, 1, MS);
	submit(3, 9, keys, 1, 3 * MS);
	advance_clock(MS);
	advance_clock(2 * MS);
	await(&fates[1].released, 1);
	pawl_service_settle(service);
	close_purgatory();
}

static void *watch_for_a_tick(void *unused)
{
	int answer = watch(new_request(0, 1), keys, 2, MS);

	EXPLORE_EXPECT(answer == 0 || answer == 1);
	return unused;
}

/* The deadline comes during a check: one of them wins. */
static void expiry_against_check(unsigned workers)
{
	open_purgatory(workers, 1);
	submit(0, 1, keys, 2, MS);
	start(change_key, arg(&keys[0]));
	advance_clock(MS);
	join_in_time();
	EXPLORE_EXPECT(fates[0].outcomes[EXPIRED] <= 1);
	close_purgatory();
}

SCENARIO_OF(expiry_against_check_1, expiry_against_check(1))
SCENARIO_OF(expiry_against_check_2, expiry_against_check(2))

/* The deadline of an operation that is being submitted, while time passes and another thread checks. */
SCENARIO(expiry_against_watch_and_check)
{
	open_purgatory(1, 1);
	start(watch_for_a_tick, NULL);
	start(change_key, arg(&keys[1]));
	advance_clock(MS);
	join_in_time();
	close_purgatory();
}

static void *complete(void *request)
{
	bool won = pawl_op_complete(request);
	struct fate *fate = ((struct request *)request)->fate;

	if (won)
		EXPLORE_EXPECT_EQ(fate->outcomes[COMPLETED], 1);
	pawl_op_unref(request);
	return NULL;
}

/* One thread completes it by hand, another one checks, and the deadline comes. */
SCENARIO(complete_against_check_and_expiry)
{
	open_purgatory(1, 1);
	give(1, 1);
	EXPLORE_EXPECT_EQ(watch(given, keys, 1, MS), 0);
	start(complete, given);
	start(change_key, arg(&keys[0]));
	advance_clock(MS);
	join_in_time();
	close_purgatory();
}

/* There is another reference: of a thread that may complete it before that. */
static void watch_given_under(size_t count, uint64_t timeout)
{
	EXPLORE_EXPECT(watch(given, keys, count, timeout) >= 0);
	EXPLORE_EXPECT(timeout || pawl_op_completed(&given->op));
	pawl_op_unref(&given->op);
}

THREAD(watch_given, watch_given_under(2, PAWL_NEVER))
THREAD(watch_given_for_a_tick, watch_given_under(5, MS))
THREAD(watch_given_for_no_time, watch_given_under(2, 0))

/* Completed during try_or_watch: before the first try, while it is linked, or later. */
SCENARIO(complete_against_watch)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(1, 2);
	start(watch_given, NULL);
	start(complete, given);
	start(change_key, arg(&keys[0]));
	join_completed(1);
	close_purgatory();
}

/* The same with more keys than an operation has room for, and a deadline. */
SCENARIO(complete_against_watch_under_many_keys)
{
	open_purgatory(1, 1);
	give(1, 2);
	start(watch_given_for_a_tick, NULL);
	start(complete, given);
	advance_clock(MS);
	join_in_time();
	close_purgatory();
}

/* A timeout of 0, while others complete it and check it: it is over when try_or_watch returns. */
SCENARIO(timeout_of_0_against_complete_and_check)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(1, 2);
	start(watch_given_for_no_time, NULL);
	start(complete, given);
	start(change_key, arg(&keys[0]));
	join_all();
	EXPLORE_EXPECT_EQ(fates[0].outcomes[COMPLETED], 1); /* with or without EXPIRED */
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
	close_purgatory();
}

static int completed_by_hand;

static void *complete_and_count(void *request)
{
	__atomic_add_fetch(&completed_by_hand, pawl_op_complete(request), __ATOMIC_RELAXED);
	EXPLORE_EXPECT(pawl_op_completed(request));
	pawl_op_unref(request);
	return NULL;
}

/* Three threads give back their references, and the last one releases it. */
SCENARIO(references_given_back)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(1, 2);
	EXPLORE_EXPECT_EQ(watch(given, keys, 1, PAWL_NEVER), 0);
	start(complete_and_count, given);
	start(complete_and_count, given);
	join_all();
	EXPLORE_EXPECT_EQ(completed_by_hand, 1);
	expect_completed(0);
	close_purgatory();
}

static size_t withdrawn;

static void *cancel_key(void *key)
{
	withdrawn = pawl_purgatory_cancel_key(purgatory, *(const struct pawl_key *)key, cancelled);
	return NULL;
}

/* Withdrawn or completed, never both. */
SCENARIO(cancel_against_check_and_expiry)
{
	open_purgatory(1, 1);
	submit(0, 1, keys, 2, MS);
	start(cancel_key, arg(&keys[0]));
	start(change_key, arg(&keys[1]));
	advance_clock(MS);
	join_all();
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[CANCELLED], withdrawn);
	close_purgatory();
}

/* Withdrawn while one check tries it and another one asks for a retry. */
SCENARIO(cancel_against_two_checks)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 9, keys, 2, PAWL_NEVER);
	start(check_key, arg(&keys[0]));
	start(check_key, arg(&keys[1]));
	start(cancel_key, arg(&keys[0]));
	join_all();
	EXPLORE_EXPECT_EQ(withdrawn, 1);
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
	close_purgatory();
}

/* Withdrawn while the check of a key with a similar hash tries it. */
SCENARIO(cancel_against_check_of_a_similar_key)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	make_similar_keys();
	submit(0, 9, keys, 1, PAWL_NEVER);
	start(check_key, arg(&keys[1]));
	start(cancel_key, arg(&keys[0]));
	join_all();
	EXPLORE_EXPECT_EQ(withdrawn, 1);
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
	close_purgatory();
}

/* Withdrawn while it is being submitted: then the second try does not complete it. */
SCENARIO(cancel_against_watch)
{
	open_purgatory(1, 1);
	start(watch_for_a_tick, NULL);
	start(cancel_key, arg(&keys[0]));
	join_all();
	advance_clock(MS);
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(fates[0].released, 1);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[CANCELLED], withdrawn);
	close_purgatory();
}

static void *watch_numbered(void *number)
{
	EXPLORE_EXPECT(watch(new_request((unsigned)(uintptr_t)number, 1), keys, 1, PAWL_NEVER) >=
	               0);
	return NULL;
}

static void *change_and_cancel(void *key)
{
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
	return cancel_key(key);
}

/* An operation that cancel_key does not find yet sees the change before it, and completes. */
SCENARIO(no_cancel_is_lost)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	start(watch_first, arg(&keys[0]));
	start(change_and_cancel, arg(&keys[0]));
	join_released(1);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[CANCELLED], withdrawn);
	close_purgatory();
}

/* Operations of two threads, in two shards: cancel_key withdraws both, even while other threads try them. */
SCENARIO(cancel_in_both_shards)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	start(watch_numbered, (void *)0);
	start(watch_numbered, (void *)1);
	join_all();
	start(check_key, arg(&keys[0]));
	EXPLORE_EXPECT_EQ(pawl_purgatory_cancel_key(purgatory, keys[0], cancelled), 2);
	join_released(2);
	close_purgatory();
}

static int watched;

THREAD(try_to_watch, watched = watch_or_free(new_request(1, 9), keys, 5, MS, -ECANCELED))

/* An operation that is accepted is dropped, completed or expires; one that is refused stays its owner's. */
SCENARIO(stop_against_watch_and_check)
{
	open_purgatory(1, 1);
	submit(0, 1, keys, 2, MS);
	start(try_to_watch, NULL);
	start(change_key, arg(&keys[0]));
	pawl_purgatory_stop(purgatory);
	join_released(1);
	EXPLORE_EXPECT_EQ(fates[1].released, watched >= 0);
	close_purgatory();
}

/* A try_or_watch that began before stop may still arm an alarm: close must cancel it. */
SCENARIO(close_after_a_late_watch)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	start(try_to_watch, NULL);
	pawl_purgatory_stop(purgatory);
	join_all();
	EXPLORE_EXPECT_EQ(fates[1].released, watched >= 0);
	close_purgatory();
}

THREAD(pass_a_tick, advance_clock(MS))

/* Stop waits for the deadlines that are running: after close nothing uses the operation. */
static void close_against_expiry(unsigned workers)
{
	open_purgatory(workers, 1);
	submit(0, 1, keys, 1, MS);
	submit(1, 1, keys, 1, MS);
	start(pass_a_tick, NULL);
	pawl_purgatory_close(purgatory);
	expect_released(2);
	join_all();
	pawl_service_close(service, NULL);
}

SCENARIO_OF(close_against_expiry_1, close_against_expiry(1))
SCENARIO_OF(close_against_expiry_2, close_against_expiry(2))

static void *stop_purgatory(void *unused)
{
	pawl_purgatory_stop(purgatory);
	EXPLORE_EXPECT_EQ(fates[0].outcomes[DROPPED] + fates[0].outcomes[COMPLETED], 1);
	return unused;
}

/* Two threads stop: when either returns, it is over. */
SCENARIO(two_stop)
{
	open_purgatory(1, 1);
	submit(0, 1, keys, 1, MS);
	start(stop_purgatory, NULL);
	start(stop_purgatory, NULL);
	advance_clock(MS);
	join_released(1);
	close_purgatory();
}

/* An operation with a reference outlasts the purgatory. */
SCENARIO(close_against_unref)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(1, 1);
	EXPLORE_EXPECT_EQ(watch(given, keys, 1, MS), 0);
	start(complete, given);
	pawl_purgatory_stop(purgatory);
	join_released(1);
	close_purgatory();
}

/* Keys come and go with their operations while other threads check them. */
SCENARIO(keys_come_and_go)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(9, 1);
	EXPLORE_EXPECT_EQ(watch(given, keys, 1, PAWL_NEVER), 0);
	start(check_key, arg(&keys[0]));
	start(complete, given);
	start(check_key, arg(&keys[0]));
	join_completed(1);
	close_purgatory();
}

static void *watch_and_complete(void *number)
{
	struct request *request = new_request((unsigned)(uintptr_t)number, 9);

	pawl_op_ref(&request->op);
	EXPLORE_EXPECT_EQ(watch(request, keys, 1, PAWL_NEVER), 0);
	return complete(request);
}

/* Two threads use one key from nothing to nothing. */
SCENARIO(keys_made_and_forgotten)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	start(watch_and_complete, (void *)0);
	start(watch_and_complete, (void *)1);
	start(check_key, arg(&keys[0]));
	join_completed(2);
	close_purgatory();
}

static void change_second(void)
{
	change(keys[1]);
}

/* on_complete checks another key, which another thread also checks. */
SCENARIO(nested_check)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	fates[0].on_complete = change_second;
	submit(0, 1, keys, 1, PAWL_NEVER);
	submit(1, 2, &keys[1], 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(check_key, arg(&keys[1]));
	join_completed(2);
	close_purgatory();
}

THREAD(stop_service, pawl_service_stop(service, NULL))

/* The service is stopped first: waiting operations go on without a deadline, new ones are refused. */
SCENARIO(service_stopped_first)
{
	open_purgatory(1, 1);
	submit(0, 1, keys, 2, MS);
	start(stop_service, NULL);
	start(try_to_watch, NULL);
	start(change_key, arg(&keys[1]));
	join_released(1);
	pawl_purgatory_stop(purgatory);
	EXPLORE_EXPECT_EQ(fates[1].released, watched >= 0);
	close_purgatory();
}

/* A deadline is running while its service is stopped. */
SCENARIO(service_stopped_against_expiry)
{
	open_purgatory(1, 1);
	submit(0, 1, keys, 1, MS);
	start(stop_service, NULL);
	start(change_key, arg(&keys[0]));
	advance_clock(MS);
	join_released(1);
	close_purgatory();
}

static struct pawl_service *other_service;
static struct pawl_clock_manual other_clock;

static void open_other(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                             .shards = 1,
	                                             .wheel_size = 4,
	                                             .clock = &other_clock.clock};

	pawl_clock_manual_init(&other_clock);
	EXPLORE_EXPECT_EQ(pawl_service_open(&other_service, &options), 0);
	EXPLORE_EXPECT_EQ(pawl_purgatory_open(&other, other_service, NULL), 0);
}

static void *watch_here_or_there(void *unused)
{
	const struct pawl_key there = key_in(other, 0);

	watched = watch(given, keys, 1, MS);
	if (watched == -ECANCELED)
		watched = pawl_purgatory_try_or_watch(other, &given->op, &there, 1, MS);
	EXPLORE_EXPECT_EQ(watched, 0);
	pawl_op_unref(&given->op);
	return unused;
}

/* Refused since its service is stopped, and given to another purgatory, while another thread completes it. */
SCENARIO(refused_and_given_to_another)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	open_other();
	give(1, 2);
	start(watch_here_or_there, NULL);
	start(stop_service, NULL);
	start(complete, given);
	join_completed(1);
	EXPLORE_EXPECT_EQ(pawl_purgatory_delayed(other), 0);
	EXPLORE_EXPECT_EQ(pawl_purgatory_delayed(purgatory), 0);
	pawl_purgatory_close(other);
	pawl_service_close(other_service, NULL);
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
}

static void *use_and_close_other(void *unused)
{
	const struct pawl_key key = key_in(other, 0);
	struct request *request = new_request(1, 1);

	EXPLORE_EXPECT(pawl_purgatory_try_or_watch(other, &request->op, &key, 1, MS) >= 0);
	pawl_purgatory_check(other, key);
	pawl_purgatory_close(other);
	EXPLORE_EXPECT_EQ(fates[1].released, 1);
	return unused;
}

/* Two purgatories on one service do not affect each other, also when one is closed. */
SCENARIO(two_purgatories)
{
	const struct pawl_purgatory_options options = {.shards = 1};

	open_purgatory(1, 1);
	EXPLORE_EXPECT_EQ(pawl_purgatory_open(&other, service, &options), 0);
	submit(0, 1, keys, 1, 2 * MS);
	start(use_and_close_other, NULL);
	start(change_key, arg(&keys[0]));
	advance_clock(MS);
	join_in_time();
	close_purgatory();
}

/* Without memory try_or_watch says so, and leaves nothing behind. */
SCENARIO(no_memory)
{
	struct request *request;

	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	request = new_request(0, 1);
	explore_failures(1);
	if (watch_or_free(request, keys, 5, PAWL_NEVER, -ENOMEM) >= 0) {
		EXPLORE_EXPECT_EQ(pawl_purgatory_watched(purgatory), 5);
		change(keys[4]);
		expect_completed(0);
	}
	close_purgatory();
}

static void *watch_without_memory(void *number)
{
	watch_or_free(new_request((unsigned)(uintptr_t)number, 1), keys, 5, PAWL_NEVER, -ENOMEM);
	return NULL;
}

/* The same while another thread uses the same keys. */
SCENARIO(no_memory_while_others_run)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	start(watch_without_memory, (void *)0);
	start(watch_without_memory, (void *)1);
	start(change_key, arg(&keys[4]));
	explore_failures(1);
	join_all();
	close_purgatory();
}

/*
 * Tables that grow. With PAWL_SMALL a table begins with 8 buckets, and 16 pairs of an operation and a key fill it.
 * Fillers wait for something that never comes. Each of the first four has four keys, the others have one:
 *
 *	fillers  the table of 8 buckets
 *	4        is full: half of the next one is zeroed
 *	5        grows: nothing has moved
 *	6 to 11  grows: each moves 4 operations, or leaves that many buckets
 *	12       has grown
 */
enum { FULL = 4, GROWS = 5, HALF_GROWN = 8, ALMOST_GROWN = 11 };
#define FIRST_FILLER 10u /* its fate */

static const char filler_bytes[] = "abcdefghijklmnopqrstuvwxyz";
static unsigned fillers;

static void fill_by_one(unsigned number)
{
	struct pawl_key under[4];
	unsigned count = number < FULL ? 4 : 1, first = number < FULL ? 4 * number : 12 + number;
	struct request *request = new_request(FIRST_FILLER + number, 99);

	for (unsigned i = 0; i < count; i++)
		under[i] = pawl_purgatory_key(purgatory, &filler_bytes[first + i], 1);
	EXPLORE_EXPECT_EQ(watch(request, under, count, PAWL_NEVER), 0);
}

static void fill(unsigned upto)
{
	while (fillers < upto)
		fill_by_one(fillers++);
}

/* For a thread: one more filler. */
THREAD(fill_on, fill_by_one((unsigned)__atomic_fetch_add(&fillers, 1, __ATOMIC_RELAXED)))

/* The fillers are dropped. The larger table stays until close. */
static void close_filled(void)
{
	pawl_purgatory_stop(purgatory);
	for (unsigned i = 0; i < fillers; i++) {
		EXPLORE_EXPECT_EQ(fates[FIRST_FILLER + i].outcomes[DROPPED], 1);
		EXPLORE_EXPECT_EQ(fates[FIRST_FILLER + i].released, 1);
	}
	EXPLORE_EXPECT_EQ(pawl_purgatory_watched(purgatory), 0);
	EXPLORE_EXPECT_EQ(pawl_purgatory_delayed(purgatory), 0);
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
}

/*
 * One thread ends the growth, another one submits an operation, and a third one changes what it waits for. A thread
 * that has ended before has the number 2, so that the second one shares a shard with the first, and the third does not.
 */
SCENARIO(three_threads_and_the_end_of_a_growth, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	fill(ALMOST_GROWN);
	start(check_key, arg(&keys[1]));
	join_all();
	start(watch_first, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	fill(ALMOST_GROWN + 1);
	join_completed(1);
	close_filled();
}

/* Two threads find the table full: one prepares the next one. */
SCENARIO(two_find_the_table_full, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	fill(FULL);
	start(fill_on, NULL);
	start(watch_first, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	join_completed(1);
	close_filled();
}

/* An operation moves while its check looks for it: first in the old table, then in the new one. */
static void check_against_growth(unsigned filled)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 1, keys, 2, PAWL_NEVER);
	fill(filled);
	submit(1, 1, keys, 1, PAWL_NEVER);
	start(fill_on, NULL);
	start(change_key, arg(&keys[0]));
	join_completed(2);
	close_filled();
}

SCENARIO(check_against_growth_begun, FEWER)
{
	check_against_growth(GROWS);
}

SCENARIO(check_against_growth_half_done, FEWER)
{
	check_against_growth(HALF_GROWN);
}

SCENARIO(check_against_growth_almost_done, FEWER)
{
	check_against_growth(ALMOST_GROWN - 1);
}

/* cancel_key withdraws an operation in either table, while operations move. */
SCENARIO(cancel_against_growth, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 99, keys, 2, PAWL_NEVER);
	fill(HALF_GROWN);
	submit(1, 99, keys, 2, PAWL_NEVER);
	start(fill_on, NULL);
	start(check_key, arg(&keys[1]));
	EXPLORE_EXPECT_EQ(pawl_purgatory_cancel_key(purgatory, keys[0], cancelled), 2);
	join_released(2);
	close_filled();
}

/* An operation whose keys are in both tables is completed by hand, or by its deadline. */
SCENARIO(win_against_growth, FEWER)
{
	open_purgatory(1, 1);
	give(99, 1);
	EXPLORE_EXPECT_EQ(watch(given, keys, 4, MS), 0);
	fill(HALF_GROWN);
	start(complete, given);
	start(fill_on, NULL);
	advance_clock(MS);
	join_in_time();
	close_filled();
}

/* Stop goes through both tables, and operations no longer move. */
SCENARIO(stop_against_growth, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	submit(0, 99, keys, 2, PAWL_NEVER);
	fill(HALF_GROWN);
	start(check_key, arg(&keys[0]));
	start(change_key, arg(&keys[1]));
	pawl_purgatory_stop(purgatory);
	join_released(1);
	close_filled();
}

/* Its key is "q": that of the fifth filler. */
static void *watch_or_be_refused(void *unused)
{
	const struct pawl_key key = pawl_purgatory_key(purgatory, "q", 1);

	watched = watch_or_free(new_request(0, 99), &key, 1, PAWL_NEVER, -ECANCELED);
	return unused;
}

/* A table that stop goes through does not begin to grow. */
SCENARIO(stop_against_a_growth_that_begins, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	fill(FULL);
	start(watch_or_be_refused, NULL);
	pawl_purgatory_stop(purgatory);
	join_all();
	EXPLORE_EXPECT_EQ(fates[0].released, watched >= 0);
	close_filled();
}

/* Two walks along a list of several batches pause in the old table, from which the operations move. */
SCENARIO(two_walks_against_growth, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	for (unsigned i = 0; i < 6; i++)
		submit(i, 2, keys, 1, PAWL_NEVER);
	fill(GROWS);
	start(change_key, arg(&keys[0]));
	start(change_key, arg(&keys[0]));
	start(fill_on, NULL);
	join_completed(6);
	close_filled();
}

/* A walk that tries, and one that withdraws under another key, while the table grows. */
SCENARIO(walk_against_cancel_and_growth, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	for (unsigned i = 0; i < 6; i++)
		submit(i, i % 2 ? 1 : 99, keys, 2, PAWL_NEVER);
	fill(GROWS);
	start(change_key, arg(&keys[0]));
	start(cancel_key, arg(&keys[1]));
	start(fill_on, NULL);
	join_released(6);
	close_filled();
}

/* An operation with more keys than the table has buckets makes room for itself, while the table grows anyway. */
SCENARIO(many_keys_against_growth, FEWER)
{
	struct pawl_key many[9];

	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	for (unsigned i = 0; i < 9; i++)
		many[i] = pawl_purgatory_key(purgatory, &filler_bytes[16 + i], 1);
	fill(FULL);
	start(fill_on, NULL);
	start(change_key, &many[8]);
	EXPLORE_EXPECT(watch(new_request(0, 1), many, 9, PAWL_NEVER) >= 0);
	join_completed(1);
	close_filled();
}

/* Without memory for the next table the table stays as it is. */
SCENARIO(growth_without_memory, FEWER)
{
	struct request *request;

	open_purgatory(PAWL_SERVICE_MANUAL, 1);
	give(1, 1);
	request = new_request(1, 1);
	fill(FULL - 1);
	start(watch_given, NULL);
	start(change_key, arg(&keys[0]));
	explore_failures(2);
	EXPLORE_EXPECT(watch(request, keys, 4, PAWL_NEVER) >= 0);
	join_completed(2);
	close_filled();
}

THREAD(watch_six_keys, watched = watch_or_free(new_request(0, 1), keys, 6, MS, -ENOMEM))

static void cancel_second(void)
{
	pawl_purgatory_cancel_key(purgatory, keys[1], cancelled);
}

/* More than four keys, two allocations that fail, and functions that check and cancel. */
SCENARIO(six_keys_without_memory, FEWER)
{
	open_purgatory(1, 1);
	fates[0].on_complete = change_second;
	fates[1].on_complete = cancel_second;
	submit(1, 2, &keys[1], 5, MS);
	start(watch_six_keys, NULL);
	start(change_key, arg(&keys[0]));
	start(cancel_key, arg(&keys[1]));
	explore_failures(2);
	join_all();
	advance_clock(MS);
	pawl_service_settle(service);
	EXPLORE_EXPECT_EQ(fates[0].released, watched >= 0);
	EXPLORE_EXPECT_EQ(fates[1].released, 1);
	close_purgatory();
}

static void change_third(void)
{
	change(keys[2]);
}

/* on_complete nests deeper than it may: the rest is put off, and not forgotten. */
SCENARIO(nested_too_deep, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	fates[0].on_complete = change_second;
	fates[1].on_complete = change_third;
	fates[2].on_complete = change_second;
	for (unsigned i = 0; i < 3; i++)
		submit(i, (int)i + 1, &keys[i], 1, PAWL_NEVER);
	start(watch_numbered, (void *)3);
	start(check_key, arg(&keys[0]));
	change(keys[0]);
	join_completed(4);
	close_purgatory();
}

static void stop_inside(void)
{
	pawl_purgatory_stop(purgatory);
}

/* on_complete of a check stops the purgatory, next to a deadline and another check. */
SCENARIO(stop_in_on_complete, FEWER)
{
	open_purgatory(1, 1);
	fates[0].on_complete = stop_inside;
	submit(0, 1, keys, 1, PAWL_NEVER);
	submit(1, 1, keys, 1, MS);
	submit(2, 99, keys, 1, PAWL_NEVER);
	start(change_key, arg(&keys[0]));
	start(check_key, arg(&keys[0]));
	advance_clock(MS);
	join_all();
	pawl_purgatory_stop(purgatory);
	expect_released(3);
	close_purgatory();
}

/* Several deadlines are due on two workers, next to a check and a cancel_key. */
SCENARIO(deadlines_against_check_and_cancel, FEWER)
{
	open_purgatory(2, 1);
	submit(0, 1, keys, 1, MS);
	submit(1, 1, &keys[1], 1, MS);
	submit(2, 99, &keys[1], 1, 5 * MS);
	start(change_key, arg(&keys[0]));
	start(cancel_key, arg(&keys[1]));
	advance_clock(5 * MS);
	join_all();
	pawl_service_settle(service);
	expect_released(3);
	close_purgatory();
}

static void *poll_twice(void *unused)
{
	pawl_service_poll(service, 0);
	pawl_service_poll(service, 0);
	return unused;
}

/* A thread polls while another one submits an operation with a deadline, and time passes. */
SCENARIO(poll_against_watch, FEWER)
{
	open_purgatory(PAWL_SERVICE_MANUAL, 2);
	submit(1, 99, keys, 1, MS);
	start(poll_twice, NULL);
	start(pass_a_tick, NULL);
	submit(2, 99, keys, 1, MS);
	join_all();
	advance_clock(MS);
	while (pawl_service_poll(service, 0))
		;
	EXPLORE_EXPECT_EQ(fates[1].outcomes[EXPIRED] + fates[2].outcomes[EXPIRED], 2);
	close_purgatory();
}

/* The live view, without its socket: two snapshots. */
static void *view_twice(void *unused)
{
	struct json json = {0};

	pawl__service_write_parts(service, &json);
	pawl__service_write_parts(service, &json);
	free(json.text);
	return unused;
}

static void describe(struct pawl_op *op, char *text, size_t size)
{
	EXPLORE_EXPECT_EQ(((struct request *)op)->fate->released, 0);
	explore_point();
	strncpy(text, "a request", size);
}

static void open_described(unsigned workers, unsigned shards)
{
	open_purgatory_with(
	        workers, (struct pawl_purgatory_options){.shards = shards, .describe = describe});
}

/* The viewer describes an operation while a check completes it. */
SCENARIO(viewer_against_check, FEWER)
{
	open_described(PAWL_SERVICE_MANUAL, 1);
	for (unsigned i = 0; i < 3; i++)
		submit(i, 1, keys, 2, PAWL_NEVER);
	start(view_twice, NULL);
	start(change_key, arg(&keys[0]));
	join_completed(3);
	close_filled();
}

/* The viewer goes through two tables while operations move from one to the other. */
SCENARIO(viewer_against_growth, FEWER)
{
	open_described(PAWL_SERVICE_MANUAL, 1);
	submit(0, 1, keys, 2, PAWL_NEVER);
	fill(GROWS);
	start(view_twice, NULL);
	start(fill_on, NULL);
	start(change_key, arg(&keys[0]));
	join_completed(1);
	close_filled();
}

THREAD(close_it, pawl_purgatory_close(purgatory))

static void *open_and_close(void *unused)
{
	struct pawl_purgatory *opened;

	EXPLORE_EXPECT_EQ(pawl_purgatory_open(&opened, service, NULL), 0);
	pawl_purgatory_close(opened);
	return unused;
}

/* A purgatory is closed while the viewer describes its operations and their deadlines run. */
SCENARIO(viewer_against_close, FEWER)
{
	open_described(1, 1);
	submit(0, 1, keys, 2, MS);
	submit(1, 99, keys, 1, PAWL_NEVER);
	start(view_twice, NULL);
	start(close_it, NULL);
	advance_clock(MS);
	join_released(2);
	pawl_service_close(service, NULL);
}

/* One purgatory is closed, and another one is opened and closed, while the viewer goes through them. */
SCENARIO(viewer_against_two_closes, FEWER)
{
	open_described(PAWL_SERVICE_MANUAL, 1);
	submit(0, 99, keys, 1, PAWL_NEVER);
	start(view_twice, NULL);
	start(close_it, NULL);
	start(open_and_close, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(fates[0].outcomes[DROPPED], 1);
	pawl_service_close(service, NULL);
}

int main(int argc, char **argv)
{
	return explore_main(argc, argv, scenarios, scenario_count);
}
