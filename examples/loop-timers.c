/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of timers in a loop on epoll, each with a function of its own: a heartbeat, which is periodic, and an idle
 * timeout. The other side answers three heartbeats and then falls silent.
 */
#include <pawl/epoll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

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

int main(void)
{
	const struct pawl_loop_options options = {.due = on_idle}; /* of timers without their own */
	struct peer peer = {.heartbeat = PAWL_LOOP_TIMER_INIT(on_heartbeat)};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (pawl_epoll_open(&peer.loop, &options) != 0)
		return 1;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pawl_epoll_fd(peer.loop), &event);
	pawl_loop_arm(peer.loop, &peer.idle, 10 * PAWL_SECOND);
	pawl_loop_arm_every(peer.loop, &peer.heartbeat, 0, 50 * PAWL_MS);
	while (!peer.gone)
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			pawl_loop_pass(peer.loop);
	pawl_loop_close(peer.loop, NULL);
	close(epoll);
	return 0;
}
