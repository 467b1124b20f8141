/* SPDX-License-Identifier: MIT */
/*
 * A wheel behind one timer of an event loop. An adapter reads the event loop's clock and sets its timer; all else is
 * here.
 *
 * `wake` is the time that the event loop's timer is set to. It is never later than the first deadline on the wheel, so
 * no timer is late. It may be earlier: after a cancel, or because timers are to be moved ahead. So arming sets the
 * event loop's timer only for a deadline before `wake`, which is rare, and checks for work ahead once in WHEEL_MANY
 * calls.
 *
 * When the event loop's timer fires, there is one pass: a bounded number of moves and calls. At its end it sets the
 * event loop's timer again.
 */
#include "layout.h"

#include "../base/assert.h"
#include "../base/mistake.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t now_of(const struct pawl_loop *loop)
{
	return loop->adapter->now(loop->self);
}

static struct pawl_loop_timer *own(struct pawl_timer *timer)
{
	return PAWL_CONTAINER_OF(timer, struct pawl_loop_timer, timer);
}

/* Reserved fields may get a meaning: then a program that left rubbish in them would ask for something. */
static bool reserved_is_zero(const struct pawl_loop_adapter *adapter,
                             const struct pawl_loop_options *options)
{
	for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
		if (options->reserved[i])
			return false;
	for (size_t i = 0; i < sizeof(adapter->reserved) / sizeof(adapter->reserved[0]); i++)
		if (adapter->reserved[i])
			return false;
	return true;
}

static bool valid(const struct pawl_loop_adapter *adapter, const struct pawl_loop_options *options)
{
	return adapter->now && adapter->set_timer && adapter->release && options && options->due &&
	       reserved_is_zero(adapter, options);
}

static void init(struct pawl_loop *loop, const struct pawl_loop_options *options)
{
	loop->due = options->due;
	loop->arg = options->arg;
	loop->max_moves = options->max_moves ? options->max_moves : DEFAULT_MAX_MOVES;
	loop->max_calls = options->max_calls ? options->max_calls : DEFAULT_MAX_CALLS;
	loop->wake = PAWL_NEVER;
}

static int make_wheel(struct pawl_loop *loop, const struct pawl_loop_options *options)
{
	const struct pawl_wheel_options wheel = {
	        .start = now_of(loop),
	        .tick = options->tick_ns ? options->tick_ns : DEFAULT_TICK_NS,
	        .wheel_size = options->wheel_size,
	        .chains = options->chains,
	        .ahead = true,
	};
	size_t size = pawl_wheel_footprint(&wheel);

	if (size == 0)
		return -EINVAL;
	loop->wheel = pawl_wheel_init(malloc(size), size, &wheel);
	CHECKED(pawl__wheel_own(loop->wheel, loop));
	return loop->wheel ? 0 : -ENOMEM;
}

int pawl_loop_open(struct pawl_loop **loop, const struct pawl_loop_adapter *adapter, void *self,
                   const struct pawl_loop_options *options)
{
	struct pawl_loop *made;
	int error;

	if (!valid(adapter, options))
		return -EINVAL;
	made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = (struct pawl_loop){.adapter = adapter, .self = self};
	init(made, options);
	error = make_wheel(made, options);
	if (error) {
		free(made);
		return error;
	}
	CHECKED(pawl__object_note(A_LOOP, made, NULL));
	*loop = made;
	return 0;
}

/* Not in a pass, which still uses the loop. */
static void release(struct pawl_loop *loop)
{
	loop->adapter->release(loop->self);
	CHECKED(pawl__object_forget(A_WHEEL, loop->wheel));
	CHECKED(pawl__object_forget(A_LOOP, loop));
	free(loop->wheel);
	free(loop);
}

static void set_timer(struct pawl_loop *loop, uint64_t wake)
{
	ASSERT(!loop->running && !loop->closed);
	ASSERT(wake <= pawl_wheel_next(loop->wheel));
	loop->wake = wake;
	loop->adapter->set_timer(loop->self, wake);
}

/*
 * Each pass makes a few of the moves that the next openings would make at once. It makes one more for each call, since
 * a timer is mostly moved once before it is called: so a loop that never sleeps keeps up. All moves of a pass together
 * are within max_moves.
 */
static void move_ahead(struct pawl_loop *loop, size_t moves, size_t calls)
{
	size_t left = loop->max_moves - moves;

	ASSERT(moves <= loop->max_moves);
	if (left > 0)
		pawl_wheel_ahead(loop->wheel,
		                 left < MOVES_AHEAD + calls ? left : MOVES_AHEAD + calls);
}

/* A periodic timer is armed again before its function is called, so that the function may cancel or arm it. */
static void call(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t now)
{
	pawl_loop_due_fn *due = timer->due ? timer->due : loop->due;

	if (timer->period_ns)
		pawl_wheel_arm_at(loop->wheel, &timer->timer,
		                  next_period(timer->timer.deadline, timer->period_ns, now));
	due(timer, loop->arg);
}

