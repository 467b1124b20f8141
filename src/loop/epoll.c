/* SPDX-License-Identifier: MIT */
/* The event loop's timer is a timerfd of its own, which any event loop can poll. */
#define _GNU_SOURCE
#include "layout.h"
#include "sleep.h"

#include <errno.h>
#include <pawl/epoll.h>
#include <stdlib.h>

struct epoll_timer {
	int fd, clock;
};

static uint64_t epoll_now(void *self)
{
	return system_now(((struct epoll_timer *)self)->clock);
}

static void set_timerfd(void *self, uint64_t at_ns)
{
	pawl__system_timer_set(((struct epoll_timer *)self)->fd, at_ns);
}

static void close_timerfd(void *self)
{
	pawl__system_timer_close(((struct epoll_timer *)self)->fd);
	free(self);
}

static const struct pawl_loop_adapter epoll_adapter = {epoll_now, set_timerfd, close_timerfd, {0}};

int pawl_epoll_open(struct pawl_loop **loop, const struct pawl_loop_options *options)
{
	int clock = loop_clock(options), fd = pawl__system_timer_open(clock), error;
	struct epoll_timer *made;

	if (fd < 0)
		return fd;
	made = malloc(sizeof(*made));
	if (!made) {
		pawl__system_timer_close(fd);
		return -ENOMEM;
	}
	*made = (struct epoll_timer){fd, clock};
	error = pawl_loop_open(loop, &epoll_adapter, made, options);
	if (error)
		close_timerfd(made);
	return error;
}

int pawl_epoll_fd(const struct pawl_loop *loop)
{
	return loop->adapter == &epoll_adapter ? ((struct epoll_timer *)loop->self)->fd : -EINVAL;
}
