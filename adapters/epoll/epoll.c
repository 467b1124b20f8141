/* SPDX-License-Identifier: MIT */
/* A timerfd that is set to the time of the next turn. Empty on other systems: the library has the same sources on all. */
#define _GNU_SOURCE
#include <pawl/epoll.h>
#ifdef __linux__
#include <sys/timerfd.h>
#include <unistd.h>

#include "../turn.h"

/* Of a time_t. With 32 bits that is 68 years after the start of the machine: a turn then sets what is beyond again. */
#define MAX_SECONDS (sizeof(time_t) < sizeof(uint64_t) ? (uint64_t)INT32_MAX : UINT64_MAX)

struct pawl_epoll {
	struct turns turns; /* first: see set_timerfd */
	int fd;
};

/*
 * Setting a timerfd also takes back that it has expired, so it never needs to be read. A time that has
 * passed makes it readable anew, which an edge-triggered epoll notices too. All zeroes switch it off; the
 * clock never was at zero while anything ran.
 */
static void set_timerfd(struct turns *turns)
{
	const struct pawl_epoll *adapter = (struct pawl_epoll *)turns;
	uint64_t seconds = turns->wake / NS_PER_SECOND;
	struct itimerspec at = {0};

	if (turns->wake != PAWL_NEVER) {
		at.it_value.tv_sec = (time_t)(seconds < MAX_SECONDS ? seconds : MAX_SECONDS);
		at.it_value.tv_nsec = (long)(turns->wake % NS_PER_SECOND);
	}
	timerfd_settime(adapter->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int pawl_epoll_open(struct pawl_epoll **adapter, pawl_due_fn *due, void *arg,
                    const struct pawl_loop_options *options)
{
	struct pawl_epoll *made = malloc(sizeof(*made));
	int error = made ? turns_init(&made->turns, monotonic_ns, set_timerfd, due, arg, options)
	                 : -ENOMEM;

	if (error) {
		free(made);
		return error;
	}
	made->fd = timerfd_create(made->turns.count_sleep ? CLOCK_OF_SLEEP : CLOCK_MONOTONIC,
	                          TFD_NONBLOCK | TFD_CLOEXEC);
	if (made->fd < 0) {
		error = -errno;
		free(made->turns.wheel);
		free(made);
		return error;
	}
	*adapter = made;
	return 0;
}

int pawl_epoll_fd(const struct pawl_epoll *adapter)
{
	return adapter->fd;
}

static void destroy(struct pawl_epoll *adapter)
{
	close(adapter->fd);
	free(adapter->turns.wheel);
	free(adapter);
}

size_t pawl_epoll_turn(struct pawl_epoll *adapter)
{
	size_t calls;

	if (adapter->turns.running)
		return 0;
	calls = turns_run(&adapter->turns, adapter->turns.now());
	if (adapter->turns.closed)
		destroy(adapter);
	return calls;
}

void pawl_epoll_arm(struct pawl_epoll *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_arm(&adapter->turns, timer, delay_ns);
}

void pawl_epoll_arm_at(struct pawl_epoll *adapter, struct pawl_timer *timer, uint64_t deadline_ns)
{
	turns_arm_at(&adapter->turns, timer, deadline_ns);
}

int pawl_epoll_arm_every(struct pawl_epoll *adapter, struct pawl_loop_timer *timer,
                         uint64_t period_ns)
{
	return turns_arm_every(&adapter->turns, timer, period_ns);
}

void pawl_epoll_touch(struct pawl_epoll *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_touch(&adapter->turns, timer, delay_ns);
}

bool pawl_epoll_cancel(struct pawl_epoll *adapter, struct pawl_timer *timer)
{
	return turns_cancel(&adapter->turns, timer);
}

uint64_t pawl_epoll_now(const struct pawl_epoll *adapter)
{
	return adapter->turns.now();
}

struct pawl_wheel *pawl_epoll_wheel(struct pawl_epoll *adapter)
{
	return adapter->turns.wheel;
}

void pawl_epoll_close(struct pawl_epoll *adapter, pawl_due_fn *dropped)
{
	if (!adapter)
		return;
	turns_close(&adapter->turns, dropped);
	if (!adapter->turns.running)
		destroy(adapter);
}
#endif
