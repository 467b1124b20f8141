/* SPDX-License-Identifier: MIT */
/*
 * pawl/epoll.h: a wheel behind one file descriptor, for epoll and any other loop that polls descriptors.
 *
 *	#include <pawl/epoll.h>
 *	#include <stdio.h>
 *	#include <sys/epoll.h>
 *
 *	static void expire(struct pawl_timer *timer, void *arg) { (void)timer; (void)arg; puts("time is up"); }
 *
 *	int main(void)
 *	{
 *		struct pawl_timer timer = PAWL_TIMER_INIT;
 *		struct epoll_event event = {.events = EPOLLIN};
 *		struct pawl_epoll *timers;
 *		int epoll = epoll_create1(EPOLL_CLOEXEC);
 *
 *		if (pawl_epoll_open(&timers, expire, NULL, NULL) != 0)
 *			return 1;
 *		event.data.fd = pawl_epoll_fd(timers);
 *		epoll_ctl(epoll, EPOLL_CTL_ADD, pawl_epoll_fd(timers), &event);
 *		pawl_epoll_arm(timers, &timer, 20 * PAWL_MS);
 *		while (pawl_timer_armed(&timer))
 *			if (epoll_wait(epoll, &event, 1, -1) == 1 && event.data.fd == pawl_epoll_fd(timers))
 *				pawl_epoll_turn(timers);
 *		pawl_epoll_close(timers, NULL);
 *	}
 *
 * The descriptor is a timerfd. It becomes readable when a pass is needed, for level-triggered and edge-triggered loops.
 * Do not read it, set it or close it. See pawl/loop.h for what all adapters promise; their headers are parallel, so
 * that each can be read alone.
 */
#ifndef PAWL_EPOLL_H
#define PAWL_EPOLL_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_epoll;

/*
 * Open an adapter that calls `due` with `arg` for each timer that is due. `options` may be NULL.
 *
 * 0                  *adapter is yours, to be closed with pawl_epoll_close().
 * -EINVAL            `due` is NULL, or an option is out of its range.
 * -ENOMEM            there is no memory.
 * -EMFILE, -ENFILE   there are no more descriptors.
 *
 * After an error nothing is left behind.
 */
PAWL_API int pawl_epoll_open(struct pawl_epoll **adapter, pawl_due_fn *due, void *arg,
                             const struct pawl_loop_options *options);

/* The descriptor to poll. It is close-on-exec, and stays the same until the adapter is closed. */
PAWL_API int pawl_epoll_fd(const struct pawl_epoll *adapter);

/*
 * Make one pass. Call it when the descriptor is readable; at other times it does no harm. If more is to be done, the
 * descriptor is readable again at once. Returns how many functions it called; 0 inside one of them.
 */
PAWL_API size_t pawl_epoll_turn(struct pawl_epoll *adapter);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the clock of pawl_epoll_now(). An armed timer is
 * re-armed. A timer that is due already is called in the next pass. A periodic timer is periodic no more. Never fails.
 */
PAWL_API void pawl_epoll_arm(struct pawl_epoll *adapter, struct pawl_timer *timer,
                             uint64_t delay_ns);
PAWL_API void pawl_epoll_arm_at(struct pawl_epoll *adapter, struct pawl_timer *timer,
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
PAWL_API int pawl_epoll_arm_every(struct pawl_epoll *adapter, struct pawl_loop_timer *timer,
                                  uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, mostly by one store. An idle timer, or an earlier time: as arm. */
PAWL_API void pawl_epoll_touch(struct pawl_epoll *adapter, struct pawl_timer *timer,
                               uint64_t delay_ns);

/* Cancel the timer. true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_epoll_cancel(struct pawl_epoll *adapter, struct pawl_timer *timer);

/* The present time of the clock of deadlines: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_epoll_now(const struct pawl_epoll *adapter);

/* The wheel, for count, place, each and check. Arm and cancel only through the adapter. */
PAWL_API struct pawl_wheel *pawl_epoll_wheel(struct pawl_epoll *adapter);

/*
 * Close and free the adapter, and pass each timer that is still armed to `dropped`, which may free it and cancel
 * others, but arm none.
 *
 * If `dropped` is NULL, the timers are not accessed, and must be zeroed before they are used again. The function itself
 * may close the adapter: it is then not called any more, and the adapter is freed at the end of the pass. `adapter` may
 * be NULL.
 */
PAWL_API void pawl_epoll_close(struct pawl_epoll *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
