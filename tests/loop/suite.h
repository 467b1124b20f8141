/* SPDX-License-Identifier: MIT */
/*
 * The promises of pawl/loop.h that depend on the event loop, tested in one. Each adapter's test fills in a struct
 * loop_calls, the event loop by function pointers, and calls suite_run. test_pass.c has the promises that src/loop/loop.c
 * keeps by itself: the bounds of a pass, and periods.
 *
 * Nothing here depends on how fast the machine is. The tests assert that no timer is early, how often each is called,
 * and how much happens between two polls of a socket. ctest ends a test that hangs.
 */
#ifndef PAWL_TESTS_LOOP_SUITE_H
#define PAWL_TESTS_LOOP_SUITE_H

#include <errno.h>
#include <fcntl.h>
#include <pawl/loop.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/random.h"
#include "../support/test.h"

#define MS     PAWL_MS
#define SECOND PAWL_SECOND
#define HOUR   PAWL_HOUR
#define BURST  100000u

typedef void socket_fn(void *arg);

struct loop_calls {
	unsigned passes_between_polls; /* at most, from one poll of the sockets to the next */

	/* The event loop. Its memory is the test's own. */
	void *(*open_events)(void);
	void (*close_events)(void *events);
	void (*run_once)(void *events);  /* one round: sleeps until there is something to do */
	void (*end_round)(void *events); /* do not sleep again in this round; NULL: it would not */
	void (*add_socket)(void *events, int fd, socket_fn *fn, void *arg); /* one at a time */
	void (*remove_socket)(void *events);
	unsigned (*timers_set)(void *events, struct pawl_loop *loop); /* by the adapter: 0 or 1 */

	int (*open)(struct pawl_loop **loop, void *events, const struct pawl_loop_options *options);
	bool follows_sleep;       /* the event loop's timer fires after a suspension */
	const unsigned *settings; /* of that timer, by system calls; NULL: not counted */
};

/* For the initialiser of a struct loop_calls. */
#define THE_CALLS                                                                           \
	.open_events = open_events, .close_events = close_events, .run_once = run_once,     \
	.add_socket = add_socket, .remove_socket = remove_socket, .timers_set = timers_set, \
	.open = open_loop

static const struct loop_calls *calls; /* of the event loop under test */

/* The loop under test, and what its due function does when it is called. */
struct rig {
	void *events;
	struct pawl_loop *loop;
	void (*inside)(struct rig *rig, struct pawl_loop_timer *timer);
	size_t called, dropped;
	size_t polls, called_at_poll, most_between_polls; /* of the busy socket */
	struct pawl_loop_timer *other;
	uint64_t number;
};

static inline uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

/* How long the machine was suspended, which only CLOCK_BOOTTIME counts; linked with --wrap=clock_gettime. */
static uint64_t asleep_ns;
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int error = __real_clock_gettime(clock, t);

	if (clock == CLOCK_BOOTTIME)
		t->tv_sec += (time_t)(asleep_ns / SECOND);
	return error;
}

static inline void count_call(struct rig *rig)
{
	rig->called++;
	if (calls->end_round)
		calls->end_round(rig->events);
}

static inline bool is_armed(const struct pawl_loop_timer *timer)
{
	return pawl_timer_armed(&timer->timer);
}

static inline void on_due(struct pawl_loop_timer *timer, void *arg)
{
	struct rig *rig = arg;

	count_call(rig);
	EXPECT(clock_ns() >= timer->timer.deadline);
	EXPECT(!is_armed(timer));
	if (rig->inside)
		rig->inside(rig, timer);
}

static inline void on_dropped(struct pawl_loop_timer *timer, void *arg)
{
	struct rig *rig = arg;

	rig->dropped++;
	EXPECT(!is_armed(timer));
}

/* With these options; `due` and `arg` are the rig's. */
static inline void rig_open(struct rig *rig, const struct pawl_loop_options *given)
{
	struct pawl_loop_options options = given ? *given : (struct pawl_loop_options){0};
	int error;

	*rig = (struct rig){.events = calls->open_events()};
	options.due = on_due;
	options.arg = rig;
	error = calls->open(&rig->loop, rig->events, &options);
	if (error) {
		fprintf(stderr, "no loop: %s\n", strerror(-error));
		abort();
	}
}

