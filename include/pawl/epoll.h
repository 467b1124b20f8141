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
 * The descriptor is a timerfd. It becomes readable when a turn is worth it, level-triggered or
 * edge-triggered. Do not read it, set it or close it. See pawl/loop.h for what all adapters promise.
 */
#ifndef PAWL_EPOLL_H
#define PAWL_EPOLL_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_epoll;

/*
 * Open an adapter that calls `due` with `arg`.
 *
 * 0         *adapter is yours, to be closed with pawl_epoll_close.
 * -EINVAL   `due` is NULL, or an option is out of its range.
 * -ENOMEM, -EMFILE, -ENFILE   no memory, or no more descriptors. Nothing is left behind.
 */
PAWL_API int pawl_epoll_open(struct pawl_epoll **adapter, pawl_due_fn *due, void *arg,
                             const struct pawl_loop_options *options);

/* The descriptor, close-on-exec. It stays the same, and becomes invalid with close. */
PAWL_API int pawl_epoll_fd(const struct pawl_epoll *adapter);

/*
 * One turn of bounded work; call it when the descriptor is readable (at other times it does no harm). If that
 * was not all that is due, the descriptor is readable again at once. Returns how many functions it called; 0
 * inside one of them.
 */
PAWL_API size_t pawl_epoll_turn(struct pawl_epoll *adapter);

/*
 * Arm the timer for `delay_ns` from now, or for `deadline_ns` of the adapter's clock, see pawl_epoll_now. If it is
 * armed, it is moved; if it was periodic, it is no more. What is due already is called in the next turn. Never fails.
 */
PAWL_API void pawl_epoll_arm(struct pawl_epoll *adapter, struct pawl_timer *timer,
                             uint64_t delay_ns);
PAWL_API void pawl_epoll_arm_at(struct pawl_epoll *adapter, struct pawl_timer *timer,
                                uint64_t deadline_ns);

/*
 * Arm the timer for every `period_ns`, for the first time a period from now, until it is cancelled or armed otherwise. It
 * does not drift, and periods that were missed are left out. When its function is called it is armed for the next time
 * already: cancel it before you free it. touch moves its grid. Only with pawl_loop_due as open's `due`.
 *
 * 0         it is armed.
 * -EINVAL   the period is 0, or the adapter was opened with another function. Nothing has changed.
 */
PAWL_API int pawl_epoll_arm_every(struct pawl_epoll *adapter, struct pawl_loop_timer *timer,
                                  uint64_t period_ns);

/* Push the timer back to `delay_ns` from now, for little more than a store; else, and if idle, as arm. */
PAWL_API void pawl_epoll_touch(struct pawl_epoll *adapter, struct pawl_timer *timer,
                               uint64_t delay_ns);

/* true: it was armed, and will not be called. false: it was idle. */
PAWL_API bool pawl_epoll_cancel(struct pawl_epoll *adapter, struct pawl_timer *timer);

/* The present time of the adapter's clock, in which deadlines are: see "The clock" in pawl/loop.h. */
PAWL_API uint64_t pawl_epoll_now(const struct pawl_epoll *adapter);

/* To look at: count, place, each, check. Arm and cancel through the adapter. */
PAWL_API struct pawl_wheel *pawl_epoll_wheel(struct pawl_epoll *adapter);

/*
 * Hand each timer that is still armed to `dropped`, which may free it and cancel others but arm none, and
 * close and free the adapter; inside the function, when the turn has ended. `dropped`
 * may be NULL: then they are forgotten, in whatever memory they were, and to be zeroed before they are used
 * again. Also from inside the function, which then is not called any more. NULL is allowed as adapter.
 */
PAWL_API void pawl_epoll_close(struct pawl_epoll *adapter, pawl_due_fn *dropped);

#ifdef __cplusplus
}
#endif

#endif
