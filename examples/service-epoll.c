/* SPDX-License-Identifier: MIT */
/*
 * A service in an epoll loop, by its descriptor. Other threads arm its tasks while the loop sleeps, and each task runs
 * on the loop's thread. It works in the same way with poll(2), select(2), libuv and libevent.
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/service.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define THREADS 3
#define TASKS   4 /* of each thread */

static struct pawl_service *service;
static struct pawl_task tasks[THREADS][TASKS];
static pthread_t loop_thread;
static unsigned ran, elsewhere;

static void task_is_due(struct pawl_task *task)
{
	(void)task;
	ran++; /* no lock: tasks run on the loop's thread */
	elsewhere += !pthread_equal(pthread_self(), loop_thread);
}

static void *arm_from_outside(void *first)
{
	struct pawl_task *task = first;

	for (unsigned i = 0; i < TASKS; i++) {
		pawl_task_init(&task[i], task_is_due);
		pawl_service_arm(service, &task[i], i * 20 * PAWL_MS);
	}
	return NULL;
}

int main(void)
{
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL};
	struct pawl_task far_away = PAWL_TASK_INIT(task_is_due);
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd;
	pthread_t threads[THREADS];

	loop_thread = pthread_self();
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	pawl_service_arm(service, &far_away,
	                 PAWL_HOUR); /* without the threads it would sleep so long */
	fd = pawl_service_fd(service);
	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, arm_from_outside, tasks[i]);
	while (ran < THREADS * TASKS)
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			pawl_service_poll(service, 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u tasks from %u threads ran, %u of them outside the loop\n", ran, THREADS,
	       elsewhere);
	pawl_service_close(service, NULL);
	close(epoll);
	return 0;
}