static inline void rig_close(struct rig *rig)
{
	if (rig->loop) {
		EXPECT_SOUND(pawl_loop_wheel(rig->loop));
		pawl_loop_close(rig->loop, NULL);
	}
	calls->close_events(rig->events);
}

static inline void run_until_called(struct rig *rig, size_t count)
{
	while (rig->called < count)
		calls->run_once(rig->events);
}

/* By the clock, without the loop. */
static inline void stay_until(uint64_t time)
{
	while (clock_ns() < time)
		;
}

static inline void expect_timers_set(struct rig *rig, unsigned expected)
{
	EXPECT_EQ(calls->timers_set(rig->events, rig->loop), expected);
}

static inline void on_poll(void *arg)
{
	struct rig *rig = arg;
	size_t between = rig->called - rig->called_at_poll;

	if (rig->polls++ > 0 && between > rig->most_between_polls)
		rig->most_between_polls = between;
	rig->called_at_poll = rig->called;
}

/* A pipe with a byte in it that is never read: it is readable at each poll. */
static inline void busy_socket_open(struct rig *rig, int ends[2])
{
	if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
		abort();
	calls->add_socket(rig->events, ends[0], on_poll, rig);
}

static inline void busy_socket_close(struct rig *rig, const int ends[2])
{
	calls->remove_socket(rig->events);
	close(ends[0]);
	close(ends[1]);
}

struct stamped {
	struct pawl_loop_timer timer; /* first: see check_stamp */
	uint64_t earliest;
	unsigned calls;
};

static inline void check_stamp(struct rig *rig, struct pawl_loop_timer *timer)
{
	struct stamped *stamped = (struct stamped *)(void *)timer;

	(void)rig;
	EXPECT(clock_ns() >= stamped->earliest);
	stamped->calls++;
}

static inline void arm_stamped(struct rig *rig, struct stamped *stamped, uint64_t delay_ns)
{
	stamped->earliest = clock_ns() + delay_ns;
	pawl_loop_arm(rig->loop, &stamped->timer, delay_ns);
	EXPECT(stamped->timer.timer.deadline >= stamped->earliest);
}

/* With the default tick, and with a fine one. */
static inline void each_timer_is_called_once_and_never_early(void)
{
	const struct pawl_loop_options fine = {.tick_ns = 1000, .wheel_size = 64, .chains = 4};
	const struct pawl_loop_options *const options[] = {NULL, &fine};
	struct random random = {.state = 7};

	for (size_t i = 0; i < 2; i++) {
		struct stamped stamped[300] = {0};
		struct rig rig;

		rig_open(&rig, options[i]);
		rig.inside = check_stamp;
		for (size_t j = 0; j < 300; j++)
			arm_stamped(&rig, &stamped[j], random_below(&random, 60 * MS));
		EXPECT_EQ(rig.called, 0);
		run_until_called(&rig, 300);
		for (size_t j = 0; j < 300; j++)
			EXPECT_EQ(stamped[j].calls, 1);
		EXPECT_EQ(pawl_loop_count(rig.loop), 0);
		rig_close(&rig);
	}
}

/* The loop read its time before this function: a delay counted from there would be early. */
static inline void arm_late_in_the_pass(struct rig *rig, struct pawl_loop_timer *timer)
{
	(void)timer;
	stay_until(clock_ns() + 30 * MS);
	rig->inside = check_stamp;
	arm_stamped(rig, (struct stamped *)(void *)rig->other, 10 * MS);
}

static inline void a_delay_counts_from_the_call_not_from_the_loops_cached_time(void)
{
	struct stamped late = {0};
	struct pawl_loop_timer first = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = arm_late_in_the_pass;
	rig.other = &late.timer;
	pawl_loop_arm(rig.loop, &first, 0);
	run_until_called(&rig, 2);
	EXPECT_EQ(late.calls, 1);
	rig_close(&rig);
}

