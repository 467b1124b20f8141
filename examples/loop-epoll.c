/* SPDX-License-Identifier: MIT */
/* Timers in a loop of epoll. Their functions are in loop-peer.h, the same for every event loop. */
#include <pawl/epoll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "loop-peer.h"

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (pawl_epoll_open(&peer.loop, &options) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, pawl_epoll_fd(peer.loop), &event) != 0)
		return 1;
	start_timers();
	while (!peer.gone)
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			pawl_loop_pass(peer.loop);
	pawl_loop_close(peer.loop, NULL);
	close(epoll);
	return 0;
}
