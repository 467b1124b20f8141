/* SPDX-License-Identifier: MIT */
/*
 * pawl/loop.h: what the adapters to event loops have in common.
 *
 * An adapter puts a wheel behind one timer of an event loop. However many timers are on the wheel, the
 * loop has one; and the loop is asked to wake for it only when there is something to do.
 *
 *	pawl/epoll.h      a file descriptor that any loop can poll; part of libpawl
 *	pawl/kqueue.h     a timer of a kqueue: macOS and the BSDs; a library of its own, libpawl-kqueue. Not yet run on a real one
 *	pawl/libuv.h      a library of its own, libpawl-libuv
 *	pawl/libevent.h   a library of its own, libpawl-libevent
 *
 * They have the same calls; where this has epoll, the others have their names:
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
 *		if (pawl_epoll_cancel(adapter, &connection.idle))              // it was hung up
 *			puts("it was armed, and will not be called");
 *		pawl_epoll_close(adapter, NULL);
 *	}
 *
 *
 * A turn
 *
 * When the loop's timer fires, the adapter makes one turn: it moves at most max_moves timers on the wheel,
 * and calls the function for at most max_calls that are due. If that was not all, the loop looks at its
 * sockets, without sleeping, before the next turn. So a hundred thousand timers due at once delay a
 * socket by one turn (libuv: two), not by a hundred thousand calls.
 *
 * Each turn also opens ahead (pawl_wheel_ahead()): it makes 64 of the moves that the next openings would make,
 * and one more for each call, all within max_moves. With 1,024 timers or more the loop wakes up for that, too;
 * then a slot is empty when it opens, and no timer waits until thousands of others have been moved. For this the
 * wheel has twice the slots: 66 KiB, with 8 chains 518.
 *
 *
 * What is promised, beyond what pawl/wheel.h promises
 *
 *  - Time is in nanoseconds of the loop's own clock, which pawl_X_now() reads: see "The clock". A delay counts from the
 *    moment of the call, not from the time that the loop has in its cache, and is rounded up to the tick: never early.
 *  - The function is never called inside arm, touch or cancel, nor inside itself. In it, and for any
 *    timer, everything may be called, close too.
 *  - The loop's timer is set anew only where the next thing to do comes earlier than it is set for, and at
 *    the end of a turn. With nothing armed it is not set: no wake-up. (A cancelled timer that was the
 *    first of several may leave one wake-up behind, which finds nothing.)
 *
 * One thread uses an adapter: the one that runs its loop.
 *
 *
 * A function for each kind of timer, and periodic timers
 *
 * Give pawl_loop_due to open in place of a function of your own. Then each timer has its own function: all timers of that
 * adapter are struct pawl_loop_timer, and arm, touch and cancel take the `timer` in them. pawl_X_arm_every() makes one
 * periodic.
 *
 *
 * The clock
 *
 *	            the loop's own, by default           options.count_sleep
 *	epoll       CLOCK_MONOTONIC                      CLOCK_BOOTTIME; the descriptor is exact by it
 *	kqueue      CLOCK_MONOTONIC                      CLOCK_BOOTTIME *
 *	libuv       uv_hrtime(), uv_now() in whole ms    CLOCK_BOOTTIME *
 *	libevent    CLOCK_MONOTONIC                      CLOCK_BOOTTIME *
 *
 * On Linux all of the first column are one clock, which stands still while the machine is suspended. With
 * options.count_sleep that time counts: a time-out of an hour is over when the machine was asleep for two. (* The loop's
 * timers do not know that clock. So while anything is armed the adapter looks at it once a second, and after a
 * suspension is up to a second late.) Where there is no CLOCK_BOOTTIME, it is CLOCK_MONOTONIC.
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
	bool count_sleep;    /* time that the machine is suspended counts: see "The clock" */
};

/* A timer with a function of its own. Embed it and initialise it before its first use; but for `timer` it is private. */
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

/* Calls the timer's own function. For open: then every timer of the adapter is a struct pawl_loop_timer. */
PAWL_API void pawl_loop_due(struct pawl_timer *timer, void *arg);

#ifdef __cplusplus
}
#endif

#endif