static inline void with_nothing_armed_the_loop_has_no_timer(void)
{
	struct pawl_loop_timer one = {0}, two = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	expect_timers_set(&rig, 0);
	pawl_loop_arm(rig.loop, &one, HOUR);
	pawl_loop_arm(rig.loop, &two, 2 * HOUR);
	expect_timers_set(&rig, 1);
	EXPECT(pawl_loop_cancel(rig.loop, &one));
	EXPECT(!pawl_loop_cancel(rig.loop, &one));
	expect_timers_set(&rig, 1);
	EXPECT(pawl_loop_cancel(rig.loop, &two));
	expect_timers_set(&rig, 0);
	pawl_loop_arm(rig.loop, &one, 1 * MS);
	run_until_called(&rig, 1);
	expect_timers_set(&rig, 0);
	rig_close(&rig);
}

/* If the loop's timer stayed as it is, this would wait for an hour. */
static inline void an_earlier_timer_is_not_kept_waiting_by_a_later_one(void)
{
	struct pawl_loop_timer late = {0}, soon = {0}, moved = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	pawl_loop_arm(rig.loop, &late, HOUR);
	pawl_loop_arm(rig.loop, &soon, 2 * MS);
	run_until_called(&rig, 1);
	pawl_loop_arm(rig.loop, &moved, HOUR);
	pawl_loop_arm(rig.loop, &moved, 1 * MS);
	run_until_called(&rig, 2);
	pawl_loop_touch(rig.loop, &moved, HOUR);
	pawl_loop_touch(rig.loop, &moved, 0);
	run_until_called(&rig, 3);
	pawl_loop_arm_at(rig.loop, &moved, 1);
	run_until_called(&rig, 4);
	EXPECT(is_armed(&late));
	rig_close(&rig);
}

static inline void touch_pushes_back(void)
{
	struct stamped idle = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = check_stamp;
	arm_stamped(&rig, &idle, 5 * MS);
	for (int i = 0; i < 10; i++) {
		stay_until(clock_ns() + 1 * MS);
		idle.earliest = clock_ns() + 20 * MS;
		pawl_loop_touch(rig.loop, &idle.timer, 20 * MS);
	}
	run_until_called(&rig, 1);
	EXPECT_EQ(idle.calls, 1);
	rig_close(&rig);
}

static inline void cancel_other_and_arm_again(struct rig *rig, struct pawl_loop_timer *timer)
{
	EXPECT(pawl_loop_cancel(rig->loop, rig->other)); /* due, and the next in the queue */
	if (rig->called < 5) {
		pawl_loop_arm(rig->loop, timer, 0);
		pawl_loop_arm(rig->loop, rig->other, 0);
	}
}

static inline void inside_the_function_anything_may_be_armed_and_cancelled(void)
{
	struct pawl_loop_timer pair[2] = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = cancel_other_and_arm_again;
	rig.other = &pair[1];
	pawl_loop_arm_at(rig.loop, &pair[0], 1);
	pawl_loop_arm_at(rig.loop, &pair[1], 1);
	run_until_called(&rig, 5);
	expect_timers_set(&rig, 0);
	EXPECT_EQ(rig.called, 5);
	rig_close(&rig);
}

static inline void close_at_third(struct rig *rig, struct pawl_loop_timer *timer)
{
	(void)timer;
	if (rig->called < 3)
		return;
	pawl_loop_close(rig->loop, rig->number ? on_dropped : NULL);
	rig->loop = NULL;
}

static inline void close_inside(bool with_dropped)
{
	struct pawl_loop_timer timers[10] = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = close_at_third;
	rig.number = with_dropped;
	for (size_t i = 0; i < 9; i++)
		pawl_loop_arm_at(rig.loop, &timers[i], 1);
	pawl_loop_arm(rig.loop, &timers[9], HOUR);
	run_until_called(&rig, 3);
	EXPECT_EQ(rig.called, 3);
	EXPECT_EQ(rig.dropped, with_dropped ? 7 : 0);
	EXPECT(rig.loop == NULL);
	rig_close(&rig);
}

static inline void inside_the_function_the_loop_may_be_closed(void)
{
	close_inside(false);
	close_inside(true);
}

/* Two timers in one allocation, as in a connection: the first one that is dropped frees both. */
static inline void drop_pair(struct pawl_loop_timer *timer, void *arg)
{
	struct rig *rig = arg;
	struct pawl_loop_timer *pair = timer->timer.deadline % 2 ? timer - 1 : timer;

	rig->dropped++;
	pawl_loop_cancel(rig->loop, &pair[0]);
	pawl_loop_cancel(rig->loop, &pair[1]);
	free(pair);
}

