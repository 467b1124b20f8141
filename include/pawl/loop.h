/* SPDX-License-Identifier: MIT */
/*
 * pawl/loop.h: timers in an event loop.
 *
 * A struct pawl_loop is a wheel behind one timer of an event loop. However many timers are armed, the event loop has
 * one, and wakes up only when there is something to do. An adapter opens it; all else is the same for every event loop:
 *
 *	pawl_epoll_open()      pawl/epoll.h      a file descriptor that any loop can poll: Linux; part of libpawl
 *	pawl_kqueue_open()     pawl/kqueue.h     a timer of a kqueue: macOS and the BSDs; libpawl-kqueue
 *	pawl_libuv_open()      pawl/libuv.h      libpawl-libuv
 *	pawl_libevent_open()   pawl/libevent.h   libpawl-libevent
 *	pawl_loop_open()       pawl/adapter.h    an event loop of your own
 *
 * With epoll:
 *
 *	#include <pawl/epoll.h>
 *	#include <stdio.h>
 *
 *	struct connection { struct pawl_loop_timer idle; int fd; };
 *
 *	static void expire(struct pawl_loop_timer *timer, void *arg)        // in the loop's thread
 *	{
 *		struct connection *connection = PAWL_CONTAINER_OF(timer, struct connection, idle);
 *		printf("%s: connection %d is idle\n", (const char *)arg, connection->fd);
 *	}
 *
 *	int main(void)
 *	{
 *		static char name[] = "server";
 *		const struct pawl_loop_options options = {.due = expire, .arg = name};
 *		struct connection connection = {.fd = 3};
 *		struct pawl_loop *loop;
 *
 *		if (pawl_epoll_open(&loop, &options) != 0)
 *			return 1;
 *		pawl_loop_arm(loop, &connection.idle, 30 * PAWL_SECOND);
 *		pawl_loop_touch(loop, &connection.idle, 30 * PAWL_SECOND); // there was input: 30 seconds from now
 *		if (pawl_loop_cancel(loop, &connection.idle))              // the connection was closed
 *			puts("it was armed, and will not be called");
 *		pawl_loop_close(loop, NULL);
 *	}
 *
 * Promises, beyond those of pawl/wheel.h:
 *  - Time is in nanoseconds of the loop's clock, which pawl_loop_now() reads. A delay counts from the call, not from
 *    the event loop's cached time. It is rounded up to the tick, so a timer is never early.
 *  - A due function is never called inside arm, touch or cancel, nor inside another one. It may make any call for any
 *    timer, and may close the loop.
 *  - When the event loop's timer fires, there is one pass: at most max_moves moves on the wheel, and max_calls calls.
 *    If there is more to do, the event loop polls its sockets, without sleeping, before the next pass.
 *  - Each pass also moves a few timers to finer slots before their slot opens, so no timer waits until thousands of
 *    others have been moved. For this the wheel has twice the slots: 66 KiB, or 518 KiB with 8 chains.
 *  - While no timer is armed, the event loop's timer is off. Arming sets it only if the new timer is the earliest.
 *  - Only the thread that runs the event loop may use its struct pawl_loop.
 * pawl_loop(3) has the clocks, the cost of a pass and the wake-ups in detail.
 */
#ifndef PAWL_LOOP_H
#define PAWL_LOOP_H

#include <pawl/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_loop;
struct pawl_loop_timer;

/* Called for a timer that is due, which is idle now, unless it is periodic. `arg` is that of the options. */
typedef void pawl_loop_due_fn(struct pawl_loop_timer *timer, void *arg);

/* A timer of a loop: embed it. All zeroes is an idle timer that calls the function of the options. */
struct pawl_loop_timer {
	struct pawl_timer timer; /* for pawl_timer_armed() and pawl_timer_deadline() */
	pawl_loop_due_fn *due;   /* its own function; NULL: that of the options */
	uint64_t period_ns;      /* private: 0 unless armed by pawl_loop_arm_every() */
};

/* In a definition: struct pawl_loop_timer timer = PAWL_LOOP_TIMER_INIT(due); NULL is allowed. */
#define PAWL_LOOP_TIMER_INIT(due)       \
	{                               \
		PAWL_TIMER_INIT, due, 0 \
	}

/* The options of every open. `due` is required; 0 in any other field means its default. */
struct pawl_loop_options {
	uint64_t tick_ns;    /* deadlines are rounded up to it; default 2^20, about a millisecond */
	uint32_t wheel_size; /* slots in a level, 2 to 4096; default as in pawl/wheel.h */
	uint32_t chains;     /* as in pawl/wheel.h: 8 is for a million timers; default 1 */
	size_t max_moves;    /* of timers in a pass; default 1024 */
	size_t max_calls;    /* of due functions in a pass; default 256 */
	bool count_sleep;    /* count the time while the machine is suspended; default false */
	pawl_loop_due_fn *due; /* called for each due timer that has no function of its own */
	void *arg;             /* passed to due functions */
	uint64_t reserved[4];  /* must be 0 */
};

/*
 * Arm the timer for `delay_ns` from now, or for the time `deadline_ns`. An armed timer is re-armed. A timer that is due
 * already is called in the next pass. A periodic timer becomes one-shot. Never fails.
 */
PAWL_API void pawl_loop_arm(struct pawl_loop *loop, struct pawl_loop_timer *timer,
                            uint64_t delay_ns);
PAWL_API void pawl_loop_arm_at(struct pawl_loop *loop, struct pawl_loop_timer *timer,
                               uint64_t deadline_ns);

/*
 * Make the timer periodic: it is called `first_ns` from now, then every `period_ns`, until it is cancelled or armed.
 *
 * 0         the timer is armed.
 * -EINVAL   the period is 0. Nothing has changed.
 *
 * It does not drift, and leaves out missed periods. When its function is called, it is already armed for the next
 * period: cancel it before you free it. touch also shifts all of its later calls.
 */
PAWL_API int pawl_loop_arm_every(struct pawl_loop *loop, struct pawl_loop_timer *timer,
                                 uint64_t first_ns, uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, mostly by one store. An idle timer, or an earlier time: as arm. */
PAWL_API void pawl_loop_touch(struct pawl_loop *loop, struct pawl_loop_timer *timer,
                              uint64_t delay_ns);

/* Cancel the timer. true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_loop_cancel(struct pawl_loop *loop, struct pawl_loop_timer *timer);

/* The present time of the loop's clock, and how many timers are armed. */
PAWL_API uint64_t pawl_loop_now(const struct pawl_loop *loop);
PAWL_API size_t pawl_loop_count(const struct pawl_loop *loop);

/*
 * Make one pass. With epoll and kqueue, call it when the event loop reports the timer; libuv and libevent call it
 * themselves. A call at any other time is harmless. Returns how many due functions it called; 0 inside one of them.
 */
PAWL_API size_t pawl_loop_pass(struct pawl_loop *loop);

/* The wheel, for pawl_wheel_get_place(), _each() and _check(). Arm and cancel only through the loop. */
PAWL_API struct pawl_wheel *pawl_loop_wheel(struct pawl_loop *loop);

/*
 * Close and free the loop, and pass each timer that is still armed to `dropped`, which may free it and cancel others,
 * but not arm any. If `dropped` is NULL, the timers are not read, and must be zeroed before they are used again. A due
 * function may close its loop: then no other is called, and the loop is freed at the end of the pass. `loop` may be
 * NULL. The event loop itself is yours, and must outlive this call.
 */
PAWL_API void pawl_loop_close(struct pawl_loop *loop, pawl_loop_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
