/* SPDX-License-Identifier: MIT */
/* The loop's timer is a timerfd. Empty on other systems: the library has the same list of sources on all of them. */
#define _GNU_SOURCE
#include <pawl/epoll.h>
#ifdef __linux__
#include <sys/timerfd.h>
#include <unistd.h>

#include "../pass.h"

/* Of a time_t. A time_t of 32 bits ends 68 years after the machine's start: the pass then sets the timer again. */
#define MAX_SECONDS (sizeof(time_t) < sizeof(uint64_t) ? (uint64_t)INT32_MAX : UINT64_MAX)

struct pawl_epoll {
	struct adapter base;
	int fd;
};

/*
 * Setting a timerfd also clears its expiry, so it never needs to be read. A time in the past makes it readable again,
 * which an edge-triggered epoll notices, too. All zeroes switch it off; the clock is past zero when a program runs.
 */
static void set_timerfd(struct adapter *base)
{
	const struct pawl_epoll *adapter = (struct pawl_epoll *)base;
	uint64_t seconds = base->wake / NS_PER_SECOND;
	struct itimerspec at = {0};

	if (base->wake != PAWL_NEVER) {
		at.it_value.tv_sec = (time_t)(seconds < MAX_SECONDS ? seconds : MAX_SECONDS);
		at.it_value.tv_nsec = (long)(base->wake % NS_PER_SECOND);
	}
	timerfd_settime(adapter->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void close_timerfd(struct adapter *base)
{
	close(((struct pawl_epoll *)base)->fd);
	adapter_free(base);
}

int pawl_epoll_open(struct pawl_epoll **adapter, pawl_due_fn *due, void *arg,
                    const struct pawl_loop_options *options)
{
	static const struct adapter_loop loop = {monotonic_ns, set_timerfd, close_timerfd};
	int error;
	struct pawl_epoll *made = adapter_new(sizeof(*made), &loop, due, arg, options, &error);

	if (!made)
		return error;
	made->fd = timerfd_create(made->base.count_sleep ? CLOCK_OF_SLEEP : CLOCK_MONOTONIC,
	                          TFD_NONBLOCK | TFD_CLOEXEC);
	if (made->fd < 0) {
		error = -errno;
		adapter_free(&made->base);
		return error;
	}
	*adapter = made;
	return 0;
}

int pawl_epoll_fd(const struct pawl_epoll *adapter)
{
	return adapter->fd;
}

size_t pawl_epoll_turn(struct pawl_epoll *adapter)
{
	return adapter_pass(&adapter->base, adapter->base.now());
}

ADAPTER_FUNCTIONS(epoll)
#endif