static inline void dropped_may_free_its_timer_and_cancel_others(void)
{
	struct rig rig;

	rig_open(&rig, NULL);
	for (uint64_t i = 0; i < 100; i++) {
		struct pawl_loop_timer *pair = calloc(2, sizeof(*pair));
		uint64_t even = (clock_ns() + i * SECOND) & ~UINT64_C(1);

		pawl_loop_arm_at(rig.loop, &pair[0], even + 60 * SECOND);
		pawl_loop_arm_at(rig.loop, &pair[1], even + 31 * SECOND + 1);
	}
	pawl_loop_close(rig.loop, drop_pair);
	rig.loop = NULL;
	EXPECT_EQ(rig.dropped, 100);
	rig_close(&rig);
	pawl_loop_close(NULL, NULL);
}

static inline void a_burst_does_not_starve_a_socket(void)
{
	const struct pawl_loop_options options = {.max_calls = 100};
	struct pawl_loop_timer *timers = calloc(BURST, sizeof(*timers));
	struct rig rig;
	int ends[2];

	rig_open(&rig, &options);
	busy_socket_open(&rig, ends);
	for (size_t i = 0; i < BURST; i++)
		pawl_loop_arm_at(rig.loop, &timers[i], 1);
	run_until_called(&rig, BURST);
	EXPECT_EQ(rig.called, BURST);
	EXPECT(rig.polls >= BURST / (100 * calls->passes_between_polls));
	EXPECT(rig.most_between_polls > 0);
	EXPECT(rig.most_between_polls <= 100 * calls->passes_between_polls);
	busy_socket_close(&rig, ends);
	rig_close(&rig);
	free(timers);
}

static inline void arm_same_at_once(struct rig *rig, struct pawl_loop_timer *timer)
{
	pawl_loop_arm_at(rig->loop, timer, 1);
}

static inline void a_timer_that_arms_itself_at_once_does_not_starve_a_socket(void)
{
	const struct pawl_loop_options options = {.max_calls = 10};
	struct pawl_loop_timer timer = {0};
	struct rig rig;
	int ends[2];

	rig_open(&rig, &options);
	busy_socket_open(&rig, ends);
	rig.inside = arm_same_at_once;
	pawl_loop_arm_at(rig.loop, &timer, 1);
	run_until_called(&rig, 1000);
	EXPECT(rig.polls >= 1000 / (10 * calls->passes_between_polls) - 1);
	EXPECT(rig.most_between_polls <= 10 * calls->passes_between_polls);
	pawl_loop_cancel(rig.loop, &timer);
	busy_socket_close(&rig, ends);
	rig_close(&rig);
}

static inline void the_end_of_time_is_also_a_deadline(void)
{
	struct pawl_loop_timer timers[3] = {0}, soon = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	pawl_loop_arm(rig.loop, &timers[0], PAWL_NEVER);
	pawl_loop_arm(rig.loop, &timers[1], PAWL_NEVER / 2);
	pawl_loop_arm_at(rig.loop, &timers[2], PAWL_NEVER - 1);
	expect_timers_set(&rig, 1);
	pawl_loop_arm(rig.loop, &soon, 1 * MS);
	run_until_called(&rig, 1);
	EXPECT_EQ(pawl_loop_count(rig.loop), 3);
	rig_close(&rig);
}

static inline void expect_refused(struct rig *rig, const struct pawl_loop_options *options)
{
	struct pawl_loop *loop = rig->loop;

	EXPECT_EQ(calls->open(&loop, rig->events, options), -EINVAL);
	EXPECT(loop == rig->loop);
}

static inline void options_out_of_range_are_refused(void)
{
	struct rig rig;

	rig_open(&rig, NULL);
	expect_refused(&rig, NULL);
	expect_refused(&rig, &(struct pawl_loop_options){0});
	expect_refused(&rig, &(struct pawl_loop_options){.due = on_due, .wheel_size = 1});
	expect_refused(&rig, &(struct pawl_loop_options){.due = on_due, .wheel_size = 4097});
	expect_refused(&rig, &(struct pawl_loop_options){.due = on_due, .chains = 3});
	for (size_t i = 0; i < 4; i++) {
		struct pawl_loop_options options = {.due = on_due};

		options.reserved[i] = 1;
		expect_refused(&rig, &options);
	}
	rig_close(&rig);
}

