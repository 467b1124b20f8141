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
	struct pawl_epoll *timers;
	int beats;
	bool gone;
};

static void on_heartbeat(struct pawl_loop_timer *timer, void *arg)
{
	struct peer *peer = PAWL_CONTAINER_OF(timer, struct peer, heartbeat);

	(void)arg;
	printf("heartbeat %d\n", ++peer->beats);
	if (peer->beats <= 3) /* it has answered */
		pawl_epoll_touch(peer->timers, &peer->idle.timer, 150 * PAWL_MS);
}

static void on_idle(struct pawl_loop_timer *timer, void *arg)
{
	struct peer *peer = PAWL_CONTAINER_OF(timer, struct peer, idle);

	(void)arg;
	printf("silent for 150 ms\n");
	pawl_epoll_cancel(peer->timers, &peer->heartbeat.timer);
	peer->gone = true;
}

int main(void)
{
	struct peer peer = {PAWL_LOOP_TIMER_INIT(on_heartbeat), PAWL_LOOP_TIMER_INIT(on_idle), NULL,
	                    0, false};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (pawl_epoll_open(&peer.timers, pawl_loop_due, NULL, NULL) != 0)
		return 1;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pawl_epoll_fd(peer.timers), &event);
	pawl_epoll_arm(peer.timers, &peer.idle.timer, 10 * PAWL_SECOND);
	pawl_epoll_arm_every(peer.timers, &peer.heartbeat, 50 * PAWL_MS);
	while (!peer.gone)
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			pawl_epoll_turn(peer.timers);
	pawl_epoll_close(peer.timers, NULL);
	close(epoll);
	return 0;
}
