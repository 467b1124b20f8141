/* SPDX-License-Identifier: MIT */
/* The event loop's timer is an event with a timeout. */
#define _GNU_SOURCE
#include "sleep.h"

#include <errno.h>
#include <pawl/libevent.h>
#include <stdlib.h>
#include <sys/time.h>

struct libevent_timer {
	struct pawl_loop *loop;
	struct event *event;
	int clock;
	uint64_t longest;
};

static uint64_t libevent_now(void *self)
{
	return system_now(((struct libevent_timer *)self)->clock);
}

/*
 * libevent counts the timeout from a time that it may have read a few milliseconds ago, so the event may come a little
 * before `at_ns`. That pass finds nothing due, and sets the event for the rest. While one pass is not enough, the
 * timeout is 0: libevent polls the sockets before it calls the event.
 */
static void set_event(void *arg, uint64_t at_ns)
{
	struct libevent_timer *self = arg;
	uint64_t left_ns = delay_until(at_ns, libevent_now(arg), self->longest);
	uint64_t left_us = left_ns / PAWL_US + (left_ns % PAWL_US > 0);
	struct timeval timeout = {.tv_sec = (time_t)(left_us / 1000000),
	                          .tv_usec = (suseconds_t)(left_us % 1000000)};

	if (at_ns == PAWL_NEVER)
		event_del(self->event);
	else
		event_add(self->event, &timeout);
}

static void free_event(void *arg)
{
	struct libevent_timer *self = arg;

	if (self->event)
		event_free(self->event);
	free(self);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pawl_loop_pass(((struct libevent_timer *)arg)->loop);
}

int pawl_libevent_open(struct pawl_loop **loop, struct event_base *base,
                       const struct pawl_loop_options *options)
{
	static const struct pawl_loop_adapter adapter = {libevent_now, set_event, free_event, {0}};
	struct libevent_timer *made = malloc(sizeof(*made));
	int error = -ENOMEM;

	if (!made)
		return error;
	*made = (struct libevent_timer){NULL, evtimer_new(base, on_event, made),
	                                loop_clock(options), longest_delay(options)};
	if (made->event)
		error = pawl_loop_open(&made->loop, &adapter, made, options);
	if (error)
		free_event(made);
	else
		*loop = made->loop;
	return error;
}