/* The library's allocation number malloc_fails_at fails; linked with --wrap=malloc. */
static int malloc_fails_at = -1;
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return malloc_fails_at >= 0 && malloc_fails_at-- == 0 ? NULL : __real_malloc(size);
}

static inline void without_memory_open_leaves_nothing_behind(void)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct rig rig;

	rig_open(&rig, NULL);
	for (int i = 0; i < 3; i++) { /* the adapter's struct, the loop, the wheel */
		struct pawl_loop *loop = rig.loop;

		malloc_fails_at = i;
		EXPECT_EQ(calls->open(&loop, rig.events, &options), -ENOMEM);
		EXPECT(loop == rig.loop);
		EXPECT_EQ(malloc_fails_at, -1); /* it was asked for */
		malloc_fails_at = -1;
	}
	rig_close(&rig);
}

static inline void count_loop_timer(struct pawl_loop_timer *timer, void *arg)
{
	struct rig *rig = arg;

	rig->number++;
	count_call(rig);
	EXPECT(pawl_loop_now(rig->loop) >= timer->timer.deadline);
	EXPECT(!is_armed(timer));
}

static inline void the_time_of_deadlines_can_be_asked_for(void)
{
	struct pawl_loop_timer timer = {0};
	struct rig rig;
	uint64_t before, now;

	rig_open(&rig, NULL);
	before = clock_ns();
	now = pawl_loop_now(rig.loop);
	EXPECT(before <= now && now <= clock_ns());
	pawl_loop_arm_at(rig.loop, &timer, now + 2 * MS);
	run_until_called(&rig, 1);
	EXPECT(clock_ns() >= now + 2 * MS);
	rig_close(&rig);
}

static inline void nothing_is_early_with_count_sleep(void)
{
	struct pawl_loop_timer timers[50] = {0};
	struct rig rig;

	rig_open(&rig, &(struct pawl_loop_options){.count_sleep = true});
	for (size_t i = 0; i < 50; i++) {
		timers[i].due = count_loop_timer;
		pawl_loop_arm(rig.loop, &timers[i], i * MS / 3);
	}
	run_until_called(&rig, 50);
	expect_timers_set(&rig, 0);
	rig_close(&rig);
}

/* With the option its clock is hours ahead of the other one. Without it a suspension does not count. */
static inline void time_asleep_counts_if_that_is_asked_for(void)
{
	struct pawl_loop_timer hour = PAWL_LOOP_TIMER_INIT(count_loop_timer), soon = hour;
	uint64_t before;
	struct rig rig;

	asleep_ns = 5 * HOUR;
	rig_open(&rig, &(struct pawl_loop_options){.count_sleep = true});
	before = ns_of(CLOCK_BOOTTIME);
	pawl_loop_arm(rig.loop, &hour, HOUR);
	EXPECT(hour.timer.deadline >= before + HOUR);
	EXPECT(pawl_loop_now(rig.loop) >= before);
	asleep_ns += HOUR + SECOND; /* more than a tick after it */
	if (calls->follows_sleep)
		pawl_loop_pass(rig.loop);
	while (is_armed(&hour))
		calls->run_once(rig.events);
	EXPECT_EQ(rig.called, 1);
	rig_close(&rig);

	rig_open(&rig, NULL);
	pawl_loop_arm(rig.loop, &hour, HOUR);
	asleep_ns += HOUR;
	pawl_loop_arm(rig.loop, &soon, 0);
	run_until_called(&rig, 1);
	EXPECT(is_armed(&hour));
	rig_close(&rig);
	asleep_ns = 0;
}

/* For event loops with a count of `settings`: their tests list these. */

static inline void arming_for_later_is_no_system_call(void)
{
	struct pawl_loop_timer timers[1000] = {0};
	unsigned before;
	struct rig rig;

	rig_open(&rig, NULL);
	before = *calls->settings;
	pawl_loop_arm(rig.loop, &timers[0], HOUR);
	EXPECT_EQ(*calls->settings, before + 1);
	for (size_t i = 1; i < 1000; i++)
		pawl_loop_arm(rig.loop, &timers[i], HOUR + i * MS);
	for (size_t i = 1; i < 1000; i++)
		pawl_loop_touch(rig.loop, &timers[i], 2 * HOUR);
	for (size_t i = 1; i < 1000; i++)
		pawl_loop_cancel(rig.loop, &timers[i]);
	EXPECT_EQ(*calls->settings, before + 1);
	pawl_loop_cancel(rig.loop, &timers[0]);
	EXPECT_EQ(*calls->settings, before + 2);
	rig_close(&rig);
}

