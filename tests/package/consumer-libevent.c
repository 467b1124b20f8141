/* SPDX-License-Identifier: MIT */
#include <pawl/libevent.h>
#include <stdio.h>

static void due(struct pawl_timer *timer, void *adapter)
{
	(void)timer;
	puts("pawl and libevent work");
	pawl_libevent_close(*(struct pawl_libevent **)adapter, NULL);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct pawl_timer timer = {0};
	struct pawl_libevent *timers;

	if (!base || pawl_libevent_open(&timers, base, due, &timers, NULL) != 0)
		return 1;
	pawl_libevent_arm(timers, &timer, 1000000);
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
