/* SPDX-License-Identifier: MIT */
/* The libuv adapter in a loop of the real libuv. */
#define _GNU_SOURCE
#include <pawl/libuv.h>

#include "../suite.h"

struct loop {
	uv_loop_t uv;
	uv_poll_t poll;
	socket_fn *fn;
	void *arg;
	bool in_round;
};

static void *loop_open(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	EXPECT_EQ(uv_loop_init(&loop->uv), 0);
	return loop;
}

static void loop_once(void *arg)
{
	struct loop *loop = arg;

	loop->in_round = true;
	uv_run(&loop->uv, UV_RUN_ONCE);
	loop->in_round = false;
}

/* UV_RUN_ONCE sleeps even after timers that were due when it began: on a busy machine, until the next timer. */
static void end_round(void *arg)
{
	struct loop *loop = arg;

	if (loop->in_round)
		uv_stop(&loop->uv);
}

/* uv_run returns when every handle is closed; only then does uv_loop_close succeed. */
static void loop_close(void *arg)
{
	struct loop *loop = arg;

	EXPECT_EQ(uv_run(&loop->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(uv_loop_close(&loop->uv), 0);
	free(loop);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct loop *loop = poll->data;

	EXPECT_EQ(status, 0);
	EXPECT_EQ(events, UV_READABLE);
	loop->fn(loop->arg);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct loop *loop = arg;

	loop->fn = fn;
	loop->arg = fn_arg;
	loop->poll.data = loop;
	EXPECT_EQ(uv_poll_init(&loop->uv, &loop->poll, fd), 0);
	EXPECT_EQ(uv_poll_start(&loop->poll, UV_READABLE, on_readable), 0);
}

static void remove_socket(void *arg)
{
	struct loop *loop = arg;

	uv_close((uv_handle_t *)&loop->poll, NULL);
}

static int open_adapter(void **adapter, void *arg, pawl_due_fn *due, void *due_arg,
                        const struct pawl_loop_options *options)
{
	struct loop *loop = arg;
	struct pawl_libuv *made = NULL;
	int error = pawl_libuv_open(&made, &loop->uv, due, due_arg, options);

	if (!error)
		*adapter = made;
	return error;
}

static void count_active(uv_handle_t *handle, void *count)
{
	*(unsigned *)count += uv_is_active(handle) != 0;
}

static unsigned timers_of_loop(void *arg, void *adapter)
{
	struct loop *loop = arg;
	unsigned count = 0;

	(void)adapter;
	uv_walk(&loop->uv, count_active, &count);
	return count;
}

ADAPTER_CALLS(libuv)

static const struct adapter_calls libuv_calls = {
        .passes_between_polls = 2, .end_round = end_round, THE_CALLS};

static uint64_t loop_ms(const struct rig *rig)
{
	const struct loop *loop = rig->loop;

	return uv_now(&loop->uv);
}

struct by_uv_now {
	struct pawl_timer timer; /* first: see check_by_uv_now */
	uint64_t earliest_ms, earliest_ns;
	uint64_t delay_ms;
	unsigned rounds;
};

static void arm_by_uv_now(struct rig *rig, struct by_uv_now *timer)
{
	timer->earliest_ms = loop_ms(rig) + timer->delay_ms;
	timer->earliest_ns = uv_hrtime() + timer->delay_ms * MS;
	calls->arm(rig->adapter, &timer->timer, timer->delay_ms * MS);
}

/* Some calls take a while, so that uv_now() falls behind the clock. */
static void check_by_uv_now(struct rig *rig, struct pawl_timer *popped)
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
	struct loop *loop;
	struct rig rig;

	rig_open(&rig, NULL);
	loop = rig.loop;
	rig.inside = check_by_uv_now;
	for (size_t i = 0; i < 12; i++) {
		timers[i].delay_ms = i;
		timers[i].rounds = 4;
		arm_by_uv_now(&rig, &timers[i]);
	}
	EXPECT_EQ(uv_run(&loop->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(rig.called, 12 * 5);
	rig_close(&rig);
}

static void stay_for_20_ms(uv_timer_t *slow)
{
	(void)slow;
	stay_until(clock_ns() + 20 * MS);
}

/* Due at once again and again, until the other one was called: so each round of the loop has a pass. */
static void keep_due(struct rig *rig, struct pawl_timer *timer)
{
	struct by_uv_now *other = (struct by_uv_now *)(void *)rig->other;

	if (timer == rig->other)
		EXPECT(loop_ms(rig) >= other->earliest_ms);
	else if (pawl_timer_armed(rig->other))
		calls->arm_at(rig->adapter, timer, 1);
}

/* By the clock it is due after the slow callback; the loop still has the time from before. */
static void nothing_is_early_by_uv_now_behind_a_slow_callback(void)
{
	struct by_uv_now timer = {.delay_ms = 10};
	struct pawl_timer busy = {0};
	struct loop *loop;
	uv_timer_t slow;
	struct rig rig;

	rig_open(&rig, NULL);
	loop = rig.loop;
	rig.inside = keep_due;
	rig.other = &timer.timer;
	uv_timer_init(&loop->uv, &slow);
	uv_update_time(&loop->uv);
	uv_timer_start(&slow, stay_for_20_ms, 1, 0);
	arm_by_uv_now(&rig, &timer);
	calls->arm_at(rig.adapter, &busy, 1);
	EXPECT_EQ(uv_run(&loop->uv, UV_RUN_DEFAULT), 0);
	EXPECT(!pawl_timer_armed(&timer.timer));
	uv_close((uv_handle_t *)&slow, NULL);
	rig_close(&rig);
}

static void expect_uv_now(struct rig *rig, struct pawl_timer *timer)
{
	(void)timer;
	EXPECT(loop_ms(rig) >= rig->number);
}

static void a_deadline_may_be_in_the_loops_own_time(void)
{
	struct pawl_timer timer = {0};
	struct rig rig;

	rig_open(&rig, NULL);
	rig.inside = expect_uv_now;
	rig.number = loop_ms(&rig) + 5;
	calls->arm_at(rig.adapter, &timer, rig.number * PAWL_MS);
	run_until_called(&rig, 1);
	EXPECT(uv_hrtime() >= rig.number * PAWL_MS);
	EXPECT(calls->now(rig.adapter) / PAWL_MS >= loop_ms(&rig)); /* one clock */
	rig_close(&rig);
}

static void the_loop_ends_when_nothing_is_armed(void)
{
	struct pawl_timer timer = {0};
	struct loop *loop;
	struct rig rig;

	rig_open(&rig, NULL);
	loop = rig.loop;
	EXPECT(!uv_loop_alive(&loop->uv));
	calls->arm(rig.adapter, &timer, 2 * MS);
	EXPECT(uv_loop_alive(&loop->uv));
	EXPECT_EQ(uv_run(&loop->uv, UV_RUN_DEFAULT), 0);
	EXPECT_EQ(rig.called, 1);
	rig_close(&rig);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(nothing_is_early_by_uv_now_nor_by_uv_hrtime),
	        TEST(nothing_is_early_by_uv_now_behind_a_slow_callback),
	        TEST(a_deadline_may_be_in_the_loops_own_time),
	        TEST(the_loop_ends_when_nothing_is_armed),
	};

	return suite_run(&libuv_calls, own, sizeof(own) / sizeof(own[0]));
}
