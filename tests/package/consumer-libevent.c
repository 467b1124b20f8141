/* SPDX-License-Identifier: MIT */
#include <pawl/libevent.h>
#include <stdio.h>

static void due(struct pawl_loop_timer *timer, void *loop)
{
	(void)timer;
	puts("pawl and libevent work");
	pawl_loop_close(*(struct pawl_loop **)loop, NULL);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct pawl_loop *loop;
	const struct pawl_loop_options options = {.due = due, .arg = &loop};
	struct pawl_loop_timer timer = {0};

	if (!base || pawl_libevent_open(&loop, base, &options) != 0)
		return 1;
	pawl_loop_arm(loop, &timer, PAWL_MS);
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
