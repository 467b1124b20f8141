/* SPDX-License-Identifier: MIT */
/* A service in a loop of libuv, by its descriptor; other threads arm. */
#define _POSIX_C_SOURCE 200809L
#include <uv.h>

#include "loop-threads.h"

static void on_readable(uv_poll_t *watcher, int status, int events)
{
	(void)status;
	(void)events;
	pawl_service_poll(service, 0);
	if (all_ran())
		uv_close((uv_handle_t *)watcher, NULL);
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	uv_poll_t watcher;
	int fd;

	open_service();
	fd = pawl_service_fd(service);
	if (fd < 0 || uv_poll_init(loop, &watcher, fd) != 0)
		return 1;
	uv_poll_start(&watcher, UV_READABLE, on_readable);
	start_threads();
	uv_run(loop, UV_RUN_DEFAULT);
	close_service();
	return uv_loop_close(loop);
}
