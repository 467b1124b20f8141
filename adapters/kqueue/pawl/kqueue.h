/* SPDX-License-Identifier: MIT */
/*
 * pawl/kqueue.h: a wheel behind one timer of a kqueue, for macOS and the BSDs.
 *
 *	#include <pawl/kqueue.h>
 *	#include <stdio.h>
 *	#include <sys/types.h>
 *	#include <sys/event.h>
 *
 *	static void expire(struct pawl_timer *timer, void *arg) { (void)timer; (void)arg; puts("time is up"); }
 *
 *	int main(void)
 *	{
 *		struct pawl_timer timer = PAWL_TIMER_INIT;
 *		struct pawl_kqueue *timers;
 *		struct kevent event;
 *		int kq = kqueue();
 *
 *		if (pawl_kqueue_open(&timers, kq, expire, NULL, NULL) != 0)
 *			return 1;
 *		pawl_kqueue_arm(timers, &timer, 20 * PAWL_MS);
 *		while (pawl_timer_armed(&timer))
 *			if (kevent(kq, NULL, 0, &event, 1, NULL) == 1 && event.udata == timers)
 *				pawl_kqueue_turn(timers);
 *		pawl_kqueue_close(timers, NULL);
 *	}
 *
 * The adapter's event has the filter EVFILT_TIMER, and the adapter's address as its ident and its udata. The kqueue is
 * yours. For a loop that takes descriptors, make a kqueue for the adapter alone: it is readable when a turn is worth it, and
 * before that turn kevent takes the event out. See pawl/loop.h for what all adapters promise.
 *
 * This adapter has not been run on a real kqueue yet. Its tests compile it against a header of their own, and run it on a
 * fake kqueue over Linux's epoll and timerfd, by what kqueue(2) of FreeBSD and macOS says.
 *
 * On macOS a kqueue's timers stand still while the machine sleeps, and CLOCK_MONOTONIC goes on: after a sleep a timer may be
 * late by as long as that was, if nothing else wakes the loop; with options.count_sleep by a second at the most.
 */
#ifndef PAWL_KQUEUE_H
#define PAWL_KQUEUE_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_kqueue;

/*
 * Open an adapter on the descriptor `kqueue`, which calls `due` with `arg`. Close it before the kqueue.
 *
 * 0         *adapter is yours, to be closed with pawl_kqueue_close.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -EBADF    `kqueue` is not a kqueue's descriptor.
 * -ENOMEM   no memory. Nothing is left behind.
 */
PAWL_API int pawl_kqueue_open(struct pawl_kqueue **adapter, int kqueue, pawl_due_fn *due, void *arg,
                              const struct pawl_loop_options *options);

/*
 * One turn of bounded work; call it for the adapter's event (at other times it does no harm). If that was not all that
 * is due, there is another event at once. Returns how many functions it called; 0 inside one of them.
 */
PAWL_API size_t pawl_kqueue_turn(struct pawl_kqueue *adapter);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the adapter's clock, see pawl_kqueue_now. If it is
 * armed, it is moved; if it was periodic, it is no more. What is due already is called in the next turn. Never fails.
 */
PAWL_API void pawl_kqueue_arm(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                              uint64_t delay_ns);
PAWL_API void pawl_kqueue_arm_at(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                                 uint64_t deadline_ns);

/*
 * Arm the timer for every `period_ns`, for the first time a period from now, until it is cancelled or armed otherwise. It
 * does not drift, and periods that were missed are left out. When its function is called it is armed for the next time
 * already: cancel it before you free it. touch moves its grid. Only with pawl_loop_due as open's `due`.
 *
 * 0         it is armed.
 * -EINVAL   the period is 0, or the adapter was opened with another function. Nothing has changed.
 */
PAWL_API int pawl_kqueue_arm_every(struct pawl_kqueue *adapter, struct pawl_loop_timer *timer,
                                   uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, for little more than a store; else, and if idle, as arm. */
PAWL_API void pawl_kqueue_touch(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                                uint64_t delay_ns);

/* true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_kqueue_cancel(struct pawl_kqueue *adapter, struct pawl_timer *timer);

/* The present time of the adapter's clock, in which deadlines are: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_kqueue_now(const struct pawl_kqueue *adapter);

/* To look at: count, place, each, check. Arm and cancel through the adapter. */
PAWL_API struct pawl_wheel *pawl_kqueue_wheel(struct pawl_kqueue *adapter);

/*
 * Hand each timer that is still armed to `dropped`, which may free it and cancel others but arm none, and
 * close and free the adapter; inside the function, when the turn has ended. `dropped`
 * may be NULL: then they are forgotten, in whatever memory they were, and to be zeroed before they are used
 * again. Also from inside the function, which then is not called any more. NULL is allowed as adapter.
 */
PAWL_API void pawl_kqueue_close(struct pawl_kqueue *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
