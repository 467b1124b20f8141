/* SPDX-License-Identifier: MIT */
/*
 * pawl/loop.h: what the adapters to event loops have in common.
 *
 * An adapter puts a wheel behind one timer of an event loop. However many timers are on the wheel, the loop has one,
 * and wakes up only when there is something to do.
 *
 *	pawl/epoll.h      a file descriptor that any loop can poll: Linux; part of libpawl
 *	pawl/kqueue.h     a timer of a kqueue: macOS and the BSDs; libpawl-kqueue. Not run on a real kqueue yet
 *	pawl/libuv.h      libpawl-libuv
 *	pawl/libevent.h   libpawl-libevent
 *
 * They have the same calls. This example is for epoll; for another adapter, write its name in place of "epoll":
 *
 *	#include <pawl/epoll.h>
 *	#include <stdio.h>
 *
 *	struct connection { struct pawl_timer idle; int fd; };
 *
 *	static void expire(struct pawl_timer *timer, void *arg)             // in the loop's thread
 *	{
 *		struct connection *connection = PAWL_CONTAINER_OF(timer, struct connection, idle);
 *		printf("%s: connection %d is idle\n", (const char *)arg, connection->fd);
 *	}
 *
 *	int main(void)
 *	{
 *		struct connection connection = {PAWL_TIMER_INIT, 3};
 *		static char name[] = "server";
 *		struct pawl_epoll *adapter;
 *
 *		if (pawl_epoll_open(&adapter, expire, name, NULL) != 0)
 *			return 1;
 *		pawl_epoll_arm(adapter, &connection.idle, 30 * PAWL_SECOND);
 *		pawl_epoll_touch(adapter, &connection.idle, 30 * PAWL_SECOND); // there was input: 30 seconds from now
 *		if (pawl_epoll_cancel(adapter, &connection.idle))              // the connection was closed
 *			puts("it was armed, and will not be called");
 *		pawl_epoll_close(adapter, NULL);
 *	}
 *
 *
 * What is promised, beyond what pawl/wheel.h promises
 *
 *  - Time is in nanoseconds of the loop's own clock, see "The clock". pawl_X_now() reads it, where X is the adapter's
 *    name. A delay counts from the call, not from the loop's cached time. It is rounded up to the tick, so a timer is
 *    never early.
 *  - The function is never called inside arm, touch or cancel, nor inside itself. It may make any call of the adapter
 *    for any timer, and may close the adapter.
 *  - The adapter sets the loop's timer only if something is to be done earlier than the timer is set to, and at the end
 *    of a pass. With nothing armed the timer is off, so there is no wake-up. (If the first of several timers is
 *    cancelled, the loop may wake up once with nothing to do. With kqueue and libevent it also wakes up once a day
 *    while the next deadline is further away.)
 *  - Only the thread that runs the loop may use its adapter.
 *
 *
 * A pass
 *
 * When the loop's timer fires, the adapter makes one pass: it moves at most max_moves timers on the wheel, and calls
 * the function for at most max_calls timers that are due. If there is more to do, the loop polls its sockets, without
 * sleeping, before the next pass. So a hundred thousand timers due at once delay a socket by one pass (libuv: two), not
 * by a hundred thousand calls. With epoll and kqueue you make the pass yourself, with pawl_X_turn().
 *
 * Each pass also moves timers ahead (pawl_wheel_ahead()): it moves those of the next coarse slots to finer ones before
 * those slots open. It moves at most 64 timers, and one more for each call that it made, all within max_moves. With
 * 1,024 timers or more the loop wakes up for that, too. Then a slot is empty when it opens, and no timer waits until
 * thousands of others have been moved. For this the wheel has twice the slots: it takes 66 KiB, or 518 KiB with 8
 * chains.
 *
 *
 * A function for each kind of timer, and periodic timers
 *
 * Pass pawl_loop_due to pawl_X_open() in place of a function of your own. Then each timer has its own function: all
 * timers of that adapter are of type struct pawl_loop_timer, and arm, touch and cancel take a pointer to the `timer`
 * in it. pawl_X_arm_every() makes such a timer periodic.
 *
 *
 * The clock
 *
 *	            the loop's own, by default           options.count_sleep
 *	epoll       CLOCK_MONOTONIC                      CLOCK_BOOTTIME; the descriptor follows it
 *	kqueue      CLOCK_MONOTONIC                      CLOCK_BOOTTIME *
 *	libuv       uv_hrtime(), uv_now() in whole ms    CLOCK_BOOTTIME *
 *	libevent    CLOCK_MONOTONIC                      CLOCK_BOOTTIME *
 *
 * On Linux the clocks of the first column are the same clock, which stands still while the machine is suspended. With
 * options.count_sleep that time counts: a timeout of an hour has passed if the machine was suspended for two. On a
 * system without CLOCK_BOOTTIME the clock is CLOCK_MONOTONIC.
 *
 * (* The loop's timers cannot follow CLOCK_BOOTTIME. So while anything is armed the adapter reads that clock once a
 * second, and after a suspension a timer is up to a second late.)
 */
#ifndef PAWL_LOOP_H
#define PAWL_LOOP_H

#include <pawl/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called for a timer that is due. The timer is idle, and its memory is yours. `arg` was passed to open. */
typedef void pawl_due_fn(struct pawl_timer *timer, void *arg);

/* The options of open. A NULL pointer means the defaults, and so does 0 in a field. */
struct pawl_loop_options {
	uint64_t tick_ns;    /* deadlines are rounded up to it; default 2^20, about a millisecond */
	uint32_t wheel_size; /* slots in a level, 2 to 4096; default as in pawl/wheel.h */
	uint32_t chains;     /* as in pawl/wheel.h: 8 is for a million timers; default 1 */
	size_t max_moves;    /* of timers in a pass, ahead or not; default 1024 */
	size_t max_calls;    /* of the function in a pass; default 256 */
	bool count_sleep;    /* time in a suspension counts: see "The clock"; default false */
};

/* A timer's own function. `arg` was passed to open. */
struct pawl_loop_timer;
typedef void pawl_loop_fn(struct pawl_loop_timer *timer, void *arg);

/* A timer with its own function. Embed it, and initialise it before its first use. Fields but `timer` are private. */
struct pawl_loop_timer {
	struct pawl_timer timer; /* for arm, touch and cancel */
	pawl_loop_fn *run;
	uint64_t period_ns;
};

/* Initialise a timer, which must not be armed. It is then idle, and not periodic. */
PAWL_API void pawl_loop_timer_init(struct pawl_loop_timer *timer, pawl_loop_fn *run);

/* The same in a definition: struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(run); */
#define PAWL_LOOP_TIMER_INIT(run)       \
	{                               \
		PAWL_TIMER_INIT, run, 0 \
	}

/* Calls the timer's own function. Pass it to open, if all timers of the adapter are struct pawl_loop_timer. */
PAWL_API void pawl_loop_due(struct pawl_timer *timer, void *arg);

#ifdef __cplusplus
}
#endif

#endif
