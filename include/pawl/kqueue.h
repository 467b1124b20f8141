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
 * yours. For a loop that polls descriptors, make a kqueue for the adapter alone: it is readable when a pass is needed,
 * and kevent() must read the event before that pass. See pawl/loop.h for what all adapters promise; their headers are
 * parallel, so that each can be read alone.
 *
 * This adapter has not been run on a real kqueue yet. Its tests compile it with a header of their own, and run it on a
 * fake kqueue over Linux's epoll and timerfd, which follows kqueue(2) of FreeBSD and macOS.
 *
 * On macOS a kqueue's timers stand still while the machine sleeps, and CLOCK_MONOTONIC goes on. So after a sleep a
 * timer may be late by the length of the sleep, if nothing else wakes the loop; with options.count_sleep by at most a
 * second.
 */
#ifndef PAWL_KQUEUE_H
#define PAWL_KQUEUE_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_kqueue;

/*
 * Open an adapter on the descriptor `kqueue` that calls `due` with `arg` for each timer that is due. `options` may be
 * NULL.
 *
 * 0         *adapter is yours, to be closed with pawl_kqueue_close() before the kqueue.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -EBADF    `kqueue` is not a kqueue's descriptor.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind.
 */
PAWL_API int pawl_kqueue_open(struct pawl_kqueue **adapter, int kqueue, pawl_due_fn *due, void *arg,
                              const struct pawl_loop_options *options);

/*
 * Make one pass. Call it for the adapter's event; at other times it does no harm. If more is to be done, there is
 * another event at once. Returns how many functions it called; 0 inside one of them.
 */
PAWL_API size_t pawl_kqueue_turn(struct pawl_kqueue *adapter);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the clock of pawl_kqueue_now(). An armed timer is
 * re-armed. A timer that is due already is called in the next pass. A periodic timer is periodic no more. Never fails.
 */
PAWL_API void pawl_kqueue_arm(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                              uint64_t delay_ns);
PAWL_API void pawl_kqueue_arm_at(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                                 uint64_t deadline_ns);

/*
 * Make the timer periodic: it is called every `period_ns`, first a period from now, until it is cancelled or armed.
 *
 * 0         the timer is armed.
 * -EINVAL   the period is 0, or open's `due` was not pawl_loop_due. Nothing has changed.
 *
 * It does not drift, and leaves out missed periods. When its function is called, it is already armed for the next
 * period: cancel it before you free it. touch also shifts all of its later calls.
 */
PAWL_API int pawl_kqueue_arm_every(struct pawl_kqueue *adapter, struct pawl_loop_timer *timer,
                                   uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, mostly by one store. An idle timer, or an earlier time: as arm. */
PAWL_API void pawl_kqueue_touch(struct pawl_kqueue *adapter, struct pawl_timer *timer,
                                uint64_t delay_ns);

/* Cancel the timer. true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_kqueue_cancel(struct pawl_kqueue *adapter, struct pawl_timer *timer);

/* The present time of the clock of deadlines: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_kqueue_now(const struct pawl_kqueue *adapter);

/* The wheel, for count, place, each and check. Arm and cancel only through the adapter. */
PAWL_API struct pawl_wheel *pawl_kqueue_wheel(struct pawl_kqueue *adapter);

/*
 * Close and free the adapter, and pass each timer that is still armed to `dropped`, which may free it and cancel
 * others, but arm none.
 *
 * If `dropped` is NULL, the timers are not accessed, and must be zeroed before they are used again. The function itself
 * may close the adapter: it is then not called any more, and the adapter is freed at the end of the pass. `adapter` may
 * be NULL.
 */
PAWL_API void pawl_kqueue_close(struct pawl_kqueue *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
