/* SPDX-License-Identifier: MIT */
/* The libuv adapter in a loop of the real libuv. */
#define _GNU_SOURCE
#include <pawl/libuv.h>

#include "suite.h"
#include "threads.h"

struct events {
	uv_loop_t uv;
	uv_poll_t poll;
	socket_fn *fn;
	void *arg;
	bool in_round;
};

static void *open_events(void)
{
	struct events *events = calloc(1, sizeof(*events));

	EXPECT_EQ(uv_loop_init(&events->uv), 0);
	return events;
}

static void run_once(void *arg)
{
	struct events *events = arg;

	events->in_round = true;
	uv_run(&events->uv, UV_RUN_ONCE);
	events->in_round = false;
}

/* UV_RUN_ONCE sleeps even after timers that were due when it began: on a busy machine, until the next timer. */
static void end_round(void *arg)
{
	struct events *events = arg;

	if (events->in_round)
		uv_stop(&events->uv);
}

/* uv_run returns when every handle is closed; only then does uv_loop_close succeed. */
static void close_events(void *arg)
{
	struct events *events = arg;

	EXPECT_EQ(uv_run(&events->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(uv_loop_close(&events->uv), 0);
	free(events);
}

static void on_readable(uv_poll_t *poll, int status, int what)
{
	struct events *events = poll->data;

	EXPECT_EQ(status, 0);
	EXPECT_EQ(what, UV_READABLE);
	events->fn(events->arg);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct events *events = arg;

	events->fn = fn;
	events->arg = fn_arg;
	events->poll.data = events;
	EXPECT_EQ(uv_poll_init(&events->uv, &events->poll, fd), 0);
	EXPECT_EQ(uv_poll_start(&events->poll, UV_READABLE, on_readable), 0);
}

static void remove_socket(void *arg)
{
	struct events *events = arg;

	uv_close((uv_handle_t *)&events->poll, NULL);
}

static int open_loop(struct pawl_loop **loop, void *arg, const struct pawl_loop_options *options)
{
	struct events *events = arg;

	return pawl_libuv_open(loop, &events->uv, options);
}

static void count_active(uv_handle_t *handle, void *count)
{
	*(unsigned *)count += uv_is_active(handle) != 0;
}

static unsigned timers_set(void *arg, struct pawl_loop *loop)
{
	struct events *events = arg;
	unsigned count = 0;

	(void)loop;
	uv_walk(&events->uv, count_active, &count);
	return count;
}

static const struct loop_calls libuv_calls = {
        .passes_between_polls = 2, .end_round = end_round, THE_CALLS};

static uint64_t loop_ms(const struct rig *rig)
{
	const struct events *events = rig->events;

	return uv_now(&events->uv);
}

struct by_uv_now {
	struct pawl_loop_timer timer; /* first: see check_by_uv_now */
	uint64_t earliest_ms, earliest_ns;
	uint64_t delay_ms;
	unsigned rounds;
};

static void arm_by_uv_now(struct rig *rig, struct by_uv_now *timer)
{
	timer->earliest_ms = loop_ms(rig) + timer->delay_ms;
	timer->earliest_ns = uv_hrtime() + timer->delay_ms * MS;
	pawl_loop_arm(rig->loop, &timer->timer, timer->delay_ms * MS);
}

/* Some calls take a while, so that uv_now() falls behind the clock. */
static void check_by_uv_now(struct rig *rig, struct pawl_loop_timer *popped)
{
	struct by_uv_now *timer = (struct by_uv_now *)(void *)popped;

	EXPECT(loop_ms(rig) >= timer->earliest_ms);
	EXPECT(uv_hrtime() >= timer->earliest_ns);
	if (timer->rounds-- == 0)
		return;
	if (timer->delay_ms % 4 == 0)
		stay_until(clock_ns() + 3 * MS);
	arm_by_uv_now(rig, timer);
}

static void nothing_is_early_by_uv_now_nor_by_uv_hrtime(void)
{
	struct by_uv_now timers[12] = {0};
	struct events *events;
	struct rig rig;

	rig_open(&rig, NULL);
	events = rig.events;
	rig.inside = check_by_uv_now;
	for (size_t i = 0; i < 12; i++) {
		timers[i].delay_ms = i;
		timers[i].rounds = 4;
		arm_by_uv_now(&rig, &timers[i]);
	}
	EXPECT_EQ(uv_run(&events->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(rig.called, 12 * 5);
	rig_close(&rig);
}

static void stay_for_20_ms(uv_timer_t *slow)
{
	(void)slow;
	stay_until(clock_ns() + 20 * MS);
}

/* Due at once again and again, until the other one was called: so each round of the loop has a pass. */
static void keep_due(struct rig *rig, struct pawl_loop_timer *timer)
{
	struct by_uv_now *other = (struct by_uv_now *)(void *)rig->other;

	if (timer == rig->other)
		EXPECT(loop_ms(rig) >= other->earliest_ms);
	else if (is_armed(rig->other))
		pawl_loop_arm_at(rig->loop, timer, 1);
}

/* By the clock it is due after the slow callback; the loop still has the time from before. */
static void nothing_is_early_by_uv_now_behind_a_slow_callback(void)
{
	struct by_uv_now timer = {.delay_ms = 10};
	struct pawl_loop_timer busy = {0};
	struct events *events;
	uv_timer_t slow;
	struct rig rig;

	rig_open(&rig, NULL);
	events = rig.events;
	rig.inside = keep_due;
	rig.other = &timer.timer;
	uv_timer_init(&events->uv, &slow);
	uv_update_time(&events->uv);
	uv_timer_start(&slow, stay_for_20_ms, 1, 0);
	arm_by_uv_now(&rig, &timer);
	pawl_loop_arm_at(rig.loop, &busy, 1);
	EXPECT_EQ(uv_run(&events->uv, UV_RUN_DEFAULT), 0);
	EXPECT(!is_armed(&timer.timer));
	uv_close((uv_handle_t *)&slow, NULL);
	rig_close(&rig);
}

static void expect_uv_now(struct rig *rig, struct pawl_loop_timer *timer)
{
	(void)timer;
	EXPECT(loop_ms(rig) >= rig->number);
}

static void a_deadline_may_be_in_the_loops_own_time(void)
{
	struct pawl_loop_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = expect_uv_now;
	rig.number = loop_ms(&rig) + 5;
	pawl_loop_arm_at(rig.loop, &timer, rig.number * PAWL_MS);
	run_until_called(&rig, 1);
	EXPECT(uv_hrtime() >= rig.number * PAWL_MS);
	EXPECT(pawl_loop_now(rig.loop) / PAWL_MS >= loop_ms(&rig)); /* one clock */
	rig_close(&rig);
}

static void the_loop_ends_when_nothing_is_armed(void)
{
	struct pawl_loop_timer timer = {0};
	struct events *events;
	struct rig rig;

	rig_open(&rig, NULL);
	events = rig.events;
	EXPECT(!uv_loop_alive(&events->uv));
	pawl_loop_arm(rig.loop, &timer, 2 * MS);
	EXPECT(uv_loop_alive(&events->uv));
	EXPECT_EQ(uv_run(&events->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(rig.called, 1);
	rig_close(&rig);
}

static void run_tasks(uv_poll_t *watcher, int status, int what)
{
	EXPECT_EQ(status, 0);
	EXPECT_EQ(what, UV_READABLE);
	pawl_service_poll(service, 0);
	if (all_ran())
		uv_close((uv_handle_t *)watcher, NULL);
}

static void watch_service(int fd)
{
	uv_poll_t watcher;
	uv_loop_t loop;

	EXPECT_EQ(uv_loop_init(&loop), 0);
	EXPECT_EQ(uv_poll_init(&loop, &watcher, fd), 0);
	EXPECT_EQ(uv_poll_start(&watcher, UV_READABLE, run_tasks), 0);
	start_threads();
	uv_run(&loop, UV_RUN_DEFAULT);
	EXPECT_EQ(uv_loop_close(&loop), 0);
}

static void tasks_that_threads_arm_run_in_the_loop(void)
{
	with_service(watch_service);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(nothing_is_early_by_uv_now_nor_by_uv_hrtime),
	        TEST(nothing_is_early_by_uv_now_behind_a_slow_callback),
	        TEST(a_deadline_may_be_in_the_loops_own_time),
	        TEST(the_loop_ends_when_nothing_is_armed),
	        TEST(tasks_that_threads_arm_run_in_the_loop),
	};

	return suite_run(&libuv_calls, own, sizeof(own) / sizeof(own[0]));
}
