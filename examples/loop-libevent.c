/* SPDX-License-Identifier: MIT */
/* Timers in a loop of libevent. Their functions are in loop-peer.h, the same for every event loop. */
#include <pawl/libevent.h>

#include "loop-peer.h"

int main(void)
{
	struct event_base *base = event_base_new();

	if (!base || pawl_libevent_open(&peer.loop, base, &options) != 0)
		return 1;
	start_timers();
	event_base_dispatch(base); /* it returns when nothing is armed */
	pawl_loop_close(peer.loop, NULL);
	event_base_free(base);
	return 0;
}
