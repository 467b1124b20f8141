/* SPDX-License-Identifier: MIT */
/*
 * pawl/loop.h: what the adapters to event loops have in common.
 *
 * An adapter puts a wheel behind one timer of an event loop. However many timers are on the wheel, the
 * loop has one, and wakes up for it only when there is something to do.
 *
 *	pawl/epoll.h      a file descriptor that any loop can poll: Linux; part of libpawl
 *	pawl/kqueue.h     a timer of a kqueue: macOS and the BSDs; a library of its own, libpawl-kqueue. It has not
 *	                  been run on a real kqueue yet
 *	pawl/libuv.h      a library of its own, libpawl-libuv
 *	pawl/libevent.h   a library of its own, libpawl-libevent
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
 * A turn
 *
 * When the loop's timer fires, the adapter makes one turn: it moves at most max_moves timers on the wheel,
 * and calls the function for at most max_calls timers that are due. If there is more to do, the loop looks at
 * its sockets, without sleeping, before the next turn. So a hundred thousand timers due at once delay a
 * socket by one turn (libuv: two), not by a hundred thousand calls.
 *
 * Each turn also opens ahead (pawl_wheel_ahead()): it moves timers of the next coarse slots to finer ones before
 * those slots open, 64 timers and one more for each call, all within max_moves. With 1,024 timers or more the loop
 * wakes up for that, too. Then a slot is empty when it opens, and no timer waits until thousands of others have been
 * moved. To open ahead, the wheel has twice the slots: it takes 66 KiB, or 518 KiB with 8 chains.
 *
 *
 * What is promised, beyond what pawl/wheel.h promises
 *
 *  - Time is in nanoseconds of the loop's own clock, which pawl_X_now() reads (X is the adapter's name): see "The
 *    clock". A delay counts from the moment of the call, not from the loop's cached time. It is rounded up to the
 *    tick, so a timer is never early.
 *  - The function is never called inside arm, touch or cancel, nor inside itself. It may make any call of the
 *    adapter for any timer, and may close the adapter.
 *  - The adapter sets the loop's timer only when something is to be done earlier than the timer is set for, and at
 *    the end of a turn. With nothing armed the timer is not set, so there is no wake-up. (If the first of several
 *    timers is cancelled, the loop may wake up once and find nothing to do.)
 *
 * Only the thread that runs the loop may use its adapter.
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
 * On Linux the clocks of the first column are one and the same clock, which stands still while the machine is
 * suspended. With options.count_sleep that time counts: a time-out of an hour has passed when the machine was
 * suspended for two. (* The loop's timers cannot follow CLOCK_BOOTTIME. So while anything is armed the adapter reads
 * that clock once a second, and after a suspension a timer is up to a second late.) On a system without
 * CLOCK_BOOTTIME it is CLOCK_MONOTONIC.
 */
#ifndef PAWL_LOOP_H
#define PAWL_LOOP_H

#include <pawl/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called for a timer that is due: it is idle, and its memory is yours. `arg` is the one given to open. */
typedef void pawl_due_fn(struct pawl_timer *timer, void *arg);

/* Zeroes, or a NULL pointer in place of the whole struct, mean the defaults. */
struct pawl_loop_options {
	uint64_t tick_ns;    /* deadlines are rounded up to it; 0: 2^20, about a millisecond */
	uint32_t wheel_size; /* slots in a level, 2 to 4096; 0: the wheel's default */
	uint32_t chains;     /* as in pawl/wheel.h: 8 is for hundreds of thousands; 0: 1 */
	size_t max_moves;    /* of timers in a turn, ahead or not; 0: 1024 */
	size_t max_calls;    /* of the function in a turn; 0: 256 */
	bool count_sleep;    /* time while the machine is suspended counts: see "The clock" */
};

/*
 * A timer with a function of its own. Embed it and initialise it before its first use. All fields but `timer` are
 * private.
 */
struct pawl_loop_timer;
typedef void pawl_loop_fn(struct pawl_loop_timer *timer, void *arg); /* `arg`: given to open */

struct pawl_loop_timer {
	struct pawl_timer timer; /* for arm, touch and cancel */
	pawl_loop_fn *run;
	uint64_t period_ns;
};

/* The timer is idle afterwards, and not periodic. Not for one that is armed. */
PAWL_API void pawl_loop_timer_init(struct pawl_loop_timer *timer, pawl_loop_fn *run);

/* The same where it is defined: struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(run); */
#define PAWL_LOOP_TIMER_INIT(run)       \
	{                               \
		PAWL_TIMER_INIT, run, 0 \
	}

/* Calls the timer's own function. Pass it to open: then every timer of the adapter is a struct pawl_loop_timer. */
PAWL_API void pawl_loop_due(struct pawl_timer *timer, void *arg);

#ifdef __cplusplus
}
#endif

#endif
