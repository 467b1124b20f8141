/* SPDX-License-Identifier: MIT */
/*
 * Periodic work and an idle timeout on the threads of a service: three heartbeats, each of which pushes the
 * timeout back; then silence, and the timeout comes.
 */
#include <pawl/pawl.h>
#include <semaphore.h>
#include <stdio.h>

struct peer {
	struct pawl_service *service;
	struct pawl_task heartbeat, idle;
	unsigned beats;
	sem_t gone;
};

static void beat(struct pawl_task *task)
{
	struct peer *peer = PAWL_CONTAINER_OF(task, struct peer, heartbeat);

	printf("heartbeat %u\n", ++peer->beats);
	pawl_service_touch(peer->service, &peer->idle, 150 * PAWL_MS);
	if (peer->beats == 3)
		pawl_service_cancel(peer->service, task); /* from inside: this was the last run */
}

static void give_up(struct pawl_task *task)
{
	struct peer *peer = PAWL_CONTAINER_OF(task, struct peer, idle);

	printf("silent for 150 ms\n");
	sem_post(&peer->gone);
}

int main(void)
{
	struct peer peer = {.beats = 0};

	if (pawl_service_open(&peer.service, NULL) != 0)
		return 1;
	sem_init(&peer.gone, 0, 0);
	pawl_task_init(&peer.heartbeat, beat);
	pawl_task_init(&peer.idle, give_up);
	pawl_service_arm(peer.service, &peer.idle, 10000 * PAWL_MS);
	pawl_service_arm_every(peer.service, &peer.heartbeat, 0, 50 * PAWL_MS, PAWL_SERVICE_SKIP);
	sem_wait(&peer.gone);
	pawl_service_close(peer.service, NULL);
	return 0;
}
