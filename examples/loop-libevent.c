/* SPDX-License-Identifier: MIT */
/* A service in a loop of libevent, by its descriptor; other threads arm. */
#define _POSIX_C_SOURCE 200809L
#include <event2/event.h>

#include "loop-threads.h"

static void on_readable(evutil_socket_t fd, short events, void *base)
{
	(void)fd;
	(void)events;
	pawl_service_poll(service, 0);
	if (all_ran())
		event_base_loopbreak(base);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct event *watcher;
	int fd;

	open_service();
	fd = pawl_service_fd(service);
	watcher = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, base);
	if (fd < 0 || !watcher || event_add(watcher, NULL) != 0)
		return 1;
	start_threads();
	event_base_dispatch(base);
	close_service();
	event_free(watcher);
	event_base_free(base);
	return 0;
}
