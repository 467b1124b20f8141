/* SPDX-License-Identifier: MIT */
/* What idle-server.c needs of an event loop: idle-server-NAME.c has it for each. */
#ifndef IDLE_SERVER_H
#define IDLE_SERVER_H

#include <pawl/loop.h>

struct events; /* an event loop */
struct watch;  /* of one descriptor in it */
typedef void readable_fn(void *arg);

/* The event loop, and timers in it. NULL: it failed. */
struct events *events_open(struct pawl_loop **timers, const struct pawl_loop_options *options);

/* Call `readable` whenever the descriptor is. It may end its own watch. NULL: it failed. */
struct watch *events_watch(struct events *events, int fd, readable_fn *readable, void *arg);
void events_unwatch(struct watch *watch);

void events_run(struct events *events); /* until events_stop() */
void events_stop(struct events *events);
void events_close(struct events *events); /* after its timers and watches */

#endif
