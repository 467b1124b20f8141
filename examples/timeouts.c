/* SPDX-License-Identifier: MIT */
/*
 * Timeouts for requests, from several threads: armed when a request is sent, cancelled when its answer
 * comes. Four threads send ten requests each; every third one is never answered.
 */
#include <pawl/pawl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

struct request {
	int id;
	struct pawl_task timeout;
	sem_t expired;
};

static struct pawl_service *service;

/* Runs on a thread of the service. */
static void expire(struct pawl_task *task)
{
	struct request *r = PAWL_CONTAINER_OF(task, struct request, timeout);

	printf("request %d timed out\n", r->id);
	sem_post(&r->expired);
}

static void *client(void *first)
{
	for (int id = *(int *)first; id < *(int *)first + 10; id++) {
		struct request r = {.id = id};

		sem_init(&r.expired, 0, 0);
		pawl_task_init(&r.timeout, expire);
		pawl_service_arm(service, &r.timeout, 50 * PAWL_MS);
		if (id % 3 == 0)
			sem_wait(&r.expired);
		/* After this the request may go: its timeout neither runs nor will run. */
		pawl_service_cancel_wait(service, &r.timeout);
	}
	return NULL;
}

int main(void)
{
	int first[4] = {100, 200, 300, 400};
	pthread_t threads[4];

	if (pawl_service_open(&service, NULL) != 0)
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, client, &first[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pawl_service_close(service, NULL);
}
