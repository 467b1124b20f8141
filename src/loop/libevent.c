/* SPDX-License-Identifier: MIT */
/* The loop's timer is an event with a timeout. */
#define _POSIX_C_SOURCE 200809L
#include <pawl/libevent.h>
#include <sys/time.h>

#include "../pass.h"

#define NS_PER_US     UINT64_C(1000)
#define US_PER_SECOND UINT64_C(1000000)

struct pawl_libevent {
	struct adapter base;
	struct event *event;
};

/*
 * libevent counts the timeout from a time that it may have read some milliseconds ago, so the event may come a little
 * before `wake`. That pass finds nothing due, and sets the event for the rest. While one pass is not enough, the
 * timeout is 0: libevent polls the sockets before it calls the event.
 */
static void set_event(struct adapter *base)
{
	struct pawl_libevent *adapter = (struct pawl_libevent *)base;
	uint64_t left_ns = at_most_a_day(adapter_sleep_ns(base, base->now()));
	uint64_t left_us = left_ns / NS_PER_US + (left_ns % NS_PER_US > 0);
	struct timeval timeout = {.tv_sec = (time_t)(left_us / US_PER_SECOND),
	                          .tv_usec = (suseconds_t)(left_us % US_PER_SECOND)};

	if (base->wake == PAWL_NEVER)
		event_del(adapter->event);
	else
		event_add(adapter->event, &timeout);
}

static void free_event(struct adapter *base)
{
	event_free(((struct pawl_libevent *)base)->event);
	adapter_free(base);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct pawl_libevent *adapter = arg;

	(void)fd;
	(void)what;
	adapter_pass(&adapter->base, adapter->base.now());
}

int pawl_libevent_open(struct pawl_libevent **adapter, struct event_base *base, pawl_due_fn *due,
                       void *arg, const struct pawl_loop_options *options)
{
	static const struct adapter_loop loop = {monotonic_ns, set_event, free_event};
	int error;
	struct pawl_libevent *made = adapter_new(sizeof(*made), &loop, due, arg, options, &error);

	if (!made)
		return error;
	made->event = evtimer_new(base, on_event, made);
	if (!made->event) {
		adapter_free(&made->base);
		return -ENOMEM;
	}
	*adapter = made;
	return 0;
}

ADAPTER_FUNCTIONS(libevent)