/* A burst of timers that are due already is also one wake-up. */
static inline void arming_a_due_timer_is_one_system_call(void)
{
	struct pawl_loop_timer timers[1000] = {0};
	unsigned before;
	struct rig rig;

	rig_open(&rig, NULL);
	before = *calls->settings;
	for (size_t i = 0; i < 1000; i++)
		pawl_loop_arm_at(rig.loop, &timers[i], 1);
	EXPECT_EQ(*calls->settings, before + 1);
	rig_close(&rig);
}

static inline void arm_ten(struct rig *rig, struct pawl_loop_timer *timer)
{
	for (uint64_t i = 10; i > 0; i--)
		pawl_loop_arm(rig->loop, &rig->other[i - 1], i * SECOND);
	pawl_loop_arm(rig->loop, timer, HOUR);
	pawl_loop_cancel(rig->loop, timer);
}

static inline void a_pass_is_one_system_call_whatever_it_arms(void)
{
	struct pawl_loop_timer timer = {0}, others[10] = {0};
	unsigned before;
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = arm_ten;
	rig.other = others;
	pawl_loop_arm_at(rig.loop, &timer, 1);
	before = *calls->settings;
	EXPECT_EQ(pawl_loop_pass(rig.loop), 1);
	EXPECT_EQ(*calls->settings, before + 1);
	rig_close(&rig);
}

static inline void an_early_pass_is_harmless(void)
{
	struct pawl_loop_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	EXPECT_EQ(pawl_loop_pass(rig.loop), 0);
	pawl_loop_arm(rig.loop, &timer, HOUR);
	EXPECT_EQ(pawl_loop_pass(rig.loop), 0);
	expect_timers_set(&rig, 1);
	EXPECT(is_armed(&timer));
	rig_close(&rig);
}

static inline void pass_inside(struct rig *rig, struct pawl_loop_timer *timer)
{
	(void)timer;
	EXPECT_EQ(pawl_loop_pass(rig->loop), 0);
}

static inline void a_pass_inside_a_pass_does_nothing(void)
{
	struct pawl_loop_timer timers[3] = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = pass_inside;
	for (size_t i = 0; i < 3; i++)
		pawl_loop_arm_at(rig.loop, &timers[i], 0);
	EXPECT_EQ(pawl_loop_pass(rig.loop), 3);
	rig_close(&rig);
}

static inline int suite_run(const struct loop_calls *given, const struct test *own, size_t count)
{
	static const struct test common[] = {
	        TEST(each_timer_is_called_once_and_never_early),
	        TEST(a_delay_counts_from_the_call_not_from_the_loops_cached_time),
	        TEST(with_nothing_armed_the_loop_has_no_timer),
	        TEST(an_earlier_timer_is_not_kept_waiting_by_a_later_one),
	        TEST(touch_pushes_back),
	        TEST(inside_the_function_anything_may_be_armed_and_cancelled),
	        TEST(inside_the_function_the_loop_may_be_closed),
	        TEST(dropped_may_free_its_timer_and_cancel_others),
	        TEST(a_burst_does_not_starve_a_socket),
	        TEST(a_timer_that_arms_itself_at_once_does_not_starve_a_socket),
	        TEST(the_end_of_time_is_also_a_deadline),
	        TEST(options_out_of_range_are_refused),
	        TEST(without_memory_open_leaves_nothing_behind),
	        TEST(the_time_of_deadlines_can_be_asked_for),
	        TEST(nothing_is_early_with_count_sleep),
	        TEST(time_asleep_counts_if_that_is_asked_for),
	        TEST(an_early_pass_is_harmless),
	        TEST(a_pass_inside_a_pass_does_nothing),
	};
	int failed;

	calls = given;
	failed = RUN_TESTS(common);
	return test_run_all(own, count) | failed;
}

#endif
