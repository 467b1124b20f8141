/* SPDX-License-Identifier: MIT */
/* A service in an epoll loop, by its descriptor; other threads arm. It works with poll(2) and select(2), too. */
#define _POSIX_C_SOURCE 200809L
#include <sys/epoll.h>
#include <unistd.h>

#include "loop-threads.h"

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd;

	open_service();
	fd = pawl_service_fd(service);
	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return 1;
	start_threads();
	while (!all_ran())
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			pawl_service_poll(service, 0);
	close_service();
	close(epoll);
	return 0;
}
