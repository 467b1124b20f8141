/* SPDX-License-Identifier: MIT */
/* A timer event that is set to the time of the next turn. */
#define _POSIX_C_SOURCE 200809L
#include <pawl/libevent.h>
#include <sys/time.h>

#include "../turn.h"

#define NS_PER_US     UINT64_C(1000)
#define US_PER_SECOND UINT64_C(1000000)

struct pawl_libevent {
	struct turns turns; /* first: see set_event */
	struct event *event;
};

/*
 * libevent counts the time-out from a time that it may have read some milliseconds ago, so the event may
 * come a little before `wake`. That turn then finds nothing due, and sets the event for the rest.
 * With more to do than one turn may the time-out is 0: libevent looks at the sockets before it comes.
 */
static void set_event(struct turns *turns)
{
	struct pawl_libevent *adapter = (struct pawl_libevent *)turns;
	uint64_t left_ns = turns_sleep_ns(turns, turns->now());
	uint64_t left_us = left_ns / NS_PER_US + (left_ns % NS_PER_US > 0);
	struct timeval timeout = {.tv_sec = (time_t)(left_us / US_PER_SECOND),
	                          .tv_usec = (suseconds_t)(left_us % US_PER_SECOND)};

	if (turns->wake == PAWL_NEVER)
		event_del(adapter->event);
	else
		event_add(adapter->event, &timeout);
}

static void destroy(struct pawl_libevent *adapter)
{
	event_free(adapter->event);
	free(adapter->turns.wheel);
	free(adapter);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct pawl_libevent *adapter = arg;

	(void)fd;
	(void)what;
	turns_run(&adapter->turns, adapter->turns.now());
	if (adapter->turns.closed)
		destroy(adapter);
}

int pawl_libevent_open(struct pawl_libevent **adapter, struct event_base *base, pawl_due_fn *due,
                       void *arg, const struct pawl_loop_options *options)
{
	struct pawl_libevent *made = malloc(sizeof(*made));
	int error = made ? turns_init(&made->turns, monotonic_ns, set_event, due, arg, options)
	                 : -ENOMEM;

	if (error) {
		free(made);
		return error;
	}
	made->event = evtimer_new(base, on_event, made);
	if (!made->event) {
		free(made->turns.wheel);
		free(made);
		return -ENOMEM;
	}
	*adapter = made;
	return 0;
}

void pawl_libevent_arm(struct pawl_libevent *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_arm(&adapter->turns, timer, delay_ns);
}

void pawl_libevent_arm_at(struct pawl_libevent *adapter, struct pawl_timer *timer,
                          uint64_t deadline_ns)
{
	turns_arm_at(&adapter->turns, timer, deadline_ns);
}

int pawl_libevent_arm_every(struct pawl_libevent *adapter, struct pawl_loop_timer *timer,
                            uint64_t period_ns)
{
	return turns_arm_every(&adapter->turns, timer, period_ns);
}

void pawl_libevent_touch(struct pawl_libevent *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	turns_touch(&adapter->turns, timer, delay_ns);
}

bool pawl_libevent_cancel(struct pawl_libevent *adapter, struct pawl_timer *timer)
{
	return turns_cancel(&adapter->turns, timer);
}

uint64_t pawl_libevent_now(const struct pawl_libevent *adapter)
{
	return adapter->turns.now();
}

struct pawl_wheel *pawl_libevent_wheel(struct pawl_libevent *adapter)
{
	return adapter->turns.wheel;
}

void pawl_libevent_close(struct pawl_libevent *adapter, pawl_due_fn *dropped)
{
	if (!adapter)
		return;
	turns_close(&adapter->turns, dropped);
	if (!adapter->turns.running)
		destroy(adapter);
}