/* If a due function closed the loop, the loop is gone afterwards. */
size_t pawl_loop_pass_at(struct pawl_loop *loop, uint64_t now_ns)
{
	IN_LOOP(loop);
	struct pawl_timer *timer;
	size_t calls = 0, moves;

	if (loop->running)
		return 0;
	loop->running = true;
	moves = pawl_wheel_advance(loop->wheel, now_ns, loop->max_moves);
	while (calls < loop->max_calls && !loop->closed &&
	       (timer = pawl_wheel_pop(loop->wheel)) != NULL) {
		calls++;
		call(loop, own(timer), now_ns);
	}
	loop->running = false;
	if (loop->closed) {
		release(loop);
		return calls;
	}
	move_ahead(loop, moves, calls);
	set_timer(loop, pawl_wheel_next(loop->wheel));
	return calls;
}

size_t pawl_loop_pass(struct pawl_loop *loop)
{
	IN_LOOP(loop);
	return pawl_loop_pass_at(loop, now_of(loop));
}

/*
 * The wheel finds a timer's slot from the time that it knows, which is old after a sleep. Before `wake`, advancing it
 * makes nothing due. Slots may open, and the bound is for the timers that they move.
 */
static void tell_time(struct pawl_loop *loop, uint64_t now)
{
	if (!loop->running && now < loop->wake)
		pawl_wheel_advance(loop->wheel, now, 1);
}

static void wake_earlier(struct pawl_loop *loop)
{
	uint64_t next;

	if (loop->running)
		return;
	next = pawl_wheel_next(loop->wheel);
	if (next < loop->wake)
		set_timer(loop, next);
}

/* After arm and touch. If they made work ahead, that is noticed after at most WHEEL_MANY calls. */
static void wake_by(struct pawl_loop *loop, uint64_t deadline)
{
	if (++loop->armings % WHEEL_MANY == 0 || deadline < loop->wake)
		wake_earlier(loop);
}

/* A due function may close the loop, which is released when the pass ends. */
static inline void expect_open(const struct pawl_loop *loop)
{
	(void)loop;
	CHECKED(loop->closed ? pawl__loop_refuse(loop) : (void)0);
}

static inline void put(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t now,
                       uint64_t deadline, uint64_t period_ns)
{
	expect_open(loop);
	CHECKED(pawl__expect_given(timer, "timer"));
	timer->period_ns = period_ns;
	tell_time(loop, now);
	pawl_wheel_arm_at(loop->wheel, &timer->timer, deadline);
	wake_by(loop, deadline);
}

void pawl_loop_arm_at(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t deadline_ns)
{
	IN_LOOP(loop);
	put(loop, timer, now_of(loop), deadline_ns, 0);
}

void pawl_loop_arm(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t delay_ns)
{
	IN_LOOP(loop);
	CHECKED_DELAY(delay_ns);
	uint64_t now = now_of(loop);

	put(loop, timer, now, saturating_sum(now, delay_ns), 0);
}

int pawl_loop_arm_every(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t first_ns,
                        uint64_t period_ns)
{
	IN_LOOP(loop);
	CHECKED_DELAY(first_ns);
	CHECKED_DELAY(period_ns);
	uint64_t now = now_of(loop);

	if (period_ns == 0)
		return -EINVAL;
	put(loop, timer, now, saturating_sum(now, first_ns), period_ns);
	return 0;
}

/* An idle timer has no period: touch arms it once. */
void pawl_loop_touch(struct pawl_loop *loop, struct pawl_loop_timer *timer, uint64_t delay_ns)
{
	IN_LOOP(loop);
	CHECKED_DELAY(delay_ns);
	uint64_t now = now_of(loop), deadline = saturating_sum(now, delay_ns);

	expect_open(loop);
	tell_time(loop, now);
	pawl_wheel_touch_at(loop->wheel, &timer->timer, deadline);
	wake_by(loop, deadline);
}

bool pawl_loop_cancel(struct pawl_loop *loop, struct pawl_loop_timer *timer)
{
	IN_LOOP(loop);
	bool was_armed = pawl_wheel_cancel(loop->wheel, &timer->timer);

	timer->period_ns = 0;
	if (!loop->running && !loop->closed && loop->wake != PAWL_NEVER &&
	    pawl_wheel_count(loop->wheel) == 0)
		set_timer(loop, PAWL_NEVER);
	return was_armed;
}

uint64_t pawl_loop_now(const struct pawl_loop *loop)
{
	IN_LOOP(loop);
	return now_of(loop);
}

size_t pawl_loop_count(const struct pawl_loop *loop)
{
	IN_LOOP(loop);
	return pawl_wheel_count(loop->wheel);
}

struct pawl_wheel *pawl_loop_wheel(struct pawl_loop *loop)
{
	IN_LOOP(loop);
	return loop->wheel;
}

/* At PAWL_NEVER all timers are due. They are popped one by one, so `dropped` may cancel and free any of them. */
static void drop_all(struct pawl_loop *loop, pawl_loop_due_fn *dropped)
{
	struct pawl_timer *timer;

	pawl_wheel_advance(loop->wheel, PAWL_NEVER, 0);
	while ((timer = pawl_wheel_pop(loop->wheel)) != NULL) {
		own(timer)->period_ns = 0;
		dropped(own(timer), loop->arg);
	}
}

void pawl_loop_close(struct pawl_loop *loop, pawl_loop_due_fn *dropped)
{
	if (!loop)
		return;
	IN_LOOP(loop);
	loop->closed = true;
	if (dropped)
		drop_all(loop, dropped);
	if (!loop->running)
		release(loop);
}
