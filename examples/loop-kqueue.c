/* SPDX-License-Identifier: MIT */
/* Timers in a loop of kqueue. Their functions are in loop-peer.h, the same for every event loop. */
#define _GNU_SOURCE /* for libkqueue on Linux; a BSD hides nothing */
#include <pawl/kqueue.h>
#include <sys/types.h>
#include <unistd.h>

#include <sys/event.h>

#include "loop-peer.h"

int main(void)
{
	struct kevent event;
	int queue = kqueue();

	if (queue < 0 || pawl_kqueue_open(&peer.loop, queue, &options) != 0)
		return 1;
	start_timers();
	while (!peer.gone)
		if (kevent(queue, NULL, 0, &event, 1, NULL) == 1 && event.filter == EVFILT_TIMER)
			pawl_loop_pass(peer.loop);
	pawl_loop_close(peer.loop, NULL);
	close(queue);
	return 0;
}
