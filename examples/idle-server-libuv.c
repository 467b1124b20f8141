/* SPDX-License-Identifier: MIT */
/* The event loop of idle-server.c: libuv. */
#define _GNU_SOURCE
#include "idle-server.h"

#include <pawl/libuv.h>
#include <stdlib.h>

struct events {
	uv_loop_t uv;
};

struct watch {
	uv_poll_t poll; /* first: see on_closed */
	readable_fn *readable;
	void *arg;
};

struct events *events_open(struct pawl_loop **timers, const struct pawl_loop_options *options)
{
	static struct events events;

	if (uv_loop_init(&events.uv) != 0 || pawl_libuv_open(timers, &events.uv, options) != 0)
		return NULL;
	return &events;
}

static void on_poll(uv_poll_t *poll, int status, int what)
{
	const struct watch *watch = (struct watch *)poll;

	(void)status; /* read() says it, too */
	(void)what;
	watch->readable(watch->arg);
}

struct watch *events_watch(struct events *events, int fd, readable_fn *readable, void *arg)
{
	struct watch *watch = malloc(sizeof(*watch));

	if (!watch || uv_poll_init(&events->uv, &watch->poll, fd) != 0) {
		free(watch);
		return NULL;
	}
	watch->readable = readable;
	watch->arg = arg;
	uv_poll_start(&watch->poll, UV_READABLE, on_poll);
	return watch;
}

static void on_closed(uv_handle_t *poll)
{
	free(poll);
}

void events_unwatch(struct watch *watch)
{
	uv_close((uv_handle_t *)&watch->poll, on_closed);
}

void events_run(struct events *events)
{
	uv_run(&events->uv, UV_RUN_DEFAULT);
}

void events_stop(struct events *events)
{
	uv_stop(&events->uv);
}

/* uv_run() calls the functions of closed handles. */
void events_close(struct events *events)
{
	uv_run(&events->uv, UV_RUN_DEFAULT);
	if (uv_loop_close(&events->uv) != 0)
		abort();
}
