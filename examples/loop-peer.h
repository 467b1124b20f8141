/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of timers in an event loop, each with a function of its own: a heartbeat, which is periodic, and an idle
 * timeout. The other side answers three heartbeats and then falls silent. This is written once for every event loop:
 * loop-epoll.c, loop-kqueue.c, loop-libuv.c and loop-libevent.c open the loop and run it.
 */
#ifndef LOOP_PEER_H
#define LOOP_PEER_H

#include <pawl/loop.h>
#include <stdio.h>

struct peer {
	struct pawl_loop_timer heartbeat, idle;
	struct pawl_loop *loop;
	int beats;
	bool gone;
};

static void on_heartbeat(struct pawl_loop_timer *timer, void *arg)
{
	struct peer *peer = PAWL_CONTAINER_OF(timer, struct peer, heartbeat);

	(void)arg;
	printf("heartbeat %d\n", ++peer->beats);
	if (peer->beats <= 3) /* it has answered */
		pawl_loop_touch(peer->loop, &peer->idle, 150 * PAWL_MS);
}

static void on_idle(struct pawl_loop_timer *timer, void *arg)
{
	struct peer *peer = PAWL_CONTAINER_OF(timer, struct peer, idle);

	(void)arg;
	printf("silent for 150 ms\n");
	pawl_loop_cancel(peer->loop, &peer->heartbeat);
	peer->gone = true;
}

static const struct pawl_loop_options options = {.due = on_idle}; /* of timers without their own */
static struct peer peer = {.heartbeat = PAWL_LOOP_TIMER_INIT(on_heartbeat)};

static inline void start_timers(void)
{
	pawl_loop_arm(peer.loop, &peer.idle, 10 * PAWL_SECOND);
	pawl_loop_arm_every(peer.loop, &peer.heartbeat, 0, 50 * PAWL_MS);
}

#endif
